#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cuda.py [PART...] - what runs on a device beside the CPU, in the same run, into OUT/cuda.json; of
given parts these are measured anew and the others stay. bench/cuda.sh builds, runs the tests and calls
it. Needs NumPy, cffi and a built library.

  threshold, gaussian, methods, loop, batch, recover, rounds   recoveries
  calls   other calls of the library, between which backend auto chooses
  tool    csrecover from its start to its end

--device cpu --brief tries the parts of the library without a device."""
import datetime
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common


def program(built, name):
    """Beside the others, or where CMake puts it; None: not built."""
    return next((str(path) for path in (Path(built) / name, Path(built) / "bench" / name)
                 if path.is_file()), None)


def pixels(path):
    """A PNG up to the fingerprint at its end, which names the backend."""
    data = path.read_bytes()
    return data[:data.rindex(b"tEXtComment") - 4]


def tool(arguments):
    """Seconds of 64 grids of a picture in colours at 25 %, .npz to PNG."""
    import csrecover
    from library import picture, side_of
    found, made = {}, []
    with tempfile.TemporaryDirectory() as folder:
        scan, out = Path(folder) / "scan.npz", Path(folder) / "out.png"
        colours = picture(side_of(1024), 3).astype("uint8")
        csrecover.write(scan, csrecover.sample(colours, 0.25, "uniform", 1, channel_axis=-1))
        for name in (arguments.device, f"{arguments.device}_again", "cpu"):
            start = time.perf_counter()
            subprocess.run([program(arguments.build, "csrecover"), scan, "-o", out, "--quiet",
                            "--shifts", "64", "--atoms", "65536", "--epsilon", "0", "--backend",
                            name.removesuffix("_again")], check=True, timeout=180)
            found[name] = round(time.perf_counter() - start, 3)
            made.append(pixels(out))
    return {**found, "same_png": made[0] == made[-1]}


def measure(arguments):
    """name -> function that gives a part."""
    import cuda_recoveries
    parts = {f.__name__: f for f in cuda_recoveries.PARTS}
    parts["tool"] = lambda: tool(arguments)
    wanted = arguments.part or [*parts]
    if unknown := set(wanted) - set(parts):
        sys.exit(f"cuda.py: no part {', '.join(sorted(unknown))}; --help lists them")
    data, failed = {}, []
    for name in wanted:
        print(f"== {name}", flush=True)
        try:
            found = parts[name]()
            if found is not None:
                data[name] = found if isinstance(found, dict) else list(shown(found))
        except Exception as error:  # the other parts are measured all the same
            failed.append(name)
            print(f"{name} FAILED: {error}", flush=True)
    return data, failed


def shown(rows):
    for row in rows:
        row = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
        print(json.dumps(row), flush=True)
        yield row


def main():
    parser = common.parser(__doc__, "cuda.json", device="cuda",
                           brief=(False, "small sizes, to try it"))
    parser.add_argument("part", nargs="*")
    arguments = parser.parse_args()
    csrecover = common.load(arguments.build)
    import library
    library.BACKENDS[0] = arguments.device
    library.BRIEF.extend(["brief"] * arguments.brief)
    there = [text for name, text in csrecover.backends() if name.startswith(arguments.device)]
    if not there or "GiB" not in there[0] and arguments.device != "cpu":
        print(f"SKIPPED: no device: {there}")
        return
    path = Path(arguments.json)
    data = json.loads(path.read_text()) if arguments.part and path.exists() else {}
    found, failed = measure(arguments)
    common.write(path, {**data, "created": datetime.datetime.utcnow().isoformat("T", "seconds") + "Z",
                         "device": there[0].split(",")[0], "machine": common.describe(arguments.build), **found})
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
