#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""dask_tiles.py - one picture recovered by Dask, a task for each tile and one for each part of the
result, with the bits of csrecover.recover. Run it on a cluster with the address of its scheduler:

    dask_tiles.py tcp://head:8786
"""
import sys

import dask
import dask.array as da
import numpy as np

import csrecover


def graph(scan, **options):
    """The recovery of an array with NaN where it is not known, as an array of Dask."""
    plan = csrecover.tiles(scan, **options)
    there = dask.delayed(plan)  # sent to a worker once, not with every task
    parts = [there.recover(k, scan[plan.box(k)]) for k in range(len(plan))]
    cores = np.empty(plan.grid, object)
    for k, at in enumerate(np.ndindex(plan.grid)):
        blended = there.blend(k, [parts[j] for j in plan.near(k)])
        shape = tuple(one.stop - one.start for one in plan.core(k))
        cores[at] = da.from_delayed(blended, shape, plan.dtype)
    return da.block(cores.tolist())


def main():
    if len(sys.argv) > 1:
        from distributed import Client
        Client(sys.argv[1])
    image = csrecover.datasets.picture("grains", 640)
    scan = np.where(np.random.default_rng(1).random(image.shape) < 0.25, image, np.nan)
    options = {"quality": "fast", "tile": 90000, "threads": 1, "backend": "cpu"}
    picture = graph(scan, **options)
    print(f"{picture.numblocks[0]} x {picture.numblocks[1]} tiles")
    same = np.array_equal(picture.compute(), csrecover.recover(scan, **options))
    print("the same bits" if same else "OTHER bits")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
