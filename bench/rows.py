# SPDX-License-Identifier: BSD-3-Clause
"""rows.py - what measurements do with their rows, and with the tools that give them."""
import importlib.metadata
import os
import resource
import subprocess
from pathlib import Path

import numpy as np


def means(rows, keys, values):
    """A row for each combination of the keys, in the order in which they come: means of the values."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [dict(zip(keys, key)) | {name: float(np.mean([row[name] for row in own]))
                                    for name in values} for key, own in groups.items()]


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
