# SPDX-License-Identifier: BSD-3-Clause
"""What ``import csrecover.xarray`` adds to xarray: ``field.csrecover.recover()`` of a ``DataArray``,
and of a ``Dataset`` for all of its arrays that have unknown entries.

>>> import csrecover.xarray
>>> full = field.csrecover.recover(quality="fast")
"""
from __future__ import annotations

from typing import Any

import xarray

from ._dask import is_lazy
from ._inpaint import inpaint
from ._labels import nodata_of, unlabelled
from ._recover import recover
from ._whole import taken

__all__ = ["ArrayAccessor", "DatasetAccessor"]


@xarray.register_dataarray_accessor("csrecover")
class ArrayAccessor:
    """:func:`csrecover.recover` and :func:`csrecover.inpaint` of a ``DataArray``. Integers with a value
    for unknown ones (``rio.nodata``, ``_FillValue``) keep their type. Of three dims one that is named
    ``time``, or has dates, makes frames one after another of it; ``time_axis=None``: a volume."""

    def __init__(self, array: xarray.DataArray) -> None:
        self._array = array

    def _typed(self, options: dict[str, Any]) -> dict[str, Any]:
        whole = self._array.dtype.kind in "iu" and nodata_of(self._array) is not None
        return {"dtype": self._array.dtype, **options} if whole else options

    def recover(self, mask: Any = None, **options: Any) -> Any:
        """As :func:`csrecover.recover`."""
        return recover(self._array, mask, **self._typed(options))

    def inpaint(self, mask: Any, **options: Any) -> Any:
        """As :func:`csrecover.inpaint`: the mask is true where it is to be filled."""
        return inpaint(self._array, mask, **self._typed(options))


def _has_gaps(array: xarray.DataArray) -> bool:
    """Of an array that is not computed yet, whether it can have."""
    if array.dtype.kind not in "iuf" or array.ndim == 0:
        return False
    if is_lazy(array):
        return array.dtype.kind == "f" or nodata_of(array) is not None
    known = taken(unlabelled(array), "array")[1]
    return bool(known.any() and not known.all())


@xarray.register_dataset_accessor("csrecover")
class DatasetAccessor:
    """Of a ``Dataset``: each of its variables that has unknown entries, by itself."""

    def __init__(self, dataset: xarray.Dataset) -> None:
        self._dataset = dataset

    def recover(self, **options: Any) -> xarray.Dataset:
        """As :func:`csrecover.recover`; variables without unknown entries stay as they are."""
        return self._dataset.assign({
            name: ArrayAccessor(array).recover(**options)
            for name, array in self._dataset.data_vars.items() if _has_gaps(array)})
