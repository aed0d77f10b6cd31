#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bart.py - the Berkeley Advanced Reconstruction Toolbox beside csrecover, on the same frequencies in
the same run, on one core: total variation of the phantom and of the head of bench/operators.py, and
l1 of Haar coefficients and of spikes. `bart pics -P` bounds ||A x - y|| as our `tv` does, and -R W and
-R I have the minimum of our `fista`. Its parameters are the best of a ladder, by the true signal for
PSNR, by our minimum for l1: the peer is not tuned worse than anyone could. Needs NumPy, and the
program bart (Debian's package bart); without it there is nothing to do."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import operators

NEAR = 1e-5


def write(name, array):
    """[..., z, y, x] of C is [x, y, z, ...] of BART, column-major."""
    array = np.ascontiguousarray(array, np.complex64)
    sizes = [*array.shape[::-1], *[1] * (16 - array.ndim)]
    Path(f"{name}.hdr").write_text("# Dimensions\n" + " ".join(map(str, sizes)) + "\n", encoding="ascii")
    array.tofile(f"{name}.cfl")


def read(name):
    sizes = [int(v) for v in Path(f"{name}.hdr").read_text(encoding="ascii").splitlines()[1].split()]
    return np.fromfile(f"{name}.cfl", np.complex64).reshape(sizes[::-1]).squeeze()


class Problem:
    """Frequencies as BART has them: unitary, zero in the middle, 0 where not measured."""

    def __init__(self, folder, shape, index, y, coils):
        self.folder = Path(folder)
        # Length of a step of bart pics; its default is for ||A|| at most 1.
        self.step = 0.95 if coils is None else 0.95 / np.sum(np.abs(coils) ** 2, axis=0).max()
        y = y.reshape(len(index), -1)
        full = np.zeros((y.shape[1], shape[0] * shape[1]), complex)
        full[:, index] = y.T
        full = full.reshape(-1, *shape) / np.sqrt(shape[0] * shape[1])
        sign = (-1.0) ** np.add.outer(np.arange(shape[0]), np.arange(shape[1]))
        pattern = np.zeros(shape[0] * shape[1])
        pattern[index] = 1
        write(self.folder / "y", np.fft.fftshift(full * sign, axes=(1, 2))[:, None])
        write(self.folder / "pattern", np.fft.fftshift(pattern.reshape(shape))[None, None])
        write(self.folder / "coils", (np.ones((1, *shape)) if coils is None else coils)[:, None])

    def solve(self, *words):
        """What bart pics finds, seconds of the processor and by the clock, both of the whole program."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(["bart", "pics", *map(str, words), "-p", "pattern", "y", "coils", "out"],
                       cwd=self.folder, check=True, capture_output=True,
                       env=dict(os.environ, OMP_NUM_THREADS="1"))
        clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return read(self.folder / "out"), used, clock


def variation(tools, folder, rate, rows):
    """Pictures by the tools, and by BART's total variation of 100, 300 and 1000 steps, with
    the better of two rho."""
    bench = operators.Bench(tools, folder)
    np.save(bench.folder / "coils.npy", operators.coils().astype(np.complex64))
    for name, signal, words, ladder, longest in (
            ("phantom", operators.phantom().astype(np.float32), (), (10, 30), 1000),
            ("head", operators.head().astype(np.complex64), ("--coils", "coils.npy"), (30, 100),
             300)):
        methods = {k: operators.METHODS[k] for k in ("fast", "balanced")}
        bench.measure(name, signal, "Fourier, lines", ["--operator", "fourier", *words], rate,
                      methods)
        scan = np.load(bench.folder / "scan.npz")
        problem = Problem(folder, signal.shape, scan["index"], scan["y"],
                          scan["coils"] if words else None)
        size = np.abs(signal).max()
        for steps in (n for n in (100, 300, 1000) if n <= longest):
            best = None
            for rho in ladder if steps < 1000 else (rho,):
                x, used, _ = problem.solve("-R", "T:3:0:1", "-P", 1e-5, "-u", rho, "-i", steps,
                                           "-w", size, "-S")
                miss = float(np.sqrt(np.mean((np.abs(x) - np.abs(signal)) ** 2)))
                if best is None or miss < best[0]:
                    best = miss, rho, used, x
            miss, rho, used, x = best
            bench.rows.append({
                "picture": name, "rate": rate, "method": f"bart {steps}", "rho": rho,
                "psnr": float(20 * np.log10(255 / miss)), "seconds": used,
                "error": float(np.linalg.norm(x - signal) / np.linalg.norm(signal))})
            print(bench.rows[-1], flush=True)
    rows += bench.rows


def shrink(x, limit):
    size = np.maximum(np.abs(x), 1e-300)
    return x * np.maximum(1 - limit / size, 0)


def compare(problem, ours, own, lam, reg, prox, objective):
    """BART's last step is one of the gradient: its minimiser is that after the shrinkage, `prox`."""
    for steps in (100, 300, 1000, 3000, 10000):
        x, used, clock = problem.solve("-w", 1, "-n", "--wavelet", "haar", "-R", f"{reg}:{lam}",
                                       "-i", steps, "-s", problem.step)
        x = prox(x.astype(complex), problem.step * lam)
        miss = float(np.linalg.norm(x - ours) / np.linalg.norm(ours))
        if miss <= NEAR:
            break
    return {"steps": steps, "difference": miss, "ours_seconds": own, "peer_seconds": used,
            "peer_clock": clock, "objective": float(objective(x) / objective(ours) - 1)}


def haar(cs, folder, side, with_coils, share=1e-2):
    """1/2 ||A x - y||^2 + lambda ||W x||_1 with Haar's coefficients; BART's levels end at 8 x 8."""
    levels = side.bit_length() - 4
    signal = operators.head(side)
    coils = operators.coils(side) if with_coils else None
    scan = cs.measure(signal, "fourier", rate=0.3, coils=coils, seed=4)
    all_coils = np.ones((1, side, side)) if coils is None else coils
    y = np.asarray(scan.y).reshape(len(scan.index), -1)
    every = np.ones((side, side), bool)
    W = cs.Wavelet(shape=every.shape, mask=every, kind="haar", levels=levels)

    def coefficients(x):
        back = [W.rmatvec(np.ascontiguousarray(v).ravel()) for v in (x.real, x.imag)]
        return back[0] + 1j * back[1]

    def picture(c):
        return (W.matvec(c.real) + 1j * W.matvec(c.imag)).reshape(side, side)

    def forward(x):
        return np.fft.fft2(all_coils * x).reshape(len(all_coils), -1)[:, scan.index].T

    full = np.zeros((len(all_coils), side * side), complex)
    full[:, scan.index] = y.T
    back = np.sum(all_coils.conj() * np.fft.ifft2(full.reshape(-1, side, side)) * side ** 2, axis=0)
    lam = share * np.abs(coefficients(back)).max()
    found, own = common.seconds(lambda: cs.recover(scan, solver="fista", basis="wavelet", kind=0, levels=levels,
                                            lambda_=share, atoms=20000))

    def objective(x):
        return (0.5 * np.linalg.norm(forward(x) - y) ** 2 + lam * np.abs(coefficients(x)).sum())

    row = compare(Problem(folder, (side, side), scan.index, y, coils), found, own, lam / side ** 2,
                  "W:3:0", lambda x, t: picture(shrink(coefficients(x), t)), objective)
    return {"problem": "l1 of Haar coefficients" + ", 4 coils" * with_coils,
            "size": f"{side} x {side}", **row}


def spikes(cs, folder, side=32, k=30, share=0.02):
    """1/2 ||A x - y||^2 + lambda ||x||_1; A as a dense matrix on our side."""
    rng = np.random.default_rng(5)
    x = np.zeros(side * side, complex)
    x[rng.choice(x.size, k, replace=False)] = rng.standard_normal(k) + 1j * rng.standard_normal(k)
    index = np.sort(rng.choice(x.size, x.size // 4, replace=False))
    A = np.fft.fft2(np.eye(x.size).reshape(-1, side, side)).reshape(x.size, -1)[:, index].T
    y = A @ x
    y += 0.5 * (rng.standard_normal(y.size) + 1j * rng.standard_normal(y.size))
    lam = share * np.abs(A.conj().T @ y).max()
    D = cs.Dense(A)
    found, own = common.seconds(lambda: cs.solve(D, y, "fista", lambda_=share, atoms=100000).x)

    def objective(z):
        return 0.5 * np.linalg.norm(A @ z.ravel() - y) ** 2 + lam * np.abs(z).sum()

    row = compare(Problem(folder, (side, side), index, y, None), found.reshape(side, side), own,
                  lam / side ** 2, "I:0", shrink, objective)
    return {"problem": "l1 of spikes", "size": f"{side} x {side}", **row}


def save(arguments, pictures, l1):
    described = common.describe(arguments.build)
    described["load"] = round(os.getloadavg()[0], 1)
    described["bart"] = subprocess.run(["bart", "version"], capture_output=True,
                                       text=True).stdout.strip()
    common.write(arguments.json, {"machine": described, "pictures": pictures, "l1": l1})


def main():
    arguments = common.on_pictures(__doc__, "bart.json", "only l1")
    if not shutil.which("bart"):
        sys.exit("bart.py: the program bart is not installed; left out")
    cs = common.load(arguments.build)
    pictures, l1 = [], []
    with tempfile.TemporaryDirectory() as folder:
        l1.append(spikes(cs, folder))
        l1 += [haar(cs, folder, 128, with_coils) for with_coils in (False, True)]
        print(*l1, sep="\n", flush=True)
        for rate in () if arguments.quick else (0.25, 0.125):
            variation(arguments.build, folder, rate, pictures)
            save(arguments, pictures, l1)
    save(arguments, pictures, l1)


if __name__ == "__main__":
    main()
