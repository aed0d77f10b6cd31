# SPDX-License-Identifier: BSD-3-Clause
"""Whole arrays some entries of which are known: which those are, and what their axes mean."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional, Union

import numpy as np

from ._arguments import shown
from ._errors import ArgumentError, RecoveryWarning, warn
from ._library import lib, positions, real, true_where
from ._measurement import Measurement, picked


class _Unsaid:
    """A channel_axis that was not given."""

    def __repr__(self) -> str:
        return "not given"


UNSAID = _Unsaid()
ChannelAxis = Union[int, None, _Unsaid]


def said(mask: Any, channel_axis: Any) -> Optional[int]:
    """The axis of channels; refuses what may be colours or a thin volume, and warns where the first
    axis may be one of channels."""
    if not isinstance(channel_axis, _Unsaid):
        return channel_axis
    if mask.ndim == 3 and 2 <= mask.shape[2] <= 4 and min(mask.shape[:2]) > 4:
        raise ArgumentError(f"shape {mask.shape}: colours or a volume? give channel_axis=-1 for a "
                            "last axis of channels, None for a volume")
    if mask.ndim == 3 and 2 <= mask.shape[0] <= 4 and min(mask.shape[1:]) > 4:
        warn(f"shape {mask.shape} is taken as a volume; channel_axis=0 makes channels of the first "
             "axis, None says that it is one of a volume", RecoveryWarning)
    return None


def take_axis(axis: Optional[int], dims: int) -> Optional[int]:
    """From 0 on."""
    if axis is not None and not -dims <= axis < dims:
        raise ArgumentError(f"channel_axis = {axis}; the array has {dims} axes")
    return None if axis is None else axis % dims


def _by_channel(mask: np.ndarray, values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """(where any channel is known, values with channels last, masked where one is not)."""
    values = np.moveaxis(values, axis, -1)
    if mask.ndim == values.ndim:
        each = np.moveaxis(mask, axis, -1)
        mask = each.any(-1)
        if each.shape == values.shape and (each != mask[..., None]).any():
            values = np.ma.MaskedArray(values, ~each)
    if mask.shape != values.shape[:-1]:
        raise ArgumentError(f"mask has shape {mask.shape} and y {values.shape} with channel_axis = "
                            f"{axis}; give a mask of y's shape, with the channels or without")
    return mask, values


def taken(y: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(values, where they are known): not under the mask of numpy.ma, nor where they are NaN or
    infinite."""
    values = real(y.data if isinstance(y, np.ma.MaskedArray) else y, name)
    known = ~np.ma.getmaskarray(y)
    if values.dtype.kind == "f":
        known &= np.isfinite(values)
    return values, known


def _mask_of(y: Any) -> np.ndarray:
    """Of a masked array, or of numbers some of which are NaN."""
    known = taken(y, "y")[1]
    if known.all() and not isinstance(y, np.ma.MaskedArray):
        raise ArgumentError("what was sampled? give mask, or index and shape; or a whole array with "
                            "NaN where it is not known")
    return known


def measured(y: Any, mask: Any, index: Any, shape: Any,
             channel_axis: ChannelAxis = UNSAID) -> Measurement:
    """A measurement from what :func:`csrecover.recover` takes."""
    masked = isinstance(y, np.ma.MaskedArray)
    values = real(y.data if masked else y, "y")
    if mask is None and index is None and shape is None:
        mask = _mask_of(y)
    if masked:
        values = np.ma.MaskedArray(values, np.ma.getmaskarray(y))  # a Measurement leaves them out
    if mask is not None:
        mask = true_where(mask, "mask")
        axis = said(mask, channel_axis)
        if axis is not None:
            mask, values = _by_channel(mask, values, axis)
    index, shape = positions(mask, index, shape)
    if mask is not None and values.shape[:len(shape)] == shape:
        values = values.reshape(-1, *values.shape[len(shape):])[index]  # a whole array
    return Measurement(values, index, shape)


def taken_as(y: Any, mask: Any, index: Any, shape: Any,
             channel_axis: ChannelAxis = UNSAID) -> Measurement:
    """The samples in any of the ways that :func:`csrecover.recover` takes them."""
    if not isinstance(y, Measurement):
        return measured(y, mask, index, shape, channel_axis)
    if mask is not None or index is not None or shape is not None or channel_axis is not UNSAID:
        raise ArgumentError("a Measurement says itself what was sampled; leave out mask, index, "
                            "shape and channel_axis")
    return y


def time_first(m: Measurement, axis: int) -> Measurement:
    """The sequence whose axis of time comes first; samples in the order of their positions."""
    if m.through is not None:
        raise ArgumentError("time_axis is for samples of entries; leave it out")
    if axis == 0:
        return replace(m, sequence=True)
    shape = tuple(np.roll(m.shape[:axis + 1], 1)) + tuple(m.shape[axis + 1:])
    at = list(np.unravel_index(np.asarray(m.index), m.shape))
    flat = np.ravel_multi_index([at[axis], *at[:axis], *at[axis + 1:]], shape)
    order = np.argsort(flat, kind="stable")
    guides = None if m.guides is None else np.moveaxis(np.asarray(m.guides), 1 + axis, 1)
    return replace(picked(m, order), index=flat[order], shape=tuple(map(int, shape)), sequence=True,
                   guides=guides)


def of_dtype(signal: np.ndarray, dtype: Any) -> np.ndarray:
    """Integers are rounded and clipped to their range."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        raise ArgumentError(f"dtype = {shown(dtype)}; give a type of integers or floats") from None
    if wanted.kind == "f":
        return signal.astype(wanted, copy=False)
    if wanted.kind not in "iu":
        raise ArgumentError(f"dtype = {wanted}; give a type of integers or floats")
    ends = np.iinfo(wanted)
    return np.clip(np.rint(signal), ends.min, ends.max).astype(wanted)


def picture_dtype(y: Any) -> Optional[np.dtype]:
    """That of a whole picture of 8 or 16 bits, which its recovery has, too; None: floats."""
    dtype = getattr(y, "dtype", None)
    return np.dtype(dtype) if np.ndim(y) > 1 and dtype in (np.uint8, np.uint16) else None


def filled(image: Any, mask: Any, channel_axis: Optional[int]) -> np.ndarray:
    """What :func:`csrecover.inpaint` knows, of the image's shape: its mask is true where it does
    not."""
    values, known = taken(image, "image")
    mask = true_where(mask, "mask")
    flat = channel_axis is not None and mask.ndim == values.ndim - 1
    wide = np.expand_dims(mask, channel_axis) if flat else mask
    if wide.shape != (known.any(channel_axis, keepdims=True).shape if flat else values.shape):
        raise ArgumentError(f"mask has shape {mask.shape} and image {values.shape}; give a mask of "
                            "the image's shape, true where it is to be filled")
    return known & ~wide


def _signal(measurement: Measurement, made: Any) -> np.ndarray:
    try:
        values = np.empty(int(lib.csrec_measurement_signal_values(made)))
        return values.reshape(*measurement.shape, *_trailing(measurement, made))
    except (MemoryError, ValueError):
        raise ArgumentError(f"shape {measurement.shape}: no memory for the whole signal") from None


def _parts(measurement: Measurement, made: Any) -> int:
    """Doubles of a value of the signal."""
    entries = int(np.prod(measurement.shape, dtype=np.int64))
    return int(lib.csrec_measurement_signal_values(made)) // (entries * int(made.channels))


def _trailing(measurement: Measurement, made: Any) -> tuple[int, ...]:
    """Axes behind those of the signal: channels, and the parts of complex values."""
    coils = measurement.through is not None and measurement.through.coils is not None
    channels = (int(made.channels),) if np.ndim(measurement.y) == 2 and not coils else ()
    return (*channels, 2) if _parts(measurement, made) == 2 else channels
