# SPDX-License-Identifier: BSD-3-Clause
"""Signals that are measured through an operator: y = A x."""
from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Optional

import numpy as np

from ._arguments import SEED, as_tuple, deviation, flag, scalar, seed_of, shown, whole, word
from ._errors import ArgumentError, DataError
from ._library import (NULL, check, copied, doubles, ffi, lib, new_error, new_shape, number, numbers,
                       pairs, pointer, real, text, unknown_argument)

#: Fields that an operator reads; of others each that is given is a mistake.
_READ = {"hadamard": ("ordering", "scramble"), "fourier": ("complex", "coils", "centred", "norm"),
         "nufft": ("complex", "coils", "norm", "trajectory"),
         "matrix": ("matrix", "block"), "blur": ("kernel",), "downsample": ("factor",)}

_FREQUENCIES = ("fourier", "nufft")
ROWS = ("uniform", "first", "variable", "lines")


@dataclass(eq=False)
class Through:
    """The operator A of a measurement y = A x, as :func:`measure` and measurement files have it.

    Parameters
    ----------
    name : str
        'hadamard', 'fourier', 'nufft', 'matrix', 'blur' or 'downsample'
    ordering : str, optional
        of Hadamard's rows: 'natural' (default), 'sequency', 'cake-cutting', 'zig-zag'
    scramble : int, optional
        hadamard: seed of a permutation of the entries; None: they stay
    complex : bool, optional
        fourier, nufft: the signal is complex
    coils : array, optional
        fourier, nufft: [coils, *shape] sensitivities
    matrix : array, optional
        matrix: [rows, entries of the signal, or of a block]
    block : tuple of int, optional
        matrix: extents of the blocks that it is applied to; None: the whole signal
    kernel : array, optional
        blur: weights, with the axes of the signal; their middle is at extent // 2
    factor : tuple of int, optional
        downsample: entries along each axis that are averaged
    centred : bool, optional
        fourier: frequency 0 and entry 0 are in the middle, y = fftshift(fftn(ifftshift(x))), as of
        fastMRI, BART and SigPy; False: as numpy.fft.fftn has them; None: as y shows, with a warning
    norm : str, optional
        fourier, nufft: 'backward' (default), 'ortho' or 'forward', as of numpy.fft
    trajectory : array, optional
        nufft: [points, axes of the signal] frequencies in cycles per field of view, from -n/2 to n/2
        along an axis of n entries, of which entry n // 2 is the middle

    Examples
    --------
    >>> csrecover.Through("hadamard", ordering="sequency").name
    'hadamard'
    """

    name: str
    ordering: Optional[str] = None
    scramble: Optional[int] = None
    complex: bool = False
    coils: Optional[np.ndarray] = None
    matrix: Optional[np.ndarray] = None
    block: Optional[tuple[int, ...]] = None
    kernel: Optional[np.ndarray] = None
    factor: Optional[tuple[int, ...]] = None
    centred: Optional[bool] = None
    norm: Optional[str] = None
    trajectory: Optional[np.ndarray] = None


def _extents(given: Any, shape: tuple[int, ...], name: str) -> tuple[Any, tuple[int, ...]]:
    values = as_tuple(given, name) * (len(shape) if np.ndim(given) == 0 else 1)
    if len(values) != len(shape):
        raise ArgumentError(f"{name} = {given}; give one number, or one for each of {len(shape)} axes")
    if not all(1 <= n <= most for n, most in zip(values, shape)):
        raise ArgumentError(f"{name} = {given}; give 1 to the extents of the signal, {shape}")
    return ffi.new("int64_t[]", values), values


def _check_read(t: Through) -> None:
    for field in fields(t)[1:]:
        given = getattr(t, field.name)
        if given is not field.default and field.name not in _READ.get(t.name, (field.name,)):
            raise ArgumentError(f"operator {t.name}: does not take {field.name}: leave it out")


def _through_of(operator: Any, parameters: dict[str, Any]) -> Through:
    """A copy of operator, or the one with that name."""
    if isinstance(operator, Through):
        if parameters:
            raise ArgumentError(f"{next(iter(parameters))}: a Through has its own fields; set it "
                                "there")
        return replace(operator)
    names = [field.name for field in fields(Through)[1:]]
    for key in parameters:
        if key not in names:
            raise unknown_argument(key, [*names, *(measure.__kwdefaults__ or {}), "rate"],
                                   "; see Through for those of an operator")
    return Through(operator, **parameters)


def through_to_c(t: Through, shape: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """csrec_operator_spec * that points into t's arrays, and what must be kept alive with it."""
    name = ffi.new("char[]", word(t.name, "name"))
    _check_read(t)
    made = ffi.new("csrec_operator_spec *", {"name": name})
    keep: list[Any] = [name]

    def hold(array: np.ndarray) -> Any:
        keep.extend((array, pointer(array)))
        return keep[-1]
    if t.ordering is not None:
        keep.append(ffi.new("char[]", word(t.ordering, "ordering")))
        made.ordering = keep[-1]
    made.scrambled = t.scramble is not None
    made.seed = 0 if t.scramble is None else seed_of(t.scramble, None, "scramble")
    made.complex_signal = flag(t.complex, "complex")
    made.centred = t.centred is not None and flag(t.centred, "centred")
    if t.norm is not None:
        keep.append(ffi.new("char[]", word(t.norm, "norm")))
        made.norm = keep[-1]
    if t.coils is not None:
        coils = numbers(t.coils, "coils")
        if coils.shape[1:] != shape:
            raise ArgumentError(f"coils has shape {coils.shape}; give [coils, *{shape}]")
        made.coils, made.n_coils = hold(pairs(coils)), len(coils)
    if t.trajectory is not None:
        trajectory = real(t.trajectory, "trajectory")
        if trajectory.ndim != 2 or trajectory.shape[1] != len(shape):
            raise ArgumentError(f"trajectory has shape {trajectory.shape}; give [points, {len(shape)}]")
        made.trajectory, made.points = hold(doubles(trajectory)), len(trajectory)
    extents = None if t.block is None else _extents(t.block, shape, "block")
    if t.matrix is not None:
        matrix = real(t.matrix, "matrix")
        each = int(np.prod(extents[1] if extents else shape))
        if matrix.ndim != 2 or matrix.shape[1] != each:
            raise ArgumentError(f"matrix has shape {matrix.shape}; give [rows, {each}]")
        made.matrix, made.m = hold(doubles(matrix)), len(matrix)
    if t.kernel is not None:
        kernel = real(t.kernel, "kernel")
        if kernel.ndim != len(shape):
            raise ArgumentError(f"kernel has {kernel.ndim} axes; the signal has {len(shape)}")
        made.filters = hold(doubles(kernel))
        extents = _extents(kernel.shape, shape, "kernel")
    if extents:
        keep.append(extents[0])
        made.kernel = extents[0]
    if t.factor is not None:
        keep.append(_extents(t.factor, shape, "factor")[0])
        made.factor = keep[-1]
    return made, keep


def through_from_c(made: Any, shape: tuple[int, ...]) -> Through:
    """A copy of a csrec_operator_spec."""
    dims, entries = len(shape), int(np.prod(shape, dtype=np.int64))

    def extents(address: Any) -> Optional[tuple[int, ...]]:
        return None if address == NULL else tuple(address[d] for d in range(dims))

    def values(address: Any, size: tuple[int, ...]) -> Optional[np.ndarray]:
        if address == NULL:
            return None
        return copied(address, int(np.prod(size)), "double", np.float64).reshape(size)
    kernel = extents(made.kernel)
    coils = values(made.coils, (made.n_coils, *shape, 2))
    blurs = made.filters != NULL
    each = entries if kernel is None or blurs else int(np.prod(kernel))
    return Through(text(made.name), text(made.ordering) or None,
                   int(made.seed) if made.scrambled else None, bool(made.complex_signal),
                   None if coils is None else coils.view(np.complex128)[..., 0],
                   values(made.matrix, (made.m, each)), None if blurs else kernel,
                   values(made.filters, kernel) if blurs and kernel else None,
                   extents(made.factor),
                   bool(made.centred) if text(made.name) == "fourier" else None, text(made.norm) or None,
                   values(made.trajectory, (made.points, dims)))


def measure(image: Any, operator: str | Through, rate: Optional[float] = None, *,
            count: Optional[int] = None, rows: Optional[str] = None, sigma: float = 0.0,
            seed: int = SEED, channel_axis: Optional[int] = None, rng: Any = None,
            border: Optional[str] = None, **parameters: Any) -> Any:
    """Measures a whole signal through an operator, as the tool cssample does with --operator.

    Parameters
    ----------
    image : array_like
        the signal, real or complex, of 1 to 3 axes
    operator : str or Through
        'hadamard' (scrambled by ``seed``, where neither ordering nor scramble is given), 'fourier',
        'nufft', 'matrix', 'blur', 'downsample'; or a
        :class:`Through`
    rate, count
        rows to measure, as a share of the signal's entries or their number. Default: all
    rows : str, optional
        how they are chosen: 'uniform', 'first', 'variable' or 'lines' of frequencies. Default: 'lines'
        for fourier with several axes, 'first' for an ordering, else 'uniform'
    sigma : float, optional
        standard deviation of Gaussian noise on each value, of real and imaginary parts each
    seed, rng : int, Generator or RandomState, optional
        draws rows and noise; rng: in its place a Generator, a RandomState or a number
    channel_axis : int, optional
        axis of the image that holds channels
    border : str, optional
        matrix with ``block``: what becomes of an image that the blocks do not divide. 'pad' (default):
        zeros fill the last blocks, and the image is recovered as it is; 'cut': it loses the rest first
    **parameters
        fields of :class:`Through`

    Returns
    -------
    scan : Measurement
        which :func:`recover` and :func:`write` take

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scan = csrecover.measure(image, "hadamard", rate=0.3)
    >>> csrecover.psnr(csrecover.recover(scan, method="tv"), image) > 25
    True
    """
    from ._measurement import Measurement, to_c
    through, sigma = _through_of(operator, parameters), deviation(sigma, "sigma")
    seed = seed_of(seed, rng)
    if through.name == operator == "hadamard" and not {"ordering", "scramble"} & {*parameters}:
        through.scramble = seed  # every row then tells as much as any other
    if through.name == "fourier" and through.centred is None:
        through.centred = False
    values = numbers(image, "image")
    unknown = values.size - int(np.isfinite(values).sum())
    if unknown:
        raise DataError(f"image: is not finite in {unknown} of {values.size} entries; give finite "
                        "numbers: an operator mixes all of them")
    if flag(through.complex, "complex") and through.name in _FREQUENCIES and values.dtype.kind != "c":
        values = values.astype(np.complex64 if values.dtype.itemsize <= 4 else np.complex128)
    if channel_axis is not None:
        values = np.moveaxis(values, channel_axis, -1)
    shape = values.shape if channel_axis is None else values.shape[:-1]
    if border is not None:
        values = _bordered(values, border, through, len(shape))
        shape = values.shape[:len(shape)]
    channels = 1 if channel_axis is None else values.shape[-1]
    through.complex = through.complex or (through.name in _FREQUENCIES and values.dtype.kind == "c")
    is_complex = values.dtype.kind == "c" or through.name in _FREQUENCIES
    coils = 1 if through.coils is None else len(through.coils)
    error, room = new_error(), ffi.new("int64_t *")
    spec, keep = through_to_c(through, shape)
    made = ffi.new("csrec_measurement *", {"shape": new_shape(shape)[0], "through": spec,
                                           "channels": channels, "is_complex": is_complex})
    check(lib.csrec_measurement_rows(made, room, error), error)
    index = _rows(made, through, int(room[0]), int(np.prod(shape)), rate, count, rows, seed)
    made.n, made.index = len(index), pointer(index, "int64_t")
    y = np.empty(int(lib.csrec_measurement_values(made)))
    x = pairs(values) if values.dtype.kind == "c" else doubles(values)
    check(lib.csrec_measurement_simulate(made, pointer(x), pointer(y), error), error)
    if sigma > 0.0:
        y += sigma * np.random.default_rng(seed).standard_normal(y.shape)
    if is_complex:
        y = y.view(np.complex128)
    if channel_axis is not None or coils > 1 or through.coils is not None:
        y = y.reshape(len(index), channels * coils)
    single = values.dtype in (np.float32, np.complex64) or values.dtype.kind in "iub"
    kind = (np.complex64 if single else np.complex128) if is_complex else (
        np.float32 if single else np.float64)
    scales = {np.dtype(np.uint8): (0.0, 255.0), np.dtype(np.uint16): (0.0, 65535.0)}
    del keep
    return Measurement(y.astype(kind, copy=False), index, shape, sigma,
                       scales.get(values.dtype), through=through)


def _bordered(values: np.ndarray, border: str, through: Through, dims: int) -> np.ndarray:
    """What of the image is measured."""
    if border not in ("pad", "cut"):
        raise ArgumentError(f"border = {shown(border)}; must be 'pad' or 'cut'")
    if through.name != "matrix" or through.block is None:
        raise ArgumentError("border is for operator matrix with block; leave it out")
    if border == "cut":
        edges = zip(_extents(through.block, values.shape[:dims], "block")[1], values.shape)
        values = values[tuple(slice(n - n % b) for b, n in edges)]
    return values


def _followed(y: Any, trajectory: Any, shape: Any) -> tuple[Any, list[Any]]:
    """The measurement of coils along a trajectory."""
    from ._measurement import Measurement, to_c
    values = numbers(y, "kspace")
    if values.ndim != 2 or shape is None:
        raise ArgumentError(f"kspace has shape {values.shape}; with a trajectory give [coils, points], "
                            "and the shape of the picture")
    if values.shape[1] != len(np.atleast_1d(trajectory)):
        raise ArgumentError(f"trajectory has shape {np.shape(trajectory)}; give "
                            f"[{values.shape[1]}, axes], a point for each of kspace {values.shape}")
    through = Through("nufft", complex=True, trajectory=trajectory)
    return to_c(Measurement(values.T.astype(np.complex128), np.arange(values.shape[1]),
                            as_tuple(shape, "shape"), through=through))


def _kspace(y: Any, mask: Any, centred: bool) -> tuple[np.ndarray, Any, list[Any]]:
    """k-space [coils, shape], and the measurement of those of its frequencies that are known."""
    from ._measurement import Measurement, to_c
    values = numbers(y, "kspace")
    if not 2 <= values.ndim <= 4:
        raise ArgumentError(f"kspace has shape {values.shape}; give [coils, 1 to 3 axes]")
    known = (values != 0).any(0) if mask is None else np.asarray(mask, bool)
    if known.shape != values.shape[1:]:
        raise ArgumentError(f"mask has shape {known.shape}; give {values.shape[1:]}")
    scan = Measurement(values[:, known].T.astype(np.complex128), np.flatnonzero(known), known.shape,
                       through=Through("fourier", complex=True, centred=flag(centred, "centred")))
    return values, *to_c(scan)


def estimate_coils(kspace: Any, mask: Any = None, *, centred: bool = True, kernel: int = 0,
                   calibration: int = 0, threshold: float = 0.0, crop: float = 0.0,
                   threads: int = 0, trajectory: Any = None, shape: Any = None) -> np.ndarray:
    """Sensitivities of coils from the complete lines in the middle of k-space (ESPIRiT).

    Parameters
    ----------
    kspace : array_like
        [coils, axes of the picture], complex
    mask : array_like, optional
        bool, what was measured; default: what is not 0 in all coils
    centred : bool, optional
        frequency 0 is in the middle, as of fastMRI, BART and SigPy; else first, as of numpy.fft
    kernel : int, optional
        entries of a window along an axis; 0: 6, of volumes 5
    calibration : int, optional
        lines of the middle that are used, at most; 0: 24, of volumes 16
    threshold : float, optional
        eigenvalues of windows below this share of the largest are noise; 0: 0.001
    crop : float, optional
        sensitivities are 0 where their eigenvalue is below; 0: 0.8
    threads : int, optional
        0: all cores
    trajectory : array_like, optional
        [points, axes of the picture], as of :class:`Through`: kspace is [coils, points] then
    shape : tuple of int, optional
        with a trajectory: of the picture

    Returns
    -------
    coils : numpy.ndarray
        complex, [coils, axes of the picture]: squares of an entry sum to 1, or 0 where nothing was seen

    Notes
    -----
    Fewer than 6 complete lines of an axis in the middle are a :class:`DataError`.

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> v, u = np.mgrid[:64, :64] / 64
    >>> maps = np.stack([1 - u / 2, 0.5 + v / 2])
    >>> kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(maps * image, (1, 2))), (1, 2))
    >>> found = csrecover.estimate_coils(kspace)
    >>> bool(abs(np.hypot(*abs(found[:, 30:34, 30:34])) - 1).max() < 1e-6)
    True
    """
    if trajectory is None:
        values, made, keep = _kspace(kspace, mask, centred)
        extents = values.shape
    else:
        made, keep = _followed(kspace, trajectory, shape)
        extents = (int(made.channels), *as_tuple(shape, "shape"))
    options = ffi.new("csrec_coils_options *", {
        "kernel": whole(kernel, "kernel"), "calibration": whole(calibration, "calibration"),
        "threshold": scalar(threshold, "threshold"), "crop": scalar(crop, "crop"),
        "threads": whole(threads, "threads")})
    found, error = np.zeros(extents, np.complex128), new_error()
    check(lib.csrec_coils_estimate(made, options, pointer(found), NULL, error), error)
    del keep
    return found


def whiten(measurement: Any, noise: Any) -> Any:
    """The measurement with the noise of its coils made white, as the tool does by --noise.

    Parameters
    ----------
    measurement : Measurement
        complex, through an operator
    noise : array_like
        its covariance [coils, coils], the mean of n n^H, or samples of it [coils, N] with N > coils

    Returns
    -------
    white : Measurement
        y, and the sensitivities where it has them, times the inverse of the Cholesky factor of the
        covariance; sigma is sqrt(1/2). Estimate coils afterwards

    Examples
    --------
    >>> scan = csrecover.measure(np.ones((8, 8)), "fourier", coils=np.ones((2, 8, 8)))
    >>> round(float(abs(csrecover.whiten(scan, 4 * np.eye(2)).y).max()), 9)
    32.0
    """
    from ._measurement import Measurement, from_c, to_c
    if not isinstance(measurement, Measurement) or measurement.through is None:
        raise ArgumentError(f"{shown(measurement)} is no Measurement through an operator")
    through = measurement.through
    if through.coils is not None:
        through = replace(through, coils=np.array(through.coils, np.complex128))
    made, keep = to_c(replace(measurement, y=np.array(measurement.y), through=through))  # is changed
    n = numbers(noise, "noise").astype(np.complex128)
    coils = int(lib.csrec_measurement_values(made)) // max(2 * int(made.n), 1)
    if n.ndim != 2 or len(n) != coils:
        raise ArgumentError(f"noise has shape {n.shape}, and the measurement {coils} coils; give its "
                            f"covariance [{coils}, {coils}] or samples of it [{coils}, N]")
    if n.shape[1] != coils:
        n = n @ n.conj().T / n.shape[1]
    values, error = pairs(n), new_error()
    check(lib.csrec_coils_whiten(made, pointer(values), error), error)
    found = from_c(made)
    del keep
    return replace(measurement, y=found.y, sigma=found.sigma, through=found.through)


def _rows(made: Any, through: Through, all_rows: int, entries: int, rate: Optional[float],
          count: Optional[int], rows: Optional[str], seed: int) -> np.ndarray:
    if rate is not None and count is not None:
        raise ArgumentError("give rate, the share of rows to measure, or count, their number")
    if rate is not None:
        if not 0.0 < scalar(rate, "rate") <= 1.0:
            raise ArgumentError(f"rate = {rate}; must be above 0 and at most 1")
        count = max(1, int(np.floor(rate * entries + 0.5)))
    if count is None:
        if rows is not None:
            raise ArgumentError(f"rows = {shown(rows)} chooses some of the rows; give rate or count, "
                                "or leave it out")
        return np.arange(all_rows)
    if rows is None:
        ordered = through.ordering not in (None, "natural") and through.scramble is None
        several = through.name == "fourier" and made.shape.dims > 1
        rows = "lines" if several else "first" if ordered else "uniform"
    way = number("rows", "csrec_row_choice", rows, ROWS)
    found, error = ffi.gc(ffi.new("csrec_sampling *"), lib.csrec_sampling_clear), new_error()
    check(lib.csrec_sampling_rows(made, way, whole(count, "count"), seed, found, error), error)
    return copied(found.index, found.n, "int64_t", np.int64)
