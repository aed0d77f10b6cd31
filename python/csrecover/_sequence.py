# SPDX-License-Identifier: BSD-3-Clause
"""Frames one after another: a live scan, a rendering, a film."""
from __future__ import annotations

import inspect
from collections import deque
from itertools import count, repeat
from types import TracebackType
from typing import Any, Iterable, Iterator, Optional, Union

import numpy as np

from ._arguments import SEED, flag, pair, scalar, seed_of, whole
from ._each import lit, with_noise
from ._errors import ArgumentError, RecoveryWarning, warn
from ._guides import guided
from ._labels import along, axis_of, nodata_of, restored, unlabelled
from ._leave import delivered
from ._library import NULL, check, copied, ffi, kept, lib, new_error, new_shape, pointer
from ._measurement import Measurement, from_file, to_c
from ._next import _like
from ._noise import estimate_noise, law_text, noise_of
from ._options import options_of, settings
from ._progress import Callback, Watch
from ._recover import _signal
from ._whole import UNSAID, ChannelAxis, of_dtype, picture_dtype, taken, taken_as


class Sequence:
    """A sequence as it comes: each frame is recovered from its samples and those of the frames around
    it. Only a window of frames is held.

    Parameters
    ----------
    channel_axis : int, str or None, optional
        of every frame that is an array: the axis of channels, as of :func:`recover`
    dtype : dtype, optional
        of the results, as of :func:`recover`
    sigma : float or str, optional
        standard deviation of the noise of every frame; 'auto': estimated from each; or a law, as
        'poisson', of all: what is not told is found in the first frame, where 'auto' finds one, too
    scale : (float, float), optional
        values of black and white
    callback : callable, optional
        called with a :class:`Progress`; a true result stops the frame, and the best so far is returned
    return_uncertainty : bool, optional
        results are (signal, uncertainty): the expected root mean square error of every value; NaN where
        the method expects none
    **options
        as of :func:`recover`: quality, method, threads, backend and others that choose how

    Examples
    --------
    >>> rng, film = np.random.default_rng(1), []
    >>> with csrecover.Sequence(quality="fast") as live:
    ...     for t in range(5):
    ...         frame = csrecover.datasets.picture("discs", 64).astype(float)
    ...         frame[rng.random(frame.shape) < 0.7] = np.nan      # not known
    ...         film += live.push(frame)
    ...     film += live.finish()
    >>> len(film), film[0].shape
    (5, (64, 64))
    """

    def __init__(self, *, channel_axis: Union[ChannelAxis, str] = UNSAID, dtype: Any = None,
                 sigma: Union[float, str, None] = None, scale: Optional[tuple[float, float]] = None,
                 callback: Optional[Callback] = None, return_uncertainty: bool = False,
                 **options: Any) -> None:
        known = inspect.signature(options_of).parameters
        settings({key: value for key, value in options.items() if key not in known}, Sequence, options_of)
        self._axis, self._dtype, self._sigma, self._scale = channel_axis, dtype, sigma, scale
        self._errors = flag(return_uncertainty, "return_uncertainty")
        self._watch, self._options = Watch(callback), options
        self._handle: Any = None
        self._law: Any = None
        self._keep: list[Any] = []
        self._forms: deque[Any] = deque()
        self._open = True
        self._shape: tuple[int, ...] = ()

    @property
    def delay(self) -> int:
        """Frames after it that a frame waits for; 0 before the first."""
        return 0 if self._handle is None else int(lib.csrec_sequence_delay(self._handle))

    def _begin(self, made: Any) -> None:
        room, error = ffi.new("csrec_sequence **"), new_error()
        alone = ffi.new("csrec_measurement *", made[0])  # a sequence of one, for the preset
        alone.sequence, alone.shape = True, new_shape((1, *made.shape.dim[0:made.shape.dims]))[0]
        chosen = options_of(alone, self._keep, Sequence, **self._options)
        chosen.solve.progress = self._watch.function
        if self._law is not None:
            chosen.law = self._law[0]
        check(lib.csrec_sequence_create(chosen, room, error), error)
        self._keep.append(chosen)
        self._handle = ffi.gc(room[0], lib.csrec_sequence_destroy)

    def push(self, frame: Any, mask: Any = None, guide: Any = None, rays: Any = None) -> list[Any]:
        """The next frame: a whole array with NaN, masked or with ``mask``, true where it was sampled, a
        :class:`Measurement`, or a path of what :func:`read` reads; ``guide`` and ``rays``, as of :func:`recover`. Of a frame without samples nothing is
        known (it was dropped, or hidden): it is recovered from those around it, or else is NaN, of
        floats, with a :class:`RecoveryWarning`. Returns the results that are ready by it, often of an
        earlier frame."""
        if not self._open:
            raise ArgumentError("the sequence has ended; begin another")
        frame, mask = from_file(frame, mask, noisy=self._sigma is not None)
        restore, nodata, mask = restored(frame), nodata_of(frame), along(mask, frame)
        where = axis_of(frame, self._axis)
        y = unlabelled(frame)
        mask = lit(y, mask, rays, where)
        if not isinstance(y, Measurement) and mask is None:
            mask = taken(y, "frame")[1]  # a frame may be known everywhere
        m = taken_as(y, mask, None, None, UNSAID if isinstance(y, Measurement) else where)
        if len(m.index):
            m = with_noise(m, None, rays, where if isinstance(where, int) else None)
        m = guided(m, guide, frame)
        made, keep = to_c(m)
        if isinstance(self._sigma, str) and self._handle is None and (made.n or self._sigma != "auto"):
            made.sigma, law = noise_of(made, self._sigma)
            self._law = law if law_text(law) else None
            self._sigma = "auto" if self._sigma == "auto" or self._law is not None else made.sigma
        elif isinstance(self._sigma, str) and made.n and self._law is None:
            made.sigma = estimate_noise(m)  # one without samples has the noise of that before it
        elif self._sigma is not None and not isinstance(self._sigma, str):
            made.sigma = scalar(self._sigma, "sigma")
        if self._scale is not None:
            made.scale = pair(self._scale, "scale")
        if self._handle is None:
            self._begin(made)
            self._shape = tuple(m.shape)
        error = new_error()
        check(lib.csrec_sequence_push(self._handle, made, error), error)
        del keep
        form = _signal(m, made)
        picture = y._picture if isinstance(y, Measurement) else picture_dtype(y)
        wanted = picture or kept(np.asarray(m.y)) if self._dtype is None else self._dtype
        axis = where if isinstance(where, int) and form.ndim > len(m.shape) else -1
        self._forms.append((form.shape, wanted, nodata, axis, restore))
        return self._ready()

    def next(self, k: int, *, allowed: Any = None, seed: int = SEED, rng: Any = None) -> np.ndarray:
        """Where to measure the frame that comes next: [k] flat C-order positions of the whole frame, as
        of :func:`where_next`, denser where the last frame, recovered from those before it, is expected
        to err, and where it differs from the one before. Frames that wait stay as they are.

        Examples
        --------
        >>> image = csrecover.datasets.picture("discs", 64).astype(float)
        >>> with csrecover.Sequence() as live:
        ...     scan = csrecover.sample(image, rate=0.1)
        ...     for t in range(3):
        ...         results = live.push(scan)
        ...         index = live.next(400)
        ...         scan = csrecover.Measurement(image.flat[index], index, image.shape)
        >>> index.shape
        (400,)
        """
        if self._handle is None:
            raise ArgumentError("no frame is known yet; push one, and place the first evenly "
                                "(sample, where_next)")
        options, error = ffi.new("csrec_next_options *"), new_error()
        options.count, options.seed = whole(k, "k"), seed_of(seed, rng)
        places = None if allowed is None else np.ascontiguousarray(
            _like("allowed", allowed, self._shape) != 0, dtype=np.uint8)
        keep = NULL if places is None else pointer(places, "uint8_t")
        options.allowed = keep
        found = ffi.gc(ffi.new("csrec_sampling *"), lib.csrec_sampling_clear)
        with self._watch:
            options.progress = self._watch.function
            status = lib.csrec_sequence_next(self._handle, options, found, error)
        check(status, error)
        return copied(found.index, found.n, "int64_t", np.int64)

    def finish(self) -> list[Any]:
        """No more frames come: the results of those that wait."""
        self._open = False
        if self._handle is not None:
            lib.csrec_sequence_end(self._handle)
        return self._ready()

    def _ready(self) -> list[Any]:
        found = []
        while self._handle is not None and lib.csrec_sequence_ready(self._handle):
            found.append(self._take())
        return found

    def _take(self) -> Any:
        shape, wanted, nodata, axis, restore = self._forms[0]
        signal, error = np.empty(shape), new_error()
        errors = np.empty(shape) if self._errors else None
        with self._watch:
            status = lib.csrec_sequence_take(self._handle, pointer(signal),
                                             NULL if errors is None else pointer(errors), NULL, error)
        check(status, error)
        self._forms.popleft()
        if np.isnan(signal).all():
            warn("nothing is known of a frame and of the frames around it; it is NaN", RecoveryWarning)
            if (nodata is None or np.isnan(nodata)) and of_dtype(np.zeros(1), wanted).dtype.kind != "f":
                wanted = np.dtype(float)
        signal = restore(delivered(np.moveaxis(signal, -1, axis), wanted, nodata))
        if errors is None:
            return signal
        return signal, restore(np.moveaxis(errors, -1, axis).astype(kept(np.empty(0, wanted))))

    def close(self) -> None:
        """Forgets the frames that wait."""
        self._open, self._handle = False, None
        self._forms.clear()

    def __enter__(self) -> Sequence:
        return self

    def __exit__(self, _kind: Optional[type[BaseException]], _error: Optional[BaseException],
                 _traceback: Optional[TracebackType]) -> None:
        self.close()


def sequence(frames: Iterable[Any], guide: Any = None, rays: Any = None, **options: Any) -> Iterator[Any]:
    """The frames of a film, recovered one after another as they are asked for.

    Parameters
    ----------
    frames : iterable
        whole arrays with NaN where they are not known, or :class:`Measurement`, of one shape
    guide : iterable, array_like or dict, optional
        what is known beside the samples: of an iterator, a list or a tuple an item for each frame, each
        as of :func:`recover`; an array or a dict is the same for all frames
    rays : iterable or array_like, optional
        numbers of rays, in the same way
    **options
        as of :class:`Sequence`

    Returns
    -------
    results : iterator
        of a result for each frame, in their order. It holds a window of frames, whatever their number

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scans = (csrecover.sample(image, rate=0.3, seed=seed) for seed in range(4))
    >>> [picture.shape for picture in csrecover.sequence(scans, quality="fast")]
    [(64, 64), (64, 64), (64, 64), (64, 64)]
    """
    return _results(Sequence(**options), frames, _of_frames(guide, "guide"), _of_frames(rays, "rays"))


_NO_MORE = object()


def _of_frames(given: Any, name: str) -> Iterator[Any]:
    """An item for each frame."""
    each = isinstance(given, (list, tuple)) or hasattr(given, "__next__")
    items = iter(given) if each else repeat(given)
    for t in count():
        own = next(items, _NO_MORE)
        if own is _NO_MORE:
            raise ArgumentError(f"{name}: ends before frame {t}; give an item for each frame, None "
                                "for one without")
        yield own


def _results(live: Sequence, frames: Iterable[Any], guides: Iterator[Any],
             rays: Iterator[Any]) -> Iterator[Any]:
    with live:
        for frame in frames:
            yield from live.push(frame, guide=next(guides), rays=next(rays))
        yield from live.finish()
