"""Models learned from data: named arrays, and texts that tell where they come from."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Optional

import numpy as np

from ._arguments import SEED, as_tuple, pair, scalar, seed_of, whole, word
from ._errors import ArgumentError, Stopped
from ._html import table
from ._library import (NULL, check, copied, ffi, lib, new_error, new_shape, path_bytes, pointer,
                       real, text)
from ._measurement import _DTYPES, _NUMBERS
from ._progress import Callback, Watch

TEXTS = ("source", "settings", "backend", "version", "note")


class Model(Mapping[str, np.ndarray]):
    """A learned model: a mapping of array names to read-only arrays, with a kind. What the kinds
    hold stands in csrec/learn.h, "models":

    pca
        mean [n], components [k, n] (rows orthonormal, largest variance first), variances [k],
        noise
    gmm
        weights [K], means [K, d], covariances [K, d, d]
    conv
        filters [K, kh, kw]
    net
        layers [L, 4], weights [n], rounded to 16 bits, channels

    ``Model(kind, arrays)`` makes one, with the checks that reading a file makes.
    """

    def __init__(self, kind: str, arrays: Mapping[str, Any]) -> None:
        names = [ffi.new("char[]", name.encode()) for name in arrays]
        given = [np.asarray(real(array, name), order="C") for name, array in arrays.items()]
        keep = [pointer(array, "char") for array in given]
        made = ffi.new("csrec_array[]", max(len(given), 1))
        for row, array, memory in zip(made, given, keep):
            if array.dtype not in _NUMBERS:
                raise ArgumentError(f"array of dtype {array.dtype} in a model")
            row.dtype, row.count, row.data = _NUMBERS[array.dtype], array.size, memory
            row.shape = new_shape(array.shape)[0] if array.ndim else {"dims": 0}
        rows = ffi.new("csrec_array *[]", [made + i for i in range(len(given))] or [NULL])
        model, error = ffi.new("csrec_model **"), new_error()
        check(lib.csrec_model_create(word(kind, "kind"), len(given),
                                     ffi.new("char *[]", names or [NULL]), rows, model, error),
              error)
        self._take(model[0])

    def _take(self, handle: Any) -> None:
        self._handle = ffi.gc(handle, lib.csrec_model_destroy)
        self.kind: str = text(lib.csrec_model_kind(handle))
        self._arrays: dict[str, np.ndarray] = {}
        name, array = ffi.new("const char **"), ffi.new("const csrec_array **")
        while lib.csrec_model_info(handle, len(self._arrays), name, array):
            a = array[0]
            dtype = _DTYPES[a.dtype]
            values = copied(a.data, a.count * dtype.itemsize, "char", np.uint8).view(dtype)
            values = values.reshape([a.shape.dim[i] for i in range(a.shape.dims)])
            values.setflags(write=False)
            self._arrays[text(name[0])] = values

    @classmethod
    def _of(cls, handle: Any) -> Model:
        model = cls.__new__(cls)
        model._take(handle)
        return model

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def text(self, name: str) -> str:
        """One of 'source', 'settings', 'backend', 'version' and 'note'; '' where not set."""
        return text(lib.csrec_model_text(self._handle, name.encode()))

    def set_text(self, name: str, value: str) -> None:
        """Printable ASCII, at most 1023 letters."""
        status = lib.csrec_model_set_text(self._handle, name.encode(), value.encode("ascii", "?"))
        if status:
            raise ArgumentError(f"text '{name}' is unknown; use {', '.join(TEXTS)}")

    def write(self, path: str | os.PathLike[str]) -> None:
        """As .npz, whole or not at all."""
        error = new_error()
        check(lib.csrec_model_write(path_bytes(path), self._handle, error), error)

    def __reduce__(self) -> tuple[Any, ...]:
        texts = {name: self.text(name) for name in TEXTS}
        return _remade, (self.kind, dict(self._arrays), texts)

    def __repr__(self) -> str:
        arrays = ", ".join(f"{name} {array.shape}" for name, array in self._arrays.items())
        return f"<{self.kind} model: {arrays}>"

    def _repr_html_(self) -> str:
        arrays = {name: " x ".join(map(str, array.shape)) for name, array in self._arrays.items()}
        return table(f"Model of kind {self.kind}",
                     {**arrays, "source": self.text("source") or None})


def _remade(kind: str, arrays: dict[str, np.ndarray], texts: dict[str, str]) -> Model:
    model = Model(kind, arrays)
    for name, value in texts.items():
        model.set_text(name, value)
    return model


def read_model(path: str | os.PathLike[str]) -> Model:
    """Reads and checks a model, as cslearn and :meth:`Model.write` write it."""
    model, error = ffi.new("csrec_model **"), new_error()
    check(lib.csrec_model_read(path_bytes(path), model, error), error)
    return Model._of(model[0])


class _Rows:
    """csrec_data of anything that NumPy can slice: an array, a memory map of any size."""

    def __init__(self, data: Any, shape: Any, channels: int) -> None:
        data = data if hasattr(data, "ndim") else real(data, "data")
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

    data
        [m, ...]: m pictures, patches or vectors; an array or a memory map, read in pieces (as
        float32) and never held whole
    components, energy
        keep at most so many, or those of this share of the variance (default 0.99, or all
        ``components``)
    shape, channels
        of a row; default: data's axes after the first, the last of them being the channels where
        ``channels`` > 1
    scale
        values of black and white
    callback
        called with a :class:`Progress`; a true result raises :class:`Stopped`
    progress
        True, or a bar of tqdm, shows how far it is
    backend
        'auto', 'cpu' or 'cuda'; ``model.text("backend")`` says what was taken

    The covariance is divided by m, not m - 1. Returns a :class:`Model` of kind 'pca'.
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

    data, shape, channels, scale, callback, progress, threads
        as for :func:`learn_pca`
    start
        'kmeans', or 'edges' of as many directions, for patches of pictures
    rounds, tolerance
        at most so many; stop when one raises the mean log-likelihood of a row, in nats, by less
    least
        least eigenvalue of a covariance; 0: 1e-4 of the mean variance of an entry
    seed, rng
        draws the start; rng: in its place a Generator, a RandomState or a number
    resume
        a mixture to go on from

    Returns a :class:`Model` of kind 'gmm'. The result does not depend on the threads.
    """
    keep = ffi.new("char[]", word(start, "start"))
    return _learn(lib.csrec_gmm_learn, data, shape, channels, scale, callback, progress, threads,
                  components=whole(components, "components"), start=keep,
                  rounds=whole(rounds, "rounds"), tolerance=scalar(tolerance, "tolerance"),
                  least=scalar(least, "least"), seed=seed_of(seed, rng),
                  **({} if resume is None else {"from": resume._handle}))


def _pictures(pictures: Any, masks: Any) -> tuple[Any, list[Any]]:
    """csrec_conv_picture[] of [H, W] arrays and their masks, and what it points to."""
    def planes(given: Any) -> list[Any]:
        return [given] if isinstance(given, np.ndarray) and given.ndim == 2 else list(given)
    found = [np.ascontiguousarray(real(p, "picture"), np.float32) for p in planes(pictures)]
    known = [None] * len(found) if masks is None else [
        np.ascontiguousarray(np.asarray(mask) != 0, np.uint8) for mask in planes(masks)]
    if not found or len(known) != len(found):
        raise ArgumentError(f"{len(found)} pictures and {len(known)} masks; give at least one "
                            "picture, and a mask for each or none")
    made, keep = ffi.new("csrec_conv_picture[]", len(found)), []
    for row, picture, mask in zip(made, found, known):
        if picture.ndim != 2 or (mask is not None and mask.shape != picture.shape):
            raise ArgumentError(f"picture has shape {picture.shape}; give [H, W], and a mask of the "
                                "same")
        keep += [picture, mask, pointer(picture, "float")]
        row.height, row.width, row.values = (*picture.shape, keep[-1])
        if mask is not None:
            keep.append(pointer(mask, "uint8_t"))
            row.known = keep[-1]
    return made, keep


def learn_conv(pictures: Any, masks: Any = None, *, filters: int = 64, size: Any = 8,
               lambda_: float = 0.005, base: float = 8.0,
               scale: Optional[tuple[float, float]] = None, iterations: int = 40,
               codings: int = 5, seed: int = SEED, rng: Any = None, start: Optional[Model] = None,
               callback: Optional[Callback] = None, progress: Any = None, threads: int = 0) -> Model:
    """Filters d_k in which all pictures are sparse sums sum_k d_k * x_k.

    pictures
        [H, W], [P, H, W], or a list of [H, W] of any sizes, gray
    masks
        of the same shapes: true where known; None: all are
    filters, size
        their number, and their edge or (height, width)
    lambda_
        weight of ||x||_1, black to white being 1
    base
        pixels over which the layer left to no filter is smooth; below 0: the mean is that layer
    scale
        values of black and white; default: the range of what is known
    iterations, codings
        rounds of codes and filters, and steps on the codes in each
    seed, rng
        draws the start; rng: in its place a Generator, a RandomState or a number
    start
        a model of kind 'conv' to go on from
    callback
        called with a :class:`Progress`; a true result stops, with the filters so far
    progress
        True, or a bar of tqdm, shows how far it is

    Returns a :class:`Model` of kind 'conv', for :class:`Conv` and as ``model`` of
    :func:`csrecover.recover`.
    """
    rows, keep = _pictures(pictures, masks)
    edges = as_tuple(size) * (2 if np.ndim(size) == 0 else 1)
    if len(edges) != 2:
        raise ArgumentError(f"size = {size!r}; give an edge, or height and width")
    options = ffi.new("csrec_conv_learn_options *", {
        "filters": whole(filters, "filters"), "size": edges, "base": scalar(base, "base"),
        "iterations": whole(iterations, "iterations"), "codings": whole(codings, "codings"),
        "lambda": scalar(lambda_, "lambda_"), "seed": seed_of(seed, rng),
        "threads": whole(threads, "threads")})
    if scale is not None:
        options.scale = pair(scale, "scale")
    if start is not None:
        options.start = start._handle
    model, stopped, error = ffi.new("csrec_model **"), ffi.new("bool *"), new_error()
    with Watch(callback, progress) as watch:
        options.progress = watch.function
        status = lib.csrec_conv_learn(len(rows), rows, options, model, stopped, error)
        found = None if status else Model._of(model[0])
    check(status, error)
    del keep
    assert found is not None
    return found


def _net_pictures(pictures: Any, masks: Any) -> tuple[list[np.ndarray], list[Any]]:
    """[H, W] or [H, W, C] arrays, and a mask or None for each."""
    single = isinstance(pictures, np.ndarray)
    found = [real(p, "picture") for p in ([pictures] if single else pictures)]
    known = [None] * len(found) if masks is None else [
        np.asarray(mask) != 0 for mask in ([masks] if single else masks)]
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


def learn_net(pictures: Any = None, masks: Any = None, *, channels: Optional[int] = None,
              width: int = 32, blocks: Any = 2, minutes: float = 0.0, steps: int = 0,
              batch: int = 64, patch: int = 128, rate: float = 6e-4,
              scale: Optional[tuple[float, float]] = None, start: Optional[Model] = None,
              seed: int = SEED, rng: Any = None, exact: bool = False,
              callback: Optional[Callback] = None, progress: Any = None,
              threads: int = 0, backend: str = "auto") -> Model:
    """A prior: a network that completes pictures, trained on made-up ones or on given ones.

    pictures
        None: they are made up; else [H, W] or [H, W, 3], or a list of such arrays of any sizes
    masks
        [H, W] for each picture: true where known; None: all are
    channels
        1 or 3; default: those of the pictures, else of ``start``, else 1
    width, blocks
        channels of the finest results, and residual blocks at each of 4 sizes: a number, or 4 from
        the finest on. With ``start``, its layers are trained
    minutes, steps
        end after so much time or so many steps, whichever is first; default: 10 minutes
    batch, patch
        pictures in a step, and their edge, a multiple of 8
    rate
        of Adam at its peak
    scale
        values of black and white; default: the range of unsigned integers, else of what is known
    start
        a model of kind 'net' to go on from; one of 1 channel also serves 3
    seed, rng
        draws the start; rng: in its place a Generator, a RandomState or a number
    exact
        on a device, multiply as accurately as floats
    callback
        called with a :class:`Progress`; a true result stops, with the weights so far
    progress
        True, or a bar of tqdm, shows how far it is

    With ``steps`` and no ``minutes`` the result does not depend on the threads. Returns a
    :class:`Model` of kind 'net', as ``model`` of :func:`csrecover.recover`.
    """
    rows, count = NULL, 0
    keep: list[Any] = []
    if pictures is None and masks is not None:
        raise ArgumentError("masks without pictures; made-up pictures have none")
    if pictures is not None:
        found, known = _net_pictures(pictures, masks)
        rows, keep = _net_rows(found, known, _tones(found, known, scale))
        own = found[0].shape[2] if found[0].ndim == 3 else 1
        if channels not in (None, own):
            raise ArgumentError(f"channels = {channels}; the pictures have {own}")
        channels, count = own, len(found)
    if channels is None:
        channels = 1 if start is None or "channels" not in start else int(start["channels"])
    each = as_tuple(blocks) * (4 if np.ndim(blocks) == 0 else 1)
    if len(each) != 4:
        raise ArgumentError(f"blocks = {blocks!r}; give a number, or one for each of 4 sizes")
    keep.append(ffi.new("char[]", word(backend, "backend")))
    options = ffi.new("csrec_net_learn_options *", {
        "channels": whole(channels, "channels"), "width": whole(width, "width"),
        "blocks": each, "minutes": scalar(minutes, "minutes"), "steps": whole(steps, "steps"),
        "batch": whole(batch, "batch"), "patch": whole(patch, "patch"), "rate": scalar(rate, "rate"),
        "seed": seed_of(seed, rng), "threads": whole(threads, "threads"), "backend": keep[-1],
        "exact": bool(exact), **({} if start is None else {"from": start._handle})})
    model, stopped, error = ffi.new("csrec_model **"), ffi.new("bool *"), new_error()
    with Watch(callback, progress) as watch:
        options.progress = watch.function
        status = lib.csrec_net_learn(count, rows, options, model, stopped, error)
        made = None if status else Model._of(model[0])
    check(status, error)
    del keep
    assert made is not None
    return made
