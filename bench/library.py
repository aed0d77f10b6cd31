# SPDX-License-Identifier: BSD-3-Clause
"""library.py - calls of the library between arrays, on a device and on the CPU in the same run, without
what the package does around them. The shortest times count; the device's first call, which makes it
ready, does not. Imported after common.load."""
import dataclasses
import functools
import os
import time

import numpy as np

import csrecover
from csrecover._learn import _learn
from csrecover._library import NULL, check, ffi, lib, new_error, pointer
from csrecover._measurement import to_c
from csrecover._options import options_of
from net_drawn import synthetic

THREADS = os.cpu_count()
BACKENDS = ["cuda", "cpu"]  # cuda.py --device puts another first
BRIEF = []                  # not empty: sides are an eighth, to try the program


def side_of(side):
    return max(side // 8, 32) if BRIEF else side


def least_ms(call, repeats=3, seconds=0.0, warm=True):
    """Of so many calls, and further ones until so many seconds are spent."""
    if warm:
        call()
    least, begun, k = np.inf, time.perf_counter(), 0
    while k < repeats or (k < 200 and time.perf_counter() - begun < seconds):
        start = time.perf_counter()
        call()
        least, k = min(least, time.perf_counter() - start), k + 1
    return 1e3 * least


def beside(call, repeats=3, seconds=0.0):
    """call(backend) on both."""
    cuda, cpu = (least_ms(functools.partial(call, backend), repeats, seconds, backend == BACKENDS[0])
                 for backend in BACKENDS)
    return {"cuda_ms": cuda, "cpu_ms": cpu, "cpu_threads": THREADS}


def rms(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def psnr(a, b):
    return float(20 * np.log10(255 / rms(a, b)))


@functools.lru_cache(2)
def picture(side, channels=1):
    """Colours are the gray picture and, weaker, itself turned by a quarter."""
    gray = synthetic(1, side)
    turned = [0.75 * gray + 0.25 * np.rot90(gray, k) for k in range(1, channels)]
    return np.stack([gray, *turned], -1) if channels > 1 else gray


def sampled(values, channels=1, sigma=0.0):
    """A quarter of the entries."""
    m = csrecover.sample(values, 0.25, "uniform", 1, channel_axis=-1 if channels > 1 else None)
    noise = sigma * np.random.default_rng(1).standard_normal(m.y.shape)
    return dataclasses.replace(m, y=m.y + noise, sigma=sigma, scale=(0.0, 255.0))


class Recovery:
    """csrec_recover alone, without what the package checks around it."""

    def __init__(self, m, **options):
        self.made, self.keep = to_c(m)
        self.options = options_of(self.made, self.keep, csrecover.recover, **options)
        self.signal = np.empty(int(lib.csrec_measurement_signal_values(self.made)))
        self.report = ffi.new("csrec_recover_report *")

    def __call__(self, backend, progress=NULL):
        name, error = ffi.new("char[]", backend.encode()), new_error()
        self.options.backend, self.options.solve.progress = name, progress
        check(lib.csrec_recover(self.made, self.options, pointer(self.signal), NULL, self.report,
                                error), error)
        return self.signal

    def beside(self, repeats=3):
        """Times, and the signals of both."""
        times = beside(self, repeats)
        return times, *(self(backend).copy() for backend in BACKENDS)


def learn(function, data, shape, backend, **options):
    name = ffi.new("char[]", backend.encode())
    return _learn(function, data, shape, 1, (0.0, 255.0), None, None, 0, backend=name, **options)
