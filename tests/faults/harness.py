# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tools under the preloaded library of fault.h, in a folder whose files are compared."""

import contextlib
import dataclasses
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import commands

KINDS = ("alloc", "openmp", "blas", "map", "open", "read", "write", "seek", "sync", "close", "rename",
         "remove", "times", "folder")
OLD = b"an earlier result\n"
SKIP = 77
# A lock ends with its process, and its empty file says nothing: it may stay until the next run.
LOCK = re.compile(r"(.*/)?\.csrec-[0-9a-f]{16}\.lock")
HANG_SECONDS = 120


@dataclasses.dataclass
class Build:
    """Where the programs and the preloaded library are."""
    folder: pathlib.Path
    library: pathlib.Path

    @classmethod
    def of(cls, folder):
        folder = pathlib.Path(folder).resolve()
        return cls(folder, folder / "tests" / "libcsrec_fault.so")

    def words(self, line):
        tool, *rest = line.split()
        return [str(self.folder / tool), *rest]


@dataclasses.dataclass
class Outcome:
    code: int  # exit code, or minus the signal
    out: bytes
    err: str
    counts: dict
    faults: int


def seed():
    """CSREC_TEST_SEED, or one drawn and printed, so that a failure can be had again."""
    value = int(os.environ.get("CSREC_TEST_SEED") or random.SystemRandom().randrange(10**9))
    print(f"seed {value} (CSREC_TEST_SEED={value} repeats this run)", flush=True)
    return value


def effort():
    return float(os.environ.get("CSREC_LONG") or 1)


def environment(threads=1, **more):
    """The caller's, without what would make runs differ."""
    env = {k: v for k, v in os.environ.items()
           if k == "FAULT_UNTIL_EXIT" or not k.startswith(("FAULT_", "LD_PRELOAD"))}
    env.update(OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS="1", OMP_WAIT_POLICY="passive",
               LC_ALL="C", CUDA_VISIBLE_DEVICES="", **more)
    return env


def run(build, words, folder, plan=None, log=None, counts=None, stdin=None, threads=1):
    """One process to its end; a hang ends in a TimeoutExpired."""
    env = environment(threads)
    if plan or log or counts:
        env["LD_PRELOAD"] = str(build.library)
    for name, value in (("FAULT_PLAN", plan), ("FAULT_LOG", log), ("FAULT_COUNTS", counts)):
        if value:
            env[name] = str(value)
    data = (pathlib.Path(folder) / stdin).read_bytes() if stdin else None
    done = subprocess.run(words, cwd=folder, env=env, input=data, capture_output=True,
                          stdin=None if data is not None else subprocess.DEVNULL,
                          timeout=HANG_SECONDS, check=False)
    table = (0,) * (len(KINDS) + 1)
    if counts and os.path.exists(counts):
        table = struct.unpack(f"{len(KINDS) + 1}q", pathlib.Path(counts).read_bytes())
    return Outcome(done.returncode, done.stdout, done.stderr.decode(errors="replace"),
                   dict(zip(KINDS, table)), table[-1])


def skip_without_filters(build, folder):
    """Ends the test, visibly, where the system has no seccomp filters."""
    probe = run(build, build.words("cssample --version"), folder, counts=pathlib.Path(folder) / "n")
    (pathlib.Path(folder) / "n").unlink(missing_ok=True)
    if probe.code == 99:
        print(f"SKIP: {probe.err.strip()}")
        sys.exit(SKIP)


# ---------------------------------------------------------------------- folders


def snapshot(folder):
    """Every file's bytes and mode, every folder's name."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = None if path.is_dir() else (path.read_bytes(), path.stat().st_mode)
    return found


def restore(folder, wanted):
    """Makes the folder what snapshot() saw; files that are right keep their dates."""
    now = snapshot(folder)
    for name in sorted(set(now) - set(wanted), reverse=True):
        path = pathlib.Path(folder) / name
        path.rmdir() if now[name] is None else path.unlink()
    for name, value in wanted.items():
        path = pathlib.Path(folder) / name
        if value is None:
            path.mkdir(exist_ok=True)
        elif now.get(name) != value:
            path.unlink(missing_ok=True)
            path.write_bytes(value[0])
            path.chmod(value[1] & 0o7777)


@contextlib.contextmanager
def inputs(build):
    """A temporary folder with the inputs of every command."""
    with tempfile.TemporaryDirectory(prefix="csrec-faults-") as name:
        folder = pathlib.Path(name) / "here"
        folder.mkdir()
        subprocess.run([str(build.folder / "tests" / "inputs")], cwd=folder, check=True)
        shutil.rmtree(folder / "photos")
        write_csv(folder / "scan.csv")
        for line in commands.PREPARATION:
            done = run(build, build.words(line), folder)
            if done.code != 0:
                sys.exit(f"{line}: exit code {done.code}: {done.err}")
        yield folder


def write_csv(path):
    """Samples of a tilted plane."""
    rows = [f"{i},{j},{0.1 * i + 0.05 * j}" for i in range(12) for j in range(i % 3, 14, 3)]
    path.write_text("\n".join(["i,j,value", *rows]) + "\n")


def with_old(wanted, command):
    """The folder with an earlier result under each name that the command writes."""
    more = dict(wanted)
    for name in command.results:
        if "/" in name:
            more[name.rsplit("/", 1)[0]] = None
        more[name] = (OLD, 0o100644)
    return more


# ---------------------------------------------------------------------- complaints


class Findings:
    """What was not as it must be: one entry a command and complaint, with the plans that show it."""

    def __init__(self):
        self.plans = {}
        self.start = time.monotonic()

    def add(self, command, plan, what):
        self.plans.setdefault((command, what), []).append(plan)

    def finish(self, summary):
        for (command, what), plans in self.plans.items():
            more = f" and {len(plans) - 4} more" if len(plans) > 4 else ""
            print(f"WRONG {command.name}: {what}\n"
                  f"      {command.line}\n      at {' '.join(plans[:4])}{more}")
        wrong = sum(len(plans) for plans in self.plans.values())
        print(f"{summary}; {wrong} wrong; {time.monotonic() - self.start:.0f} s", flush=True)
        sys.exit(1 if wrong else 0)


def signal_name(code):
    return signal.Signals(-code).name if code < 0 else str(code)
