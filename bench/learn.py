#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""learn.py - statistics and principal components: bandwidth against a copy, covariance against BLAS
and float64, and the recovery of a family of aligned pictures. Needs
NumPy, SciPy (its BLAS), cffi and a built library.

--rows M: of the data matrix, default 40000 (202599 is that of the source documents, 2 GB).
--quick: small sizes, to see that it runs."""
import os
import time

import numpy as np

import common

H, W, CHECKED = 55, 45, 48
N = H * W


def family(seed, numbers):
    """Members [count, H, W] of the family of tests/test_recover_pca.c: a round head with eyes and a mouth, lit
    from a side. Nine numbers make one, each moves the picture in a curve, so no few components hold
    it exactly."""
    from csrecover._library import lib
    p = np.array([[2 * lib.csrec_random_uniform(seed, int(k), i) - 1 for i in range(9)]
                  for k in numbers]).T[:, :, None, None]
    y = ((np.arange(H) + 0.5) * 2 / H - 1)[:, None]
    x = (np.arange(W) + 0.5) * 2 / W - 1

    def blob(y, x, height, width):
        return np.exp(-0.5 * ((y / height) ** 2 + (x / width) ** 2))
    r = np.hypot(y / (0.72 + 0.08 * p[0]), x / (0.55 + 0.07 * p[1]))
    face = 1 / (1 + np.exp(14 * (r - 1)))
    light = 1 + 0.5 * p[6] * x + 0.3 * p[7] * y - 0.25 * r * r
    eyes, apart = y - (-0.18 + 0.04 * p[2]), 0.24 + 0.04 * p[3]
    mouth = y - (0.36 + 0.05 * p[4]) - 0.1 * p[5] * x * x * 4
    dark = (blob(eyes, x - apart, 0.07, 0.1) + blob(eyes, x + apart, 0.07, 0.1)
            + 0.8 * blob(mouth, x, 0.05, 0.25) + 0.4 * blob(y - 0.08, x - 0.05 * p[8], 0.15, 0.05))
    return (40 + 150 * face * light * (1 - 0.7 * dark)).astype(np.float32)


def shortest(times, call):
    """Seconds of the shortest of some runs."""
    from library import least_ms
    return 1e-3 * least_ms(call, times, warm=False)


def data(m):
    """Faces with noise, far from 0: a few hundred members over and over."""
    faces = family(1, range(256)).reshape(-1, N)
    X, rng = np.empty((m, N), np.float32), np.random.default_rng(1)
    for i in range(0, m, 256):
        part = X[i:i + 256]
        gain = 0.5 + np.arange(i, i + len(part)) % 97 / 97
        part[:] = 1000 + gain[:, None] * faces[:len(part)] + rng.integers(0, 256, part.shape) / 16
    return X


def error_of(X, mean, C):
    """Largest error against sqrt(C_jj C_kk) of the first columns, from sums in double."""
    few = X[:, :CHECKED].astype(float) - mean[:CHECKED]
    exact = few.T @ few / len(X)
    size = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    return float((np.abs(C[:CHECKED, :CHECKED] - exact) / size).max())


def statistics(X):
    from csrecover._library import NULL, check, lib, new_error, pointer
    from scipy.linalg.blas import ssyrk
    copy, mean, C = np.empty_like(X), np.empty(N), np.empty((N, N))
    m, error = len(X), new_error()

    def call(what, values, *rest):
        check(getattr(lib, f"csrec_{what}")(m, N, pointer(values, "float"), *rest, error), error)
    copied = shortest(3, lambda: np.copyto(copy, X))
    rows = []
    for threads in sorted({1, os.cpu_count()}):
        took = shortest(3, lambda: call("mean", X, NULL, threads, pointer(mean)))
        np.copyto(copy, X)
        centred = shortest(3, lambda: call("center", copy, pointer(mean), threads))
        whole = shortest(1, lambda: call("covariance", X, NULL, NULL, threads, pointer(C)))
        rows.append({"threads": threads, "mean_gbs": 1e-9 * X.nbytes / took,
                     "centre_gbs": 2e-9 * X.nbytes / centred, "covariance_s": whole,
                     "covariance_gflops": 1e-9 * m * N * N / whole,
                     "covariance_error": error_of(X, mean, C)})
        print(rows[-1], flush=True)
    # BLAS on rows that are centred already; it takes what cores it wants.
    np.copyto(copy, X)
    call("center", copy, pointer(mean), 0)
    start = time.perf_counter()
    S = ssyrk(1 / m, copy.T)
    return {"rows": m, "columns": N, "memcpy_gbs": 2e-9 * X.nbytes / copied,
            "ssyrk_s": time.perf_counter() - start,
            "ssyrk_error": error_of(X, mean, np.triu(S) + np.triu(S, 1).T), "threads": rows}


def components(quick):
    import csrecover
    found = {}
    for name, count in zip(("few", "many"), (100, 200) if quick else (1000, 5000)):
        members = family(2, range(count))
        found |= {name: count, f"{name}_s": shortest(1, lambda: csrecover.learn_pca(
            members, shape=(H, W), components=100))}
    return found


def recoveries(quick):
    import csrecover
    members, parts, count = (200, 50, 2) if quick else (2000, 200, 10)
    model = csrecover.learn_pca(family(2, range(members)), shape=(H, W), components=parts)
    others = family(2, range(1000000, 1000000 + count)).astype(float)
    ways = {"pca_db": {"model": model}, "haar_db": {"method": "grids"}, "dct_db": {"basis": "dct"}}
    rates = []
    for rate in (0.01, 0.02, 0.05, 0.1, 0.25, 0.5):
        scans = [csrecover.sample(truth, count=int(np.ceil(rate * N)), pattern="uniform", seed=k + 1)
                 for k, truth in enumerate(others)]
        rates.append({"rate": rate, **{name: float(np.mean([
            csrecover.psnr(csrecover.recover(scan, **options), truth, peak=255)
            for scan, truth in zip(scans, others)])) for name, options in ways.items()}})
        print(rates[-1], flush=True)
    return {"members": members, "components": parts, "rates": rates}


def main():
    arguments = common.arguments(__doc__, "learn.json", rows=40000, quick=False)
    common.load(arguments.build)
    found = {"statistics": statistics(data(3000 if arguments.quick else arguments.rows)),
             "pca": components(arguments.quick),
             "family": recoveries(arguments.quick)}
    common.save(arguments, **found)


if __name__ == "__main__":
    main()
