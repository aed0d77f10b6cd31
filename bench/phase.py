#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""phase.py - what docs/csbench.md and docs/theory.md show: phase transitions of the solvers and
coherences of random matrices, by csbench.

    python3 bench/phase.py --build BUILD --json bench/results/phase.json [--figures FOLDER] [--work FOLDER]

Two to six minutes on two cores. --work keeps the files of csbench phase, from which a stopped run goes
on; --figures draws the pictures of the pages."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

import common

SIZE = ["-n", "128", "-g", "16", "-T", "10"]
FEW = ["-s", "omp", "-s", "htp", "-s", "bpdn"]
# Name of the run and of its picture, options.
RUNS = {"gaussian": [], "gaussian-normal": [*FEW, "-a", "gaussian"], "dct": [*FEW, "-e", "dct"],
        "haar": [*FEW, "-e", "haar"], "haar-two-sided": [*FEW, "-e", "haar-two-sided"]}
PICTURES = ("gaussian", "haar", "haar-two-sided")
ENSEMBLES = ("gaussian", "bernoulli", "dct", "haar", "haar-jitter", "haar-two-sided")
COHERENCES = ("gaussian", "haar")  # with a picture


def call(command):
    print(" ".join(command), flush=True)
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def phases(tool, work, figures):
    results = []
    for name, options in RUNS.items():
        plot = ["--plot", f"{figures}/phase-{name}.svg"] if figures and name in PICTURES else []
        result = call([tool, "phase", "-o", f"{work}/{name}.npz", *SIZE, *options, *plot, "-q", "--json"])
        results.append({"run": name, **{k: v for k, v in result.items() if k != "output"}})
    return results


def coherences(tool, figures):
    results = []
    for name in ENSEMBLES:
        plot = ["--plot", f"{figures}/coherence-{name}.svg"] if figures and name in COHERENCES else []
        result = call([tool, "coherence", "-e", name, "-n", "256", "-m", "64", *plot, "--json"])
        results.append({k: v for k, v in result.items() if k not in ("histogram", "cumulative")})
    return results


def main():
    arguments = common.arguments(__doc__, "phase.json", figures=None, work=None)
    tool = str(Path(arguments.build) / "csbench")
    with tempfile.TemporaryDirectory() as folder:
        work = arguments.work or folder
        os.makedirs(work, exist_ok=True)
        data = {"machine": common.describe(arguments.build),
                "phase": phases(tool, work, arguments.figures),
                "coherence": coherences(tool, arguments.figures)}
    common.write(arguments.json, data)


if __name__ == "__main__":
    main()
