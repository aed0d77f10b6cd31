#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peers.py [NAME...] - our solvers beside what SciPy, scikit-image, OpenCV, GDAL, PyKrige, scikit-learn,
PyLops, SPGL1, SPAMS and batched-omp have, quality and seconds in one run, one thread each: pictures from
10 % and 25 % of their pixels, and dense problems. Of names given, of rows or problems, these are measured
anew and others stay. Needs NumPy, cffi and a built library; Pillow for the pictures, and each peer where
installed."""
import functools
import json
import time
import warnings
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import pictures
import sidebyside
import smooth

PACKAGES = ("opencv-contrib-python-headless", "rasterio", "PyKrige", "spgl1", "spams-bin",
            "orthogonal-matching-pursuit-gpu", "torch")
# Each solver with the basis that suits it best; whoever fits or sums over columns is at home on the
# row tree of the Haar matrix, averaged over grids (docs/solvers.md).
OURS = {
    "mp": {"shifts": 16}, "omp": {"shifts": 16}, "romp": {"shifts": 16}, "cosamp": {"shifts": 16},
    "iht": {"shifts": 16, "atoms": 40}, "htp": {"shifts": 16},
    "bpdn": {"shifts": 16}, "fista": {"shifts": 16, "lambda_": 0.001, "atoms": 60},
    "threshold": {"basis": "dct"},
    "gaussian": {}}


def ours(csrecover):
    """name, basis, function(y, mask) of each solver of the table, and of presets."""
    for name in (*csrecover.solvers(), "gaussian"):  # a method, by its other name
        options = OURS.get(name)
        if options is None:
            print(f"peers.py: no settings for the solver {name}; add them to OURS")
            continue
        basis = options.get("basis", "patches" if name == "gaussian" else "haar, 16 grids")
        yield name, basis, lambda y, mask, o=options, n=name: csrecover.recover(
            y, mask=mask, solver=n, threads=1, **o)
    for quality in ("fast", "balanced", "best"):
        yield f"--quality {quality}", "", lambda y, mask, q=quality: csrecover.recover(
            y, mask=mask, quality=q, threads=1)


def fsr(y, mask):
    """Frequency selective reconstruction. INPAINT_FSR_BEST is 0.5 to 1.2 dB behind FAST on camera, and
    takes 146 and 238 s."""
    import cv2
    cv2.setNumThreads(1)
    if not hasattr(cv2, "xphoto"):
        raise ImportError("OpenCV has no xphoto: install opencv-contrib-python-headless")
    holes = pictures.holes(np.rint(y), mask, np.uint8)
    picture = holes.copy()
    cv2.xphoto.inpaint(holes, 255 * mask.astype(np.uint8), picture, cv2.xphoto.INPAINT_FSR_FAST)
    return picture.astype(float)


def kriging(y, mask):
    """Ordinary, of the 12 nearest samples, by the variogram of 2,000 samples: of all, PyKrige compares
    every pair, which took 100 s. Of its models the best on camera."""
    from pykrige.ok import OrdinaryKriging
    at = np.argwhere(mask).astype(float)
    some = np.random.default_rng(1).permutation(len(y))[:2000]
    way = OrdinaryKriging(*at[some].T[::-1], y[some], variogram_model="exponential", nlags=30)
    way.variogram_model_parameters[-1] = 0.0  # there is no noise: 2 dB more on astronaut
    way.Y_ADJUSTED, way.X_ADJUSTED, way.Z = *at.T, y
    x, z = np.arange(mask.shape[1], dtype=float), np.arange(mask.shape[0], dtype=float)
    found = way.execute("masked", x, z, mask=mask, n_closest_points=12, backend="C")[0]
    return np.where(mask, pictures.holes(y, mask), found)


def thin_plates(y, mask):
    from scipy.interpolate import RBFInterpolator
    picture = pictures.holes(y, mask)
    picture[~mask] = RBFInterpolator(np.argwhere(mask), y, neighbors=20)(np.argwhere(~mask))
    return picture


def theirs():
    yield from ((name, "", method) for name, method in pictures.PEERS.items())
    yield "fillnodata (GDAL)", "", lambda y, mask: smooth.fillnodata(pictures.holes(y, mask), mask)
    yield "thin plates (SciPy)", "20 neighbours", thin_plates
    yield "kriging (PyKrige)", "12 neighbours", kriging
    yield "FSR, fast (OpenCV)", "frequencies", fsr
    yield "OMP (scikit-learn)", "dct, patches of 8", sidebyside.with_scikit_learn
    yield "split Bregman (PyLops)", "total variation", sidebyside.with_pylops
    yield "FISTA (PyLops)", "wavelets", sidebyside.with_pylops_wavelets


def on_pictures(csrecover, found, wanted):
    table, left_out = [], {}
    csrecover.recover(found[0][1], np.indices(found[0][1].shape).sum(0) % 3 == 0)  # loads
    for whose, methods in (("csrecover", ours(csrecover)), ("peer", theirs())):
        for name, basis, method in methods:
            if wanted and name not in wanted:
                continue
            row = {"method": name, "basis": basis, "whose": whose, "rates": []}
            try:
                for rate in pictures.RATES:
                    rows = sidebyside.measure(method, [
                        (name, truth, pictures.sample(truth, rate)) for name, truth in found])
                    row["rates"].append({"rate": rate, **sidebyside.means(rows)})
            except (ImportError, csrecover.UnsupportedError) as error:
                left_out[name] = str(error)
                print(f"left out: {name}: {error}")
                continue
            table.append(row)
            print(f"{name:28s} {basis:20s} " + "   ".join(
                f"{r['psnr']:6.2f} dB {r['seconds']:7.3f} s" for r in row["rates"]), flush=True)
    return table, left_out


def sparse(rng, m, n, k):
    matrix = rng.standard_normal((m, n))
    matrix /= np.linalg.norm(matrix, axis=0)
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = rng.choice((-1, 1), k) * (1 + rng.random(k))
    return matrix, x, matrix @ x + 0.01 * rng.standard_normal(m)


def best_of(repeats, function):
    """By the clock."""
    return common.seconds(function, repeats, time.perf_counter)[::-1]


def dense_omp(csrecover, repeats, small):
    from sklearn.linear_model import orthogonal_mp
    m, n, k = (400, 2000, 20) if small else (2000, 10000, 100)
    A, _, y = sparse(np.random.default_rng(1), m, n, k)
    made, operator = best_of(repeats, lambda: csrecover.Dense(A))
    mine, found = best_of(repeats, lambda: csrecover.solve(operator, y, "omp", atoms=k))
    peer, x = best_of(repeats, lambda: orthogonal_mp(A, y, n_nonzero_coefs=k))
    return {"m": m, "n": n, "k": k, "operator": made, "solve": mine, "sklearn": peer,
            "ratio": peer / mine, "ratio_with_operator": peer / (mine + made),
            "same_picks": bool(np.array_equal(np.flatnonzero(found.x), np.flatnonzero(x))),
            "largest_difference": float(np.abs(found.x - x).max())}


def dense_l1(csrecover, repeats, small):
    """min 1/2 ||A x - y||^2 + w ||x||_1 by each, to the same relative gap of the objective."""
    import pylops
    from sklearn.linear_model import Lasso
    m, n, k = (100, 400, 8) if small else (500, 2000, 40)
    A, truth, y = sparse(np.random.default_rng(2), m, n, k)
    share = 0.02
    weight = share * float(np.abs(A.T @ y).max())
    gap = 1e-6

    def objective(x):
        return float(0.5 * np.sum((A @ x - y) ** 2) + weight * np.abs(x).sum())

    made, operator = best_of(repeats, lambda: csrecover.Dense(A))
    P = pylops.MatrixMult(A)
    alpha = 1.0 / np.linalg.norm(A, 2) ** 2  # given to PyLops, so that it need not estimate it

    def csrecover_fista(effort):
        return csrecover.solve(operator, y, "fista", lambda_=share, atoms=effort).x

    def pylops_fista(effort):  # its eps weighs eps / 2 ||x||_1 beside 1/2 ||A x - y||^2
        return pylops.optimization.sparsity.fista(P, y, niter=effort, eps=2 * weight, alpha=alpha,
                                                  tol=0.0)[0]

    def sklearn_lasso(effort):
        return Lasso(weight / m, fit_intercept=False, tol=1e-14, max_iter=effort).fit(A, y).coef_

    best = min(objective(csrecover_fista(20000)), objective(sklearn_lasso(20000)))
    rows = []
    for name, method in (("csrecover fista", csrecover_fista), ("PyLops fista", pylops_fista),
                         ("scikit-learn Lasso", sklearn_lasso)):
        effort = 5
        while (reached := objective(method(effort)) / best - 1) > gap and effort < 20000:
            effort = int(effort * 1.3) + 1
        seconds, x = best_of(repeats, lambda: method(effort))
        rows.append({"method": name, "iterations": effort, "seconds": seconds, "gap": reached,
                     "error": float(np.linalg.norm(x - truth) / np.linalg.norm(truth))})
    return {"m": m, "n": n, "k": k, "lambda": share, "gap": gap, "operator": made, "rows": rows}


def complex_l1(csrecover, repeats, small):
    """min ||x||_1 such that ||A x - y|| <= goal, of complex entries, goals in shares of the noise's
    length; the mean of four problems."""
    import spgl1
    m, n, k = (80, 256, 10) if small else (200, 1000, 20)
    rows = []
    for share in (1.0, 0.3, 0.1):
        row = {"share": share, "seconds": 0.0, "spgl1": 0.0, "off": 0.0, "spgl1_off": 0.0, "norms": 0.0}
        for seed in range(4):
            rng = np.random.default_rng(seed)
            A, x, noise = (rng.standard_normal((*size, 2)) @ (1, 1j) for size in ((m, n), (n,), (m,)))
            x[rng.permutation(n)[k:]], A, noise = 0, A / (2 * m) ** 0.5, 0.01 * noise
            y, goal = A @ x + noise, share * float(np.linalg.norm(noise))
            operator, epsilon = csrecover.Dense(A), goal / np.linalg.norm(y)
            found, mine = common.seconds(
                lambda: csrecover.solve(operator, y, "bpdn", epsilon=epsilon), repeats)
            theirs, peer = common.seconds(lambda: spgl1.spg_bpdn(
                A, y, goal, opt_tol=1e-9, bp_tol=1e-9, iter_lim=20000)[0], repeats)
            row["seconds"] += mine / 4
            row["spgl1"] += peer / 4
            for key, z in (("off", found.x), ("spgl1_off", theirs)):
                row[key] = max(row[key], abs(float(np.linalg.norm(A @ z - y) / goal) - 1))
            row["norms"] = max(row["norms"], float(abs(np.abs(theirs).sum() / np.abs(found.x).sum() - 1)))
        rows.append(row)
    return {"m": m, "n": n, "k": k, "rows": rows}


def batch(m, n, k, count, csrecover, repeats, small):
    """OMP of so many signals of k columns and noise, a hundredth of them, by each; the Gram matrix counts.
    scikit-learn has a tenth of the signals."""
    count = count // 10 if small else count
    rng = np.random.default_rng(3)
    D, X = rng.standard_normal((m, n)), np.zeros((count, n))
    D /= np.linalg.norm(D, axis=0)
    for x in X:
        x[rng.choice(n, k, replace=False)] = rng.standard_normal(k)
    Y = D @ X.T
    Y += 0.01 * Y.std() * rng.standard_normal(Y.shape)

    def ours():
        return csrecover.solve(csrecover.Dense(D), Y, "omp", atoms=k, threads=1).x

    def sklearn():
        from sklearn.linear_model import orthogonal_mp_gram
        return orthogonal_mp_gram(D.T @ D, D.T @ Y[:, :count // 10], n_nonzero_coefs=k)

    def spams(kind):
        import spams
        d, y = (np.asfortranarray(a, kind) for a in (D, Y))
        return lambda: spams.omp(y, d, L=k, eps=0.0, numThreads=1)

    def batched(way, kind):
        import torch
        from orthogonal_matching_pursuit_gpu import run_omp
        torch.set_num_threads(1)
        d, y = (torch.as_tensor(np.ascontiguousarray(a, kind)) for a in (D, Y.T))
        return lambda: run_omp(d, y, k, normalize=False, fit_intercept=False, alg=way).numpy().T
    ways = {"csrecover": lambda: ours, "scikit-learn": lambda: sklearn}
    for kind in ("float64", "float32"):
        ways[f"SPAMS, {kind}"] = functools.partial(spams, kind)
        ways[f"batched-omp, v0, {kind}"] = functools.partial(batched, "v0", kind)
    ways["batched-omp, v0_blas"] = functools.partial(batched, "v0_blas", "float64")
    rows, first = [], None
    for name, prepare in ways.items():
        try:
            call = prepare()
            seconds, x = best_of(1, call)
        except ImportError as error:
            print(f"left out: {name}: {error}")
            continue
        if seconds < 10:
            seconds = min(seconds, best_of(repeats - 1, call)[0])
        x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
        first = x if first is None else first
        of = x.shape[1]
        rows.append({"way": name, "seconds": seconds * count / of,
                     "same_picks": float(np.mean(((x != 0) == (first[:, :of] != 0)).all(0))),
                     "residual": float(np.linalg.norm(D @ x - Y[:, :of]) / np.linalg.norm(Y[:, :of]))})
    return {"m": m, "n": n, "k": k, "signals": count, "rows": rows}


# batches: those that batched-omp is measured with
PROBLEMS = {"omp": dense_omp, "l1": dense_l1, "complex": complex_l1} | {
    f"batch {size[0]} x {size[1]}": functools.partial(batch, *size)
    for size in ((256, 1024, 32, 5000), (512, 2048, 64, 5000), (8064, 1207, 30, 1207))}


def main():
    parser = common.parser(__doc__, "peers.json", quick=(False, "one picture, small matrices"),
                           images=(None, "folder of *-256.png, as for pictures.py"))
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    csrecover = common.load(arguments.build)
    warnings.simplefilter("ignore")  # iteration limits are what is measured
    found, source = pictures.load(arguments.images)
    wanted, path = arguments.names, Path(arguments.json)
    table, left_out = on_pictures(csrecover, found[:1] if arguments.quick else found, wanted)
    dense = {}
    for name, problem in PROBLEMS.items():
        if wanted and name not in wanted:
            continue
        try:
            dense[name] = problem(csrecover, 1 if arguments.quick else 5, arguments.quick)
            print(name, dense[name], flush=True)
        except ImportError as error:
            left_out[f"dense {name}"] = str(error)
            print(f"left out: dense {name}: {error}")
    if not (table or dense or left_out):
        raise SystemExit(f"peers.py: no row or problem of these names: {', '.join(wanted)}")
    if wanted and path.exists():
        old = json.loads(path.read_text())
        anew = {row["method"]: row for row in table}
        table = [anew.pop(row["method"], row) for row in old["pictures"]] + list(anew.values())
        dense = old["dense"] | dense
        left_out = {k: v for k, v in old["left_out"].items() if k not in wanted} | left_out
    common.save(arguments, source=source, pictures=table, dense=dense, left_out=left_out,
                versions=common.versions(*PACKAGES))


if __name__ == "__main__":
    main()
