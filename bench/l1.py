#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""l1.py - basis pursuit denoise, the lasso and total variation beside SPGL1, PyLops, SigPy,
scikit-learn and scikit-image: the same problem in the same run, on one core. Each peer iterates until its result is
within 1e-5 of ours, by a ladder of tolerances or iterations; seconds are those of the processor, the
best of five. Needs NumPy, SciPy, and the peers that are installed; the rest are left out."""
import importlib
import os
import warnings

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
from common import versions

NEAR = 1e-5


def peer(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def off(x, ours):
    return float(np.linalg.norm(np.ravel(x) - np.ravel(ours)) / np.linalg.norm(ours))


def gaussian(rng, m, n, k, is_complex):
    def normal(*shape):
        return (rng.standard_normal(shape) +
                (1j * rng.standard_normal(shape) if is_complex else 0.0))
    A = normal(m, n)
    A /= np.linalg.norm(A, axis=0)
    x = np.zeros(n, A.dtype)
    x[rng.choice(n, k, replace=False)] = 2 * normal(k)
    noise = 0.02 * normal(m)
    return A, A @ x + noise, np.linalg.norm(noise)


def rays(side, angles):
    """Lengths of parallel rays in pixels, by points half a pixel apart, [angles * side, side^2]."""
    import scipy.sparse
    half = (side - 1) / 2
    turn, at, along = (a.ravel() for a in np.meshgrid(
        np.pi * np.arange(angles) / angles, np.arange(side) - half,
        np.arange(-0.75 * side, 0.75 * side, 0.5), indexing="ij"))
    u = np.rint(at * np.cos(turn) - along * np.sin(turn) + half).astype(int)
    v = np.rint(at * np.sin(turn) + along * np.cos(turn) + half).astype(int)
    ray = np.repeat(np.arange(angles * side), 3 * side)
    on = (u >= 0) & (u < side) & (v >= 0) & (v < side)
    return scipy.sparse.csc_matrix((np.full(on.sum(), 0.5), (ray[on], (v * side + u)[on])),
                                   shape=(angles * side, side * side))


class Bench:
    def __init__(self, csrecover):
        self.cs, self.rows = csrecover, []

    def add(self, problem, size, ours, own, name, ladder):
        """ladder: calls of the peer, each more accurate; the first that is near enough counts."""
        for call in ladder:
            theirs, took = common.seconds(call)
            miss = off(theirs, ours)
            if miss <= NEAR:
                break
        self.rows.append({"problem": problem, "size": size, "peer": name, "ours_seconds": own,
                          "peer_seconds": took, "ratio": took / own, "difference": miss})
        print(self.rows[-1], flush=True)

    def denoise(self, rng, m, n, k, is_complex=False):
        A, y, goal = gaussian(rng, m, n, k, is_complex)
        parts = 2 if is_complex else 1
        D = self.cs.Dense(A)
        found, own = common.seconds(lambda: self.cs.solve(D, y, "bpdn", sigma=goal / np.sqrt(parts * m)))
        spgl1 = peer("spgl1")
        if spgl1:
            self.add("basis pursuit denoise" + ", complex" * is_complex, f"{m} x {n}",
                     found.x, own, "SPGL1",
                     [lambda tol=tol: spgl1.spg_bpdn(A, y, goal, opt_tol=tol, bp_tol=tol,
                                                     ls_tol=tol, dec_tol=tol, iter_lim=20000)[0]
                      for tol in (1e-4, 1e-6, 1e-8, 1e-10)])

    def lasso(self, rng, m, n, k, share, is_complex=False):
        A, y, _ = gaussian(rng, m, n, k, is_complex)
        weight = share * np.abs(A.conj().T @ y).max()
        D = self.cs.Dense(A)
        found, own = common.seconds(lambda: self.cs.solve(D, y, "fista", lambda_=share, atoms=100000))
        name = f"lasso, `lambda` {share:g}" + (", complex" if is_complex else "")
        size = f"{m} x {n}"
        steps = [100 * 2 ** i for i in range(8)]
        length = np.linalg.norm(A, 2) ** 2
        pylops, sigpy = peer("pylops"), peer("sigpy")
        if pylops:
            Op = pylops.MatrixMult(A, dtype=A.dtype)
            self.add(name, size, found.x, own, "PyLops",
                     [lambda i=i: pylops.optimization.sparsity.fista(Op, y, niter=i, eps=2 * weight,
                                                                     alpha=1 / length, tol=0)[0]
                      for i in steps])
        if sigpy:
            linop = sigpy.linop.MatMul((n, 1), A)
            self.add(name, size, found.x, own, "SigPy",
                     [lambda i=i: sigpy.app.LinearLeastSquares(
                         linop, y[:, None], proxg=sigpy.prox.L1Reg((n, 1), weight), max_iter=i,
                         alpha=1 / length, show_pbar=False).run() for i in steps])

    def tomography(self, rng, side, angles, share):
        """The lasso of a sparse matrix whose neighbouring columns nearly depend on each other."""
        A = rays(side, angles)
        v, u = np.mgrid[:side, :side] / side
        y = A @ (1.0 * (np.hypot(u - .4, v - .5) < .3) + .5 * (np.hypot(u - .6, v - .4) < .1)).ravel()
        y += 0.01 * np.linalg.norm(y) / np.sqrt(y.size) * rng.standard_normal(y.size)
        weight = share * np.abs(A.T @ y).max()
        S = self.cs.Sparse(A)
        found, own = common.seconds(lambda: self.cs.solve(S, y, "fista", lambda_=share))
        linear = peer("sklearn.linear_model")
        if linear:
            self.add(f"lasso, rays, `lambda` {share:g}", f"{y.size} x {side * side}, sparse", found.x,
                     own, "scikit-learn",
                     [lambda tol=tol: linear.Lasso(weight / y.size, fit_intercept=False, tol=tol,
                                                   max_iter=100000).fit(A, y).coef_
                      for tol in (1e-4, 1e-6, 1e-8)])

    def variation(self, rng, side):
        """Denoising: the weight of the peer gives ||x - y||, which is our bound."""
        v, u = np.mgrid[:side, :side] / side
        clean = 1.0 * (np.hypot(u - .4, v - .5) < .3) + .5 * (u > .7)
        y = clean + 0.1 * rng.standard_normal(clean.shape)
        restoration = peer("skimage.restoration")
        if not restoration:
            return
        exact = restoration.denoise_tv_chambolle(y, weight=0.05, eps=0, max_num_iter=30000)
        sigma = np.linalg.norm(exact - y) / side
        found, own = common.seconds(lambda: self.cs.recover(y.ravel(), mask=np.ones(y.shape, bool),
                                                     method="tv", sigma=sigma, digits=5,
                                                     iterations=20000))
        self.add("total variation, denoising", f"{side} x {side}", found, own, "scikit-image",
                 [lambda n=n: restoration.denoise_tv_chambolle(y, weight=0.05, eps=0,
                                                               max_num_iter=n)
                  for n in [300 * 2 ** i for i in range(7)]])


def main():
    arguments = common.arguments(__doc__, "l1.json")
    warnings.filterwarnings("ignore")
    bench, rng = Bench(common.load(arguments.build)), np.random.default_rng(5)
    bench.denoise(rng, 120, 400, 12)
    bench.denoise(rng, 200, 1000, 20)
    bench.denoise(rng, 100, 300, 10, is_complex=True)
    bench.denoise(np.random.default_rng(7), 200, 1000, 20, is_complex=True)
    bench.lasso(rng, 200, 1000, 20, 0.05)
    bench.lasso(rng, 200, 1000, 20, 0.005)
    bench.lasso(rng, 100, 300, 10, 0.05, is_complex=True)
    bench.variation(rng, 64)
    for share in (0.01, 0.001):
        bench.tomography(np.random.default_rng(3), 64, 12, share)
    described = common.describe(arguments.build)
    described["load"] = round(os.getloadavg()[0], 1)
    common.write(arguments.json, {"machine": described | versions("spgl1", "sigpy"), "rows": bench.rows})


if __name__ == "__main__":
    main()
