#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cuda_reference.py - cuBLAS and cuDNN on the shapes of bench_cuda_statistics and bench_cuda_conv2d,
in the same run: a JSON object a line. Needs PyTorch with a device, else says SKIPPED."""
import ctypes
import json
import sys

try:
    import torch
except ImportError:
    print("SKIPPED: no PyTorch")
    sys.exit()
if not torch.cuda.is_available():
    print("SKIPPED: PyTorch has no device")
    sys.exit()


def median_ms(work, repeats=15):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begun.record()
        work()
        ended.record()
        ended.synchronize()
        times.append(begun.elapsed_time(ended))
    return sorted(times)[repeats // 2]


def say(**row):
    print(json.dumps(row), flush=True)


def syrk_of_cublas():
    """cublasSsyrk of the library that PyTorch has loaded, or None."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "libcublas.so" in line}
    if not paths:
        return None
    library = ctypes.CDLL(paths.pop())
    handle = ctypes.c_void_p()
    if library.cublasCreate_v2(ctypes.byref(handle)):
        return None
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)

    def syrk(x, c):
        """The lower triangle of x^T x, of row-major x [m, n]: column-major [n, m], not transposed."""
        m, n = x.shape
        lower, plain = 0, 0
        status = library.cublasSsyrk_v2(
            handle, lower, plain, ctypes.c_int(n), ctypes.c_int(m), ctypes.byref(one),
            ctypes.c_void_p(x.data_ptr()), ctypes.c_int(n), ctypes.byref(zero),
            ctypes.c_void_p(c.data_ptr()), ctypes.c_int(n))
        assert status == 0, f"cublasSsyrk: {status}"

    return syrk


def covariance(m=202599, n=2475):
    x = torch.randn(m, n, device="cuda")
    c = torch.empty(n, n, device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    say(bench="sgemm, fp32", rows=m, columns=n, ms=median_ms(lambda: torch.mm(x.T, x, out=c), 5))
    syrk = syrk_of_cublas()
    if syrk:
        torch.cuda.synchronize()
        stream = torch.cuda.default_stream()
        with torch.cuda.stream(stream):
            say(bench="ssyrk, fp32", rows=m, columns=n, ms=median_ms(lambda: syrk(x, c), 5))
    torch.backends.cuda.matmul.allow_tf32 = True
    say(bench="sgemm, tf32", rows=m, columns=n, ms=median_ms(lambda: torch.mm(x.T, x, out=c), 5))
    torch.backends.cuda.matmul.allow_tf32 = False


def convolution(batch, channels_in, channels_out, side, kernel, pad):
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    x = torch.randn(batch, channels_in, side, side, device="cuda", requires_grad=True)
    w = torch.randn(channels_out, channels_in, kernel, kernel, device="cuda", requires_grad=True)
    b = torch.randn(channels_out, device="cuda", requires_grad=True)
    with torch.no_grad():
        forward = median_ms(lambda: torch.nn.functional.conv2d(x, w, b, padding=pad))
    y = torch.nn.functional.conv2d(x, w, b, padding=pad)
    dy = torch.randn_like(y)
    backward = median_ms(lambda: torch.autograd.grad(y, (x, w, b), dy, retain_graph=True))
    say(bench="cudnn, fp32", x=list(x.shape), w=list(w.shape), pad=pad, forward_ms=forward,
        backward_ms=backward)


covariance()
convolution(8, 64, 64, 128, 3, 1)
convolution(1, 64, 1, 512, 8, 4)
convolution(1, 1, 64, 512, 8, 4)
