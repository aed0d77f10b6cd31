# SPDX-License-Identifier: BSD-3-Clause
"""Guides: planes that are known beside the samples."""
from __future__ import annotations

import dataclasses
from typing import Any, Optional

import numpy as np

from ._errors import ArgumentError
from ._labels import along
from ._library import copied, ffi, lib, real, text


def _planes(one: Any, name: str, m: Any, time: Optional[int]) -> np.ndarray:
    """[K, shape] float32 of an array [shape] or [shape, K], or of a frame of a sequence."""
    array = real(one.data if isinstance(one, np.ma.MaskedArray) else one, name)
    shape, time = tuple(m.shape), 0 if time is None and m.sequence else time
    frame = () if time is None else shape[:time] + shape[time + 1:]
    if isinstance(one, np.ma.MaskedArray):
        array = np.where(np.ma.getmaskarray(one), np.nan, array)
    if time is not None and array.shape[:len(shape)] != shape and array.ndim <= len(shape) and \
            array.shape[:len(frame)] == frame:
        array = np.repeat(np.expand_dims(array, time), shape[time], time)
    if array.shape == shape:
        array = array[..., None]
    if array.shape[:-1] != shape or not array.shape[-1]:
        raise ArgumentError(f"{name} has shape {np.shape(one)} and the signal {shape}; give one of "
                            "that shape, or with planes as its last axis")
    return np.ascontiguousarray(np.moveaxis(array, -1, 0), np.float32)


def guided(m: Any, guide: Any, y: Any = None, time: Optional[int] = None) -> Any:
    """The measurement with further guides: an array, or a dict of arrays by their names; where y has
    labels, by its dims. time: the axis of frames, in all of which a guide of one is the same."""
    if guide is None:
        return m
    had = [] if m.guides is None else [np.asarray(m.guides, np.float32)]
    names = [] if not had else list(m.guide_names or [""] * len(had[0]))
    for name, one in (guide if isinstance(guide, dict) else {"": guide}).items():
        planes = _planes(along(one, y), f"guide '{name}'" if name else "guide", m, time)
        had.append(planes)
        names += [str(name)] * len(planes)
    return dataclasses.replace(m, guides=np.concatenate(had), guide_names=tuple(names)) if had else m


def guides_to_c(m: Any, made: Any) -> list[Any]:
    """Into a csrec_measurement; what must be kept alive with it."""
    values = np.ascontiguousarray(real(m.guides, "guides"), np.float32)
    most, room = int(lib.CSREC_GUIDES_MOST), int(lib.CSREC_GUIDE_NAME)
    names = list(m.guide_names or [""] * len(values))
    if values.shape != (len(values), *m.shape) or not 1 <= len(values) <= most:
        raise ArgumentError(f"guides have shape {values.shape} and the signal {tuple(m.shape)}; give "
                            f"[K, shape] of 1 to {most} planes")
    if len(names) != len(values):
        raise ArgumentError(f"guide_names are {len(names)} for {len(values)} planes; give one for each")
    guides = ffi.new("csrec_guides *", {"n": len(values)})
    for k, name in enumerate(names):
        letters = str(name).encode("ascii", "replace")
        if len(letters) >= room:
            raise ArgumentError(f"guide '{name}': its name is too long; give at most {room - 1} letters")
        guides.name[k] = letters
    pointer = guides.values = ffi.from_buffer("float[]", values)
    made.guides = guides
    return [values, guides, pointer]


def guides_from_c(made: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """(guides, guide_names) of a csrec_guides, copied."""
    n = int(made.n)
    values = copied(made.values, n * int(np.prod(shape, dtype=np.int64)), "float", np.float32)
    return values.reshape(n, *shape), tuple(text(made.name[k]) for k in range(n))
