# SPDX-License-Identifier: BSD-3-Clause
"""Models from data: components, mixtures, filters and networks."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._arguments import SEED, as_tuple, flag, pair, scalar, seed_of, whole, word
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


def learn_gmm(data: Any, components: int = 20, *, start: str = "kmeans", rounds: int = 50,
              tolerance: float = 0.005, least: float = 0.0, seed: int = SEED, rng: Any = None,
              resume: Optional[Model] = None, shape: Any = None, channels: int = 1,
              scale: Optional[tuple[float, float]] = None, callback: Optional[Callback] = None,
              progress: Any = None, threads: int = 0) -> Model:
    """A mixture of Gaussians of the rows of data, by expectation maximisation.

    Parameters
    ----------
    data, shape, channels, scale, callback, progress, threads
        as for :func:`learn_pca`
    components : int, optional
        number of Gaussians
    start : str, optional
        'kmeans', or 'edges' of as many directions, for patches of pictures
    rounds, tolerance
        at most so many; stop when one raises the mean log-likelihood of a row, in nats, by less
    least : float, optional
        least eigenvalue of a covariance; 0: 1e-4 of the mean variance of an entry
    seed, rng : int, Generator or RandomState, optional
        draws the start; rng: in its place a Generator, a RandomState or a number
    resume : Model, optional
        a mixture to go on from

    Returns
    -------
    model : Model
        of kind 'gmm'

    Notes
    -----
    The result does not depend on the threads.

    Examples
    --------
    >>> patches = np.random.default_rng(1).random((60, 9)) @ np.diag([3, 2, 1, 0, 0, 0, 0, 0, 0])
    >>> mixture = csrecover.learn_gmm(patches, 2, seed=1)
    >>> mixture["means"].shape, round(float(mixture["weights"].sum()), 6)
    ((2, 9), 1.0)
    """
    keep = ffi.new("char[]", word(start, "start"))
    return _learn(lib.csrec_gmm_learn, data, shape, channels, scale, callback, progress, threads,
                  components=whole(components, "components"), start=keep,
                  rounds=whole(rounds, "rounds"), tolerance=scalar(tolerance, "tolerance"),
                  least=scalar(least, "least"), seed=seed_of(seed, rng),
                  **({} if resume is None else {"from": resume._handle}))


def _net_pictures(pictures: Any, masks: Any) -> tuple[list[np.ndarray], list[Any]]:
    """[H, W] or [H, W, C] arrays, and a mask or None for each."""
    single = isinstance(pictures, np.ndarray)
    found = [real(p, "picture") for p in ([pictures] if single else pictures)]
    known = [None] * len(found) if masks is None else [
        np.asarray(unmasked(mask, "mask")) != 0 for mask in ([masks] if single else masks)]
    if not found or len(known) != len(found):
        raise ArgumentError(f"{len(found)} pictures and {len(known)} masks; give at least one "
                            "picture, and a mask for each or none")
    for picture, mask in zip(found, known):
        if picture.ndim not in (2, 3) or (mask is not None and mask.shape != picture.shape[:2]):
            raise ArgumentError(f"picture has shape {picture.shape}; give [H, W] or [H, W, 3], a "
                                "list of several, and masks [H, W]")
        if picture.ndim != found[0].ndim or picture.shape[2:] != found[0].shape[2:]:
            raise ArgumentError(f"pictures have shapes {found[0].shape} and {picture.shape}; give "
                                "pictures of as many channels each")
    return found, known


def _tones(found: list[np.ndarray], known: list[Any],
           scale: Optional[tuple[float, float]]) -> tuple[float, float]:
    """Values of black and white."""
    if scale is not None:
        black, white = pair(scale, "scale")
    elif all(picture.dtype.kind == "u" for picture in found):
        black, white = 0.0, float(max(np.iinfo(picture.dtype).max for picture in found))
    else:
        seen = [part for picture, mask in zip(found, known)
                if (part := picture if mask is None else picture[mask]).size]
        black = min((float(part.min()) for part in seen), default=0.0)
        white = max((float(part.max()) for part in seen), default=1.0)
        white += black == white
    if not (np.isfinite([black, white]).all() and black != white):
        raise ArgumentError(f"scale = ({black:g}, {white:g}); give finite values of black and white "
                            "that differ")
    return black, white


def _net_rows(found: list[np.ndarray], known: list[Any],
              tones: tuple[float, float]) -> tuple[Any, list[Any]]:
    """csrec_net_picture[] from 0 to 255, and what it points to."""
    made, keep = ffi.new("csrec_net_picture[]", len(found)), []
    for row, picture, mask in zip(made, found, known):
        values = (picture.astype(np.float64) - tones[0]) * (255.0 / (tones[1] - tones[0]))
        planes = np.ascontiguousarray(np.atleast_3d(values).transpose(2, 0, 1), np.float32)
        keep += [planes, pointer(planes, "float")]
        row.height, row.width, row.values = (*picture.shape[:2], keep[-1])
        if mask is not None:
            keep.append(np.ascontiguousarray(mask, np.uint8))
            keep.append(pointer(keep[-1], "uint8_t"))
            row.known = keep[-1]
    return made, keep


def learn_net(pictures: Any, masks: Any = None, *, channels: Optional[int] = None,
              minutes: float = 0.0, steps: int = 0, batch: int = 64, patch: int = 128,
              rate: float = 1e-4, scale: Optional[tuple[float, float]] = None,
              start: Optional[Model] = None, seed: int = SEED, rng: Any = None,
              exact: bool = False, callback: Optional[Callback] = None, progress: Any = None,
              threads: int = 0, backend: str = "auto") -> Model:
    """A prior, a network that completes pictures, adapted to given ones.

    Parameters
    ----------
    pictures : array_like or list of array_like
        [H, W] or [H, W, 3], or a list of such arrays of any sizes
    masks : array_like or list of array_like, optional
        [H, W] for each picture: true where known; None: all are
    channels : int, optional
        1 or 3: those of the pictures
    minutes, steps
        end after so much time or so many steps, whichever is first; default: 10 minutes
    batch, patch : int, optional
        pictures in a step, and their edge, a multiple of 8
    rate : float, optional
        of Adam at its peak
    scale : (float, float), optional
        values of black and white; default: the range of unsigned integers, else of what is known
    start : Model, optional
        a model of kind 'net' to go on from; default: the installed prior for so many channels
    seed, rng : int, Generator or RandomState, optional
        draws the steps; rng: in its place a Generator, a RandomState or a number
    exact : bool, optional
        on a device, multiply as accurately as floats
    callback : callable, optional
        called with a :class:`Progress`; a true result stops, with the weights so far
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is
    threads, backend
        as of :func:`learn_pca`

    Returns
    -------
    model : Model
        of kind 'net', as ``model`` of :func:`csrecover.recover`

    Notes
    -----
    With ``steps`` and no ``minutes`` the result does not depend on the threads. The project
    training/ of the source trains priors from nothing.

    Examples
    --------
    >>> import numpy as np
    >>> picture = np.add.outer(np.arange(32), np.arange(32)) * 4.0
    >>> csrecover.learn_net(picture, steps=1, batch=1, patch=32).kind
    'net'
    """
    found, known = _net_pictures(pictures, masks)
    rows, keep = _net_rows(found, known, _tones(found, known, scale))
    own = found[0].shape[2] if found[0].ndim == 3 else 1
    if channels not in (None, own):
        raise ArgumentError(f"channels = {channels}; the pictures have {own}")
    keep.append(ffi.new("char[]", word(backend, "backend")))
    options = ffi.new("csrec_net_learn_options *", {
        "channels": own, "minutes": scalar(minutes, "minutes"), "steps": whole(steps, "steps"),
        "batch": whole(batch, "batch"), "patch": whole(patch, "patch"), "rate": scalar(rate, "rate"),
        "seed": seed_of(seed, rng), "threads": whole(threads, "threads"), "backend": keep[-1],
        "exact": flag(exact, "exact"), **({} if start is None else {"from": start._handle})})
    model, stopped, error = ffi.new("csrec_model **"), ffi.new("bool *"), new_error()
    with Watch(callback, progress) as watch:
        options.progress = watch.function
        status = lib.csrec_net_learn(len(found), rows, options, model, stopped, error)
        made = None if status else Model._of(model[0])
    check(status, error)
    del keep
    assert made is not None
    return made
