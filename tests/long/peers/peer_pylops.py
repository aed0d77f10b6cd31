# SPDX-License-Identifier: BSD-3-Clause
"""PyLops' tests of sparse solvers: its omp (also as Matching Pursuit), soft ista and fista, and spgl1
are ours on its operators.

Not ours, and left to PyLops: irls and splitbregman, thresholds that are hard, half or percentiles, a
step length of the caller's (two tests want it to diverge), and an end by the share of the cost."""
import numpy as np
from peers import from_source, swap

NEEDS = ["pylops", "spgl1"]


def tests():
    return from_source("pylops", "pytests/test_sparsity.py")


def omp(Op, y, niter_outer=10, niter_inner=40, sigma=1e-4, rtol=0.0, rtol1=0.0, **_):
    import csrecover
    norm = float(np.linalg.norm(y))
    most = niter_outer if niter_inner == 0 else min(niter_outer, *Op.shape)
    found = csrecover.solve(Op, y, "mp" if niter_inner == 0 else "omp", atoms=most,
                            epsilon=max(sigma / norm, rtol, rtol1))
    return found.x, found.iterations, norm * np.r_[1.0, found.history]


def shrinking(theirs):
    def run(Op, y, x0=None, niter=10, SOp=None, eps=0.1, alpha=None, rtol=0.0, rtol1=0.0,
            threshkind="soft", monitorres=False, **others):
        import csrecover
        if threshkind != "soft" or alpha or monitorres or rtol or rtol1 or SOp is not None:
            return theirs(Op, y, x0=x0, niter=niter, SOp=SOp, eps=eps, alpha=alpha, rtol=rtol,
                          rtol1=rtol1, threshkind=threshkind, monitorres=monitorres, **others)
        columns = y.reshape(Op.shape[0], -1).T  # eps / 2, as theirs has no half before the squares
        found = [csrecover.solve(Op, column, "fista", atoms=niter,
                                 lambda_=min(1.0, eps / 2 / float(np.abs(Op.rmatvec(column)).max())))
                 for column in columns]
        x = np.stack([one.x for one in found], 1)
        return (x if y.ndim == 2 else x[:, 0]), found[0].iterations, found[0].history
    return run


def spgl1(Op, y, x0=None, SOp=None, tau=0.0, sigma=0.0, **_):
    import csrecover
    assert SOp is None and tau == 0.0
    found = csrecover.solve(Op, y, "bpdn", epsilon=float(sigma / np.linalg.norm(y)))
    return found.x, found.x, {"iterations": found.iterations}


def pytest_configure():
    from pylops.optimization import sparsity
    swap(omp, "omp", sparsity.__name__)
    for name in ("ista", "fista"):
        swap(shrinking(getattr(sparsity, name)), name, sparsity.__name__)
    swap(spgl1, "spgl1", sparsity.__name__)
