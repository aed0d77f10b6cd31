# SPDX-License-Identifier: BSD-3-Clause
"""Samples of a signal, and the files that hold them."""
from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ._arguments import as_tuple, flag, pair, scalar, seed_of, shown, whole
from ._errors import ArgumentError, DataError, RecoveryWarning, warn
from ._guides import guides_from_c, guides_to_c
from ._html import picture, table
from ._labels import one_array
from ._library import (NULL, check, copied, doubles, ffi, indices, lib, new_error, new_shape, number,
                       numbers, path_bytes, pointer, real, text, true_where)
from ._progress import Callback, Watch
from ._through import Through, pairs, through_from_c, through_to_c

PATTERNS = ("uniform", "poisson", "jitter")
_CODES = {"BOOL": "b1", "U8": "u1", "I8": "i1", "U16": "u2", "I16": "i2", "U32": "u4",
          "I32": "i4", "U64": "u8", "I64": "i8", "F32": "f4", "F64": "f8"}
_DTYPES = {value: np.dtype(_CODES[name[len("CSREC_"):]])
           for value, name in ffi.typeof("csrec_dtype").elements.items()}
_NUMBERS = {dtype: value for value, dtype in _DTYPES.items()}


@dataclass(frozen=True)
class Placement:
    """Where samples at real coordinates were put: cell i of axis d has its middle at
    origin[d] + i * step[d]."""

    origin: tuple[float, ...]
    step: tuple[float, ...]
    farthest: float
    """most cells, along an axis, from a sample to the middle of its cell"""
    shared: int
    """samples that are not alone in their cell, which has their mean"""
    moved: float = 0.0
    """the most that a value changed on the way to the middle of its cell"""


@dataclass(eq=False)
class Measurement:
    """Samples of a signal: what a measurement file holds."""

    y: np.ndarray
    """[N] or [N, C] sampled values, C channels a position"""
    index: np.ndarray
    """[N] int64 flat C-order positions, distinct, any order"""
    shape: tuple[int, ...]
    """extents of the signal, without channels"""
    sigma: Any = 0.0
    """standard deviation of the noise of one sample, in units of y; 0: unknown or none. Or [N] or
    [N, C], one for each sample or value, 0 where there is none and NaN where it is not known"""
    scale: Optional[tuple[float, float]] = None
    """values of black and white"""
    pattern: Optional[str] = None
    """how positions were drawn: 'uniform', 'poisson' or 'jitter'"""
    seed: int = 0
    count: int = 0
    """positions asked for when they were drawn; 0: N"""
    min_distance: float = 0.0
    """pattern 'poisson': guaranteed distance of any two samples, in pixels"""
    placement: Optional[Placement] = None
    """of a .csv, the coordinates of which are places, not positions: how they became cells"""
    through: Optional[Through] = None
    """the operator that was measured through: index then numbers its rows, and with coils y is
    [N, coils]; None: y has entries of the signal"""
    guides: Optional[np.ndarray] = None
    """[K, shape] float32, planes that are known beside the samples, NaN where they are not: albedo,
    normals and depth of a rendering, the photograph of a depth map, other bands"""
    guide_names: Optional[tuple[str, ...]] = None
    """[K] names; planes called albedo serve the channel of their number, others all"""
    sequence: bool = False
    """of three axes the first is time: frames, each with samples of its own"""
    rays: Optional[np.ndarray] = None
    """[N] > 0, measurements, as rays of a renderer, that each sample is the mean of; a sigma that is
    one number is then that of one ray"""
    _table = False  # read from a matrix of a .csv
    _picture = None  # the dtype of a whole picture, if from_file read it

    def __post_init__(self) -> None:
        """What a masked array of numpy.ma hides is not known: samples are left out that are
        hidden in all channels, others are NaN in those that are."""
        if isinstance(self.y, np.ma.MaskedArray):
            hidden = np.ma.getmaskarray(self.y)
            known = ~hidden.all(axis=tuple(range(1, hidden.ndim)))
            if not known.all():
                self.index, self.pattern, self.count = np.asarray(self.index)[known], None, 0
            self.y, hidden = self.y.data[known], hidden[known]
            if hidden.any():
                none = complex(np.nan, np.nan) if self.y.dtype.kind == "c" else np.nan
                self.y = np.where(hidden, none, self.y)

    @property
    def mask(self) -> np.ndarray:
        """bool, the signal's shape: true where sampled."""
        mask = np.zeros(self.shape, bool)
        mask.reshape(-1)[indices(self.index, "index", mask.size)] = True
        return mask

    @property
    def rate(self) -> float:
        """Share of the signal's entries that are sampled."""
        return len(self.index) / float(np.prod(self.shape, dtype=np.float64))

    def _repr_html_(self) -> str:
        y, below = np.asarray(self.y), ""
        channels = y.shape[1:]
        entries = self.through is None and y.dtype.kind != "c"
        if entries and len(self.shape) == 2 and channels in ((), (3,)) and len(y):
            values = np.zeros((*self.shape, *channels))
            values.reshape(-1, *channels)[indices(self.index, "index", self.mask.size)] = y
            below = picture(values, self.scale, self.mask)
        return table("Measurement", {
            "shape": " x ".join(map(str, self.shape)), "channels": channels[0] if channels else 1,
            "samples": f"{len(self.index)} ({100 * self.rate:.3g} %)", "pattern": self.pattern,
            "guides": ", ".join(dict.fromkeys(self.guide_names or ())) or None,
            "rays": None if self.rays is None else f"{np.sum(self.rays):.6g} in all",
            "sigma": (self.sigma or None) if np.ndim(self.sigma) == 0 else "of each sample", "scale": self.scale, "dtype": y.dtype}, below)


def picked(m: Measurement, which: Any) -> Measurement:
    """Samples that a mask or an order of theirs picks; no longer those that a pattern draws."""
    def of(array: Any) -> Any:
        return array if array is None or np.ndim(array) == 0 else np.asarray(array)[which]
    return replace(m, y=of(m.y), index=of(m.index), sigma=of(m.sigma), rays=of(m.rays), pattern=None,
                   count=0)


def _each(m: Measurement, made: Any) -> list[Any]:
    """rays, and sigma of each sample, into a csrec_measurement; what must be kept alive with it."""
    keep: list[Any] = []
    n, channels = int(made.n), int(made.channels)
    if m.rays is not None:
        rays = doubles(real(m.rays, "rays"))
        if rays.shape != (n,):
            raise ArgumentError(f"rays have shape {rays.shape}; give one number for each of {n} samples")
        keep += [rays, pointer(rays)]
        made.rays = keep[-1]
    if np.ndim(m.sigma) == 0:
        made.sigma = scalar(m.sigma, "sigma")
        return keep
    own = real(m.sigma, "sigma").astype(float)
    if own.shape not in ((n,), (n, channels)):
        raise ArgumentError(f"sigma has shape {own.shape}; give a number, or one for each of {n} samples "
                            f"or {n} x {channels} values")
    own = doubles(np.broadcast_to(own.reshape(n, -1), (n, channels)))
    keep += [own, pointer(own)]
    made.deviation = keep[-1]
    return keep


def to_c(m: Measurement) -> tuple[Any, list[Any]]:
    """csrec_measurement * that points into m's arrays, and what must be kept alive with it."""
    if not isinstance(m, Measurement):
        raise ArgumentError(f"{shown(m)} is no Measurement; sample and measure make one")
    y, index = numbers(m.y, "y"), indices(
        m.index, "index", np.prod(as_tuple(m.shape), dtype=float) if m.through is None else 2.0**63)
    if y.ndim not in (1, 2) or index.ndim != 1 or len(y) != len(index):
        raise ArgumentError(f"y has shape {y.shape} and index {index.shape}; give one value or one "
                            "row of channels for each sampled position")
    if y.dtype.kind in "iu" and y.dtype.itemsize == 8 and y.size:
        far = int(max(y.max(), -int(y.min())))
        if far >= 2**53:
            raise DataError(f"y: has values to {far}; integers from 2^53 on lose digits: subtract "
                            "an offset, or divide")
    values = pairs(y) if y.dtype.kind == "c" else doubles(y)
    made = ffi.new("csrec_measurement *")
    made.is_complex = y.dtype.kind == "c"
    made.shape = new_shape(m.shape)[0]
    made.n, made.channels = len(y), 1 if y.ndim == 1 else y.shape[1]
    made.sequence = flag(m.sequence, "sequence")
    keep = [values, index, pointer(values), pointer(index, "int64_t")]
    made.y, made.index = keep[2], keep[3]
    if m.through is not None:
        spec, own = through_to_c(m.through, tuple(m.shape))
        keep += [spec, *own]
        made.through = spec
        if m.through.coils is not None:
            made.channels = 1
            if y.ndim != 2 or y.shape[1] != spec.n_coils:
                raise ArgumentError(f"y has shape {y.shape}; give [N, {spec.n_coils}], a value for each "
                                    "of the coils")
    made.dtype = _NUMBERS.get(y.real.dtype.newbyteorder("="), lib.CSREC_F64)
    keep += _each(m, made)
    if m.guides is not None:
        keep += guides_to_c(m, made)
    made.sequence = flag(m.sequence, "sequence")
    if m.scale is not None:
        made.scale = pair(m.scale, "scale")
    if m.pattern is not None:
        made.pattern = number("pattern", "csrec_pattern", m.pattern, PATTERNS)
    made.seed, made.count = seed_of(m.seed, None), whole(m.count, "count")
    _doubt_centred(made, m.through)
    return made, keep


def _doubt_centred(made: Any, through: Optional[Through]) -> None:
    """Frequencies of which it is not said whether they are centred are as y shows."""
    unsaid = made.is_complex and (through is None or through.centred is None)
    if unsaid and lib.csrec_measurement_check(made, b"samples", NULL) == lib.CSREC_OK:
        centred, remark = ffi.new("bool *"), new_error()
        lib.csrec_doubt_centred(made, centred, remark)
        if through is not None and through.name == "fourier":
            made.through.centred = centred[0]
        if text(remark.text):
            warn(text(remark.text), RecoveryWarning)


def from_c(made: Any) -> Measurement:
    """A copy of a csrec_measurement."""
    y = copied(made.y, int(lib.csrec_measurement_values(made)), "double", np.float64)
    shape = tuple(made.shape.dim[i] for i in range(made.shape.dims))
    through = None if made.through == NULL else through_from_c(made.through, shape)
    if made.is_complex:
        y = y.view(np.complex128)
    if made.channels > 1 or (through is not None and through.coils is not None):
        y = y.reshape(made.n, -1)
    dtype = _DTYPES[made.dtype]
    if made.is_complex:
        dtype = np.dtype(np.complex64 if dtype == np.float32 else np.complex128)
    scale = (float(made.scale[0]), float(made.scale[1]))
    pattern = text(lib.csrec_pattern_name(made.pattern))
    guides, names = (None, None) if made.guides == NULL else guides_from_c(made.guides, shape)
    rays = None if made.rays == NULL else copied(made.rays, made.n, "double", np.float64)
    sigma = made.sigma if made.deviation == NULL else copied(
        made.deviation, made.n * made.channels, "double", np.float64).reshape(y.shape)
    return Measurement(y.astype(dtype, copy=False),
                       copied(made.index, made.n, "int64_t", np.int64), shape, sigma,
                       scale if scale[0] != scale[1] else None,
                       pattern if pattern in PATTERNS else None, made.seed, made.count,
                       through=through, guides=guides, guide_names=names, sequence=made.sequence,
                       rays=rays)


def read(path: str | os.PathLike[str], mask: str | os.PathLike[str] | None = None, *,
         unknown: Optional[float] = None, channels_last: bool = False,
         channels_first: bool = False, volume: bool = False, grid: Any = None,
         coordinates: Optional[str] = None, values: Optional[str] = None,
         cell_means: bool = False, labels: bool = False, noisy: bool = False, guides: bool = True,
         coils: str | os.PathLike[str] | None = None,
         noise: str | os.PathLike[str] | None = None,
         trajectory: str | os.PathLike[str] | None = None, slice: Optional[int] = None,
         callback: Optional[Callback] = None, progress: Any = None) -> Measurement:
    """Reads a measurement file: .npz, a .csv of coordinates and values, or a whole picture or array.

    Parameters
    ----------
    path : str or path
        of the file
    mask : str or path, optional
        a picture or array: what is not 0 there is known
    unknown : float, optional
        entries of this value in all channels are unknown, and values of a .csv of samples
    channels_last : bool, optional
        the last axis of an array has channels
    channels_first : bool, optional
        or its first axis; they are last in the result
    volume : bool, optional
        or none. An array [H, W, 2..4] needs one of these three
    grid : int or sequence of int, optional
        numbers of cells that the real coordinates of a .csv are put into; default: the step that they
        have, else square cells, about four for each sample
    coordinates, values : str, optional
        columns of a .csv, "lon,lat", by the names in its header or their numbers from 1
    cell_means : bool, optional
        as for :func:`place`
    labels : bool, optional
        the values are classes, for ``recover(labels=True)``: indices of a palette, not its colours
    noisy : bool, optional
        a picture or array that is known everywhere, to be denoised, is no error
    guides : bool, optional
        False: without those of the file, in a .npz, or layers of an OpenEXR: albedo, normals, depth
        (numbers of rays and variances are no guides: they are always read)
    coils : str or path, optional
        of k-space: a file of sensitivities [coils, axes of the picture]; "estimate", the default for
        BART, fastMRI and ISMRMRD; or "none", each coil is a channel
    noise : str or path, optional
        of k-space: a file of the covariance of the coils, or of samples of their noise [coils, N]
    trajectory : str or path, optional
        of k-space of BART that is on no grid: the file of its trajectory
    slice : int, optional
        of k-space of several slices; default: the middle one
    callback : callable, optional
        called with a :class:`Progress` where positions are drawn again; a true result raises
        :class:`Stopped`
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is

    Returns
    -------
    scan : Measurement
        what the file holds

    Notes
    -----
    Of whole arrays NaN is unknown, of pictures transparent pixels. What is read is checked: finite,
    distinct, in range, not empty. Warns with :class:`RecoveryWarning` of what a file does not say:
    whether frequencies are centred, whether complex values are frequencies; and with a plain
    UserWarning of what else is in the file, or was lost before.

    Examples
    --------
    >>> points = [[0.5, 10.0, 3.1], [1.5, 10.5, 2.9], [2.5, 11.0, 2.5]]     # x, y, value
    >>> np.savetxt("scan.csv", points, delimiter=",")
    >>> csrecover.read("scan.csv", grid=(3, 3)).placement.step
    (0.5, 1.0)
    """
    made = ffi.gc(ffi.new("csrec_measurement *"), lib.csrec_measurement_clear)
    error, options = new_error(), ffi.new("csrec_read_options *")
    name = NULL if mask is None else path_bytes(mask)
    given = [NULL if each is None else path_bytes(each) for each in (coils, noise, trajectory)]
    options.coils, options.noise, options.trajectory = given
    if slice is not None:
        options.has_slice, options.slice = True, whole(slice, "slice")
    options.mask, options.channels_last = name, flag(channels_last, "channels_last")
    options.channels_first = flag(channels_first, "channels_first")
    options.volume = flag(volume, "volume")
    if options.channels_last + options.channels_first + options.volume > 1:
        raise ArgumentError("channels_last, channels_first, volume: give one of them")
    cells = options.grid = _new_grid(grid)
    chosen = [NULL if names is None else path_bytes(names) for names in (coordinates, values)]
    options.coordinates, options.values = chosen
    options.cell_means = flag(cell_means, "cell_means")
    options.labels = flag(labels, "labels")
    options.noisy = flag(noisy, "noisy")
    options.no_guides = not flag(guides, "guides")
    placement = options.placement = ffi.new("csrec_placement *")
    facts = options.facts = ffi.new("csrec_facts *")
    if unknown is not None:
        options.has_unknown, options.unknown = True, scalar(unknown, "unknown")
    with Watch(callback, progress) as watch:
        options.progress = watch.function
        status = lib.csrec_measurement_read_with(path_bytes(path), options, made, error)
    check(status, error)
    if text(facts.remark.text):
        warn(text(facts.remark.text), RecoveryWarning)
    if facts.lost:
        warn(f"{os.fsdecode(path)}: pixels with rays that are NaN or infinite are left out: {facts.lost}",
             RecoveryWarning)
    if text(facts.note):
        warn(f"{os.fsdecode(path)}: {text(facts.note)}", UserWarning)
    if facts.time:
        how = ("makes frames of it; volume=True reads a volume" if facts.time == 1
               else f"is recovered as frames with time_axis={facts.time - 1}")
        warn(f"{os.fsdecode(path)}: axis {facts.time - 1} is time, which {how}", UserWarning)
    found = from_c(made)
    found.placement = _placement_from(placement)
    found._table = bool(facts.table)
    return found


def is_path(y: Any) -> bool:
    return isinstance(y, (str, os.PathLike))


def from_file(y: Any, mask: Any, labels: bool = False, noisy: bool = False) -> tuple[Any, Any]:
    """Of a path what :func:`read` reads, of which the mask is a part."""
    if not is_path(y):
        return one_array(y), mask
    if mask is not None and not is_path(mask):
        raise ArgumentError(f"y = {y!r}: the mask of a file is a file, too; or give read(y)")
    return _of_picture(read(y, mask, labels=labels, noisy=noisy), y), None


def _of_picture(m: Measurement, path: Any) -> Measurement:
    if m.y.dtype in (np.uint8, np.uint16) and len(m.shape) > 1 and Path(path).suffix != ".npz":
        m._picture = m.y.dtype
    return m


def without(path: Any, mask: Any) -> Measurement:
    """What a file holds where a mask, a file or an array, is 0."""
    m = read(path, noisy=True)
    channels = m.y.shape[1:]
    if is_path(mask):
        owner = ffi.gc(ffi.new("csrec_image *"), lib.csrec_image_clear)
        at, wide, error = ffi.new("uint8_t **"), ffi.new("bool *"), new_error()
        status = lib.csrec_mask_read(path_bytes(mask), False, new_shape(m.shape), int(np.prod(channels)),
                                     at, wide, error)
        owner.alpha = at[0]  # what it frees
        check(status, error)
        shape = (*m.shape, *channels) if wide[0] else m.shape
        mask = copied(at[0], int(np.prod(shape)), "uint8_t", np.uint8).reshape(shape)
    mask = true_where(mask, "mask")
    if mask.shape not in (tuple(m.shape), (*m.shape, *channels)):
        raise ArgumentError(f"mask has shape {mask.shape} and {path!r} {(*m.shape, *channels)}; give a mask "
                            "of the image's shape, true where it is to be filled")
    hidden = mask.reshape(int(np.prod(m.shape)), -1)[m.index].reshape(len(m.index), *mask.shape[len(m.shape):])
    hidden = np.broadcast_to(hidden if hidden.ndim == m.y.ndim else hidden[:, None], m.y.shape)
    found = replace(m, y=np.ma.MaskedArray(m.y, hidden))
    found._picture = _of_picture(m, path)._picture
    return found


def _new_grid(grid: Any) -> Any:
    cells = NULL if grid is None else new_shape(as_tuple(grid, "grid"))
    if cells and min(cells.dim[0:cells.dims]) < 1:
        raise ArgumentError(f"grid = {shown(grid)}; needs at least 1 cell along each axis")
    return cells


def _placement_from(made: Any) -> Optional[Placement]:
    origin, step = (tuple(axis[0:made.dims]) for axis in (made.origin, made.step))
    return Placement(origin, step, made.farthest, made.shared, made.moved) if made.dims else None


def place(coordinates: Any, y: Any, *, grid: Any = None, cell_means: bool = False,
          labels: bool = False) -> Measurement:
    """Samples at real coordinates, as soundings or stations, on a grid of cells.

    Parameters
    ----------
    coordinates : array_like, [N] or [N, D]
        the slowest axis first: lat, lon; of one axis times
    y : array_like, [N] or [N, C]
        values; NaN: unknown
    grid : int or sequence of int, optional
        numbers of cells; the first and the last of an axis have the first and the last coordinate
        in their middle. Default: the step that the coordinates have, else square cells, about four
        for each sample
    cell_means : bool, optional
        cells have the means of their samples; default: the values in their middles, of the
        smoothest function through neighbouring samples (of up to three axes)
    labels : bool, optional
        y are classes: cells have that of their sample, of which each may have one

    Returns
    -------
    scan : Measurement
        to be recovered; its ``placement`` says where the cells are

    Examples
    --------
    >>> times = [0.0, 0.7, 2.1, 3.0]
    >>> scan = csrecover.place(times, [0.0, 7.0, 21.0, 30.0], grid=4)
    >>> scan.y.round(9)
    array([ 0., 10., 20., 30.])
    """
    at, values = (np.ascontiguousarray(a, np.float64) for a in (coordinates, y))
    if at.ndim not in (1, 2) or values.ndim not in (1, 2) or len(at) != len(values):
        raise ArgumentError(f"coordinates {at.shape} and values {values.shape}: give [N, D] and "
                            "[N] or [N, C] of the same N")
    made, error = ffi.gc(ffi.new("csrec_measurement *"), lib.csrec_measurement_clear), new_error()
    options = ffi.new("csrec_read_options *", {"cell_means": flag(cell_means, "cell_means"),
                                               "labels": flag(labels, "labels")})
    cells = options.grid = _new_grid(grid)
    placement = options.placement = ffi.new("csrec_placement *")
    check(lib.csrec_measurement_place(
        len(at), at[0].size if len(at) else 0, ffi.from_buffer("double[]", at),
        values[0].size if len(values) else 0, ffi.from_buffer("double[]", values), options, made,
        error), error)
    del cells
    found = from_c(made)
    found.placement = _placement_from(placement)
    return found


def write(path: str | os.PathLike[str], measurement: Measurement, *,
          procedural: bool = False) -> None:
    """Writes a measurement as .npz, in y's dtype.

    Parameters
    ----------
    path : str or path
        of the file, which appears whole or not at all
    measurement : Measurement
        what it will hold
    procedural : bool, optional
        write pattern, seed and count in place of the positions, where the pattern is known

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scan = csrecover.sample(image, rate=0.3)
    >>> csrecover.write("scan.npz", scan)
    >>> csrecover.read("scan.npz").shape
    (64, 64)
    """
    if not os.fsdecode(path).lower().endswith(".npz"):
        raise ArgumentError(f"{os.fsdecode(path)}: a measurement is written as .npz; name it so")
    made, keep = to_c(measurement)
    error = new_error()
    check(lib.csrec_measurement_check(made, b"measurement", error), error)
    check(lib.csrec_measurement_write(path_bytes(path), made,
                                        flag(procedural, "procedural"), error), error)
    del keep
