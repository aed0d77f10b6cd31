# SPDX-License-Identifier: BSD-3-Clause
"""Models learned from data: named arrays, and texts that tell where they come from."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._arguments import word
from ._errors import ArgumentError
from ._html import table
from ._library import (NULL, check, copied, ffi, lib, new_error, new_shape, path_bytes, pointer,
                       real, text, unknown)
from ._measurement import _DTYPES, _NUMBERS

TEXTS = ("source", "settings", "backend", "version", "note")


class Model(Mapping[str, np.ndarray]):
    """A learned model: a mapping of array names to read-only arrays, with a kind. What the kinds
    hold stands in csrec/learn.h, "models":

    pca
        mean [n], components [k, n] (rows orthonormal, largest variance first), variances [k],
        noise
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
            raise unknown("text", name, TEXTS)

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
    """Reads and checks a model, as cslearn and :meth:`Model.write` write it.

    Parameters
    ----------
    path : str or path
        of the file

    Returns
    -------
    model : Model
        what the file holds

    Examples
    --------
    >>> csrecover.learn_pca(np.eye(4), components=2).write("model.npz")
    >>> csrecover.read_model("model.npz").kind
    'pca'
    """
    model, error = ffi.new("csrec_model **"), new_error()
    check(lib.csrec_model_read(path_bytes(path), model, error), error)
    return Model._of(model[0])
