#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""web.py - recoveries by the module for browsers, beside the native tools on one thread, in seconds
of the processor; bytes of memory and files, and seconds until the page is ready. After web/test.sh,
which builds all. Needs Node, and Chromium for the page."""
import json
import math
import os
import subprocess
import tempfile
from pathlib import Path

import common


def native(tool, scan, quality, repeats):
    """The least processor seconds of a whole run, with its start."""
    os.environ["OMP_NUM_THREADS"] = "1"
    command = [str(tool), scan, "-o", scan + ".npy", "--quality", quality, "--threads", "1",
               "--quiet", "--no-sync"]
    return min(common.child(command)[2] for _ in range(repeats))


def measure(build, quick):
    with tempfile.TemporaryDirectory() as folder:
        words = ["node", str(common.ROOT / "web/tests/measure.mjs"), folder]
        words += ["--quick"] if quick else []
        told = subprocess.run(words, capture_output=True, text=True)
        if told.returncode:
            raise SystemExit(f"web.py: {told.stderr.strip()}; run web/test.sh first")
        data = json.loads(told.stdout)
        for row in data["rows"]:
            scan = row.pop("scan")
            for name, tool in (("plain", "web/csrecover_plain"), ("native", "csrecover")):
                tool = Path(build).resolve() / tool
                row[name] = native(tool, scan, row["quality"], 1 if quick else 3)
    return data


def main():
    told = common.arguments(__doc__, None, quick=(False, "one picture"))
    data = {"machine": common.describe(told.build), **measure(told.build, told.quick)}
    for row in data["rows"]:
        print(f"{row['side']} x {row['side']} x {row['channels']} {row['quality']}: "
              f"{row['wasm']:.3f} s, plain C {row['plain']:.3f} s, native {row['native']:.3f} s, "
              f"{math.ceil(row['heap'] / 2**20)} MiB")
    if told.json:
        Path(told.json).write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
