#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""large.py - a float TIFF of 10,000 x 10,000 pixels, 25 % of them known and the others NaN: seconds to
read, recover and write it, and the most memory; in one piece and, with --memory, in slabs, whose bytes
are compared; beside GDAL's fillnodata (rasterio). Needs NumPy, tifffile, and rasterio where installed.
--side N measures another size."""
import os
import sys
import tempfile
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import many

FILL = """
import sys, rasterio, rasterio.fill, numpy
with rasterio.open(sys.argv[1]) as file:
    z, profile = file.read(1), file.profile
known = numpy.isfinite(z)
z[~known] = 0
with rasterio.open(sys.argv[2], "w", **profile) as file:
    file.write(rasterio.fill.fillnodata(z, known, max_search_distance=20), 1)
"""


def make(path, side):
    import tifffile
    truth = many.scene(side, side)
    np.save(f"{path}.npy", truth)
    truth[np.random.default_rng(1).random(truth.shape, np.float32) >= many.RATE] = np.nan
    tifffile.imwrite(path, truth, compression="zlib", rowsperstrip=32)


def psnr(path, truth):
    import tifffile
    made, total = tifffile.imread(path), 0.0
    for y in range(0, len(made), 512):
        total += float(np.sum((made[y:y + 512].astype(np.float64) - truth[y:y + 512]) ** 2))
    return 10 * np.log10(255.0 ** 2 / (total / made.size))


def same_pixels(a, b):
    """The files differ in the fingerprint after the last page, which tells the memory."""
    import tifffile
    return bool(np.array_equal(tifffile.imread(a), tifffile.imread(b)))


def main():
    arguments = common.arguments(__doc__, "large.json", side=10000, quality=["fast"],
                                  slabs=(2000, "memory in slabs, MiB"))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        scan = os.path.join(folder, "scan.tif")
        make(scan, arguments.side)
        truth = np.load(f"{scan}.npy", mmap_mode="r")

        def row(name, command):
            out = os.path.join(folder, f"{len(rows)}.tif")
            try:
                _, wall, _, peak = common.child([*command(out)])
                rows.append({"how": name, "seconds": wall, "peak_mib": peak / 2 ** 20,
                             "psnr": psnr(out, truth)})
                print(rows[-1], file=sys.stderr, flush=True)
            except RuntimeError as error:
                rows.append({"how": name, "refused": str(error).splitlines()[-1]})
            return out

        tool = str(Path(arguments.build) / "csrecover")
        for quality in arguments.quality:
            def command(out, *more, quality=quality):
                return (tool, scan, "-o", out, "-Q", quality, "--backend", "cpu", "-q", *more)
            whole = row(f"{quality}, in one piece", command)
            slabs = row(f"{quality}, in slabs of {arguments.slabs} MiB", lambda out: command(
                out, "--memory", str(arguments.slabs)))
            rows[-1]["same"] = "refused" not in rows[-2] and same_pixels(whole, slabs)
        row("fillnodata (GDAL)", lambda out: (sys.executable, "-c", FILL, scan, out))
        size = os.path.getsize(scan)
    common.save(arguments, rate=many.RATE, side=arguments.side, file_mib=size / 2 ** 20, rows=rows)


if __name__ == "__main__":
    main()
