# SPDX-License-Identifier: BSD-3-Clause
"""What a running call tells: to a callback, and to a progress bar."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from ._arguments import shown
from ._errors import ArgumentError
from ._library import ffi, text


class Progress(NamedTuple):
    """What a callback is told, at most about every 10 ms."""

    stage: str
    """What is being done."""
    done: int
    """Iterations, grids or right-hand sides done."""
    total: int
    """How many there are at most; 0: unknown."""
    residual: Optional[float]
    """||r|| / ||y||, where known."""

    @property
    def x(self) -> Optional[np.ndarray]:
        """Of :func:`solve` with one right-hand side: [n] coefficients so far, whose residual is
        ``residual``, made when they are asked for and only while the callback runs. Else None: of
        many right-hand sides, of recoveries, within an iteration that takes long, and later."""
        return None

    @property
    def columns(self) -> Optional[np.ndarray]:
        """The columns that x uses, ascending; None where x is."""
        x = self.x
        return None if x is None else np.flatnonzero(x)


class Solving(Progress):
    """Of a solve that runs: x is fetched from it."""

    fetch: Optional[Callable[[], Optional[np.ndarray]]] = None

    @property
    def x(self) -> Optional[np.ndarray]:
        return None if self.fetch is None else self.fetch()


Callback = Callable[[Progress], Any]


class _Bar:
    """A bar of tqdm. ``True`` makes one, which is closed in the end; a given one stays open."""

    def __init__(self, given: Any) -> None:
        self._own = given is True
        self._stage: Optional[str] = None
        if self._own:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                raise ImportError("progress=True needs tqdm: pip install tqdm") from None
            given = tqdm()
        elif not all(hasattr(given, name) for name in ("n", "total", "reset", "update")):
            raise ArgumentError(f"progress = {shown(given)}; give True or a bar of tqdm")
        self._bar = given

    def show(self, progress: Progress) -> None:
        if progress.stage != self._stage or progress.done < self._bar.n:
            self._stage = progress.stage
            self._bar.reset(progress.total or None)
            self._bar.set_description_str(progress.stage, refresh=False)
        self._bar.total = progress.total or None
        self._bar.update(progress.done - self._bar.n)

    def close(self) -> None:
        if self._own:
            self._bar.close()
        else:
            self._bar.refresh()


class Watch:
    """A callback while a C function runs. Ctrl-C, or any exception of the callback, stops the
    function and is raised when the ``with`` block ends: the C code runs to its own end, so nothing
    leaks. A callback that returns true stops it too, but what it has so far is delivered. ``stops`` is asked, too;
    ``fetch`` gives a Progress its x."""

    def __init__(self, callback: Optional[Callback], progress: Any = None,
                 stops: Callable[[], bool] = lambda: False,
                 fetch: Optional[Callable[[], Optional[np.ndarray]]] = None) -> None:
        if callback is not None and not callable(callback):
            raise ArgumentError(f"callback = {shown(callback)}; give a function of a Progress")
        self._callback, self._stops, self._fetch = callback, stops, fetch
        self._bar = None if progress is None or progress is False else _Bar(progress)
        self._error: Optional[BaseException] = None
        # Called even without a callback, on the calling thread: where that is the main one, Python
        # runs its signal handlers there, and KeyboardInterrupt is an exception like any other.
        self.function = ffi.callback("csrec_progress_fn", self._report, error=True,
                                     onerror=self._failed)

    def _report(self, progress: Any, _context: Any) -> bool:
        if self._error is not None or self._stops():
            return True
        if self._callback is None and self._bar is None:
            return False
        told = Solving(text(progress.stage), progress.done, progress.total,
                       progress.residual if progress.residual >= 0.0 else None)
        if self._bar is not None:
            self._bar.show(told)
        told.fetch = self._fetch
        try:
            return self._callback is not None and bool(self._callback(told))
        finally:
            told.fetch = None

    def _failed(self, _kind: Any, error: BaseException, _traceback: Any) -> None:
        self._error = self._error or error

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_exception: Any) -> None:
        if self._bar is not None:
            self._bar.close()
        if self._error is not None:
            raise self._error
