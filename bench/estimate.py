#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""estimate.py --json FILE [--quick] - what csrecover says of memory and time before a recovery, beside
what the recovery then takes: peak of resident memory, seconds by the clock and of the processors.
Samples of a traced scene, and values of a smooth volume."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import common

BUILD = common.ROOT / "build"
RATE = 0.25

# What csrecover is asked for, and edges of the pictures, colour, and of the volumes, of one channel.
ROWS = [("default", [], (256, 1024), ()),
        ("fast", ["--quality", "fast"], (256, 1024), (64,)),
        ("balanced", ["--quality", "balanced"], (256, 1024), ()),
        ("best", ["--quality", "best"], (256, 512), (64,)),
        ("gaussian, effort=0", ["--solver", "gaussian", "--set", "effort=0"], (256, 512), ()),
        ("16 grids", ["--shifts", "16"], (256, 1024), (64,)),
        ("one grid", ["--shifts", "1"], (256, 1024), (64,)),
        ("fista, wavelet", ["--solver", "fista", "--basis", "wavelet"], (256,), ())]

# In a process of its own: the peak that the system tells of a child begins with its parent's memory.
VOLUME = """
import sys
import numpy as np
edge, rate, path = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
at = np.linspace(0, 1, edge)
x, y, z = np.meshgrid(at, at, at, indexing="ij")
values = np.sin(9 * x * y) + np.cos(7 * z + 3 * x) + (x + y > z)
index = np.random.default_rng(1).choice(edge ** 3, int(rate * edge ** 3), replace=False)
np.savez(path, y=values.ravel()[index], index=index, shape=np.array(values.shape))
"""


def scan(folder, edge, dims):
    """A measurement of that size, made once."""
    path = folder / f"{edge}-{dims}.npz"
    if path.exists():
        return path
    if dims == 2:
        subprocess.run([BUILD / "samples/raytrace", "--width", str(edge), "--height", str(edge),
                        "--rate", str(RATE), "-o", path], check=True, stdout=subprocess.DEVNULL)
        return path
    subprocess.run([sys.executable, "-c", VOLUME, str(edge), str(RATE), path], check=True)
    return path


def measure(name, options, path, edge, dims):
    command = [BUILD / "csrecover", path, "-o", path.with_suffix(".out.npy"), "-q", "--backend", "cpu",
               *options]
    told = json.loads(common.child([*command, "--json"])[0])  # it tells expected errors, which take time
    _, wall, processors, peak = common.child(command)
    estimate = told["estimate"]
    row = {"options": name, "shape": [edge] * dims, "channels": told["channels"],
           "threads": estimate["threads"], "bytes": estimate["bytes"], "peak": peak,
           "seconds": estimate["seconds"], "wall": wall, "processors": processors}
    print(f"{name:20} {edge:5}^{dims}  {estimate['bytes'] / 2**20:8.1f} MiB, measured "
          f"{peak / 2**20:8.1f};  {estimate['seconds']:7.2f} s, measured {wall:7.2f}", flush=True)
    return row


def main():
    global BUILD
    args = common.arguments(__doc__, "estimate.json", quick=(False, "the smallest size of each"))
    BUILD = Path(args.build)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options, *sizes in ROWS:
            for dims, edges in zip((2, 3), sizes):
                for edge in edges[:1] if args.quick else edges:
                    path = scan(Path(folder), edge, dims)
                    rows.append(measure(name, options, path, edge, dims))
    common.save(args, rows=rows)


if __name__ == "__main__":
    main()
