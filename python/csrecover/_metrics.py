# SPDX-License-Identifier: BSD-3-Clause
"""How alike two pictures are."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._errors import ArgumentError
from ._library import check, doubles, ffi, lib, pointer, real


def _pair(a: Any, b: Any, peak: Optional[float]) -> tuple[np.ndarray, np.ndarray, float]:
    a, b = real(a, "a"), real(b, "b")
    if a.shape != b.shape or a.size == 0:
        raise ArgumentError(f"a has shape {a.shape} and b {b.shape}; give two of the same")
    if peak is None:
        whole = next((x.dtype for x in (a, b) if x.dtype.kind == "u"), None)
        if whole is None:
            raise ArgumentError("peak: the distance of black and white is not known of these "
                                "dtypes; give it, 255 for pictures of 8 bits")
        peak = float(np.iinfo(whole).max)
    return a, b, peak


def psnr(a: Any, b: Any, peak: Optional[float] = None) -> float:
    """10 log10(peak^2 / mean((a - b)^2)) in dB.

    Parameters
    ----------
    a, b : array_like
        arrays of the same shape
    peak : float, optional
        the distance of black and white; default: the range of an unsigned integer dtype of either

    Returns
    -------
    decibels : float
        infinity for equal arrays

    Examples
    --------
    >>> round(csrecover.psnr(np.zeros(4), np.full(4, 0.1), peak=1), 6)
    20.0
    """
    a, b, peak = _pair(a, b, peak)
    a, b = doubles(a), doubles(b)
    return float(lib.csrec_psnr(a.size, pointer(a), pointer(b), peak))


def ssim(a: Any, b: Any, peak: Optional[float] = None,
         channel_axis: Optional[int] = None) -> float:
    """Mean structural similarity of two pictures (Wang et al. 2004; Gaussian window, sigma 1.5, 11 x 11).

    Parameters
    ----------
    a, b : array_like
        [H, W], at least 11 x 11
    peak : float, optional
        as of :func:`psnr`
    channel_axis : int, optional
        axis of the channels, whose mean it is; None: there is none

    Returns
    -------
    similarity : float
        1 for equal pictures

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> csrecover.ssim(image, image)
    1.0
    """
    a, b, peak = _pair(a, b, peak)
    planes = [(a, b)] if channel_axis is None else list(
        zip(np.moveaxis(a, channel_axis, 0), np.moveaxis(b, channel_axis, 0)))
    total, found = 0.0, ffi.new("double *")
    for one, other in planes:
        if one.ndim != 2:
            raise ArgumentError(f"a has shape {a.shape}; give pictures [H, W], or channel_axis")
        one, other = doubles(one), doubles(other)
        check(lib.csrec_ssim(*one.shape, pointer(one), pointer(other), peak, found))
        total += found[0]
    return total / len(planes)
