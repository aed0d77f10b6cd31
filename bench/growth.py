#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""growth.py - seconds and memory of csrecover by size, from a small problem to a large one:

  signal     exact Matching Pursuit of N/20 atoms, N samples of 4 N rows, to the file of its atoms
  pictures   a picture of which a quarter is known, by presets; threads, ranks, slabs (--memory)
  files      1 to 10,000 pictures of 64 x 64 in one process, or two ranks
  frames     --sequence of 1 to 1,000 frames of 128 x 128, as files and as one array

A line of a plot goes on to the next size while this is expected to end within the line's share of
--seconds. The JSON holds machines: rows that are measured anew replace theirs, all others stay, so
that a long run can be made in pieces. --build is the folder of the tools (default CSRECOVER_TOOLS).
--draw FOLDER draws the plots of docs/growth.md from the JSON, and measures nothing."""
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import common
import many
import pursuit
from tables_pursuit import PLOTS, knee, lines_of

# All sizes that a line may have; slabs begin at 2048 x 2048.
SIZES = {"signal": [1 << k for k in (16, 18, 20, 22, 24, 26, 27)],
         "pictures": [4 ** k for k in range(6, 15)],
         "files": [10 ** k for k in range(5)], "frames": [1, 4, 16, 64, 250, 1000]}
WAYS = {"1 thread": (1, ["--threads", "1"]), "2 threads": (1, ["--threads", "2"]), "2 ranks": (2, []),
        "slabs": (1, ["--threads", "1", "--memory", "400"]), "GPU": (1, [])}
# Series, what is varied in it, and how many of the first ways apply.
KINDS = {("signal", "two-sided"): 1, ("signal", "paper"): 1, ("pictures", "fast"): 4,
         ("pictures", "balanced"): 4, ("pictures", "best"): 2, ("files", "fast"): 3,
         ("files", "balanced"): 3, ("frames", "fast, files"): 2, ("frames", "fast, array"): 2,
         ("frames", "balanced, files"): 2, ("frames", "balanced, array"): 2}
ROW, NAME = ("series", "what", "how", "size"), ("cpu", "cores", "device")


class Inputs:
    """Command lines of the tool, and the files that they read, which are made when they are missing."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def made(self, name, make):
        if not (self.folder / name).exists():
            make(self.folder / name)
        return name

    def signal(self, n, columns):
        def make(path):
            rng, levels = np.random.default_rng(1), n.bit_length() + 1
            rows = pursuit.drawn(rng, levels, n)
            np.savez(path, y=pursuit.values("piecewise", rng, rows, levels), index=rows.astype(np.int64),
                     shape=np.array([4 * n]))
        return [self.made(f"s{n}.npz", make), "-C", "atoms.npz", "--shifts", "1", "--epsilon", "0",
                "--atoms", str(n // 20), "--columns", columns]

    def pictures(self, pixels, quality):
        side = math.isqrt(pixels)
        return [self.made(f"p{side}.npy", lambda path: many.make(path, side, side, side)),
                "-o", "out.npy", "-Q", quality]

    def files(self, count, quality):
        return [*(self.made(f"f{k:05}.npy", lambda path: many.make(path, 64, 64, k))
                  for k in range(count)), "-o", "out/", "-Q", quality]

    def frames(self, count, what):
        """A view that moves by 2 pixels a frame."""
        quality, kind = what.split(", ")
        names = [f"t{k:05}.npy" for k in range(count)] if kind == "files" else [f"t{count}.npy"]
        if not all((self.folder / name).exists() for name in names):
            scene = many.scene(128, 128 + 2 * count)
            film = np.stack([scene[:, 2 * t:2 * t + 128] for t in range(count)])
            film[np.random.default_rng(1).random(film.shape) >= many.RATE] = np.nan
            for name, values in zip(names, film if kind == "files" else film[None]):
                np.save(self.folder / name, values)
        return [*names, "-o", "out/" if kind == "files" else "out.npy", "-Q", quality,
                *["--sequence"] * (len(names) > 1 or kind == "array")]


def repeated(run):
    """Medians; of one run, if it is long."""
    runs = [run()]
    while len(runs) < 5 and sum(r[0] for r in runs) < 2:
        runs.append(run())
    return {key: float(f"{statistics.median(values):.4g}")
            for key, values in zip(("seconds", "peak_mib", "cpu_seconds"), zip(*runs))}


def line(series, what, how, runner, share):
    """Rows of a line, up to the size that would take it beyond its share of the time."""
    ranks, more = WAYS[how]
    begun, before = time.perf_counter(), None
    sizes = SIZES[series][5 if how == "slabs" else 0:]
    for size, following in zip(sizes, sizes[1:] + sizes[-1:]):
        start = time.perf_counter()
        words = getattr(Inputs(runner.folder), series)(size, what) + more
        made = time.perf_counter()
        try:
            row = {"series": series, "what": what, "how": how, "size": size,
                   **repeated(lambda: runner.once(ranks, words))}
        except subprocess.CalledProcessError:
            print(f"growth.py: {series}, {what}, {how}: failed at {size}", file=sys.stderr)
            return
        print(row, file=sys.stderr, flush=True)
        yield row
        cost = made - start + row["seconds"]
        more_each = (cost - before[1]) / (size - before[0]) if before else 0.0
        before = size, cost
        if time.perf_counter() - begun + cost + more_each * (following - size) > share:
            return


def measure(arguments, machines):
    ask = [Path(arguments.build) / "csrecover", "--list-devices"]
    on_gpu = arguments.backend == "cuda"
    there = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    gpu = re.search(r"^cuda\S*: ([^,\n]*),", there, re.M)
    if on_gpu and not gpu:
        sys.exit(f"growth.py: no device: {there.strip()}")
    machine = {**common.describe(arguments.build), "device": gpu.group(1) if on_gpu else ""}
    same = [m for m in machines if all(m["machine"][k] == machine[k] for k in NAME)]
    others = [m for m in machines if m not in same]
    rows = {tuple(r[key] for key in ROW): r for m in same for r in m["rows"]}
    todo = [(series, what, how) for (series, what), ways in KINDS.items()
            for how in (["GPU"] if on_gpu else [*WAYS][:ways]) if series in arguments.series
            and how in (arguments.ways or [how]) and what in (arguments.what or [what])]
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        runner = many.Runner(arguments.build, arguments.cache or folder, arguments.mpirun,
                             arguments.backend)
        for k, one in enumerate(todo):
            left = arguments.seconds - (time.perf_counter() - begun)
            rows |= {tuple(r[key] for key in ROW): r for r in line(*one, runner, left / (len(todo) - k))}
            ordered = sorted(rows.values(), key=lambda r: (
                [*KINDS].index((r["series"], r["what"])), [*WAYS].index(r["how"]), r["size"]))
            common.write(arguments.json, {"machines": [*others, {"machine": machine, "rows": ordered}]})


def draw(machines, folder):
    """Seconds and memory of a series; a ring is the knee."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    matplotlib.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 9})
    for series, unit in PLOTS.items():
        figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
        for k, (_, what, how, rows) in enumerate(lines_of(machines, series)):
            for panel, key, title in zip(panels, ("seconds", "peak_mib"), ("seconds", "MiB")):
                panel.loglog([r["size"] for r in rows], [r[key] for r in rows], "os^vD<>"[k % 7] + "-",
                             ms=3, lw=1, color=f"C{k % 10}", label=f"{what}, {how}")
                panel.set(xlabel=unit, title=title)
                panel.grid(color="0.9")
            if at := knee(rows):
                panels[0].plot(rows[at]["size"], rows[at]["seconds"], "o", ms=8, mfc="none",
                               mec=f"C{k % 10}")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
        figure.savefig(Path(folder) / f"growth-{series}.svg", metadata={"Date": None, "Creator": None})


def main():
    arguments = common.arguments(
        __doc__, "growth.json", series=[*SIZES], what=([], "of the presets or columns"),
        ways=([], "of the ways"), backend=("cpu", "cpu or cuda"), seconds=(140, "of all, about"),
        mpirun="mpirun", cache=(None, "folder that keeps the inputs"), draw=None)
    path = Path(arguments.json)
    machines = json.loads(path.read_text())["machines"] if path.exists() else []
    draw(machines, arguments.draw) if arguments.draw else measure(arguments, machines)


if __name__ == "__main__":
    main()
