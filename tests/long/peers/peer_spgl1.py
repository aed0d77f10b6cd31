# SPDX-License-Identifier: BSD-3-Clause
"""SPGL1's tests: spg_bp, spg_bpdn, spg_lasso and spg_mmv are ours.

Not ours, and left to SPGL1: oneprojector and lsqr, parts of its inside, and spg_mmv of several
right-hand sides with x >= 0."""
import numpy as np
from peers import from_source, swap

NEEDS = ["spgl1"]


def tests():
    return from_source("spgl1", "pytests/test_spgl1.py")


def solved(A, b, weights=None, nonnegative=False, **bound):
    import csrecover
    found = csrecover.solve(A, b, "bpdn", weights=weights, nonnegative=nonnegative,
                            joint=b.ndim == 2, **bound)
    return found.x, found.r, None, {"iterations": found.iterations}


def epsilon(b, sigma):
    return float(sigma / np.linalg.norm(b))


def spg_bp(A, b, weights=None, **_):
    return solved(A, b, weights)


def spg_bpdn(A, b, sigma, weights=None, **_):
    return solved(A, b, weights, epsilon=epsilon(b, sigma))


def spg_lasso(A, b, tau, weights=None, **_):
    return solved(A, b, weights, tau=float(tau))


def mmv(theirs):
    def run(A, B, sigma, weights=None, project=None, **others):
        if project is not None:
            return theirs(A, B, sigma, weights=weights, project=project, **others)
        return solved(A, B, weights, epsilon=epsilon(B, sigma))
    return run


def pytest_configure():
    import spgl1
    for mine in (spg_bp, spg_bpdn, spg_lasso):
        swap(mine, mine.__name__, "spgl1")
    swap(mmv(spgl1.spg_mmv), "spg_mmv", "spgl1")
