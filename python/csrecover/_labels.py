# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of xarray, pandas and astropy, which are never imported here: who gives one has it."""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional

import numpy as np

from ._arguments import scalar
from ._errors import ArgumentError, DataError


def _is(y: Any, module: str, *names: str) -> bool:
    found = sys.modules.get(module)
    return found is not None and isinstance(y, tuple(getattr(found, name) for name in names))


def one_array(y: Any) -> Any:
    """Refuses a Dataset, which has several."""
    if _is(y, "xarray", "Dataset"):
        name = next(iter(y.data_vars), "name")
        raise ArgumentError(f"a Dataset has several arrays; give one, ds[{name!r}]")
    return y


def is_labelled(y: Any) -> bool:
    return _is(y, "xarray", "DataArray")


def nodata_of(y: Any, given: Any = None) -> Optional[float]:
    """The number that stands for unknown entries: the given one; of a DataArray that of rioxarray, else
    of an attribute, or of the encoding of integers, which have not been decoded. None: there is none,
    or NaN."""
    if given is not None:
        number = scalar(given, "nodata")
        return None if np.isnan(number) else number
    if not is_labelled(y):
        return None
    found = y.rio.nodata if "rioxarray" in sys.modules and y.ndim >= 2 else None
    places = [y.attrs, y.encoding] if y.dtype.kind in "iu" else [y.attrs]
    for place in places:
        for name in ("_FillValue", "missing_value", "nodata"):
            found = place.get(name) if found is None else found
    if found is None or isinstance(found, str) or np.size(found) != 1:
        return None
    number = float(np.asarray(found).reshape(-1)[0])
    return None if np.isnan(number) else number


def unlabelled(y: Any, nodata: Any = None) -> Any:
    """What of a DataArray, Quantity, NDData, CCDData, Series or DataFrame is an array: masked, or with
    NaN."""
    number = nodata_of(y, nodata)
    if number is not None:
        values = y.values if is_labelled(y) else np.ma.asarray(unlabelled(y))
        unknown = np.ma.getmaskarray(values) | (np.ma.getdata(values) == number)
        return np.ma.MaskedArray(np.ma.getdata(values), unknown)
    if _is(y, "astropy.nddata", "NDData"):
        return y.data if y.mask is None else np.ma.MaskedArray(y.data, y.mask)
    if _is(y, "astropy.units", "Quantity"):
        return y.value
    if _is(y, "pandas", "Series", "DataFrame"):
        return _numbers_of(y)
    return y


def _numbers_of(y: Any) -> np.ndarray:
    """Of a Series or DataFrame, whose dates, texts and classes are no numbers."""
    columns = {"y": y} if y.ndim == 1 else dict(y.items())
    other = [str(name) for name, column in columns.items()
             if getattr(column.dtype, "kind", "O") not in "biufc"]
    if other:
        raise DataError(f"{', '.join(other)}: dates or texts, no numbers; leave them out, or make dates "
                        "the index")
    return y.to_numpy(dtype=float, na_value=np.nan)


def empty_columns(y: Any) -> Any:
    """Of a DataFrame of pandas, or a table of a file, (whether each column has no value at all, names
    of those); None: none is so."""
    if getattr(y, "_table", False) and len(y.shape) == 2 and np.ndim(y.y) == 1:
        empty, names = np.ones(y.shape[1], bool), np.arange(1, y.shape[1] + 1)
        empty[np.asarray(y.index) % len(empty)] = False
    elif _is(y, "pandas", "DataFrame"):
        empty, names = np.asarray(y.isna().all()), y.columns
    else:
        return None
    return (empty, names[empty]) if empty.any() else None


def along(other: Any, y: Any) -> Any:
    """Another array with y's axes, in y's order, where it has them by name."""
    if _is(other, "pandas", "Series", "DataFrame") and _is(y, "pandas", "Series", "DataFrame"):
        same = other.index.equals(y.index) and (other.ndim == 1 or y.ndim == 1 or
                                                other.columns.equals(y.columns))
        if not same:
            raise DataError("a mask or reference has another index or other columns than y; give "
                            "its reindex_like(y)")
    if not is_labelled(other) or not is_labelled(y):
        return other
    if not set(other.dims) <= set(y.dims):
        raise ArgumentError(f"a mask or reference has dims {other.dims}, but y {y.dims}")
    return other.transpose(*(dim for dim in y.dims if dim in other.dims))


def in_order(y: Any) -> None:
    """Refuses an index of numbers or dates that goes up and down: entries beside each other would not
    be neighbours."""
    if is_labelled(y):
        named = {dim: y.coords[dim].values for dim in y.dims if dim in y.coords}
        remedy = "y.sortby('{}')"
    else:
        named = {"index": np.asarray(y.index)} if _is(y, "pandas", "Series", "DataFrame") else {}
        remedy = "y.sort_index()"
    for name, values in named.items():
        if values.ndim != 1 or len(values) < 3 or values.dtype.kind not in "iufM":
            continue
        up = values[1:] >= values[:-1]
        if not up.all() and not (values[1:] <= values[:-1]).all():
            raise DataError(f"y: its {name} goes up and down; give {remedy.format(name)}")


def times_of(y: Any) -> Any:
    """Of a DataArray or Series of one axis where its entries are, as its index has them, if they are
    not at equal distances."""
    index = y.coords.get(y.dims[0]) if is_labelled(y) and y.ndim == 1 else None
    if index is None and _is(y, "pandas", "Series"):
        index = y.index
    index = None if index is None else np.asarray(index)
    if index is None or len(index) < 3 or index.dtype.kind not in "iufM":
        return None
    if index.dtype.kind == "M":
        index = index.astype("datetime64[ns]").astype(np.int64)
    steps = np.diff(index).astype(np.float64)
    if not np.all(steps > 0) or np.ptp(steps) <= 1e-6 * steps.max():
        return None
    return np.r_[0.0, np.cumsum(steps)]


def axis_of(y: Any, channel_axis: Any) -> Any:
    """The number of an axis that may be given by its name."""
    if not isinstance(channel_axis, str):
        return channel_axis
    if not is_labelled(y) or channel_axis not in y.dims:
        raise ArgumentError(f"channel_axis = '{channel_axis}'; a name is for one of the dims of a "
                            "DataArray of xarray")
    return y.get_axis_num(channel_axis)


def time_of(y: Any, time_axis: Any, channel_axis: Any, dims: int, usual: bool) -> Optional[int]:
    """Which of a signal's ``dims`` axes is time; None: none. If it is not said, and the recovery is a
    usual one, the dim of a DataArray of three that is named time, or has dates."""
    said = time_axis is None or isinstance(time_axis, (int, np.integer, str))
    if time_axis is None or not (said or (usual and is_labelled(y) and dims == 3)):
        return None
    channels = isinstance(channel_axis, (int, np.integer))
    axes = dims + channels
    if not said:
        dates = [i for i, dim in enumerate(y.dims)
                 if dim in y.coords and y.coords[dim].dtype.kind == "M"]
        dates = [y.dims.index("time")] if "time" in y.dims else dates
        if not dates:
            return None
        axis = dates[0]
    elif isinstance(time_axis, str):
        if not is_labelled(y) or time_axis not in y.dims:
            raise ArgumentError(f"time_axis = '{time_axis}'; a name is for one of the dims of a "
                                "DataArray of xarray")
        axis = y.get_axis_num(time_axis)
    else:
        axis = int(time_axis)
    if isinstance(time_axis, bool) or dims != 3 or not -axes <= axis < axes or (
            channels and axis % axes == channel_axis % axes):
        raise ArgumentError(f"time_axis = {time_axis!r}; give one of the three axes, without channels, "
                            "of frames one after another")
    axis %= axes
    return axis - (channels and channel_axis % axes < axis)


def _copy_of(y: Any, signal: np.ndarray) -> Any:
    """y with other values."""
    if is_labelled(y):
        return y.copy(data=signal)
    if _is(y, "astropy.nddata", "NDData"):
        meta = {} if y.meta is None else dict(y.meta)
        return type(y)(signal, unit=y.unit, wcs=y.wcs, meta=meta)
    labels = {"columns": y.columns} if _is(y, "pandas", "DataFrame") else {"name": y.name}
    return type(y)(signal, index=y.index, **labels)


def restored(y: Any) -> Callable[[np.ndarray], Any]:
    """What gives a result the labels and units of y, if y has them: dims, coords, attrs, name;
    index and columns; unit, wcs and meta."""
    if not is_labelled(y) and unlabelled(y) is y:
        return lambda signal: signal

    def label(signal: np.ndarray) -> Any:
        if _is(y, "astropy.units", "Quantity"):
            return type(y)(signal, unit=y.unit)
        if signal.shape != y.shape and _is(y, "pandas", "Series", "DataFrame"):
            return signal  # y lists samples
        if signal.shape != y.shape:
            raise ArgumentError(f"y is a {type(y).__name__} of shape {y.shape}, the signal has shape "
                                f"{signal.shape}; give a whole array, or the values of y")
        return _copy_of(y, signal)
    return label
