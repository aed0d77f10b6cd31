# SPDX-License-Identifier: BSD-3-Clause
"""Holes of a picture, filled."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np

from ._arguments import whole
from ._dask import is_lazy, unfilled
from ._errors import ArgumentError
from ._info import RecoverInfo
from ._labels import along, axis_of, one_array, unlabelled
from ._library import true_where
from ._measurement import is_path, without
from ._recover import recover
from ._typing import InpaintOptions, L, Mask, Picture
from ._whole import filled, taken

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
def inpaint(image: Picture, mask: Mask, *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[False] = ..., **options: Unpack[InpaintOptions]) -> np.ndarray: ...


@overload
def inpaint(image: Picture, mask: Mask, *, return_uncertainty: Literal[False] = ...,
            return_info: Literal[True],
            **options: Unpack[InpaintOptions]) -> tuple[np.ndarray, RecoverInfo]: ...


@overload
def inpaint(image: Picture, mask: Mask, *, return_uncertainty: Literal[True],
            return_info: Literal[False] = ...,
            **options: Unpack[InpaintOptions]) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def inpaint(image: Picture, mask: Mask, *, return_uncertainty: Literal[True],
            return_info: Literal[True],
            **options: Unpack[InpaintOptions]) -> tuple[np.ndarray, np.ndarray, RecoverInfo]: ...


@overload
def inpaint(image: L, mask: Mask, *, return_uncertainty: bool = ...,
            return_info: bool = ..., **options: Unpack[InpaintOptions]) -> Any: ...


@overload
def inpaint(image: Picture, mask: Mask, *, return_uncertainty: bool = ...,
            return_info: bool = ..., **options: Unpack[InpaintOptions]) -> Any: ...


def inpaint(image: Any, mask: Any, *, channel_axis: Union[int, str, None] = None, **options: Any) -> Any:
    """Fills holes, with the meaning of scikit-image's ``inpaint_biharmonic``.

    Parameters
    ----------
    image : array_like, str or path
        the whole array, or its file; what is in the holes does not matter. NaN is a hole, too
    mask : array_like of bool, str or path
        bool, or a file that is not 0 there; of the image's shape with or without channels: **true where it is to be filled**
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
    if is_path(image):
        return recover(without(image, mask), **({} if channel_axis is None else {"channel_axis": channel_axis}),
                       **options)
    axis = axis_of(one_array(image), channel_axis)
    if is_lazy(image):
        return recover(image, unfilled(image, mask), channel_axis=axis, **options)
    known = filled(unlabelled(image), along(mask, image), axis)
    return recover(image, known, channel_axis=axis, **options)


def _spread(mask: Any, image: Any, channels: bool) -> np.ndarray:
    """A mask of the pictures, perhaps one for all, or of channels, with the image's shape."""
    mask = true_where(mask, "mask")
    try:
        if channels and mask.shape[-1:] != image.shape[-1:] or mask.ndim == 0:
            return np.broadcast_to(mask[..., None], image.shape)
        if channels and mask.ndim < image.ndim and mask.shape == image.shape[-1 - mask.ndim:-1]:
            return np.broadcast_to(mask[..., None], image.shape)
        return np.broadcast_to(mask, image.shape)
    except (ValueError, IndexError):
        raise ArgumentError(f"mask has shape {mask.shape} and image {image.shape}; give a mask of "
                            "one picture, or of all, true where it is to be filled") from None


def inpaint_each(image: Any, mask: Any = None, *, axes: int = 2, channels: bool = False,
                 **options: Any) -> np.ndarray:
    """:func:`inpaint` of each picture of a stack by itself, in the type of the stack.

    Parameters
    ----------
    image : array_like
        [..., H, W], or [..., H, W, C] with channels. NaN and what is masked are holes
    mask : array_like of bool, optional
        of the image's shape with or without channels, or of one picture: true where to fill
    axes : int, optional
        of one picture, without channels: 1 for signals, 3 for volumes
    channels : bool, optional
        whether the last axis is one of channels
    **options
        as of :func:`recover`

    Returns
    -------
    pictures : ndarray
        of the image's shape and dtype. Pictures without holes stay as they are, unless there is a
        ``sigma``; those of which nothing is known stay NaN, and are an error if they are integers

    Examples
    --------
    >>> film = np.stack([csrecover.datasets.picture("discs", 48)] * 3)
    >>> scratch = np.zeros((48, 48), bool)
    >>> scratch[20:23] = True
    >>> csrecover.inpaint_each(film, scratch, quality="fast").shape
    (3, 48, 48)
    """
    values, known = taken(image, "image")
    if mask is not None:
        known = known & ~_spread(mask, values, channels)
    lead = values.ndim - whole(axes, "axes") - channels
    if lead < 0:
        raise ArgumentError(f"image has shape {values.shape}; give one of {axes} axes or more"
                            + (" and one of channels" if channels else ""))
    made = np.empty_like(values)
    for at in np.ndindex(values.shape[:lead]):
        if known[at].all() and options.get("sigma") is None:
            made[at] = values[at]
        elif known[at].any():
            made[at] = recover(values[at], known[at], channel_axis=-1 if channels else None,
                               dtype=values.dtype, **options)
        elif values.dtype.kind == "f":
            made[at] = np.nan
        else:
            where = f"picture {', '.join(map(str, at))}" if at else "image"
            raise ArgumentError(f"{where}: nothing of it is known; leave some out of the mask")
    return made
