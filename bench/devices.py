#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""devices.py - one recovery on one GPU and on all first 2, 3, .. GPUs of this machine: seconds, and
whether the bits are equal; into bench/results/devices.json, in under four minutes. Cases: 64 grids of
a 1024 x 1024 picture in colours, 192 signals of 262,144 samples, and 256 grids of it, with N/4 atoms
each; an 8192 x 8192 picture by "balanced" in its 4 tiles; 64 files of 512 x 512 by the tool with
--quality best, from its start to its end. Needs NumPy, cffi and a built library. --brief: smaller
cases, to try it."""
import subprocess
import tempfile
import time
from pathlib import Path

import common
from cuda import program

FILES = 64


def row_of(devices, seconds, first, same, **more):
    row = {"devices": devices, "seconds": seconds, "times_one": first / seconds, **more,
           "equal_to_one": bool(same)}
    print(row, flush=True)
    return row


def on_devices(run, runs, names):
    """The shortest of so many runs after one that does not count."""
    from library import least_ms
    rows, first = [], None
    for n in range(1, len(names) + 1):
        where = names[0] if names[0] == "cpu" else "cuda:" + ",".join(names[:n])
        seconds = 1e-3 * least_ms(lambda: run(where), runs)
        if first is None:
            first = run.signal.copy(), seconds
        r = run.report
        rows.append(row_of(n, seconds, first[1], (first[0] == run.signal).all(),
                           devices_ran=int(r.n_devices), tiles=int(r.estimate.tiles),
                           trees_seconds_of_all=r.seconds_tree,
                           pursuits_seconds_of_all=r.seconds_pursuit,
                           synthesis_seconds_of_all=r.seconds_synthesis))
    return rows


def files(tool, names, count, side, folder):
    """The first run warms the disk's cache and the driver."""
    import csrecover
    from library import synthetic
    scans = [folder / f"{k:02}.npz" for k in range(count)]
    for k, path in enumerate(scans):
        values = synthetic(k, side).astype("uint8")
        csrecover.write(path, csrecover.sample(values, 0.25, "uniform", 1))

    def run(inputs, out, n):
        where = ["--backend", "cpu"] if names[0] == "cpu" else ["--devices", ",".join(names[:n])]
        start = time.perf_counter()
        subprocess.run([tool, *inputs, "-o", out, "--quality", "best", *where, "--quiet", "--no-sync"],
                       check=True, timeout=150)
        return time.perf_counter() - start
    run(scans[:1], folder / "warm.npy", 1)
    rows, made = [], []
    for n in range(1, len(names) + 1):
        out = folder / f"out-{n}"
        seconds = run(scans, f"{out}/", n)
        made.append([path.read_bytes() for path in sorted(out.iterdir())])
        rows.append({"devices": n, "seconds": round(seconds, 3), "same_bytes": made[0] == made[-1]})
        print(rows[-1], flush=True)
    return rows


def measure(arguments, names):
    from library import Recovery, picture, sampled
    from cuda_recoveries import pursuits
    side = 256 if arguments.brief else 1024
    one = {"signals_192": on_devices(pursuits(side, 3, 64), 3, names),
           "signals_768": on_devices(pursuits(side, 3, 256), 3, names)}
    side, tile = (1024, 1 << 18) if arguments.brief else (8192, 0)
    tiles = Recovery(sampled(picture(side)), quality="balanced", tile=tile)
    one[f"picture_{side}_balanced"] = on_devices(tiles, 1, names)
    with tempfile.TemporaryDirectory() as folder:
        count, side = (4, 64) if arguments.brief else (FILES, 512)
        return one, files(program(arguments.build, "csrecover"), names, count, side, Path(folder))


def main():
    arguments = common.arguments(__doc__, "devices.json", brief=False,
                                  device=("cuda", "cpu: to try it without a device"))
    csrecover = common.load(arguments.build)
    texts = [text for _, text in csrecover.backends()]
    names = ["cpu"] if arguments.device == "cpu" else [
        str(n) for n in range(sum("compute capability" in text for text in texts))]
    if not names:
        print(f"SKIPPED: {texts[-1]}")
        return
    one, of_files = measure(arguments, names)
    described = {"machine": common.describe(arguments.build), "backends": texts}
    common.write(arguments.json, {"one_recovery": {**described, **one}, "files_best_512": of_files})


if __name__ == "__main__":
    main()
