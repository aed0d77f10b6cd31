#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""laws.py - recovery of the five pictures from samples whose noise grows with the light: Poisson
counts of a peak, and radiance of 5 natural logarithms by few rays (gamma noise); and from samples
some of which are black or white (--robust). PSNR of each way to tell csrecover of it, that of
radiance of (x / (1 + x))^(1 / 2.2), and how right the expected error is. Needs NumPy and Pillow."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import pictures
from common import means

RATES = (0.25, 1.0)
WAYS = {"counts": ("one sigma", "auto", "poisson", "poisson:1"), "rays": ("0", "auto", "light"),
        "salt": ("robust", "exactly")}
LEVELS = {"counts": (5, 20, 100), "rays": (1, 4), "salt": (0.01, 0.05, 0.2)}


def noisy(kind, level, picture, rng):
    """The truth, and samples of all of it."""
    if kind == "counts":
        truth = picture * level / 255
        return truth, rng.poisson(truth).astype(float)
    if kind == "rays":
        truth = np.exp(5 * (picture / 255 - 0.5))
        return truth, truth * rng.gamma(level, 1 / level, truth.shape)
    bad = rng.random(picture.shape) < level
    return picture, np.where(bad, rng.choice([0.0, 255.0], picture.shape), picture)


def psnr(kind, truth, found):
    if kind == "rays":
        truth, found = (255 * (x / (1 + x)) ** (1 / 2.2) for x in (truth, found.clip(0)))
    peak = truth.max() if kind == "counts" else 255
    return float(10 * np.log10(peak ** 2 / np.mean((truth - found) ** 2)))


def measure(tool, preset, picture, kind, level, rate, way):
    rng = np.random.default_rng(1)
    mask = rng.random(picture.shape) < rate
    truth, all_of_it = noisy(kind, level, picture, rng)
    if way == "exactly":
        mask &= all_of_it == truth
    way = {"exactly": ["--sigma", "0"], "robust": ["--robust"],
            "one sigma": ["--sigma", str(np.sqrt(truth.mean()))]}.get(way, ["--sigma", way])
    with tempfile.TemporaryDirectory() as folder:
        scan, out = (str(Path(folder) / name) for name in ("s.npz", "o.npy"))
        np.savez(scan, y=all_of_it[mask], mask=mask)
        done = subprocess.run(
            [tool, scan, "-o", out, "-u", out + ".npy", "--quality", preset, "--json", "--backend",
             "cpu", *way], capture_output=True, text=True, check=True)
        found = np.load(out).astype(float)
    told = json.loads(done.stdout)["expected"]["error"]  # 0: of known values
    off = 20 * np.log10(np.sqrt(np.mean((found - truth) ** 2)) / max(told, 1e-9))
    return {"psnr": psnr(kind, truth, found), "off_db": min(abs(float(off)), 99.0)}


def main():
    arguments = common.arguments(__doc__, "laws.json", images=None, presets=["fast", "balanced"])
    found, source = pictures.load(arguments.images)
    tool, rows = str(Path(arguments.build) / "csrecover"), []
    for preset, kind, rate, (name, picture) in [
            (p, k, r, f) for p in arguments.presets for k in WAYS for r in RATES for f in found]:
        for level, way in [(level, way) for level in LEVELS[kind] for way in WAYS[kind]]:
            case = dict(picture=name, preset=preset, kind=kind, level=level, rate=rate, way=way)
            rows.append(case | measure(tool, preset, np.asarray(picture, float), kind, level, rate, way))
        print(preset, kind, rate, name, file=sys.stderr, flush=True)
        common.save(arguments, source=source, summary=means(
            rows, ("preset", "kind", "level", "rate", "way"), ("psnr", "off_db")))


if __name__ == "__main__":
    main()
