# SPDX-License-Identifier: BSD-3-Clause
"""Measuring in rounds, where a recovery expects to be wrong."""
from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np

from ._arguments import SEED, as_tuple, pair, scalar, seed_of, whole, word
from ._errors import ArgumentError, DataError
from ._library import NULL, check, copied, ffi, lib, new_error, new_shape, pointer
from ._measurement import Measurement, from_c, to_c
from ._next import _like
from ._progress import Callback, Watch


def measure_rounds(measure: Callable[[np.ndarray], Any], shape: Any, budget: int, *, channels: int = 1,
             first: int = 0, rounds: int = 0, goal: float = 0.0, sigma: float = 0.0,
             scale: Optional[tuple[float, float]] = None, allowed: Any = None,
             start: Optional[Measurement] = None, seed: int = SEED, rng: Any = None,
             backend: str = "auto",
             threads: int = 0, callback: Optional[Callback] = None,
             progress: Any = None) -> Measurement:
    """Measures a signal in rounds: first evenly, then where a recovery of what is known expects errors.

    Parameters
    ----------
    measure : callable
        called with positions, an int64 array [n, axes] in the order of a short path; returns the
        values there, [n], or [n, channels]. An exception ends the measuring and is raised
    shape : int or sequence of int
        of the signal, 1 to 3 axes
    budget : int
        samples in all
    channels : int, optional
        values at each position
    first : int, optional
        of them in the first, even round; 0: a fifth
    rounds : int, optional
        after the first one; 0: 8
    goal : float, optional
        the expected root mean square error, in units of the values, at which it ends; 0: none
    sigma, scale
        standard deviation of a value's noise; values of black and white
    allowed : array_like of bool, optional
        bool array: where it is false, nothing can be measured
    start : Measurement, optional
        a measurement to go on from, as one whose callback stopped it; it counts for the budget
    seed, rng : int, Generator or RandomState, optional
        draws positions; rng: in its place a Generator, a RandomState or a number
    backend, threads
        as of :func:`recover`
    callback : callable, optional
        called with a :class:`Progress`; a true result stops, and what is measured is returned
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is

    Returns
    -------
    scan : Measurement
        for :func:`recover`

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scan = csrecover.measure_rounds(lambda at: image[at[:, 0], at[:, 1]], image.shape, 600)
    >>> len(scan.y)
    600
    """
    extents = as_tuple(shape)
    made = ffi.gc(ffi.new("csrec_measurement *"), lib.csrec_measurement_clear)
    made.shape, made.channels, made.dtype = new_shape(extents)[0], whole(channels, "channels"), \
        lib.CSREC_F64
    error, failed = new_error(), []
    if start is not None:
        if tuple(start.shape) != extents:
            raise ArgumentError(f"start has shape {start.shape}, not {extents}")
        owner = to_c(start)
        check(lib.csrec_measurement_merge(1, ffi.new("csrec_measurement *[]", [owner[0]]), made,
                                          ffi.new("int64_t[2]"), error), error)
        channels = int(made.channels)
    made.sigma = scalar(sigma, "sigma") if start is None else start.sigma
    if scale is not None:
        made.scale = pair(scale, "scale")

    def take(n: int, index: Any, y: Any, _context: Any) -> int:
        flat = copied(index, n, "int64_t", np.int64)
        values = np.asarray(measure(np.stack(np.unravel_index(flat, extents), axis=1)), np.float64)
        if values.shape not in ((n,), (n, channels)) or values.size != n * channels:
            raise DataError(f"measure returned values of shape {values.shape} at {n} positions; "
                            f"give [{n}], or [{n}, {channels}] for {channels} channels")
        ffi.memmove(y, np.ascontiguousarray(values), 8 * n * channels)
        return 0

    def keep(_kind: Any, reason: BaseException, _traceback: Any) -> None:
        failed.append(reason)

    recover = ffi.new("csrec_recover_options *")
    lib.csrec_recover_defaults(recover)
    name = ffi.new("char[]", word(backend, "backend"))
    recover.backend, recover.threads = name, whole(threads, "threads")
    places = None if allowed is None else np.ascontiguousarray(
        _like("allowed", allowed, extents) != 0, dtype=np.uint8)
    options = ffi.new("csrec_adaptive_options *", {
        "budget": whole(budget, "budget"), "first": whole(first, "first"),
        "rounds": whole(rounds, "rounds"), "goal": scalar(goal, "goal"),
        "seed": seed_of(seed, rng),
        "allowed": NULL if places is None else pointer(places, "uint8_t"), "recover": recover})
    instrument = ffi.callback("csrec_measure_fn", take, error=int(lib.CSREC_STOPPED), onerror=keep)
    with Watch(callback, progress) as watch:
        options.progress = watch.function
        status = lib.csrec_adaptive(options, instrument, NULL, made, NULL, error)
        if failed:
            raise failed[0]
    check(status, error)
    return from_c(made)
