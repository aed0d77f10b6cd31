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
    """10 log10(peak^2 / mean((a - b)^2)) in dB, infinity for equal arrays. peak defaults to the
    range of an unsigned integer dtype of either."""
    a, b, peak = _pair(a, b, peak)
    a, b = doubles(a), doubles(b)
    return float(lib.csrec_psnr(a.size, pointer(a), pointer(b), peak))


def ssim(a: Any, b: Any, peak: Optional[float] = None,
         channel_axis: Optional[int] = None) -> float:
    """Mean structural similarity (Wang et al. 2004; Gaussian window, sigma 1.5, 11 x 11) of two
    pictures [H, W] of at least 11 x 11, mean over the channels of ``channel_axis``."""
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
