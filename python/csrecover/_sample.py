# SPDX-License-Identifier: BSD-3-Clause
"""Where samples of a signal are taken, and taking them."""
from __future__ import annotations

from typing import Any, NoReturn, Optional

import numpy as np

from ._arguments import SEED, as_tuple, scalar, seed_of, whole
from ._errors import ArgumentError
from ._guides import guided
from ._library import (NULL, check, copied, ffi, lib, new_error, new_shape, number, real,
                       unknown_argument)
from ._measurement import PATTERNS, Measurement
from ._progress import Callback, Watch


def _draw(shape: tuple[int, ...], count: int, pattern: str, seed: int,
          callback: Optional[Callback] = None, progress: Any = None) -> tuple[np.ndarray, float]:
    made = ffi.gc(ffi.new("csrec_sampling *"), lib.csrec_sampling_clear)
    error = new_error()
    which = number("pattern", "csrec_pattern", pattern, PATTERNS)
    with Watch(callback, progress) as watch:
        status = lib.csrec_sampling_create_watched(new_shape(shape), which, count, seed,
                                                   watch.function, NULL, made, error)
    check(status, error)
    return copied(made.index, made.n, "int64_t", np.int64), made.min_distance


def positions_of(shape: Any, count: int, pattern: str = "uniform", seed: int = SEED, *,
                 rng: Any = None) -> np.ndarray:
    """Positions as :func:`sample` draws them.

    Parameters
    ----------
    shape : int or sequence of int
        of the signal
    count : int
        how many
    pattern : str, optional
        'uniform', 'jitter', or 'poisson' (2-D and 3-D)
    seed, rng : int, Generator or RandomState, optional
        draws them; rng: in its place a Generator, a RandomState or a number

    Returns
    -------
    index : ndarray of int64
        [count] distinct flat C-order positions, ascending: the same on every platform and for any
        number of threads

    Examples
    --------
    >>> len(csrecover.positions_of((20, 30), 50))
    50
    """
    return _draw(as_tuple(shape), whole(count, "count"), pattern, seed_of(seed, rng))[0]


def sample(image: Any, rate: Optional[float] = None, pattern: Optional[str] = None,
           seed: int = SEED, *, count: Optional[int] = None,
           channel_axis: Optional[int] = None, rng: Any = None, guide: Any = None,
           callback: Optional[Callback] = None, progress: Any = None,
           **unknown: NoReturn) -> Measurement:
    """Takes samples of a signal.

    Parameters
    ----------
    image : array_like
        array of any number of axes up to 8
    rate, count
        share of the entries to sample, 0 to 1, or their number
    pattern : str, optional
        'uniform', 'jitter' or 'poisson' (no two samples too close; 2-D and 3-D). Default: as the
        tool cssample, 'poisson' for 2-D and 3-D, else 'jitter'
    seed, rng : int, Generator or RandomState, optional
        draws the positions; rng: in its place a Generator, a RandomState or a number
    channel_axis : int, optional
        axis of the image that holds channels, -1 for [H, W, 3]; they share the positions
    guide : array_like or dict, optional
        as of :func:`recover`
    callback : callable, optional
        called with a :class:`Progress`; a true result raises :class:`Stopped`
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is
    **unknown
        refused, with the argument of a similar name

    Returns
    -------
    scan : Measurement
        the values at the positions drawn

    Notes
    -----
    y keeps the image's dtype; uint8 and uint16 set ``scale`` to their range.

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scan = csrecover.sample(image, rate=0.3)
    >>> scan.shape, len(scan.y)
    ((64, 64), 1229)
    """
    for key in unknown:
        raise unknown_argument(key, ["rate", "pattern", "seed", *(sample.__kwdefaults__ or {})],
                               "; noise is added to image beforehand" if key == "sigma" else
                               "; see sample for its arguments")
    masked = isinstance(image, np.ma.MaskedArray)
    values = real(image.data if masked else image, "image")
    if masked:
        values = np.ma.MaskedArray(values, np.ma.getmaskarray(image))  # hidden samples are left out
    if channel_axis is not None:
        values = np.moveaxis(values, channel_axis, -1)
    shape = values.shape if channel_axis is None else values.shape[:-1]
    entries = int(np.prod(shape, dtype=np.int64))
    if (rate is None) == (count is None):
        raise ArgumentError("give rate, the share of entries to sample, or count, their number")
    if rate is not None:
        if not 0.0 < scalar(rate, "rate") <= 1.0:
            meant = f"; a share: {rate / 100:g} for {rate:g} %" if 1 < rate <= 100 else ""
            raise ArgumentError(f"rate = {rate}; must be above 0 and at most 1{meant}")
        count = max(1, int(np.floor(rate * entries + 0.5)))
    if pattern is None:
        pattern = "poisson" if len(shape) in (2, 3) else "jitter"
    assert count is not None
    seed = seed_of(seed, rng)
    index, distance = _draw(shape, whole(count, "count"), pattern, seed, callback, progress)
    flat = values.reshape(entries, *values.shape[len(shape):])
    scales = {np.dtype(np.uint8): (0.0, 255.0), np.dtype(np.uint16): (0.0, 65535.0)}
    made = Measurement(flat[index], index, shape, scale=scales.get(values.dtype),
                       pattern=pattern, seed=seed, count=count, min_distance=distance)
    return guided(made, guide)
