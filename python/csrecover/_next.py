# SPDX-License-Identifier: BSD-3-Clause
"""Where to measure next, in which order, and several scans as one."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from ._arguments import SEED, as_tuple, seed_of, whole
from ._errors import ArgumentError, DataError, warn
from ._library import (NULL, check, copied, doubles, ffi, lib, new_error, new_shape, pointer,
                       positions, real)
from ._measurement import Measurement, from_c, to_c
from ._progress import Callback, Watch


def where_next(measured: Any, k: int, density: Any = None, *, allowed: Any = None, most: int = 0,
               seed: int = SEED, rng: Any = None, callback: Optional[Callback] = None,
               progress: Any = None) -> Any:
    """The positions to measure next; of samples with rays, where to send the next rays.

    Parameters
    ----------
    measured : Measurement or array_like of bool
        a :class:`Measurement`, or a bool array of the signal's shape that is true where measured
        (nowhere: an array of False); 1 to 3 axes
    k : int
        how many positions, or rays
    density : array_like or "expected", optional
        array of the signal's shape, >= 0 in any unit: where the error is thought to be large. There
        are more positions where it is larger, and they keep a distance from each other and from
        what is measured, about 1 / sqrt(density) in a picture. "expected": the errors that a
        recovery of the measurement expects, as ``cssample --next`` has them. None: the same
        everywhere
    allowed : array_like of bool, optional
        bool array: where it is false, nothing can be measured
    most : int
        rays that a position may have, known ones included; 0: any number
    seed, rng : int, Generator or RandomState, optional
        draws them; rng: in its place a Generator, a RandomState or a number
    callback : callable, optional
        called with a :class:`Progress`; a true result raises :class:`Stopped`
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is

    Returns
    -------
    index : ndarray of int64
        [k] flat C-order positions, ascending, distinct, none of them measured yet, the same on
        every platform and for any number of threads. Of a measurement with rays a pair, index and
        rays: positions, also known ones, and numbers >= 1 that sum to k. :func:`merge` adds what
        they find

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scan = csrecover.sample(image, rate=0.3)
    >>> index = csrecover.where_next(scan, 50)
    >>> len(index), bool(np.isin(index, scan.index).any())
    (50, False)
    >>> scan.rays = np.ones(len(scan.index))
    >>> index, rays = csrecover.where_next(scan, 5000, abs(image - 128.0))
    >>> int(rays.min()), int(rays.sum()), bool(np.isin(index, scan.index).any())
    (1, 5000, True)
    """
    if isinstance(measured, Measurement):
        index, shape = positions(None, measured.index, measured.shape)
    else:
        index, shape = positions(measured, None, None)
    sent = isinstance(measured, Measurement) and measured.rays is not None
    if isinstance(density, str):
        density = _expected(measured, density)
    error, options = new_error(), ffi.new("csrec_next_options *")
    made, keep = to_c(measured) if sent else (ffi.new("csrec_measurement *"), [])
    keep.append(pointer(index, "int64_t"))
    made.shape, made.n, made.index = new_shape(shape)[0], len(index), keep[-1]
    options.count, options.seed = whole(k, "k"), seed_of(seed, rng)
    options.most = whole(most, "most")
    weights = None if density is None else doubles(_like("density", density, shape))
    places = None if allowed is None else np.ascontiguousarray(
        _like("allowed", allowed, shape) != 0, dtype=np.uint8)
    keep_places = NULL if places is None else pointer(places, "uint8_t")
    options.allowed = keep_places
    found = ffi.gc(ffi.new("csrec_sampling *"), lib.csrec_sampling_clear)
    with Watch(callback, progress) as watch:
        options.progress = watch.function
        call = lib.csrec_rays_next if sent else lib.csrec_where_next
        status = call(made, NULL if weights is None else pointer(weights), options, found, error)
    check(status, error)
    index = copied(found.index, found.n, "int64_t", np.int64)
    return (index, copied(found.rays, found.n, "int64_t", np.int64)) if sent else index


def _expected(measured: Any, word: str) -> np.ndarray:
    """The errors that the default recovery expects, over all channels."""
    if word != "expected" or not isinstance(measured, Measurement):
        raise ArgumentError(f"density is '{word}'; give an array, or 'expected' with a Measurement")
    made, keep = to_c(measured)
    options, error = ffi.new("csrec_recover_options *"), new_error()
    lib.csrec_recover_defaults(options)
    density = np.zeros(tuple(as_tuple(measured.shape)))
    check(lib.csrec_uncertainty_density(made, options, pointer(density), error), error)
    return density


def _fit(index: Any, shape: Any) -> bool:
    """Whether these can be positions in a signal of that shape."""
    at, extents = np.asarray(index), np.ravel(shape)
    return (at.ndim == 1 and len(extents) <= 3 and at.dtype.kind in "iu" and extents.dtype.kind in "iu"
            and bool((extents > 0).all() and (at >= 0).all() and (at < extents.prod(dtype=float)).all()))


def path_order(index: Any, shape: Any, *, callback: Optional[Callback] = None,
               progress: Any = None) -> np.ndarray:
    """Positions in the order of a short path, as an instrument would visit them.

    Parameters
    ----------
    index : array_like of int
        [n] flat C-order positions
    shape : int or sequence of int
        of the signal
    callback : callable, optional
        called with a :class:`Progress`; a true result raises :class:`Stopped`
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is

    Returns
    -------
    ordered : ndarray of int64
        a permutation of index, no longer than the order given

    Examples
    --------
    >>> csrecover.path_order([0, 9, 1, 8], 10).tolist() in ([0, 1, 8, 9], [9, 8, 1, 0])
    True
    """
    listed = isinstance(shape, (list, np.ndarray))  # as positions are, and shapes seldom
    if _fit(shape, index) and (listed and isinstance(index, tuple)
                               or (listed or isinstance(index, tuple)) and not _fit(index, shape)):
        raise ArgumentError("shape: has positions, and index is a shape that they fit; give "
                            "path_order(index, shape)")
    found, extents = positions(None, index, shape)
    ordered, error = found.copy(), new_error()
    with Watch(callback, progress) as watch:
        status = lib.csrec_path_order(new_shape(extents), len(ordered), pointer(ordered, "int64_t"),
                                      watch.function, NULL, NULL, error)
    check(status, error)
    return ordered


def merge(measurements: Sequence[Measurement]) -> Measurement:
    """Joins measurements of the same shape, channels and scale.

    Parameters
    ----------
    measurements : sequence of Measurement
        at least one

    Returns
    -------
    joined : Measurement
        their positions together

    Notes
    -----
    A position that several have gets the mean of its values, weighted by 1 / sigma^2 where each of
    these has a sigma. A warning tells where values contradict each other: by more than 6 standard
    deviations of their difference, or 5 % of the range where there is no sigma.

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scans = [csrecover.sample(image, count=200, seed=seed) for seed in (1, 2)]
    >>> 200 < len(csrecover.merge(scans).y) <= 400
    True
    """
    made = [to_c(m) for m in measurements]
    parts = ffi.new("csrec_measurement *[]", [part for part, _ in made] or 1)
    merged = ffi.gc(ffi.new("csrec_measurement *"), lib.csrec_measurement_clear)
    contradictions, error = ffi.new("int64_t[2]"), new_error()
    check(lib.csrec_measurement_merge(len(made), parts, merged, contradictions, error), error)
    result = from_c(merged)
    if contradictions[0]:
        place = tuple(int(i) for i in np.unravel_index(contradictions[1], result.shape))
        warn(f"merged measurements contradict each other at {contradictions[0]} positions, "
             f"first at {place}; their mean is used", UserWarning)
    return result


def _like(name: str, array: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = real(array, name)
    if found.shape != as_tuple(shape):
        raise DataError(f"{name} has shape {found.shape}, the measurement {shape}; give one value "
                        "for each entry")
    return found
