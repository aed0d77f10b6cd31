# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of dask, which is never imported here: recovered lazily, a task for each block, from the
block and what is around it."""
from __future__ import annotations

import inspect
import math
import sys
from typing import Any, Callable, Optional

import numpy as np

from ._arguments import scalar, seed_of, whole
from ._errors import ArgumentError, RecoveryWarning, warn
from ._labels import along, axis_of, is_labelled, nodata_of
from ._leave import delivered
from ._whole import UNSAID, picture_dtype, said, take_axis

#: What needs all blocks at once, or is no array.
_WHOLE = ("index", "shape", "robust", "callback", "progress", "comm", "coefficients", "reference",
          "peak", "guide", "return_uncertainty", "return_info")
#: Entries around a block, as around a tile (src/recover/parts/tiling.c).
_DEPTH, _DEPTH_3D = 64, 16


def is_lazy(y: Any) -> bool:
    """Whether y is an array of dask, or a DataArray that holds one."""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(y.data if is_labelled(y) else y, dask.Array)


def _block(values: np.ndarray, facts: tuple[float, float], axis: Optional[int], out: Any,
           nodata: Optional[float], recover: Callable[..., Any],
           options: dict[str, Any]) -> np.ndarray:
    """A block and what is around it, NaN where it is not known."""
    known, (low, high) = np.isfinite(values), facts
    if values.size and not known.any():
        warn("a block of a dask array, with what is around it, has no known entry and stays unknown; "
             "rechunk into larger blocks, or give a larger depth", RecoveryWarning)
    elif not known.all() or (values.size and options.get("sigma")):
        scale = (low, high) if low < high and not options.get("labels") else None
        values = recover(values, known, channel_axis=axis, **{"scale": scale, **options})
    return delivered(values, out, nodata)


def _facts(low: Any, high: Any) -> tuple[float, float]:
    return float(low), float(high)


def _depths(values: Any, axis: Optional[int], depth: Any, within: Optional[float]) -> dict[int, int]:
    """Entries around a block along each axis: none along one of channels."""
    axes = [a for a in range(values.ndim) if a != axis]
    if depth is None:
        depth = _DEPTH_3D if sum(values.shape[a] > 1 for a in axes) > 2 else _DEPTH
    each = [whole(one, "depth") for one in (depth if np.ndim(depth) else [depth] * len(axes))]
    if len(each) != len(axes) or min(each, default=0) < 0:
        raise ArgumentError(f"depth = {depth!r}; must be a number from 0 on, or one for each of the "
                            f"{len(axes)} axes without channels")
    least = 0 if within is None else math.ceil(scalar(within, "within"))
    found = {a: min(max(one, least), values.shape[a]) for a, one in zip(axes, each)}
    return {a: 0 if len(values.chunks[a]) == 1 else found.get(a, 0) for a in range(values.ndim)}


def _spread(mask: Any, data: Any, axis: Optional[int], name: str) -> Any:
    """A mask as an array of dask with the blocks of the data."""
    dask = sys.modules["dask.array"]
    mask = dask.asarray(mask.data if is_labelled(mask) else mask).astype(bool)
    if axis is not None and mask.ndim == data.ndim - 1:
        mask = dask.expand_dims(mask, axis)
    fits = mask.ndim == data.ndim and all(m in (1 if a == axis else n, n) for a, (m, n) in
                                          enumerate(zip(mask.shape, data.shape)))
    if not fits:
        raise ArgumentError(f"{name} has shape {mask.shape} and y {data.shape}; give one of y's shape, "
                            "with the channels or without")
    return dask.broadcast_to(mask, data.shape).rechunk(data.chunks)


def _known(data: Any, mask: Any, nodata: Optional[float], axis: Optional[int]) -> tuple[Any, Any]:
    """(the values, where they are known), both lazy."""
    dask = sys.modules["dask.array"]
    known = dask.ones(data.shape, dtype=bool, chunks=data.chunks)
    if isinstance(data._meta, np.ma.MaskedArray):
        known, data = ~dask.ma.getmaskarray(data), dask.ma.getdata(data)
    if data.dtype.kind == "f":
        known = known & dask.isfinite(data)
    if nodata is not None:
        known = known & (data != nodata)
    return data, known if mask is None else known & _spread(mask, data, axis, "mask")


def unfilled(image: Any, mask: Any) -> Any:
    """What a mask of :func:`csrecover.inpaint` leaves, lazily."""
    mask = along(mask, image)
    mask = mask if is_labelled(mask) else sys.modules["dask.array"].asarray(mask)
    return ~mask.astype(bool)


def _check(given: dict[str, Any]) -> None:
    for name in _WHOLE:
        if given[name] is not None and given[name] is not False:
            raise ArgumentError(f"{name} is not for arrays of dask, whose blocks are recovered one by "
                                f"one; leave it out, or give y.compute()")
    if isinstance(given["sigma"], str):
        raise ArgumentError("sigma = 'auto' is not for arrays of dask, as it must be the same for all "
                            "blocks; give a number, as of estimate_noise of a part")


def _options(recover: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """What each block gets of the arguments: those that are not the defaults, which a task need not
    carry; one thread, as other blocks have the other cores; the same seed."""
    options = given.pop("params")
    if given["rng"] is not None:
        given["seed"] = seed_of(given["seed"], given.pop("rng"))
    for name, one in inspect.signature(recover).parameters.items():
        if name in given and given[name] is not one.default:
            options[name] = given[name]
    return {"threads": 1, **options}


def lazily(recover: Callable[..., Any], given: dict[str, Any]) -> Any:
    """What ``recover(**given)`` is, as an array of dask that is not yet computed."""
    import dask
    array = sys.modules["dask.array"]
    _check(given)
    y, fill = given.pop("y"), given.pop("fill")
    mask, fill = along(given.pop("mask"), y), along(fill, y)
    data, nodata = (y.data if is_labelled(y) else y), nodata_of(y, given.pop("nodata", None))
    axis, dtype = axis_of(y, given.pop("channel_axis")), given.pop("dtype")
    axis = take_axis(said(data, axis), data.ndim)
    single = data.dtype.kind == "f" and data.dtype.itemsize <= 4
    working = np.dtype(np.float32 if single else np.float64)
    depth, within = given.pop("depth"), given["within"]
    if dtype is None and within is None and fill is None and not given.get("labels"):
        dtype = picture_dtype(data)
    dtype = working if dtype is None else np.dtype(dtype)
    data, known = _known(data, mask, nodata, axis)
    values = array.where(known, data.astype(working), working.type(np.nan))
    if axis is not None:
        values = values.rechunk({axis: -1})
    depths = _depths(values, axis, depth, within)
    facts = dask.delayed(_facts)(array.nanmin(values), array.nanmax(values))
    options = _options(recover, given)
    last = dtype if fill is None else working
    found = array.map_overlap(_block, values, depth=depths, boundary="none", dtype=last,
                              meta=np.empty((0,) * values.ndim, last), facts=facts, axis=axis,
                              nodata=nodata if fill is None else None, recover=recover,
                              options=options, out=last)
    if fill is not None:
        kept = known | _spread(fill, data, axis, "fill")
        found = array.where(kept.rechunk(found.chunks), found, working.type(np.nan))
        found = found.map_blocks(delivered, dtype, nodata, dtype=dtype)
    return y.copy(data=found) if is_labelled(y) else found
