# SPDX-License-Identifier: BSD-3-Clause
"""From samples to the whole signal."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Union, overload

import numpy as np

from ._arguments import SEED, flag, pair, scalar, whole
from ._comm import Ranks
from ._errors import ArgumentError, RecoveryWarning, warn
from ._info import RecoverInfo, tracks_of
from ._dask import is_lazy, lazily
from ._each import lit, with_noise
from ._guides import guided
from ._labels import (along, axis_of, empty_columns, in_order, nodata_of, restored, time_of,
                      times_of, unlabelled)
from ._leave import delivered, leave
from ._library import (NULL, check, doubles, ffi, kept, lib, new_atoms, new_error, pointer, real,
                       take_atoms, text)
from ._measurement import Measurement, from_file, picked, to_c
from ._models import Model
from ._noise import doubts_about, find_outliers, law_text, noise_of
from ._options import options_of
from ._progress import Callback, Watch
from ._typing import L, Mask, RecoverOptions, Samples
from ._whole import (UNSAID, ChannelAxis, _parts, _signal, picture_dtype, taken_as,
                     time_first)

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


def _doubt_mask(m: Measurement, y: Any, mask: Any) -> None:
    """A mask of what is missing keeps almost nothing."""
    sentence = ffi.new("char[]", int(lib.CSREC_DOUBT_SIZE))
    whole = isinstance(y, Measurement) or np.shape(y)[:len(m.shape)] == m.shape
    made = to_c(m) if mask is not None and whole else None
    if made is not None and lib.csrec_doubt_mask(made[0], sentence):
        warn(text(sentence).replace("invert it", "give ~mask or use inpaint"), RecoveryWarning)


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
            return_uncertainty: bool = False, interval: Optional[float] = None,
            return_info: bool = False, **params: float) -> Any:
    """The whole picture, volume or signal from some of its entries.

    >>> picture = csrecover.datasets.picture("discs", 64)            # [H, W] of 8 bits
    >>> known = np.random.default_rng(1).random((64, 64)) < 0.4      # true where it is known
    >>> found = csrecover.recover(picture, known)                    # a picture with gaps; 8 bits
    >>> found = csrecover.recover(np.where(known, picture, np.nan))  # gaps are NaN, or masked (np.ma)
    >>> found = csrecover.recover(picture[known], mask=known, quality="best", sigma=2)   # samples
    >>> found = csrecover.recover([3, 5, 9], index=[0, 7, 12], shape=(4, 4))  # at flat positions
    >>> found = csrecover.recover(np.stack([picture] * 3, -1), known, channel_axis=-1)   # colours
    >>> found, error = csrecover.recover(picture, known, return_uncertainty=True)
    >>> csrecover.write("scan.npz", csrecover.sample(picture, rate=0.25))
    >>> found = csrecover.recover("scan.npz")                        # a file: .tif, .nc, .csv, ...
    >>> camera = csrecover.measure(picture, "hadamard", rate=0.3)    # sums: single-pixel, MRI
    >>> found, info = csrecover.recover(camera, return_info=True)
    >>> info.method
    'pnp'

    Series, DataFrames, DataArrays, Quantities come back with their labels.

    Parameters
    ----------
    y : array_like, Measurement or path
        the whole array with ``mask`` or NaN; or samples, [N] or [N, C] of C channels. A channel that
        a sample lacks is NaN
    mask : array_like of bool, optional
        **true where known** (:func:`inpaint` takes the opposite); samples are its true entries in C
        order. Of a file a path
    index, shape : optional
        instead of mask: [N] flat C-order positions in any order, and the signal's shape
    channel_axis : int, str or None, optional
        axis of channels, -1 for [H, W, 3]; None: there is none
    dtype : dtype, optional
        of the result; integers are rounded and clipped. Default: of a whole picture of 8 or 16 bits
        its own, else floats
    quality : str, optional
        'fast', 'balanced' (default), 'best' or 'max'
    method, solver, basis, **params : optional
        in its place, see :func:`methods`, :func:`solvers`, :func:`bases`; ``lambda_`` for ``lambda``
    sigma : float, array_like or str, optional
        noise: standard deviation of a sample, or of each; 'auto': estimated; 'poisson' or
        'poisson:GAIN,OFFSET,SIGMA', as of counts; 'light': in proportion to the sample, as of radiance
    rays : float or array_like, optional
        how many measurements each sample is the mean of, as rays of a path tracer; a sigma is then
        that of one ray
    robust, labels : bool, optional
        drop what :func:`find_outliers` finds; y are classes, at most 256
    guide : array_like or dict, optional
        known everywhere, [H, W] or [H, W, K], NaN where not: albedo and depth, other bands, a photograph
    scale, range, curve : optional
        values of black and white; bounds of the result; 'none', 'log' or 'auto'
    time_axis, times : optional
        axis that is time, so that frames are recovered from each other; [N] times of a series
    within, fill, nodata : optional
        fill only so many entries from known ones; or only where true. The rest stays unknown: NaN, or
        nodata, the number that stands for unknown entries of y
    callback, progress : optional
        called with a :class:`Progress`, true stops; True or a bar of tqdm shows how far it is
    threads, memory, tile, minutes, backend, devices, comm : optional
        cores, bytes, values of a tile, time to improve a result, 'auto', 'cpu' or 'cuda', GPUs,
        communicator of mpi4py; the result does not depend on the number of cores, GPUs or processes
    seed, rng : optional
        what draws random grids
    shifts, order, columns, reference_pursuit, atoms, epsilon, min_coefficient, coefficients : optional
        of pursuits on Haar grids, see docs/pursuit.md: ``epsilon`` ends one at ||r|| <= epsilon ||y||
    model : Model, optional
        that a method rests on, as of :func:`read_model`
    reference, peak : optional
        the truth and the distance of black and white, for the info's tracks
    depth : int or sequence of int, optional
        of an array of dask, recovered by blocks: entries around each
    return_uncertainty, return_info : bool, optional
        return (signal, expected root mean square error of each value), with a :class:`RecoverInfo`
    interval : float, optional
        percent, as 90: uncertainties are half of the width of an interval that has so many percent of
        the true values instead; inf where nothing is promised (docs/uncertainty.md)

    Returns
    -------
    signal : ndarray, or of y's kind
        of the signal's shape, with C channels last or in ``channel_axis``

    Notes
    -----
    Warns with :class:`RecoveryWarning` of what lets the result be worthless. The README of the
    package says more of each argument.
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
    if interval is not None and not return_uncertainty:
        raise ArgumentError("interval is of the uncertainty; give return_uncertainty=True, too")
    named = (solver, basis, model, shifts, order, columns, times)
    unnamed = method in (None, "smooth") and not coefficients and all(one is None for one in named)
    in_order(y)
    own_times = times_of(y) if unnamed else None
    masked = mask
    y, mask = from_file(y, mask, labels, sigma is not None)
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
    _doubt_mask(m, y, masked)
    axis = where if isinstance(where, int) else -1
    usual = unnamed and method is None and not labels and reference is None and comm is None
    time = time_of(labelled, time_axis, where, len(m.shape), usual)
    m = guided(m, guide, labelled, time)
    if robust:
        m = picked(m, ~find_outliers(m, threads=threads))
    usual_dtype = picture_dtype(y) if np.shape(y) != np.shape(m.y) and not labels else None
    if isinstance(y, Measurement) and not labels:
        usual_dtype = y._picture
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
    law = None
    if isinstance(sigma, str) and sigma == "auto" and m.rays is not None:
        made.sigma = 0.0
    elif isinstance(sigma, str):
        made.sigma, law = noise_of(made, sigma)
    elif sigma is not None and np.ndim(sigma) == 0:
        made.sigma, made.deviation = scalar(sigma, "sigma"), NULL
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
                         model=model, labels=labels, range=range, curve=curve, times=times,
                         interval=interval, **params)
    if law is not None:
        options.law = law[0]

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
    promise = ffi.new("csrec_promise *", {"error": np.nan, "most": np.nan})
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
                status = lib.csrec_uncertainty_promise(made, options, pointer(signal),
                                                       pointer(error_map), promise, error)
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
    empty = empty_columns(labelled)
    if empty is not None and signal.ndim == 2:
        signal[:, empty[0]] = np.nan
        warn("columns without any value stay unknown: " + ", ".join(map(str, empty[1])), RecoveryWarning)
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
    if dtype is not None:
        wanted = dtype
    elif nodata is not None or not np.isnan(signal).any():
        wanted = usual_dtype or wanted
    elif np.dtype(wanted).kind in "iu":
        wanted = np.dtype(float)  # as integers have no number for what stays unknown
    if signal.dtype.kind == "c":
        signal = signal.astype(wanted, copy=False)
    else:
        signal = delivered(signal, wanted, nodata)
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
                               report.clamped, report.classes if labels else None,
                               promise.error, promise.most, None if law is None else law_text(law))


@overload
def uncertainty(y: L, mask: Optional[Mask] = ..., **options: Unpack[RecoverOptions]) -> L: ...


@overload
def uncertainty(y: Samples, mask: Optional[Mask] = ...,
                **options: Unpack[RecoverOptions]) -> np.ndarray: ...


def uncertainty(y: Any, mask: Any = None, **options: Any) -> Any:
    """How far each value of :func:`recover` may be from the true one, of the same arguments.

    >>> picture = csrecover.datasets.picture("discs", 64)
    >>> known = np.random.default_rng(1).random((64, 64)) < 0.4
    >>> error = csrecover.uncertainty(picture, known)              # expected root mean square errors
    >>> half = csrecover.uncertainty(picture, known, interval=90)  # half of 90 % intervals

    The second of what ``recover(..., return_uncertainty=True)`` returns; call that for both.
    """
    for name in ("return_uncertainty", "return_info"):
        if name in options:
            raise ArgumentError(f"{name} is of recover; leave it out, uncertainty returns the map alone")
    return recover(y, mask, return_uncertainty=True, **options)[1]
