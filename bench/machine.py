# SPDX-License-Identifier: BSD-3-Clause
"""machine.py - names the machine for the Python measurements, and writes their JSON."""
import datetime
import json
import math
import os
import platform
import re
import subprocess
import tempfile
import time
from pathlib import Path


def cpu():
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found.group(1) if found else platform.processor() or "unknown"


def seconds(call):
    """Its result and the best of five times, of the processor: others may work on the machine."""
    result, best = None, math.inf
    for _ in range(5):
        start = time.process_time()
        result = call()
        best = min(best, time.process_time() - start)
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


def versions():
    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "skimage", "sklearn", "pylops"):
        try:
            found[name] = __import__(name).__version__
        except ImportError:
            pass
    return found


def describe(build):
    return {"cpu": cpu(), "cores": os.cpu_count(), "compiler": compiler(build),
            "date": datetime.date.today().isoformat(), **versions()}


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
