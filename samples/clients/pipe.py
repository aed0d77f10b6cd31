#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pipe.py - a program that measures and a picture that is recovered, by a pipe and without files:
an .npz of the samples goes to the stdin of `csrecover - -o -`, whose stdout is an .npy.

  python3 pipe.py [CSRECOVER]"""
import io
import subprocess
import sys

import numpy as np


def recover(values, mask, program="csrecover", quality="balanced", **more):
    """The whole array from values[mask]; more: other arrays of a measurement file, as sigma=."""
    scan = io.BytesIO()
    np.savez(scan, y=values[mask], mask=mask, **more)
    done = subprocess.run([program, "-", "-o", "-", "--quality", quality, "--quiet"],
                          input=scan.getvalue(), capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode().strip())
    return np.load(io.BytesIO(done.stdout))


def main():
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:96, :128] / 96
    truth = np.sin(9 * x + 4 * y * y) + (np.hypot(x - 0.6, y - 0.4) < 0.25)
    mask = rng.random(truth.shape) < 0.15
    found = recover(truth, mask, *sys.argv[1:2])
    error, plain = np.sqrt(np.mean((found - truth) ** 2)), truth.std()
    print(f"{mask.mean():.0%} measured: error {error:.3f}, deviation of the signal {plain:.3f}")


if __name__ == "__main__":
    main()
