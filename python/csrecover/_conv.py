# SPDX-License-Identifier: BSD-3-Clause
"""Convolution as neural networks have it, forward and backward."""
from __future__ import annotations

from typing import Any, Union

import numpy as np

from ._arguments import whole, word
from ._errors import ArgumentError, DataError
from ._library import NULL, check, ffi, kept, lib, new_error, pointer, real

Pair = Union[int, tuple[int, int]]


def _pair(value: Pair, name: str) -> list[int]:
    found = list(value) if isinstance(value, (tuple, list)) else [value, value]
    if len(found) != 2:
        raise ArgumentError(f"{name} = {value!r}; give a number, or one for height and width each")
    return [whole(each, name) for each in found]


def _floats(array: Any, name: str, axes: int) -> tuple[np.ndarray, np.dtype[Any]]:
    given = real(array, name)
    if given.ndim != axes:
        raise ArgumentError(f"{name} has shape {given.shape}; needs {axes} axes")
    values = np.ascontiguousarray(given, dtype=np.float32)
    if not np.isfinite(values).all():
        raise DataError(f"{name}: not all values are finite as float32")
    return values, kept(given)


class _Geometry:
    """csrec_conv2d of two shapes, the output's extents, and memory to work in."""

    def __init__(self, x: np.ndarray, weight: np.ndarray, stride: Pair, padding: Pair,
                 dilation: Pair, threads: int, backend: str) -> None:
        if x.shape[1] != weight.shape[1]:
            raise ArgumentError(f"x has {x.shape[1]} channels, but weight {weight.shape[1]}: "
                                "[batch, channels, H, W] and [out, channels, Kh, Kw]")
        self._backend = ffi.new("char[]", word(backend, "backend"))
        self.conv = ffi.new("csrec_conv2d *", {
            "batch": x.shape[0], "channels_in": x.shape[1], "channels_out": weight.shape[0],
            "size": x.shape[2:], "kernel": weight.shape[2:], "stride": _pair(stride, "stride"),
            "dilation": _pair(dilation, "dilation"), "padding": _pair(padding, "padding"),
            "threads": whole(threads, "threads"), "backend": self._backend})
        for name in ("stride", "dilation"):
            if min(getattr(self.conv, name)) < 1:
                raise ArgumentError(f"{name}: must be at least 1")
        out, error = ffi.new("int64_t[2]"), new_error()
        check(lib.csrec_conv2d_output(self.conv, out, error), error)
        self.out = (x.shape[0], weight.shape[0], int(out[0]), int(out[1]))

    def workspace(self, backward: bool) -> np.ndarray:
        size, error = ffi.new("size_t *"), new_error()
        check(lib.csrec_conv2d_workspace(self.conv, NULL if backward else size,
                                         size if backward else NULL, error), error)
        return np.empty(max(int(size[0]), 1), np.uint8)


def conv2d(x: Any, weight: Any, bias: Any = None, *, stride: Pair = 1, padding: Pair = 0,
           dilation: Pair = 1, threads: int = 0, backend: str = "auto") -> np.ndarray:
    """Convolution as neural networks have it, NCHW.

    Parameters
    ----------
    x : array_like
        [batch, channels, H, W]
    weight : array_like
        [out, channels, Kh, Kw], not turned round
    bias : array_like, optional
        [out]
    stride, padding, dilation : int or (int, int), optional
        a number, or (height, width)
    threads : int, optional
        0: all cores
    backend : str, optional
        'auto', 'cpu' or 'cuda'

    Returns
    -------
    y : ndarray
        [batch, out, Ho, Wo], Ho = (H + 2 ph - dh (Kh - 1) - 1) // sh + 1

    Notes
    -----
    y[n, o, i, j] = bias[o] + sum over c, k, l of
    weight[o, c, k, l] x[n, c, i sh - ph + k dh, j sw - pw + l dw], x being 0 outside. Arithmetic is
    in float32; the result has x's dtype if that is float32, else float64.

    Examples
    --------
    >>> csrecover.conv2d(np.ones((1, 1, 4, 4)), np.ones((2, 1, 3, 3)), padding=1)[0, 0, 0]
    array([4., 6., 6., 4.])
    """
    X, dtype = _floats(x, "x", 4)
    W, _ = _floats(weight, "weight", 4)
    geometry = _Geometry(X, W, stride, padding, dilation, threads, backend)
    B = None if bias is None else _floats(bias, "bias", 1)[0]
    if B is not None and B.shape != W.shape[:1]:
        raise ArgumentError(f"bias has shape {B.shape}; needs ({W.shape[0]},)")
    Y, work, error = np.empty(geometry.out, np.float32), geometry.workspace(False), new_error()
    check(lib.csrec_conv2d_forward(
        geometry.conv, pointer(X, "float"), pointer(W, "float"), NULL,
        NULL if B is None else pointer(B, "float"), pointer(Y, "float"), pointer(work, "char"),
        work.nbytes, error), error)
    return Y.astype(dtype, copy=False)


def conv2d_backward(x: Any, weight: Any, grad: Any, *, stride: Pair = 1, padding: Pair = 0,
                    dilation: Pair = 1, threads: int = 0, backend: str = "auto",
                    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of L = sum(y * grad) with y = conv2d(x, weight, bias, ...).

    Parameters
    ----------
    x, weight : array_like
        as of :func:`conv2d`
    grad : array_like
        as y
    stride, padding, dilation : int or (int, int), optional
        as of :func:`conv2d`
    threads : int, optional
        0: all cores
    backend : str, optional
        'auto', 'cpu' or 'cuda'

    Returns
    -------
    dx, dweight, dbias : ndarray
        as x, as weight, and [out]; the last two are sums over the batch

    Examples
    --------
    >>> x, weight = np.ones((1, 1, 4, 4)), np.ones((2, 1, 3, 3))
    >>> csrecover.conv2d_backward(x, weight, np.ones((1, 2, 2, 2)))[2]
    array([4., 4.])
    """
    X, dtype = _floats(x, "x", 4)
    W, _ = _floats(weight, "weight", 4)
    geometry = _Geometry(X, W, stride, padding, dilation, threads, backend)
    dY, _ = _floats(grad, "grad", 4)
    if dY.shape != geometry.out:
        raise ArgumentError(f"grad has shape {dY.shape}; needs {geometry.out}")
    dX, dW, dB = np.empty_like(X), np.empty_like(W), np.empty(W.shape[0], np.float32)
    work, error = geometry.workspace(True), new_error()
    check(lib.csrec_conv2d_backward(
        geometry.conv, pointer(X, "float"), pointer(W, "float"), NULL, pointer(dY, "float"),
        pointer(dX, "float"), pointer(dW, "float"), pointer(dB, "float"), pointer(work, "char"),
        work.nbytes, error), error)
    one, two, three = (each.astype(dtype, copy=False) for each in (dX, dW, dB))
    return one, two, three
