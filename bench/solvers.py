#!/usr/bin/env python3
"""solvers.py - OMP beside scikit-learn's orthogonal_mp on the same matrices in the same run: one
signal on a large matrix, and many signals on a small one. Needs NumPy, scikit-learn, and
build/bench/bench_solvers."""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import machine

ROOT = Path(__file__).resolve().parent.parent


def sparse(rng, m, n, k, count):
    matrix = rng.standard_normal((m, n))
    matrix /= np.linalg.norm(matrix, axis=0)
    x = np.zeros((count, n))
    for row in x:
        row[rng.choice(n, k, replace=False)] = rng.choice((-1, 1), k) * (1 + rng.random(k))
    return matrix, x @ matrix.T + 0.01 * rng.standard_normal((count, m))


def ours(program, matrix, y, atoms, repeats):
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "matrix.npy", matrix)
        np.save(Path(folder) / "y.npy", y)
        runs = [json.loads(subprocess.run([program, "--peer", folder, "--atoms", str(atoms)],
                                          check=True, capture_output=True, text=True).stdout)
                for _ in range(repeats)]
    return {key: min(run[key] for run in runs) for key in runs[0]}


def theirs(matrix, y, atoms, repeats, **options):
    from sklearn.linear_model import orthogonal_mp
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        x = orthogonal_mp(matrix, y.T, n_nonzero_coefs=atoms, **options)
        best = min(best, time.perf_counter() - start)
    r = y.T - matrix @ x.reshape(matrix.shape[1], -1)
    return best, float(np.mean(np.linalg.norm(r, axis=0) / np.linalg.norm(y.T, axis=0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="solvers_peers.json")
    parser.add_argument("--signals", type=int, default=20000)
    o = parser.parse_args()
    rng = np.random.default_rng(1)
    program = ROOT / "build" / "bench" / "bench_solvers"
    found = {"machine": machine.describe(ROOT / "build")}

    matrix, y = sparse(rng, 2000, 10000, 100, 1)
    mine = ours(program, matrix, y, 100, 5)
    peer, residual = theirs(matrix, y, 100, 5)
    assert abs(residual - mine["residual"]) < 1e-9  # the same picks
    found["one"] = dict(mine, sklearn=peer, ratio=peer / mine["solve"],
                        ratio_with_create=peer / (mine["solve"] + mine["create"]))
    print(f"one signal, 2000 x 10000, 100 atoms: operator {mine['create']:.3f} s, omp "
          f"{mine['solve']:.3f} s; scikit-learn {peer:.3f} s: {found['one']['ratio']:.1f} times, "
          f"{found['one']['ratio_with_create']:.1f} with the operator")

    matrix, y = sparse(rng, 256, 1024, 32, o.signals)
    mine = ours(program, matrix, y, 32, 3)
    few = min(500, o.signals)
    peer, _ = theirs(matrix, y[:few], 32, 3, precompute=True)
    found["many"] = {"signals": o.signals, "signals_second": o.signals / mine["solve"],
                     "sklearn_signals_second": few / peer,
                     "ratio": o.signals / mine["solve"] / (few / peer)}
    print(f"many signals, 256 x 1024, 32 atoms: {o.signals / mine['solve']:,.0f} a second; "
          f"scikit-learn {few / peer:,.0f}: {found['many']['ratio']:.0f} times")
    machine.write(o.json, found)


main()
