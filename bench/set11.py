#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""set11.py - the pictures by which compressed sensing compares itself, PSNR, SSIM and seconds of each:
through scrambled Hadamard's matrix (hadamard) and orthonormal rows of 33 x 33 blocks, one matrix for
all (blocks), as of Set11; and frequencies on pseudo-radial lines (radial), as of brains. --folder has
the pictures, and for radial the masks, mask-*.png with frequency 0 in the middle and white where it is
measured; neither is part of csrecover. Needs NumPy, cffi and Pillow."""
import concurrent.futures
import json
import multiprocessing
import time
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np
from PIL import Image

import common

SIDE = 33
ROWS = {0.01: 10, 0.04: 43, 0.10: 109, 0.25: 272, 0.30: 327, 0.40: 436, 0.50: 545}  # as ISTA-Net rounds


def picture(path):
    """Lightness, as papers take it."""
    return np.asarray(Image.open(path).convert("L"))


def orthonormal(rate):
    m = ROWS.get(rate, round(rate * SIDE ** 2))
    return np.linalg.qr(np.random.default_rng(1).standard_normal((SIDE ** 2, m)))[0].T


def blocking(found, truth, first):
    """Squared jumps across lines `first`, `first` + 33, ... of the result in the truth's, over those
    across other lines: 1 where they are as elsewhere."""
    ratios = []
    for axis in (0, 1):
        jumps = [np.moveaxis(np.diff(each.astype(float), axis=axis) ** 2, axis, 0)
                 for each in (found, truth)]
        at = np.arange(len(jumps[0])) % SIDE
        on = [each[at == first].mean() for each in jumps]
        off = [each[(at != SIDE - 1) & (at != first)].mean() for each in jumps]
        ratios.append(on[0] / off[0] * off[1] / on[1])
    return float(np.sqrt(np.prod(ratios)))


def measured(cs, truth, operator, rate, mask):
    if operator == "hadamard":
        return cs.measure(truth, "hadamard", rate=rate, seed=1)
    if operator == "blocks":
        return cs.measure(truth, "matrix", matrix=orthonormal(rate), block=(SIDE, SIDE))
    known = picture(mask) > 0
    through = cs.Through("fourier", centred=True)
    all_of_it = cs.measure(truth, through)
    y = np.empty(truth.size, complex)
    y[all_of_it.index] = all_of_it.y
    return cs.Measurement(y[known.ravel()], np.flatnonzero(known), truth.shape, scale=(0.0, 255.0),
                          through=through)


def task(build, path, operator, rate, preset, backend, mask):
    cs = common.load(build)
    truth = picture(path)
    scan = measured(cs, truth, operator, rate, mask)
    clock = time.perf_counter if backend == "cuda" else time.process_time
    begin = clock()
    found = cs.recover(scan, quality=preset, threads=1, backend=backend, dtype=float)
    seconds = clock() - begin
    found = np.clip(found, 0, 255)
    row = {"picture": path.stem, "operator": operator, "rate": rate, "preset": preset,
           "backend": backend,
           "psnr": cs.psnr(found, truth, 255.0), "ssim": cs.ssim(found, truth, 255.0),
           "seconds": seconds}
    if operator == "blocks":
        row |= {"borders": blocking(found, truth, SIDE - 1), "beside": blocking(found, truth, SIDE // 2)}
    return row


def cases(arguments):
    folder = Path(arguments.folder)
    masks = sorted(folder.glob("mask-*.png"))
    chosen = [path for path in sorted(folder.glob("*.png")) if path not in masks
              and (not arguments.only or path.stem in arguments.only)]
    if not chosen:
        raise SystemExit(f"set11.py: {folder}: has no pictures (.png); give another --folder")
    for operator in arguments.operator:
        if operator == "radial" and not masks:
            raise SystemExit(f"set11.py: {folder}: has no mask-*.png for radial; put them there")
        rates = [(rate, None) for rate in arguments.rates] if operator != "radial" else [
            (round(float((picture(mask) > 0).mean()), 2), mask) for mask in masks]
        for rate, mask in rates:
            for preset in arguments.presets:
                for path in chosen:
                    yield arguments.build, path, operator, rate, preset, arguments.backend, mask


def main():
    arguments = common.arguments(
        __doc__, "set11.json", folder=(None, "of the pictures"), only=([], "pictures of these names"),
        operator=(["hadamard", "blocks"], "hadamard, blocks, radial"),
        rates=([0.04, 0.10, 0.25, 0.50], "shares of rows; radial: of the masks"),
        presets=(["fast", "balanced", "best", "max"], "fast, balanced, best, max"),
        jobs=(1, "pictures at once, each on one core"),
        backend=("cpu", "cpu, or cuda: then seconds are by the clock, beside those of --jobs"),
        add=(False, "to the rows of --json, in place of those of these presets"))
    if not arguments.folder:
        raise SystemExit("set11.py: --folder is missing; give a folder of pictures")
    todo, rows, old = list(cases(arguments)), [], []
    if arguments.add:
        old = [row for row in json.loads(Path(arguments.json).read_text(encoding="ascii"))["rows"]
               if row["preset"] not in arguments.presets]
    with concurrent.futures.ProcessPoolExecutor(
            arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        for row in pool.map(task, *zip(*todo)):
            rows.append(row)
            print(f"{len(rows)}/{len(todo)} " + " ".join(
                f"{v:.3f}" if isinstance(v, float) else v for v in row.values()), flush=True)
    common.save(arguments, rows=old + rows)


if __name__ == "__main__":
    main()
