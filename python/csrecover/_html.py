# SPDX-License-Identifier: BSD-3-Clause
"""What notebooks show of objects: a table, and a picture inside the page."""
from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import Any, Mapping, Optional

import numpy as np

from ._library import NULL, check, ffi, lib, new_error, new_shape, pointer

_EDGE = 256


def png(values: np.ndarray, scale: Optional[tuple[float, float]] = None,
        known: Optional[np.ndarray] = None) -> bytes:
    """[H, W] or [H, W, 3] numbers as a PNG of 8 bits, clear where they are not known. scale: values
    of black and white; default: the range of what is known."""
    seen = values if known is None else values[known]
    black, white = scale or (float(seen.min()), float(seen.max()))
    tones = (np.nan_to_num(values) - black) * (255.0 / ((white - black) or 1.0))
    pixels = np.ascontiguousarray(np.clip(np.rint(tones), 0, 255), np.uint8)
    alpha = None if known is None else np.ascontiguousarray(known, np.uint8)
    keep = [pointer(pixels, "uint8_t"), NULL if alpha is None else pointer(alpha, "uint8_t")]
    image = ffi.new("csrec_image *", {"bits": 8, "has_channels": pixels.ndim == 3,
                                      "alpha": keep[1]})
    image.pixels.dtype, image.pixels.count = lib.CSREC_U8, pixels.size
    image.pixels.shape = new_shape(pixels.shape)[0]
    image.pixels.data = ffi.cast("void *", keep[0])
    # The library frees its bytes as the alpha of an image: NumPy and cffi have no free().
    owner = ffi.gc(ffi.new("csrec_image *"), lib.csrec_image_clear)
    data, size, error = ffi.new("uint8_t **"), ffi.new("size_t *"), new_error()
    check(lib.csrec_image_encode(image, data, size, error), error)
    owner.alpha = data[0]
    return bytes(ffi.buffer(data[0], size[0]))


def picture(values: np.ndarray, scale: Optional[tuple[float, float]] = None,
            known: Optional[np.ndarray] = None) -> str:
    """An element that has the picture within, at most some hundred pixels wide."""
    step = max(1, -(-max(values.shape[:2]) // _EDGE))
    small = None if known is None else known[::step, ::step]
    if small is not None and not small.any():
        return ""
    data = b64encode(png(values[::step, ::step], scale, small)).decode()
    return (f'<img alt="" width="{_EDGE}" style="image-rendering:pixelated" '
            f'src="data:image/png;base64,{data}">')


def table(title: str, rows: Mapping[str, Any], below: str = "") -> str:
    """A heading, and a row for each thing that there is to say."""
    lines = "".join(f"<tr><th>{escape(str(name))}</th><td>{escape(_short(value))}</td></tr>"
                    for name, value in rows.items() if value is not None)
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table>{below}</div>"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
