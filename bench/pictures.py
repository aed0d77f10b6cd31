#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pictures.py - PSNR and seconds on pictures recovered from 10 % and 25 % of their pixels: csrecover
beside what a Python user would pick, in the same run, one thread each. Needs NumPy; SciPy,
scikit-image and Pillow are used when installed."""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import net_kinds
from net_drawn import synthetic
from common import by_method, means as rows_means

ROOT = Path(__file__).resolve().parent.parent
FIVE = ("camera", "astronaut", "chelsea", "moon", "brick")
RATES = (0.10, 0.25)
THREADS = "1"
PEER = "Delaunay linear"  # the one that ratios are to


def psnr(a, truth):
    return 10 * np.log10(255.0 ** 2 / np.mean((np.clip(a, 0, 255) - truth) ** 2))


def sample(truth, rate, seed=1):
    """Seed 1: the mask of the published table, exactly these positions."""
    n = truth.size
    mask = np.zeros(n, bool)
    mask[np.random.default_rng(seed).choice(n, round(rate * n), replace=False)] = True
    return mask.reshape(truth.shape)


def read_gray(path):
    from PIL import Image
    return np.asarray(Image.open(path).convert("L"), np.float64)


def load(folder, names=FIVE):
    """(name, picture) of each name, and where they are from: those of net_kinds.py, which are kept
    aside, are made by it. Others are files of the folder, else all its square 256s, else pictures
    made by code."""
    made, names = net_kinds.load(names), [name for name in names if name not in net_kinds.ALL]
    if not names:
        return made, "made by bench/net_kinds.py"
    found, source = load_files(folder, names)
    return found + made, source


def load_files(folder, names):
    if folder is None:
        places = [p / "shared" / "images" for p in (ROOT, ROOT.parent)]
        folder = next((p for p in places if p.is_dir()), None)
    if folder is not None:
        paths = [p for p in (Path(folder) / f"{name}-256.png" for name in names) if p.is_file()]
        paths = paths or sorted(Path(folder).glob("*.png"))
        try:
            if paths:
                return [(p.stem, read_gray(p)) for p in paths], str(Path(folder).name)
        except ImportError:
            print("Pillow (python3-pil) is missing: pictures made by code instead")
    return [(f"synthetic-{k}", synthetic(k)) for k in range(1, 6)], "made by bench/pictures.py"


# ---- peers: method(values at the samples, mask) -> picture

def holes(y, mask, kind=float):
    """The samples, and 0 elsewhere."""
    picture = np.zeros(mask.shape, kind)
    picture[mask] = y
    return picture


def nearest(y, mask):
    from scipy.spatial import cKDTree
    at = np.argwhere(mask)
    _, j = cKDTree(at).query(np.argwhere(np.ones(mask.shape)))
    return y[j].reshape(mask.shape)


def normalised_convolution(y, mask):
    from scipy.ndimage import gaussian_filter
    sigma = 0.5 / np.sqrt(mask.mean())  # the best of 0.35 .. 0.6 on these pictures
    weight = gaussian_filter(mask.astype(float), sigma, truncate=8)
    picture = gaussian_filter(holes(y, mask), sigma, truncate=8) / np.maximum(weight, 1e-300)
    picture[mask] = y
    return picture


def triangulated(y, mask, interpolator):
    at, wanted = np.argwhere(mask), np.argwhere(np.ones(mask.shape))
    picture = interpolator(at, y)(wanted).reshape(mask.shape)
    outside = np.isnan(picture)  # beyond the convex hull of the samples
    if outside.any():
        picture[outside] = nearest(y, mask)[outside]
    return picture


def delaunay(y, mask):
    from scipy.interpolate import LinearNDInterpolator
    return triangulated(y, mask, LinearNDInterpolator)


def clough_tocher(y, mask):
    from scipy.interpolate import CloughTocher2DInterpolator
    return triangulated(y, mask, CloughTocher2DInterpolator)


def biharmonic(y, mask):
    from skimage.restoration import inpaint_biharmonic
    return inpaint_biharmonic(holes(y, mask), ~mask)


PEERS = {"nearest sample": nearest, "normalised convolution": normalised_convolution,
         PEER: delaunay, "Clough-Tocher cubic": clough_tocher,
         "biharmonic (scikit-image)": biharmonic}
SLOW = ("biharmonic (scikit-image)",)


OURS = {"csrecover --shifts 1 --columns paper": ["--shifts", "1", "--columns", "paper"],
        "csrecover --shifts 1 --columns two-sided": ["--shifts", "1", "--columns", "two-sided"],
        "csrecover --shifts 16": ["--shifts", "16"],
        "csrecover --quality fast": ["--quality", "fast"],
        "csrecover --quality balanced": ["--quality", "balanced"],
        "csrecover --solver gaussian --set effort=0":
            ["--solver", "gaussian", "--set", "effort=0"],
        "csrecover --quality best": ["--quality", "best"]}


def recover(tool, options, y, mask, sigma=0.0):
    with tempfile.TemporaryDirectory() as folder:
        scan, out = os.path.join(folder, "scan.npz"), os.path.join(folder, "out.npy")
        known = {"sigma": sigma} if sigma > 0 else {}
        np.savez(scan, y=y, mask=mask, **known)
        start = time.perf_counter()
        done = subprocess.run([tool, scan, "-o", out, "--threads", THREADS, "--backend", "cpu",
                               *options], capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode or "warning:" in done.stderr:  # these pictures are healthy
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        return np.load(out).reshape(mask.shape + y.shape[1:]), seconds


def measure(name, method, y, mask, truth):
    start = time.perf_counter()
    picture = method(y, mask)
    seconds = time.perf_counter() - start
    return {"method": name, "psnr": psnr(picture, truth), "seconds": seconds}


def measure_ours(name, tool, options, y, mask, truth, sigma=0.0):
    picture, seconds = recover(tool, options, y, mask, sigma)
    return {"method": name, "psnr": psnr(picture, truth), "seconds": seconds}


def methods(arguments):
    """name -> function(y, mask, truth) -> row."""
    found = {}
    for name, method in PEERS.items():
        if not (arguments.quick and name in SLOW):
            found[name] = lambda y, m, t, n=name, f=method: measure(n, f, y, m, t)
    tool = Path(arguments.build) / "csrecover"
    if tool.is_file():
        for name, options in OURS.items():
            found[name] = lambda y, m, t, n=name, o=options: measure_ours(n, str(tool), o, y, m, t)
    else:
        print(f"{tool} is not built: peers only")
    return found


def cases(pictures, seed=1, sigma=0.0, **fields):
    """For common.by_method: y, mask, truth of each rate and picture; y has that noise."""
    for rate in RATES:
        for picture, truth in pictures:
            mask = sample(truth, rate, seed)
            noise = np.random.default_rng(1000 + seed).standard_normal(int(mask.sum()))
            yield ({**fields, "picture": picture, "rate": rate}, truth[mask] + sigma * noise, mask,
                   truth)


VARIANTS = [(f"mask seed {seed}", seed, 0.0) for seed in (2, 3)] + [("noise, sigma 10", 1, 10.0)]
OF_VARIANTS = (PEER, "csrecover --quality fast", "csrecover --quality balanced",
               "csrecover --solver gaussian --set effort=0", "csrecover --quality best")


def run_variants(arguments, pictures):
    """Rows as those of all methods, each with its variant; noise is added to the samples, sigma
    told."""
    rows, tool = [], Path(arguments.build) / "csrecover"
    for variant, seed, sigma in VARIANTS:
        todo = {name: lambda y, m, t, n=name: measure_ours(n, str(tool), OURS[n], y, m, t, sigma)
                for name in OF_VARIANTS} | {PEER: lambda *case: measure(PEER, PEERS[PEER], *case)}
        rows += by_method(todo, list(cases(pictures, seed, sigma, variant=variant)))[0]
    return rows


def means(rows):
    table = sorted(rows_means(rows, ("method", "rate"), ("psnr", "seconds")), key=lambda r: r["rate"])
    for row in table:
        for peer in (r for r in table if (r["method"], r["rate"]) == (PEER, row["rate"])):
            row |= {"psnr_over_delaunay": row["psnr"] - peer["psnr"],
                    "times_faster_than_delaunay": peer["seconds"] / row["seconds"]}
    return table


def show(table, source):
    names = list(dict.fromkeys(row["method"] for row in table))
    at = {(row["method"], row["rate"]): row for row in table}
    print(f"\nmean PSNR (dB) and seconds a picture, {THREADS} thread(s); pictures: {source}")
    print(f"{'method':42s} {'10 %':>7s} {'25 %':>7s} {'s at 25 %':>10s} {'dB over':>8s} {'times':>7s}")
    print(f"{'':42s} {'':7s} {'':7s} {'':10s} {'Delaunay':>8s} {'faster':>7s}")
    for name in names:
        low, high = at[name, RATES[0]], at[name, RATES[1]]
        print(f"{name:42s} {low['psnr']:7.2f} {high['psnr']:7.2f} {high['seconds']:10.3f} "
              f"{high.get('psnr_over_delaunay', float('nan')):+8.2f} "
              f"{high.get('times_faster_than_delaunay', float('nan')):7.2f}")


def main():
    global THREADS
    arguments = common.arguments(
        __doc__, "pictures.json", quick=(False, "leave out the slow peers"),
        images=(None, "folder of *-256.png (default: shared/images near the checkout, else pictures made "
                      "by code)"), threads=(THREADS, "of csrecover"))
    THREADS = arguments.threads
    if arguments.images and not Path(arguments.images).is_dir():
        sys.exit(f"pictures.py: {arguments.images}: no such folder; give one with PNG files")
    pictures, source = load(arguments.images)
    rows, left_out = by_method(methods(arguments), list(cases(pictures)))
    table = means(rows)
    show(table, source)
    variants = [] if arguments.quick else run_variants(arguments, pictures)
    for variant in dict.fromkeys(row["variant"] for row in variants):
        show(means([r for r in variants if r["variant"] == variant]), f"{source}, {variant}")
    common.save(arguments, source=source, mean=table, pictures=rows, variants=variants,
                 left_out=left_out)


if __name__ == "__main__":
    main()
