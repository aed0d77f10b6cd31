# SPDX-License-Identifier: BSD-3-Clause
"""Models from data."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._arguments import as_tuple, pair, scalar, whole, word
from ._errors import ArgumentError, Stopped
from ._library import check, ffi, lib, new_error, new_shape, pointer, real, unmasked
from ._models import Model
from ._progress import Callback, Watch


class _Rows:
    """csrec_data of anything that NumPy can slice: an array, a memory map of any size."""

    def __init__(self, data: Any, shape: Any, channels: int) -> None:
        data = unmasked(data, "data") if hasattr(data, "ndim") else real(data, "data")
        if data.ndim < 2 or 0 in data.shape:
            raise ArgumentError(f"data has shape {data.shape}; give [m, ...], a row an example")
        self._data = data
        self._error: Optional[BaseException] = None
        n = int(np.prod(data.shape[1:], dtype=np.int64))
        self._width = n
        if shape is None:
            axes = data.shape[1:] if channels == 1 else data.shape[1:-1]
            shape = axes or (n // channels,)
        self.shape = as_tuple(shape)
        self._read = ffi.callback("csrec_rows_fn", self._copy, error=lib.CSREC_DATA,
                                  onerror=self._failed)
        self.c = ffi.new("csrec_data *", {"m": data.shape[0], "n": n, "read": self._read})

    def _copy(self, _context: Any, first: int, count: int, X: Any, _error: Any) -> int:
        to = np.frombuffer(ffi.buffer(X, count * self._width * 4), np.float32)
        to[:] = np.asarray(self._data[first:first + count]).reshape(-1)
        return 0

    def _failed(self, _kind: Any, error: BaseException, _traceback: Any) -> None:
        self._error = self._error or error

    def check(self) -> None:
        """Raises what reading raised."""
        if self._error is not None:
            raise self._error


def _learn(function: Any, data: Any, shape: Any, channels: int,
           scale: Optional[tuple[float, float]], callback: Optional[Callback], progress: Any,
           threads: int, **fields: Any) -> Model:
    rows = _Rows(data, shape, channels)
    options = ffi.new("csrec_learn_options *", {"channels": whole(channels, "channels"),
                                                "threads": whole(threads, "threads"), **fields})
    options.shape = new_shape(rows.shape)[0]
    if scale is not None:
        options.scale = pair(scale, "scale")
    model, stopped, error = ffi.new("csrec_model **"), ffi.new("bool *"), new_error()
    with Watch(callback, progress) as watch:
        options.progress = watch.function
        status = function(rows.c, options, model, stopped, error)
        found = None if status or stopped[0] else Model._of(model[0])
    rows.check()
    check(status, error)
    if found is None:
        raise Stopped("the callback asked to stop; nothing was learned")
    return found


def learn_pca(data: Any, *, components: Optional[int] = None, energy: Optional[float] = None,
              shape: Any = None, channels: int = 1, scale: Optional[tuple[float, float]] = None,
              callback: Optional[Callback] = None, progress: Any = None,
              threads: int = 0, backend: str = "auto") -> Model:
    """Principal components of the rows of data.

    Parameters
    ----------
    data : array_like
        [m, ...]: m pictures, patches or vectors; an array or a memory map, read in pieces (as
        float32) and never held whole
    components, energy
        keep at most so many, or those of this share of the variance (default 0.99, or all
        ``components``)
    shape, channels
        of a row; default: data's axes after the first, the last of them being the channels where
        ``channels`` > 1
    scale : (float, float), optional
        values of black and white
    callback : callable, optional
        called with a :class:`Progress`; a true result raises :class:`Stopped`
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is
    threads : int, optional
        0: all cores
    backend : str, optional
        'auto', 'cpu' or 'cuda'; ``model.text("backend")`` says what was taken

    Returns
    -------
    model : Model
        of kind 'pca'

    Notes
    -----
    The covariance is divided by m, not m - 1.

    Examples
    --------
    >>> patches = np.random.default_rng(1).random((60, 9)) @ np.diag([3, 2, 1, 0, 0, 0, 0, 0, 0])
    >>> csrecover.learn_pca(patches, energy=0.9999)["components"].shape
    (3, 9)
    """
    keep = ffi.new("char[]", word(backend, "backend"))
    return _learn(lib.csrec_pca_learn, data, shape, channels, scale, callback, progress, threads,
                  backend=keep,
                  components=0 if components is None else whole(components, "components"),
                  energy=0.0 if energy is None else scalar(energy, "energy"))
