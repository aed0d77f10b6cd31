# SPDX-License-Identifier: BSD-3-Clause
"""From samples to the whole signal."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Union, overload

import numpy as np

from ._arguments import SEED, flag, pair, scalar, whole
from ._comm import Ranks
from ._errors import ArgumentError, RecoveryWarning, warn
from ._info import RecoverInfo, tracks_of
from ._dask import is_lazy, lazily
from ._each import lit, with_noise
from ._guides import guided
from ._labels import along, axis_of, nodata_of, restored, time_of, times_of, unlabelled
from ._leave import delivered, leave
from ._library import (NULL, check, doubles, ffi, kept, lib, new_atoms, new_error, pointer, real,
                       take_atoms, text)
from ._measurement import Measurement, picked, read, to_c
from ._models import Model
from ._noise import doubts_about, estimate_noise, find_outliers
from ._options import options_of
from ._progress import Callback, Watch
from ._typing import L, Mask, RecoverOptions, Samples
from ._whole import UNSAID, ChannelAxis, _parts, _signal, taken_as, time_first

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Unpack


def _truth(measurement: Measurement, made: Any, reference: Any,
           peak: Optional[float]) -> tuple[Any, np.ndarray, float]:
    """(pointer or NULL, what it points into, peak) of the truth that a history compares with."""
    if reference is None:
        return NULL, np.empty(0), 1.0
    truth = real(reference, "reference")
    channels = (int(made.channels),) if np.ndim(measurement.y) == 2 else ()
    if truth.shape != (*measurement.shape, *channels):
        raise ArgumentError(f"reference has shape {truth.shape}; the signal has "
                            f"{(*measurement.shape, *channels)}")
    if peak is None and truth.dtype.kind != "u":
        raise ArgumentError("peak: the range of the reference's values is not known of its dtype; "
                            "give it, 255 for pictures of 8 bits")
    values = doubles(truth)
    return pointer(values), values, float(np.iinfo(truth.dtype).max if peak is None else peak)


def _given(sigma: Any) -> float:
    if isinstance(sigma, str):
        raise ArgumentError(f"sigma = '{sigma}'; give a number or 'auto'")
    return scalar(sigma, "sigma")


def _doubt_mask(m: Measurement, y: Any, mask: Any) -> None:
    """A mask of what is missing keeps almost nothing."""
    if mask is not None and m.rate < 0.02 and np.shape(y)[:len(m.shape)] == m.shape:
        warn(f"mask is true for {100 * m.rate:.2g} % of the entries, which are taken as known; if it "
             "marks what is missing, give ~mask or use inpaint", RecoveryWarning)


def _from_file(y: Any, mask: Any, labels: bool) -> tuple[Any, Any]:
    """Of a path what :func:`read` reads, of which the mask is a part."""
    kinds = (str, os.PathLike)
    if not isinstance(y, kinds):
        return y, mask
    if mask is not None and not isinstance(mask, kinds):
        raise ArgumentError(f"y = {y!r}: the mask of a file is a file, too; or give read(y)")
    return read(y, mask, labels=labels), None


def _backend_of(backend: str, devices: Any) -> str:
    numbers = [whole(device, "devices") for device in devices]
    if backend not in ("auto", "cuda") or not numbers:
        raise ArgumentError(f"devices = {devices!r}; numbers of GPUs, with backend 'cuda' or none")
    return "cuda:" + ",".join(str(number) for number in numbers)


@overload
def recover(y: L, mask: Optional[Mask] = ..., *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[False] = ..., **options: Unpack[RecoverOptions]) -> L: ...


@overload
def recover(y: L, mask: Optional[Mask] = ..., *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[True],
            **options: Unpack[RecoverOptions]) -> tuple[L, RecoverInfo]: ...


@overload
def recover(y: L, mask: Optional[Mask] = ..., *, return_uncertainty: Literal[True],
            return_info: Literal[False] = ...,
            **options: Unpack[RecoverOptions]) -> tuple[L, L]: ...


@overload
def recover(y: L, mask: Optional[Mask] = ..., *, return_uncertainty: Literal[True],
            return_info: Literal[True],
            **options: Unpack[RecoverOptions]) -> tuple[L, L, RecoverInfo]: ...


@overload
def recover(y: Samples, mask: Optional[Mask] = ..., *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[False] = ..., **options: Unpack[RecoverOptions]) -> np.ndarray: ...


@overload
def recover(y: Samples, mask: Optional[Mask] = ..., *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[True],
            **options: Unpack[RecoverOptions]) -> tuple[np.ndarray, RecoverInfo]: ...


@overload
def recover(y: Samples, mask: Optional[Mask] = ..., *, return_uncertainty: Literal[True],
            return_info: Literal[False] = ...,
            **options: Unpack[RecoverOptions]) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def recover(y: Samples, mask: Optional[Mask] = ..., *, return_uncertainty: Literal[True],
            return_info: Literal[True],
            **options: Unpack[RecoverOptions]) -> tuple[np.ndarray, np.ndarray, RecoverInfo]: ...


@overload
def recover(y: L, mask: Optional[Mask] = ..., *, return_uncertainty: bool = ...,
            return_info: bool = ..., **options: Unpack[RecoverOptions]) -> Any: ...


@overload
def recover(y: Samples, mask: Optional[Mask] = ..., *, return_uncertainty: bool = ...,
            return_info: bool = ..., **options: Unpack[RecoverOptions]) -> Any: ...


def recover(y: Any, mask: Any = None, *, index: Any = None, shape: Any = None,
            channel_axis: Union[ChannelAxis, str] = UNSAID, dtype: Any = None,
            quality: Optional[str] = None, method: Optional[str] = None,
            solver: Optional[str] = None, basis: Optional[str] = None, sigma: Any = None, rays: Any = None,
            robust: bool = False, labels: bool = False, guide: Any = None,
            scale: Optional[tuple[float, float]] = None, shifts: Optional[int] = None,
            seed: int = SEED, rng: Any = None, order: Optional[str] = None,
            columns: Optional[str] = None, reference_pursuit: bool = False,
            atoms: Optional[int] = None, epsilon: Optional[float] = None,
            min_coefficient: Optional[float] = None,
            range: Optional[tuple[Optional[float], Optional[float]]] = None,
            curve: Optional[str] = None, callback: Optional[Callback] = None,
            progress: Any = None, threads: int = 0, memory: int = 0, tile: int = 0,
            time_axis: Any = UNSAID, times: Any = None, minutes: float = 0.0, backend: str = "auto", devices: Any = None,
            comm: Any = None, coefficients: bool = False,
            model: Optional[Model] = None, reference: Any = None, peak: Optional[float] = None,
            within: Optional[float] = None, fill: Any = None, nodata: Optional[float] = None,
            depth: Any = None,
            return_uncertainty: bool = False, return_info: bool = False,
            **params: float) -> Any:
    """The whole picture, volume or signal from some of its entries.

    Parameters
    ----------
    y : array_like or Measurement
        [N] samples, or [N, C] of C channels; a :class:`Measurement`, or the path of a file that
        :func:`read` reads (mask: a path, too); or the whole array, with
        ``mask``, masked (:mod:`numpy.ma`), or with NaN where it is not known. A channel that is not
        measured in a sample is NaN there. Of a ``DataArray`` of
        xarray comes one with the same dims, coords, attrs and name; of a ``Series`` or ``DataFrame``
        of pandas one with its labels; of a ``Quantity``, ``NDData`` or ``CCDData`` of astropy, whose
        mask says what is not known, one with its unit, wcs and meta
    mask : array_like of bool, optional
        bool, the signal's shape: **true where sampled**; y lists its true entries in C order.
        :func:`inpaint` takes the opposite
    index, shape
        instead of mask: [N] flat C-order positions in any order, and the signal's shape
    channel_axis : int, str or None, optional
        of a whole array: the axis of channels, -1 for [H, W, 3], or its name in a DataArray; None:
        there is none. Where a last axis of 2 to 4 may be either, it must be said. A mask with channels
        says where each is known; one that is known nowhere stays NaN
    dtype : dtype, optional
        of the result. Integers are rounded and clipped to their range
    quality : str, optional
        'fast', 'balanced', 'best' or 'max': a method and its parameters. Without it, and without what
        follows: 'balanced' for up to three axes
    method, solver, basis, **params
        see :func:`methods`, :func:`solvers` and :func:`bases`; ``lambda_`` stands for the
        parameter ``lambda``
    sigma : float, array_like or 'auto', optional
        standard deviation of the noise of one sample, in units of y, or 'auto':
        :func:`estimate_noise`. Or an array, of each sample or entry, perhaps of each channel: 0 where
        there is no noise, NaN where it is not known
    rays : float or array_like, optional
        how many measurements, as rays of a path tracer, each sample is the mean of: for each sample or
        entry; of a whole array entries of 0 are not measured. A sigma that is one number is that of one
        ray; without sigma rays scatter in proportion to the light. Positions that are given again are
        averaged by their rays. Values that are not finite are left out, with a warning
    robust : bool, optional
        first drop what :func:`find_outliers` finds
    labels : bool, optional
        y are classes, integers: the result has classes of the samples alone, in their dtype. Of a
        DataArray with ``flag_values``, say. Each class is recovered as a signal of 0 and 1, and the
        largest wins; at most 256 classes. No ``sigma``, ``return_uncertainty`` or ``reference``
    guide : array_like or dict, optional
        known beside the samples: [H, W] or [H, W, K] like the signal, NaN where unknown, or a dict of
        such by their names: albedo, normal, depth of a rendering; the photograph of a depth map
    scale : (float, float), optional
        values of black and white, in units of y
    shifts : int, optional
        Haar grids to average over; 1: the plain grid of the paper
    seed, rng : int, Generator or RandomState, optional
        draws the grids; rng: in its place a Generator, a RandomState or a number
    order, columns : str, optional
        'morton', 'hilbert', 'raster'; 'paper', 'two-sided'
    reference_pursuit : bool, optional
        the paper's loop on plain grids, with solver 'mp': a full transform for every atom; slow,
        the same picks
    atoms, epsilon, min_coefficient
        stop a pursuit after so many atoms, at ||r|| <= epsilon ||y||, or when the best
        coefficient, in units of y, is below
    range : (float or None, float or None), optional
        bounds of the result; known samples outside are kept. Default: (0, None) where the samples
        reach from near 0 up, as radiance does, without ``scale``; else no bounds
    curve : str, optional
        'none': the values are recovered; 'log': their logarithm, so that errors beside a lamp are
        small; 'auto', the default: where they span decades and the logarithm errs less on samples
        left out. The info says which, and why
    callback : callable, optional
        called with a :class:`Progress`; a true result stops, and the best so far is returned
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is
    threads : int, optional
        0: all cores. The result does not depend on it
    memory : int, optional
        bytes that the recovery may take, 0 for what is available. What does not fit is recovered in
        overlapping tiles, or :class:`MemoryError` is raised before the work
    tile : int, optional
        most values of a tile; larger signals are recovered in overlapping ones. 0: 2**24
    time_axis : int, str or None, optional
        of three axes the one that is time, or its name in a DataArray: each frame is recovered from its
        samples and those of the frames around it, see :class:`Sequence`. Default: of a DataArray the
        dim ``time``, or one with dates, where no method is named; else, and for None, none
    times : array_like, optional
        [n] where the entries of a signal of one axis are, ascending, if not at equal distances (method
        'smooth', the default). A DataArray or a Series has them in its index: numbers or dates
    minutes : float, optional
        time to improve a result, for methods that do as long as they run; 0: the method's own
    backend : str, optional
        'auto', 'cpu', or 'cuda' for all GPUs. The result does not depend on their number
    devices : list of int, optional
        numbers of the GPUs to use, with backend 'cuda' or none
    comm : mpi4py communicator, optional
        processes that share the tiles: all of them call with the same arguments, and the first
        one has the result, the bits of one process with these tiles; the others get None, as of
        ``comm.gather``. Needs at least as many tiles as processes (``tile``)
    coefficients : bool, optional
        also the atoms, in the info (one plain grid)
    model : Model, optional
        a :class:`Model` that the recovery rests on; nothing else but seed, threads, callback and
        what was sampled counts then
    reference, peak
        the truth, of the signal's shape, and the range of its values (default: of an unsigned
        integer dtype): the info's tracks then have the PSNR of each step
    within : float, optional
        fill only what is at most so many entries (Euclidean) from a known entry of its channel, for up
        to three axes. The rest stays unknown: NaN, or the value that stands for it in a DataArray
    fill : array_like of bool, optional
        fill only where this is true: of the signal's shape, with the channels or without
    nodata : float, optional
        of a whole array: the number that stands for unknown entries, also for those that stay so. No
        other entry of the result has it. Default: of a DataArray its own
    depth : int or sequence of int, optional
        of an array of dask (or a DataArray that holds one), which is recovered lazily, block by block:
        entries around each block, along all axes or each, that it is recovered from. Default: 64, of
        volumes 16; more where samples or holes are further apart
    return_uncertainty : bool, optional
        return (signal, uncertainty): the expected root mean square error of every value, in units of
        y, 0 for samples that are kept; it takes four further recoveries of up to 65,536 values, and
        one of the whole
    return_info : bool, optional
        return (signal, :class:`RecoverInfo`), or (signal, uncertainty, info)

    Returns
    -------
    signal : ndarray or DataArray
        of the signal's shape, with C channels last, or in ``channel_axis``, if y has them: float32
        if y is float32, else float64. With ``return_uncertainty`` and
        ``return_info`` a tuple

    Notes
    -----
    Warns with :class:`RecoveryWarning` of what lets the result be worthless: :func:`doubts`, a pursuit
    that ended far from its bound, a result that misses its measurements by more than ``sigma`` and
    ``epsilon`` allow.

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> mask = np.random.default_rng(1).random(image.shape) < 0.3     # true where sampled
    >>> picture = csrecover.recover(image[mask], mask=mask, quality="balanced")
    >>> csrecover.psnr(picture, image) > 22
    True
    >>> picture, info = csrecover.recover(image[mask], mask=mask, method="grids", return_info=True)
    >>> info.method
    'grids'
    """
    given = dict(locals())
    if is_lazy(y):
        if given.pop("time_axis") not in (None, UNSAID):
            raise ArgumentError("time_axis is not for arrays of dask; leave it out, or give y.compute()")
        return lazily(recover, given)
    if depth is not None:
        raise ArgumentError("depth is for arrays of dask; leave it out")
    robust, coefficients = flag(robust, "robust"), flag(coefficients, "coefficients")
    labels = flag(labels, "labels")
    if labels and (robust or return_uncertainty or reference is not None):
        raise ArgumentError("labels: robust, return_uncertainty and reference are for quantities, not "
                            "for classes; leave them out")
    return_info = flag(return_info, "return_info")
    return_uncertainty = flag(return_uncertainty, "return_uncertainty")
    named = (solver, basis, model, shifts, order, columns, times)
    unnamed = method in (None, "smooth") and not coefficients and all(one is None for one in named)
    own_times = times_of(y) if unnamed else None
    y, mask = _from_file(y, mask, labels)
    if nodata is not None and isinstance(y, Measurement):
        raise ArgumentError("nodata is for whole arrays; a Measurement or file says what is not known")
    restore, mask, reference = restored(y), along(mask, y), along(reference, y)
    nodata, fill = nodata_of(y, nodata), along(fill, y)
    where = axis_of(y, channel_axis)
    labelled, y = y, unlabelled(y, nodata)
    if rays is not None and index is None:
        mask = lit(y, mask, rays, where)
    m = with_noise(taken_as(y, mask, index, shape, where), sigma, rays,
                   where if isinstance(where, int) else None)
    _doubt_mask(m, y, mask)
    axis = where if isinstance(where, int) else -1
    usual = unnamed and method is None and not labels and reference is None and comm is None
    time = time_of(labelled, time_axis, where, len(m.shape), usual)
    m = guided(m, guide, labelled, time)
    if robust:
        m = picked(m, ~find_outliers(m, threads=threads))
    own = m
    if time is not None:
        m = time_first(m, time)
        if time_axis is UNSAID:
            warn(f"dims {labelled.dims} are taken as frames one after another; time_axis=None recovers "
                 "a volume", UserWarning)
        if reference is not None or coefficients:
            raise ArgumentError("time_axis: reference and coefficients are not for sequences; leave "
                                "them out")
    made, keep = to_c(m)
    if isinstance(sigma, str) and sigma == "auto":
        made.sigma = 0.0 if m.rays is not None else estimate_noise(m)
    elif sigma is not None and np.ndim(sigma) == 0:
        made.sigma, made.deviation = _given(sigma), NULL
    if scale is not None:
        made.scale = pair(scale, "scale")
    if devices is not None:
        backend = _backend_of(backend, devices)
    ranks = Ranks(comm)
    if ranks.several and (return_uncertainty or reference is not None):
        raise ArgumentError("comm: several processes give the signal, not uncertainties or steps; "
                            "leave out return_uncertainty and reference")
    if own_times is not None and own_times.shape == tuple(made.shape.dim[0:made.shape.dims]):
        times = own_times
    options = options_of(made, keep, recover, quality=quality, method=method, solver=solver, basis=basis,
                         shifts=shifts, seed=seed, rng=rng, order=order, columns=columns,
                         reference_pursuit=reference_pursuit, atoms=atoms, epsilon=epsilon,
                         min_coefficient=min_coefficient, threads=ranks.threads(threads),
                         memory=memory, tile=tile, minutes=minutes, backend=ranks.backend(backend),
                         model=model, labels=labels, range=range, curve=curve, times=times, **params)

    error, report = new_error(), ffi.new("csrec_recover_report *")
    check(lib.csrec_measurement_check(made, b"samples", error), error)
    plain = m.through is None and not made.is_complex
    for sentence in doubts_about(made, options.threads, robust or labels) if ranks.root and plain else ():
        warn(sentence, RecoveryWarning)
    sentence = ffi.new("char[]", int(lib.CSREC_DOUBT_SIZE))
    if ranks.root and lib.csrec_doubt_basis(made, options, sentence):
        warn(text(sentence), RecoveryWarning)
    signal = _signal(m, made) if ranks.root else np.empty(0)
    error_map = _signal(m, made) if return_uncertainty else None
    found = new_atoms(int(made.channels)) if coefficients else NULL
    if reference is not None and axis != -1:
        reference = np.moveaxis(reference, axis, -1)
    truth, values, top = _truth(m, made, reference, peak)
    keep.append(values)
    history = NULL
    if return_info and not ranks.several and not labels and not made.sequence:
        room = ffi.new("csrec_history **")
        check(lib.csrec_history_create(truth, top, room))
        history = ffi.gc(room[0], lib.csrec_history_destroy)
        options.history = history
    with ranks:
        options.comm = ranks.handle
        with Watch(callback, progress if ranks.root else None, ranks.poll) as watch:
            options.solve.progress = watch.function
            status = lib.csrec_recover(made, options, pointer(signal) if ranks.root else NULL,
                                       found, report, error)
            if not status and error_map is not None:
                options.history = NULL
                status = lib.csrec_uncertainty(made, options, pointer(signal), pointer(error_map),
                                               NULL, error)
        check(status, error)
    if not ranks.root:
        return (None, None) if return_info else None
    if lib.csrec_doubt_result(report, sentence):
        warn(text(sentence), RecoveryWarning)
    if report.remark != NULL:
        warn(text(report.remark), RecoveryWarning)
    if time:
        signal, error_map = (None if each is None else np.ascontiguousarray(np.moveaxis(each, 0, time))
                             for each in (signal, error_map))
        m, (made, keep) = own, to_c(own)
    leave(made, m, within, fill, axis, signal)
    wanted = kept(np.asarray(m.y).real)
    if labels and np.asarray(m.y).dtype.kind in "iu":
        wanted = np.asarray(m.y).dtype
    if _parts(m, made) == 2:
        signal = signal.view(np.complex128)[..., 0]
        wanted = np.dtype(np.complex64 if wanted == np.float32 else np.complex128)
    if axis != -1:
        signal = np.moveaxis(signal, -1, axis)
        error_map = None if error_map is None else np.moveaxis(error_map, -1, axis)
    if error_map is not None:
        error_map = error_map.astype(wanted, copy=False)
    if signal.dtype.kind == "c":
        signal = signal.astype(wanted if dtype is None else dtype, copy=False)
    else:
        signal = delivered(signal, wanted if dtype is None else dtype, nodata)
    channels = np.arange(int(made.channels)) if coefficients else None
    taken = None if channels is None else [take_atoms(found[int(c)]) for c in channels]
    del keep
    results = tuple(restore(each) for each in (signal, error_map) if each is not None)
    if not return_info:
        return results if return_uncertainty else results[0]
    seconds = {stage: getattr(report, f"seconds_{stage}")
               for stage in ("tree", "pursuit", "synthesis", "total")}
    return *results, RecoverInfo(text(report.method),
                               text(lib.csrec_outcome_text(report.outcome)),
                               report.outcome == lib.CSREC_INTERRUPTED, report.pursuits,
                               report.iterations, report.residual, report.levels,
                               text(report.backend), seconds, taken,
                               None if history == NULL else tracks_of(history),
                               list(report.device[0:report.n_devices]),
                               None if report.choice == NULL else text(report.choice),
                               text(lib.csrec_curve_name(report.curve)),
                               None if report.curve_choice == NULL else text(report.curve_choice),
                               report.clamped, report.classes if labels else None)
