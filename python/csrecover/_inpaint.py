# SPDX-License-Identifier: BSD-3-Clause
"""Holes of a picture, filled."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np

from ._dask import is_lazy, unfilled
from ._info import RecoverInfo
from ._labels import along, axis_of, unlabelled
from ._recover import recover
from ._typing import Array, InpaintOptions, L, Mask
from ._whole import filled

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Unpack


@overload
def inpaint(image: L, mask: Mask, *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[False] = ..., **options: Unpack[InpaintOptions]) -> L: ...


@overload
def inpaint(image: L, mask: Mask, *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[True],
            **options: Unpack[InpaintOptions]) -> tuple[L, RecoverInfo]: ...


@overload
def inpaint(image: L, mask: Mask, *, return_uncertainty: Literal[True],
            return_info: Literal[False] = ...,
            **options: Unpack[InpaintOptions]) -> tuple[L, L]: ...


@overload
def inpaint(image: L, mask: Mask, *, return_uncertainty: Literal[True],
            return_info: Literal[True],
            **options: Unpack[InpaintOptions]) -> tuple[L, L, RecoverInfo]: ...


@overload
def inpaint(image: Array, mask: Mask, *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[False] = ..., **options: Unpack[InpaintOptions]) -> np.ndarray: ...


@overload
def inpaint(image: Array, mask: Mask, *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[True],
            **options: Unpack[InpaintOptions]) -> tuple[np.ndarray, RecoverInfo]: ...


@overload
def inpaint(image: Array, mask: Mask, *, return_uncertainty: Literal[True],
            return_info: Literal[False] = ...,
            **options: Unpack[InpaintOptions]) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def inpaint(image: Array, mask: Mask, *, return_uncertainty: Literal[True],
            return_info: Literal[True],
            **options: Unpack[InpaintOptions]) -> tuple[np.ndarray, np.ndarray, RecoverInfo]: ...


@overload
def inpaint(image: L, mask: Mask, *, return_uncertainty: bool = ...,
            return_info: bool = ..., **options: Unpack[InpaintOptions]) -> Any: ...


@overload
def inpaint(image: Array, mask: Mask, *, return_uncertainty: bool = ...,
            return_info: bool = ..., **options: Unpack[InpaintOptions]) -> Any: ...


def inpaint(image: Any, mask: Any, *, channel_axis: Union[int, str, None] = None, **options: Any) -> Any:
    """Fills holes, with the meaning of scikit-image's ``inpaint_biharmonic``.

    Parameters
    ----------
    image : array_like
        the whole array; what is in the holes does not matter. NaN is a hole, too
    mask : array_like of bool
        bool, of the image's shape with or without channels: **true where it is to be filled**
    channel_axis : int, str or None, optional
        axis of the channels, -1 for [H, W, 3]; None: there is none
    **options
        as of :func:`recover`

    Returns
    -------
    picture : ndarray or DataArray
        as of :func:`recover`

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scratch = np.zeros(image.shape, bool)
    >>> scratch[30:33, 10:50] = True
    >>> picture = csrecover.inpaint(image, scratch, dtype=np.uint8)
    >>> picture.dtype, bool((picture == image)[~scratch].all())
    (dtype('uint8'), True)
    """
    axis = axis_of(image, channel_axis)
    if is_lazy(image):
        return recover(image, unfilled(image, mask), channel_axis=axis, **options)
    known = filled(unlabelled(image), along(mask, image), axis)
    return recover(image, known, channel_axis=axis, **options)
