# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of xarray, which is never imported here: who gives one has it."""
from __future__ import annotations

import sys
from typing import Any, Callable

import numpy as np

from ._errors import ArgumentError


def is_labelled(y: Any) -> bool:
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(y, xarray.DataArray)


def along(other: Any, y: Any) -> Any:
    """Another array with y's axes, in y's order, where it has them by name."""
    if not is_labelled(other) or not is_labelled(y):
        return other
    if not set(other.dims) <= set(y.dims):
        raise ArgumentError(f"a mask or reference has dims {other.dims}, but y {y.dims}")
    return other.transpose(*(dim for dim in y.dims if dim in other.dims))


def axis_of(y: Any, channel_axis: Any) -> Any:
    """The number of an axis that may be given by its name."""
    if not isinstance(channel_axis, str):
        return channel_axis
    if not is_labelled(y) or channel_axis not in y.dims:
        raise ArgumentError(f"channel_axis = '{channel_axis}'; a name is for one of the dims of a "
                            "DataArray of xarray")
    return y.get_axis_num(channel_axis)


def restored(y: Any) -> Callable[[np.ndarray], Any]:
    """What gives a result the dims, coords, attrs and name of y, if y has them."""
    if not is_labelled(y):
        return lambda signal: signal

    def label(signal: np.ndarray) -> Any:
        if signal.shape != y.shape:
            raise ArgumentError(f"y is a DataArray of shape {y.shape}, the signal has shape "
                                f"{signal.shape}; give a whole array, or y.values")
        return y.copy(data=signal)
    return label
