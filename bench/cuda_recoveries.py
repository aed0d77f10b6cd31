# SPDX-License-Identifier: BSD-3-Clause
"""cuda_recoveries.py - parts of cuda.json: recoveries, learning, rounds of measuring, and calls
between which backend auto chooses."""
import dataclasses
import functools
import time

import numpy as np

import csrecover
from csrecover._library import check, lib, new_error, pointer
from csrecover._measurement import to_c
from csrecover._options import options_of
from library import (BACKENDS, BRIEF, THREADS, Recovery, beside, learn, least_ms, picture, psnr,
                     rms, sampled, side_of)


def threshold():
    """The iterations are what 60 of them take more than one."""
    for side in map(side_of, (256, 512, 1024)):
        m, truth = sampled(picture(side)), picture(side).ravel()
        times, there, here = Recovery(m, basis="dct").beside()
        one = least_ms(functools.partial(Recovery(m, basis="dct", atoms=1), BACKENDS[0]), 5)
        yield {"side": side, "loop_ms": (times["cuda_ms"] - one) * 60 / 59, **times,
               "psnr_cuda": psnr(there, truth), "psnr_cpu": psnr(here, truth),
               "max_difference": float(np.abs(there - here).max()),
               "rms_difference": rms(there, here)}


def gaussian():
    """Pictures, colours, noise, a volume that moves from slice to slice; both efforts."""
    scenes = ((256, 1, 1, 0), (512, 1, 1, 0), (1024, 1, 1, 0), (256, 1, 3, 0), (512, 1, 3, 0),
              (512, 1, 3, 10), (64, 64, 1, 0))
    for side, depth, channels, sigma in ((side_of(s[0]), *s[1:]) for s in scenes):
        truth = picture(side, channels)
        if depth > 1:
            truth = np.stack([np.roll(truth, (-round(1.3 * z), -round(0.4 * z)), (0, 1))
                              for z in range(side_of(depth))])
        for effort in (0, 1):
            run = Recovery(sampled(truth, channels, sigma), solver="gaussian", effort=effort)
            for backend in BACKENDS[:1 if side == 1024 else 2]:
                device = backend == BACKENDS[0]
                ms = least_ms(lambda: run(backend), 4 if device else 1, warm=device)
                yield {"side": side, "depth": depth, "channels": channels, "sigma": sigma,
                       "effort": effort, "backend": backend, "cpu_threads": THREADS, "ms": ms,
                       "psnr": psnr(run.signal, truth.ravel())}


def pursuits(side, channels, grids, atoms=0, **options):
    """Pursuits of N/4 atoms or so many; further channels are the three mirrored in value, and again."""
    m = sampled(picture(side, min(channels, 3)), min(channels, 3))
    if channels > 3:
        c = np.arange(channels)
        m = dataclasses.replace(m, y=np.where(c // 3 % 2, 255 - m.y[:, c % 3], m.y[:, c % 3]))
    return Recovery(m, method="grids", shifts=grids, atoms=atoms or len(m.index) // 4, epsilon=0.0,
                    order="morton", columns="two-sided", **options)


def least_seconds(run, backend):
    """Of the pursuits of two runs."""
    return min((run(backend), run.report.seconds_pursuit)[1] for _ in range(2))


def loop():
    """One signal: an atom, beside one CPU core."""
    rows = []
    for side in map(side_of, (128, 256, 512, 1024, 2048, 4096)):
        run, us, found = pursuits(side, 1, 1, threads=1), [], []
        for backend in BACKENDS:
            us.append(1e6 * least_seconds(run, backend) / run.report.iterations)
            found.append(run.signal.copy())
        rows.append({"signal": "picture", "n": int(run.made.n),
                     **dict(zip(("speculative_atom_us", "cpu_atom_us"), us)),
                     "equal_to_cpu": bool(np.array_equal(*found))})
    return {"pursuits": rows}


def batch():
    """Many pursuits at once, a picture of 1024 x 1024: atoms a second, and those of one core."""
    side = side_of(1024)
    core = pursuits(side, 1, 1, threads=1)
    core("cpu")
    rows = []
    for grids, channels in ((1, 1), (64, 3), (1, 192), (1, 1000)):
        run, least = pursuits(side, channels, grids), np.inf
        for _ in range(2):
            run(BACKENDS[0])
            least = min(least, run.report.seconds_pursuit)
        rows.append({"columns": "two-sided", "grids": grids, "signals": grids * channels, "warps": 0,
                     "million_atoms_s": 1e-6 * run.report.iterations / least, "seconds": least})
    return {"n": int(core.made.n), "batches": rows,
            "cpu_core_us_an_atom": 1e6 * core.report.seconds_pursuit / core.report.iterations}


def stages(run, backend):
    start = time.perf_counter()
    run(backend)
    seconds, r = time.perf_counter() - start, run.report
    return {"seconds": seconds, "rows_and_trees": r.seconds_tree, "pursuits": r.seconds_pursuit,
            "synthesis": r.seconds_synthesis, "atoms": int(r.iterations)}


def recover():
    """By number and size of signals; and 64 grids of a picture in colours."""
    choice = []
    for side, channels, grids in ((256, 1, 1), (256, 3, 1), (256, 3, 64), (1024, 1, 1), (1024, 3, 1),
                                  (2048, 1, 1), (2048, 3, 1)):
        run = pursuits(side_of(side), channels, grids)
        times, there, here = run.beside(2)
        choice.append({"n": int(run.made.n), "signals": channels * grids, **times,
                       "equal_to_cpu": bool(np.array_equal(there, here))})
    run = pursuits(side_of(1024), 3, 64)
    run(BACKENDS[0])
    device = stages(run, BACKENDS[0])
    there = run.signal.copy()
    whole = {"n": int(run.made.n), "device": device, "cpu": stages(run, "cpu")}
    return {"choice": choice,
            "picture_64_grids": {**whole, "equal_to_cpu": bool(np.array_equal(there, run.signal))}}


# ---- methods that compute a part on a device

def row_of(method, what, values, **options):
    times, there, here = Recovery(sampled(values), method=method, **options).beside()
    return {"method": method, "what": what, **times, "difference": rms(there, here)}


def methods():
    line = np.arange(1 << 16)
    yield row_of("frames", "a line of 2^16",
                 128 + 90 * np.sin(3e-3 * line) + np.where(line // 5000 % 2, 20.0, -20.0))
    volume = (picture(64)[None] + np.arange(32.0)[:, None, None]) % 255
    yield row_of("frames", "a volume of 32 x 64 x 64", volume)


def rounds():
    """A round of measuring where a recovery expects errors: 5 % are known, 2.5 % are found."""
    for side in map(side_of, (256, 512)):
        m = csrecover.sample(picture(side), count=side * side // 20)
        density = np.empty((side, side))
        for backend in BACKENDS:
            made, keep = to_c(m)
            options, error = options_of(made, keep, csrecover.recover, backend=backend), new_error()
            yield {"side": side, "backend": backend,
                   "density_ms": least_ms(lambda: check(lib.csrec_uncertainty_density(
                       made, options, pointer(density), error), error), 8),
                   "places_ms": least_ms(lambda: csrecover.where_next(m, len(m.index) // 2, density),
                                         8)}


# ---- what backend auto chooses between

def learning(m, n):
    X = np.random.default_rng(5).random((m, n), np.float32)
    return "pca", f"{m} x {n}", m * n * n, lambda backend: learn(
        lib.csrec_pca_learn, X, (n,), backend, components=200)


def solving(basis, solver, side):
    return (f"recover, {basis}, {solver}", f"{side} x {side}", side * side,
            Recovery(sampled(picture(side)), basis=basis, solver=solver, atoms=40))


def calls():
    """work: what the choice counts, multiplications of a covariance, pixels of a recovery, whose
    solver runs 40 iterations."""
    sizes = ((300, 256),) if BRIEF else ((4096, 256), (4096, 512), (4096, 1024), (4096, 2048),
                                         (40000, 2475))
    cases = [learning(*size) for size in sizes]
    cases += [solving(basis, solver, side_of(side)) for basis in ("dct", "wavelet")
              for solver in ("fista", "iht") for side in (128, 512)]
    for name, what, work, run in cases:
        yield {"call": name, "what": what, "work": work, **beside(run)}


PARTS = (threshold, gaussian, methods, rounds, loop, batch, recover, calls)
