#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""many.py - csrecover on 1, 2 and 4 ranks of this machine: seconds (median), efficiency and most memory
of a rank. Strong scaling: one picture in tiles, by --quality fast and balanced, and a list of small
files. Weak scaling: a picture and a list that grow with the ranks. Each rank has one thread, so that
ranks alone share the cores; outputs are compared with those of one process."""
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import common

RATE = 0.25

# Runs a command and writes the most memory that it had, in KiB, and its seconds, by the clock and of the
# processors.
RANK = """
import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, close_fds=False)
_, status, used = os.wait4(process.pid, 0)
wall = time.perf_counter() - start
name = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or "0"
with open(f"{sys.argv[1]}.{name}", "w") as file:
    file.write(f"{used.ru_maxrss} {wall} {used.ru_utime + used.ru_stime}")
sys.exit(os.waitstatus_to_exitcode(status))
"""


def scene(height, width):
    """Waves, steps and discs."""
    x = np.arange(width, dtype=np.float32)
    waves, steps = 100 + 40 * np.sin(0.03 * x), [20 * ((x // 64 + odd) % 2) for odd in (0, 1)]
    discs = [25 * (np.hypot(x % 211 - 100, y - 110) < 60) for y in range(min(height, 223))]
    made = np.empty((height, width), np.float32)
    for y in range(height):
        made[y] = waves + 30 * np.cos(0.02 * y) + steps[y // 64 % 2] + discs[y % 223]
    return made


def make(path, height, width, seed):
    """A quarter is known."""
    scan = scene(height, width)
    scan[np.random.default_rng(seed).random(scan.shape, np.float32) >= RATE] = np.nan
    np.save(path, scan)


class Runner:
    def __init__(self, build, folder, mpirun, backend="cpu"):
        self.tool, self.mpirun = str(Path(build).resolve() / "csrecover"), mpirun
        self.folder, self.backend = Path(folder), backend
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1",
                                PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")

    def once(self, ranks, words):
        """Seconds, with the launcher of several ranks, the MiB of the rank with the most, and the
        seconds of the processors."""
        peak = self.folder / "peak"
        for old in self.folder.glob("peak.*"):
            old.unlink()
        launcher = [self.mpirun, "-n", str(ranks)] if ranks > 1 else []
        start = time.perf_counter()
        subprocess.run([*launcher, sys.executable, "-c", RANK, peak, self.tool, *words, "-q",
                        "--backend", self.backend], env=self.environment, check=True, cwd=self.folder)
        seconds = time.perf_counter() - start
        peak, wall, used = zip(*(map(float, one.read_text().split())
                                 for one in self.folder.glob("peak.*")))
        return seconds if launcher else wall[0], max(peak) / 1024, sum(used)

    def rows(self, name, counts, repeats, words_of, outputs_of):
        """A row for each number of ranks; words_of(ranks): the command, outputs_of(ranks): its
        files, which must be those of one process."""
        found = []
        for ranks in counts:
            runs = [self.once(ranks, words_of(ranks)) for _ in range(repeats)]
            bytes_of = [path.read_bytes() for path in outputs_of(ranks)]
            if ranks > 1:
                self.once(1, words_of(ranks))
            same = bytes_of == [path.read_bytes() for path in outputs_of(ranks)]
            found.append({"what": name, "ranks": ranks, "same": same,
                          "seconds": statistics.median(run[0] for run in runs),
                          "peak_mib": max(run[1] for run in runs)})
            print(found[-1], file=sys.stderr, flush=True)
        return found


def version(mpirun):
    """Of MPI; "": it is not there."""
    try:
        said = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        return ""
    return said.stdout.splitlines()[0]


def picture(runner, quality, side, tile, counts, repeats, weak):
    """A picture in tiles; weak: of as many heights as ranks."""
    for ranks in counts if weak else [1]:
        make(runner.folder / f"scan{ranks}.npy", side * ranks, side, 1)

    def words(ranks):
        return [f"scan{ranks if weak else 1}.npy", "-o", "out.npy", "-Q", quality, "--tile",
                str(tile)]
    size = f"{side} x {side}" + (" a rank" if weak else "")
    return runner.rows(f"{size}, {quality}", counts, repeats, words,
                       lambda _: [runner.folder / "out.npy"])


def files(runner, count, side, counts, repeats, weak):
    most = count * max(counts) if weak else count
    names = [f"f{k:04}.npy" for k in range(most)]
    for k, name in enumerate(names):
        make(runner.folder / name, side, side, k)

    def used(ranks):
        return names[:count * ranks] if weak else names
    what = f"{count} files of {side} x {side}" + (" a rank" if weak else "") + ", fast"
    return runner.rows(what, counts, repeats,
                       lambda ranks: [*used(ranks), "-o", "out/", "-Q", "fast"],
                       lambda ranks: [runner.folder / "out" / name for name in used(ranks)])


def main():
    arguments = common.arguments(__doc__, "many.json", mpirun="mpirun", ranks=[1, 2, 4], side=4096,
                                  files=64, quality=["fast", "balanced"], repeats=3)
    side, repeats, tile = arguments.side, arguments.repeats, arguments.side ** 2 // 16
    counts = sorted(set(arguments.ranks) | {1})
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(arguments.build, folder, arguments.mpirun)
        strong, weak = [], []
        for quality in arguments.quality:
            strong += picture(runner, quality, side, tile, counts, repeats, False)
        strong += files(runner, arguments.files, 256, counts, repeats, False)
        weak += picture(runner, "fast", side // 2, tile, counts, repeats, True)
        weak += files(runner, arguments.files // 2, 256, counts, repeats, True)
    common.save(arguments, rate=RATE, mpi=version(arguments.mpirun), tile=tile, repeats=repeats, strong=strong,
                 weak=weak)


if __name__ == "__main__":
    main()
