# SPDX-License-Identifier: BSD-3-Clause
"""A signal while it is measured: samples are added, pictures and the next positions asked for."""
from __future__ import annotations

import inspect
import os
from threading import RLock
from types import TracebackType
from typing import Any, Optional, Union

import numpy as np

from ._arguments import SEED, as_tuple, flag, pair, scalar, seed_of, whole
from ._errors import ArgumentError, DataError
from ._guides import guided, guides_to_c
from ._library import (NULL, check, copied, doubles, ffi, indices, lib, new_error, new_shape, path_bytes,
                       pointer, real)
from ._measurement import Measurement, from_c
from ._next import _like
from ._options import options_of, settings
from ._progress import Callback, Watch


class Session:
    """A signal while it is measured. What is recovered is kept until samples are added, and learned
    priors and networks stay ready on their device.

    Parameters
    ----------
    shape : int or sequence of int
        of the signal, 1 to 3 axes
    channels : int, optional
        values at each position; pictures of several have a last axis of them
    sigma : float, optional
        standard deviation of the noise of one measurement, or ray
    scale : (float, float), optional
        values of black and white
    rays : bool, optional
        samples are means of rays of a renderer, and :meth:`next` sends rays
    guide : array_like or dict, optional
        what is known beside the samples, as of :func:`recover`
    allowed : array_like of bool, optional
        where it is false, nothing can be measured
    sequence : bool, optional
        with ``quality``: frames follow (:meth:`frame`)
    callback : callable, optional
        called with a :class:`Progress`; a true result stops what runs
    **options
        as of :func:`recover`: quality, method, threads, backend and others that choose how

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64).astype(float)
    >>> with csrecover.Session(image.shape) as session:
    ...     for _ in range(3):
    ...         at = session.next(200)
    ...         left = session.add(at, image.flat[at])
    ...     found, count = session.picture(), len(session.samples.y)
    >>> found.shape, count
    ((64, 64), 600)
    """

    def __init__(self, shape: Any, *, channels: int = 1, sigma: float = 0.0,
                 scale: Optional[tuple[float, float]] = None, rays: bool = False, guide: Any = None,
                 allowed: Any = None, sequence: bool = False, callback: Optional[Callback] = None,
                 **options: Any) -> None:
        known = inspect.signature(options_of).parameters
        settings({key: value for key, value in options.items() if key not in known}, Session, options_of)
        self._shape, self._channels = as_tuple(shape), whole(channels, "channels")
        if self._channels < 1:
            raise ArgumentError(f"channels = {channels}; must be 1 or more")
        self._rays, self._watch, self._lock = flag(rays, "rays"), Watch(callback), RLock()
        self._form = (*self._shape, *([self._channels] if self._channels != 1 else []))
        made, keep = ffi.new("csrec_session_options *"), []
        made.shape, made.channels, made.rays = new_shape(self._shape)[0], self._channels, self._rays
        made.sigma = scalar(sigma, "sigma")
        if scale is not None:
            made.scale = pair(scale, "scale")
        if allowed is not None:
            keep.append(np.ascontiguousarray(_like("allowed", allowed, self._shape) != 0, np.uint8))
            made.allowed = pointer(keep[-1], "uint8_t")
        one = ffi.new("csrec_measurement *", {"channels": self._channels, "sigma": made.sigma, "n": 1})
        one.shape, one.sequence = made.shape, flag(sequence, "sequence")
        if sequence:
            one.shape = new_shape((1, *self._shape))[0]
        if rays:
            keep.append(ffi.new("double[1]", [1.0]))
            one.rays = keep[-1]
        made.guides = self._guides(guide, keep)
        one.guides = made.guides
        self._options = [options_of(one, keep, Session, **options), keep]
        self._options[0].solve.progress = self._watch.function
        made.recover = self._options[0]
        room, error = ffi.new("csrec_session **"), new_error()
        check(lib.csrec_session_create(made, room, error), error)
        self._handle: Any = ffi.gc(room[0], lib.csrec_session_destroy)

    def _guides(self, guide: Any, keep: list[Any]) -> Any:
        if guide is None:
            return NULL
        form = ffi.new("csrec_measurement *")
        m = Measurement(np.empty(0), np.empty(0, np.int64), self._shape)
        keep.append(guides_to_c(guided(m, guide), form))
        return form.guides

    def _call(self, function: Any, *arguments: Any) -> None:
        error = new_error()
        with self._lock:
            if self._handle is None:
                raise ArgumentError("the session is closed; begin another")
            with self._watch:
                status = function(self._handle, *arguments, error)
        check(status, error)

    def add(self, positions: Any, values: Any, sigma: Any = None, rays: Any = None) -> int:
        """Adds measurements.

        Parameters
        ----------
        positions : array_like of int
            [n] flat C-order positions, or [n, axes] coordinates. One that was measured before gets the
            mean: by rays, by 1 / sigma^2, or of all alike
        values : array_like
            [n], or [n, channels]
        sigma : float or array_like, optional
            standard deviation of the noise: of all, of each sample, or as values
        rays : float or array_like, optional
            numbers of rays, of a session with rays

        Returns
        -------
        left : int
            how many were left out, as a value is NaN or infinite; all others are there
        """
        at = np.asarray(positions)
        if at.ndim == 2 and at.shape[1] == len(self._shape) and at.dtype.kind in "iu":
            if at.size and ((at < 0) | (at >= self._shape)).any():
                raise DataError(f"positions are outside of the shape {self._shape}")
            at = np.ravel_multi_index(tuple(at.T), self._shape)
        index = np.ascontiguousarray(indices(at, "positions"), np.int64)
        n, channels = len(index), self._channels
        y = doubles(real(values, "values"))
        if y.shape not in ((n,), (n, channels)) or y.size != n * channels:
            raise DataError(f"values have shape {y.shape} at {n} positions; give [{n}], or "
                            f"[{n}, {channels}]")
        own, sent = self._each(sigma, "sigma", channels), self._each(rays, "rays", 0)
        keep = [own(n), sent(n)]
        left = ffi.new("int64_t *")
        self._call(lib.csrec_session_add, n, pointer(index, "int64_t"), pointer(y),
                   *(NULL if one is None else pointer(one) for one in keep), left)
        return int(left[0])

    @staticmethod
    def _each(given: Any, name: str, channels: int) -> Any:
        def of(n: int) -> Optional[np.ndarray]:
            if given is None:
                return None
            found = real(given, name)
            if found.ndim == 1 and channels:
                found = found[:, None]
            try:
                return doubles(np.broadcast_to(found, (n, channels) if channels else (n,)))
            except ValueError:
                raise DataError(f"{name} has shape {np.shape(given)} for {n} samples") from None
        return of

    def picture(self) -> np.ndarray:
        """The whole signal from what is measured: that of :func:`recover` of :attr:`samples`."""
        signal = np.empty(self._form)
        self._call(lib.csrec_session_picture, pointer(signal), NULL)
        return signal

    def expected(self) -> tuple[np.ndarray, float]:
        """The expected root mean square error of each value of :meth:`picture`, and of all."""
        errors, rms = np.empty(self._form), ffi.new("double *")
        self._call(lib.csrec_session_expected, pointer(errors), rms)
        return errors, float(rms[0])

    def next(self, n: int, *, again: bool = False, even: bool = False, path: bool = False,
             tile: Any = None, most: int = 0, move: tuple[float, float] = (0.0, 0.0), seed: int = SEED, rng: Any = None) -> Any:
        """Where to measure next.

        Parameters
        ----------
        n : int
            how many positions; measurements, of a session with rays or with ``again``
        again : bool, optional
            known positions, too, where samples have noise
        even : bool, optional
            spread evenly, without a recovery
        path : bool, optional
            in the order of a short path
        tile : int or sequence of int, optional
            extents of tiles that are measured as a whole: (1, width) for lines of a scanner; as many as
            hold n
        move : (float, float), optional
            what moving costs a scanner, in times of one measurement: of each move but that ahead along
            a line, and of each position that is passed. Then n is a time, and positions are in the
            order to measure them
        most : int, optional
            measurements of a position, known ones included; 0: any number
        seed, rng : int, Generator or RandomState, optional
            draws them

        Returns
        -------
        index : ndarray of int64
            flat C-order positions; with rays or ``again`` a pair, index and numbers of measurements
        """
        options = ffi.new("csrec_session_next_options *")
        options.count, options.seed, options.most = whole(n, "n"), seed_of(seed, rng), whole(most, "most")
        options.again, options.even = flag(again, "again"), flag(even, "even")
        options.path, options.move = flag(path, "path"), pair(move, "move")
        if tile is not None:
            options.tile = new_shape(as_tuple(tile))[0]
        found = ffi.gc(ffi.new("csrec_sampling *"), lib.csrec_sampling_clear)
        self._call(lib.csrec_session_next, options, found)
        index = copied(found.index, found.n, "int64_t", np.int64)
        if found.rays == NULL:
            return index
        return index, copied(found.rays, found.n, "int64_t", np.int64)

    def frame(self, guide: Any = None) -> None:
        """The next frame of a sequence of pictures, of which nothing is measured yet; ``guide``: its
        own, None: those before. It is recovered with the help of the frames before it."""
        keep: list[Any] = []
        self._call(lib.csrec_session_frame, self._guides(guide, keep))

    @property
    def samples(self) -> Measurement:
        """What is measured, of the frame: a copy."""
        with self._lock:
            if self._handle is None:
                raise ArgumentError("the session is closed; begin another")
            m = lib.csrec_session_samples(self._handle)
            if m == NULL:
                raise MemoryError("out of memory for samples")
            return from_c(m)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """What is measured of the frame, into a file for :meth:`load` and :func:`read`."""
        self._call(lib.csrec_session_save, path_bytes(path))

    def load(self, path: Union[str, os.PathLike[str]]) -> None:
        """Adds what :meth:`save` kept, to a session that was begun in the same way."""
        self._call(lib.csrec_session_load, path_bytes(path))

    def close(self) -> None:
        """Frees all."""
        with self._lock:
            self._handle = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, _kind: Optional[type[BaseException]], _error: Optional[BaseException],
                 _traceback: Optional[TracebackType]) -> None:
        self.close()
