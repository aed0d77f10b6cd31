# SPDX-License-Identifier: BSD-3-Clause
"""Unknown entries that stay so: far from what is known, or not asked for; and integers that stand
for them."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._arguments import scalar
from ._errors import ArgumentError
from ._library import NULL, check, ffi, lib, new_error, pointer, true_where
from ._measurement import Measurement
from ._whole import of_dtype


def _marked(fill: Any, m: Measurement, channels: int, axis: int) -> tuple[np.ndarray, bool]:
    """(what to fill, channels last, whether it says it of each channel)."""
    marked = true_where(fill, "fill")
    wide = marked.ndim == len(m.shape) + 1
    if wide:
        marked = np.moveaxis(marked, axis, -1)
    if marked.shape not in (tuple(m.shape), (*m.shape, channels)):
        raise ArgumentError(f"fill has shape {np.shape(fill)}; give a mask of the signal's shape "
                            f"{tuple(m.shape)}, with its channels or without, true where to fill")
    return np.ascontiguousarray(marked, np.uint8), wide


def leave(made: Any, m: Measurement, within: Optional[float], fill: Any, axis: int,
          signal: np.ndarray) -> None:
    """Makes NaN of what is not to be filled of the signal, which has channels last."""
    if within is None and fill is None:
        return
    wanted, error = ffi.new("csrec_fill *"), new_error()
    if within is not None:
        wanted.within = scalar(within, "within")
        if not wanted.within >= 1.0:
            raise ArgumentError(f"within = {within}; must be a distance in entries, at least 1")
    marked = None
    if fill is not None:
        marked, wanted.by_channel = _marked(fill, m, int(made.channels), axis)
    wanted.at = NULL if marked is None else pointer(marked, "uint8_t")
    check(lib.csrec_signal_leave(made, wanted, pointer(signal), ffi.new("int64_t *"), error), error)


def delivered(signal: np.ndarray, dtype: Any, nodata: Optional[float]) -> np.ndarray:
    """Of that dtype, NaN as the value for unknown if there is one; no other entry has it."""
    if nodata is None or np.isnan(nodata):
        whole = not np.isnan(signal).any()
        if not whole and of_dtype(np.zeros(1), dtype).dtype.kind != "f":
            raise ArgumentError(f"dtype = {np.dtype(dtype)}: integers have no number for entries that "
                                "stay unknown; give a type of floats")
        return of_dtype(signal, dtype)
    unknown = np.isnan(signal)
    found = of_dtype(np.where(unknown, 0, signal), dtype)
    taken = ~unknown & (found == nodata)
    if found.dtype.kind == "f":
        found[taken] = np.nextafter(found[taken], np.inf)
    else:
        ends = np.iinfo(found.dtype)
        if unknown.any() and not ends.min <= nodata <= ends.max:
            raise ArgumentError(f"dtype = {found.dtype}: has no nodata = {nodata:g}; give a type of floats")
        # A negative number is none of unsigned types.
        found[taken] = found[taken] - 1 if nodata >= ends.max else found[taken] + 1
    if unknown.any():
        found[unknown] = nodata
    return found
