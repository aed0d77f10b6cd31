#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""intervals.py - what csrecover's intervals hold: the share of values whose true one is in the
interval of --interval 90 (of unknown ones, with noise of all), and how often the PSNR that it is
sure of is true, and how far below the true one. Uniform samples of the pictures of uncertainty.py;
patterns that are none on the first five; slow presets on the middle of pictures (--crop). "guided"
has a noisy guide that shows the picture in other shades, "frames" are five files of a picture that
moves, of which the last is told. Needs NumPy and Pillow."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import net_kinds
import pictures
from common import means

RATES = (0.05, 0.10, 0.25, 0.50)
SIGMAS = (0.0, 15.0)
FRAMES = 5
PERCENT = 90


def draw(density, rate, rng):
    """Positions by a density, cut at 0.95."""
    for _ in range(30):
        density = np.minimum(density * rate / np.minimum(density, 0.95).mean(), 1.0)
    return rng.random(density.shape) < np.minimum(density, 0.95)


def blurred(values, sigma):
    f = np.hypot(*np.meshgrid(*(np.fft.fftfreq(n) for n in values.shape), indexing="ij"))
    return np.fft.ifft2(np.fft.fft2(values) * np.exp(-2 * (np.pi * sigma * f) ** 2)).real


def poisson(shape, rate, rng):
    mask, far = np.zeros(shape, bool), 0.75 / np.sqrt(rate)
    reach = int(np.ceil(far))
    for y, x in zip(*np.unravel_index(rng.permutation(mask.size), shape)):
        if mask.mean() >= rate:
            break
        rows, columns = np.nonzero(mask[max(y - reach, 0):y + reach + 1, max(x - reach, 0):x + reach + 1])
        off = np.hypot(rows + max(y - reach, 0) - y, columns + max(x - reach, 0) - x)
        mask[y, x] = not (off < far).any()
    return mask


def mask_of(pattern, picture, rate, seed=1):
    """placed: denser where the picture varies; clustered: by a density that has nothing to do with
    it; hole: uniform, but for an eighth of the picture."""
    rng = np.random.default_rng(seed)
    if pattern == "poisson":
        return poisson(picture.shape, rate, rng)
    if pattern == "placed":
        slope = blurred(np.hypot(*np.gradient(blurred(picture, 1.5))), 2)
        return draw(slope.clip(0) + 0.3 * slope.mean(), rate, rng)
    if pattern == "clustered":
        field = blurred(rng.standard_normal(picture.shape), 20)
        return draw(np.exp(1.2 * field / field.std()), rate, rng)
    mask = rng.random(picture.shape) < rate
    if pattern == "hole":
        h, w = picture.shape
        mask[h // 4:h // 2, w // 4:3 * w // 4] = False
    return mask


def measure(tool, preset, picture, rate, sigma, pattern):
    shots = FRAMES if pattern == "frames" else 1
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        for t in range(shots):
            picture, mask = np.roll(picture, 2 * (t > 0), 1), mask_of(pattern, picture, rate, t + 1)
            rng = np.random.default_rng(2 + t)
            y = picture[mask] + sigma * rng.standard_normal(mask.sum())
            np.savez(at / f"s{t}.npz", y=y, mask=mask, scale=[0.0, 255.0],
                     **({"sigma": sigma} if sigma else {}))
        more = ["--sequence"] if shots > 1 else []
        if pattern == "guided":
            np.save(at / "g.npy", np.sqrt(picture) + rng.standard_normal(picture.shape))
            more = ["--guide", at / "g.npy"]
        for name in ("x", "u"):
            (at / name).mkdir()
        done = subprocess.run(
            [tool, *(at / f"s{t}.npz" for t in range(shots)), "-o", f"{at}/x/", "-u", f"{at}/u/",
             "--format", "npy", "--interval", str(PERCENT), "--quality", preset, "--json",
             "--backend", "cpu", *more], capture_output=True, text=True, check=True)
        found, half = (np.load(at / name / f"s{shots - 1}.npy").astype(float) for name in ("x", "u"))
    asked = (np.ones_like(mask) if sigma else ~mask) & np.isfinite(half)
    off, told = np.abs(found - picture), json.loads(done.stdout)
    least = told.get("files", [told])[-1]["expected"]["psnr_least"]
    psnr = float(20 * np.log10(255 / np.sqrt(np.mean(off ** 2))))
    return {"covered": float(np.mean((off <= half)[asked])), "half": float(np.median(half[asked])),
            "unpromised": float(np.mean(~np.isfinite(half))), "psnr": psnr, "least": least}


def summary(rows):
    """A row for each preset, pattern, rate and noise."""
    keys = ("preset", "pattern", "rate", "sigma", "size")
    rows = [{"size": 256, **row} for row in rows]
    table = means(rows, keys, ("covered", "unpromised"))
    for row in table:
        own = [r for r in rows if all(r[key] == row[key] for key in keys)]
        covered = [r["covered"] for r in own]
        below = [r["psnr"] - r["least"] for r in own if r["least"] is not None]
        row.update(pictures=len(own), covered_least=min(covered), covered_most=max(covered),
                   within=float(np.mean([abs(c - PERCENT / 100) <= 0.02 for c in covered])),
                   bounds=len(below), true=sum(b >= 0 for b in below),
                   below=float(np.median(below)) if below else None,
                   close=sum(0 <= b <= 1.5 for b in below))
    return table


def main():
    arguments = common.arguments(
        __doc__, "intervals.json", images=None, presets=["fast", "balanced"], rates=[*RATES],
        patterns=["uniform"], pictures=[*pictures.FIVE, *net_kinds.ALL],
        crop=(0, "so many of the middle rows and columns"),
        more=(False, "keep the rows that are in the file"))
    found, source = pictures.load(arguments.images, arguments.pictures)
    kept = arguments.more and Path(arguments.json).is_file()
    rows = json.loads(Path(arguments.json).read_text())["rows"] if kept else []
    names, size = ("picture", "preset", "pattern", "rate", "sigma", "size"), arguments.crop or 256
    done = {tuple(row.get(name, 256) for name in names) for row in rows}
    for case in [(name, preset, pattern, rate, sigma, size) for preset in arguments.presets
                 for pattern in arguments.patterns for name, _ in found
                 for rate in arguments.rates for sigma in SIGMAS]:
        if case not in done:
            picture = np.asarray(dict(found)[case[0]], np.float64)
            edges = [slice((n - size) // 2, (n + size) // 2) for n in picture.shape]
            picture = picture[tuple(edges)]
            rows.append(dict(zip(names, case)) | measure(
                str(Path(arguments.build) / "csrecover"), case[1], picture, case[3], case[4], case[2]))
            print(*case, f"{rows[-1]['covered']:.3f}", file=sys.stderr, flush=True)
            common.save(arguments, source=source, summary=summary(rows), rows=rows)
    for row in summary(rows):
        print({key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()})


if __name__ == "__main__":
    main()
