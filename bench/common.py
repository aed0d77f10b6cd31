# SPDX-License-Identifier: BSD-3-Clause
"""common.py - what all measurements share: csrecover on the library of a build folder, without
installing it, and which one on the command line; the machine's name and the JSON; rows, and the tools
that give them."""
import argparse
import datetime
import importlib.metadata
import json
import math
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def load(build):
    """Where there is no source beside (cuda_pack.sh), the package is in the folder already."""
    if (ROOT / "python").is_dir():
        sys.path.insert(0, str(ROOT / "python"))
        import inplace
        inplace.place(build)
    sys.path.insert(0, str(Path(build).resolve() / "python"))
    import csrecover
    return csrecover


def parser(description, json, **options):
    """--build, --json and others. An option: its default, or (default, help); a list takes several
    values, False and None are switches without and with a value."""
    made = argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--build", default=os.environ.get("CSRECOVER_TOOLS", str(ROOT / "build")))
    made.add_argument("--json", default=json)
    for name, default in options.items():
        default, told = default if isinstance(default, tuple) else (default, None)
        one = default[0] if isinstance(default, list) and default else default
        kind = ({"action": "store_true"} if default is False else
                {"nargs": "+", "type": type(one)} if isinstance(default, list) and default else
                {"nargs": "+"} if isinstance(default, list) else
                {"type": str if one is None else type(one)})
        made.add_argument(f"--{name.replace('_', '-')}", default=default, help=told, **kind)
    return made


def arguments(description, json, **options):
    return parser(description, json, **options).parse_args()


def on_pictures(description, json, quick="one picture", **options):
    """The options that measurements on the pictures share."""
    return arguments(description, json, images=(None, "folder of *-256.png, as for pictures.py"),
                     quick=(False, quick), **options)


# ---- the machine

def cpu():
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found.group(1) if found else platform.processor() or "unknown"


def seconds(call, repeats=5, clock=time.process_time):
    """Its result and the best of some times, of the processor: others may work on the machine."""
    result, best = None, math.inf
    for _ in range(repeats):
        start = clock()
        result = call()
        best = min(best, clock() - start)
    return result, best


def child(command):
    """What a command prints, seconds by the clock and of the processors, and the most memory in bytes,
    which begins with that of this process."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=error)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        for file in (out, error):
            file.seek(0)
        if status:
            raise RuntimeError(error.read().strip())
        return out.read(), wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def compiler(build):
    """First line of --version of the compiler that the build folder was configured with."""
    try:
        cache = (Path(build) / "CMakeCache.txt").read_text()
        name = re.search(r"CMAKE_C_COMPILER:[A-Z]*=(.*)", cache).group(1)
        return subprocess.run([name, "--version"], capture_output=True,
                              text=True).stdout.splitlines()[0]
    except (OSError, AttributeError, IndexError):
        return "unknown"


def python_versions():
    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "skimage", "sklearn", "pylops"):
        try:
            found[name] = __import__(name).__version__
        except ImportError:
            pass
    return found


def describe(build):
    return {"cpu": cpu(), "cores": os.cpu_count(), "compiler": compiler(build),
            "date": datetime.date.today().isoformat(), **python_versions()}


def write(path, data):
    """To a temporary name first: nothing half-written."""
    part = f"{path}.part"
    with open(part, "w", encoding="ascii") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
    os.replace(part, path)
    print(f"written: {path}")


def save(arguments, **data):
    write(arguments.json, {"machine": describe(arguments.build), **data})


# ---- rows and tools

def means(rows, keys, values):
    """A row for each combination of the keys, in the order in which they come: means of the values."""
    import numpy as np  # after onethread
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [dict(zip(keys, key)) | {name: float(np.mean([row[name] for row in own]))
                                    for name in values} for key, own in groups.items()]


def by_method(todo, cases, errors=(ImportError, RuntimeError, OSError)):
    """For each method and case a row: the case's fields and those that method(*arguments) gives. A
    method that fails is left out; of these the reasons."""
    rows, left_out = [], {}
    for name, method in todo.items():
        try:
            rows += [{**fields, **method(*arguments)} for fields, *arguments in cases]
        except errors as error:
            left_out[name] = str(error) or type(error).__name__
            print(f"left out: {name}: {left_out[name]}", file=sys.stderr, flush=True)
            continue
        print(f"measured: {name}", file=sys.stderr, flush=True)
    return rows, left_out


def versions(*packages):
    """Of those that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


class Tools:
    """The tools of a build folder, in a folder of files, on `threads` processors."""

    def __init__(self, build, folder, threads="1"):
        self.build, self.folder, self.threads = Path(build).resolve(), Path(folder), threads

    def run(self, tool, *words):
        """What it prints."""
        done = subprocess.run([self.build / tool, *map(str, words), "-q"], cwd=self.folder,
                              capture_output=True, text=True,
                              env=dict(os.environ, OMP_NUM_THREADS=self.threads))
        if done.returncode:
            raise RuntimeError(f"{tool}: {done.stderr.strip()}")
        return done.stdout

    def seconds(self):
        """Of the processor, of the tools so far: other work on the machine does not count."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
