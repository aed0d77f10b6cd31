#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""kills.py BUILD [--random N] - runs that are killed or interrupted, and go on.

A command is ended at a chosen call: by SIGKILL before and after every rename, before and after the
first, middle and last call of other kinds that change files, by SIGINT and SIGTERM there, by a second
SIGINT at the call after; with --random N, N times in one of these ways at any call of any kind. Then

  each file of the folder is as it was or as the whole run makes it, or is a temporary;
  the same command again (csrecover with --resume) exits 0, every file is as the whole run makes it,
  and no temporary is left.

An interrupted csrecover may have written the best so far: such a file is whole, dated before its
input, and recovered again. A run that was interrupted by the first signal leaves no temporary.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import tempfile

import commands
import harness

COMMANDS = (
    commands.Command("sample", "cssample photo.png -o new.npz --rate 0.3 --mask-out new.png -q",
                     ("new.npz", "new.png")),
    commands.Command("resume", "csrecover scans/a.npz scans/b.npz -o out/ --resume "
                     "--quality balanced -q", ("out/a.png", "out/b.png"), inputs=2),
    commands.Command("coefficients", "csrecover scan.npz -o new.npy -C new.npz --shifts 1 --resume "
                     "-q", ("new.npy", "new.npz")),
    commands.Command("pca", "cslearn pca faces -o new.npz --plot new.png --components 3 -q",
                     ("new.npz", "new.png")),
)
CHANGES = ("rename", "write", "sync", "times", "remove", "folder", "open", "close")
TEMPORARY = re.compile(r"(.*/)?\.csrec-\d+-\d+\.tmp")
ENDED = (-signal.SIGKILL, -signal.SIGINT, -signal.SIGTERM, 130, 143)


def points(counts, rng):
    """The plans of the short form."""
    for n in range(1, counts["rename"] + 1):
        yield from (f"rename:{n}:{how}" for how in ("before", "after", "int", "term", "twice"))
    for kind in CHANGES[1:]:
        for n in sorted({1, (counts[kind] + 1) // 2, counts[kind]} - {0}):
            how = rng.choice(("before", "after", "int", "term", "twice"))
            yield f"{kind}:{n}:{how}"


def drawn(counts, rng):
    """A plan of the long form: any call that is counted."""
    kind = rng.choices(harness.KINDS, [min(counts[k], 200) for k in harness.KINDS])[0]
    how = rng.choice(("before", "before", "after", "int", "term", "twice"))
    if kind in ("alloc", "openmp", "blas") and how == "after":
        how = "before"
    return f"{kind}:{rng.randint(1, counts[kind])}:{how}"


class Test:
    def __init__(self, build, folder, scratch):
        self.build, self.folder, self.counts = build, folder, f"{scratch}/counts"
        self.before = harness.snapshot(folder)
        self.findings = harness.Findings()
        self.n = {}

    def run(self, command, plan=None):
        return harness.run(self.build, self.build.words(command.line), self.folder, plan,
                           counts=self.counts)

    def learn(self, command):
        """The whole run: its counts and files."""
        harness.restore(self.folder, self.before)
        outcome = self.run(command)
        if outcome.code != 0:
            raise SystemExit(f"{command.line}: exit code {outcome.code}: {outcome.err}")
        return outcome.counts, harness.snapshot(self.folder)

    def try_plan(self, command, plan, whole, before):
        harness.restore(self.folder, before)
        add = lambda what: self.findings.add(command, plan, what)
        try:
            outcome = self.run(command, plan)
        except subprocess.TimeoutExpired:
            add("did not end")
            return
        self.n[outcome.code] = self.n.get(outcome.code, 0) + 1
        if outcome.code not in (0, *ENDED):
            add(f"ended with {harness.signal_name(outcome.code)}: {outcome.err[:200]!r}")
        after = harness.snapshot(self.folder)
        for name, value in after.items():
            if harness.LOCK.fullmatch(name):
                continue
            if TEMPORARY.fullmatch(name):
                if outcome.code in (130, 143):
                    add(f"exit code {outcome.code} and left a temporary")
            elif value not in (None, before.get(name), whole.get(name)) and (
                    name not in command.keeps) and not self.is_partial(command, name, outcome):
                add(f"{name} is neither old nor new")
        for name in set(before) - set(after):
            add(f"{name} is gone")
        self.go_on(command, whole, add)

    def is_partial(self, command, name, outcome):
        """The best so far, dated back so that it is not taken for a result."""
        if outcome.code not in (130, 143) or not command.line.startswith("csrecover"):
            return False
        path, source = self.folder / name, self.folder / command.line.split()[1]
        return path.stat().st_mtime < source.stat().st_mtime

    def go_on(self, command, whole, add):
        again = self.run(command)
        if again.code != 0:
            add(f"again: exit code {again.code}: {again.err[:300]!r}")
        after = harness.snapshot(self.folder)
        for name in sorted((set(after) | set(whole)) - set(command.keeps)):
            if name not in after:
                add(f"again: no {name}")
            elif name not in whole:
                add(f"again: left {'a temporary' if TEMPORARY.fullmatch(name) else name}")
            elif after[name] != whole[name]:
                add(f"again: another {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--random", type=int, default=0, help="so many kills at random")
    arguments = parser.parse_args()
    build = harness.Build.of(arguments.build)
    rng = random.Random(harness.seed())
    with harness.inputs(build) as folder, tempfile.TemporaryDirectory() as scratch:
        harness.skip_without_filters(build, folder)
        for path in folder.rglob("*"):  # inputs are older than anything that is made of them
            os.utime(path, (1_600_000_000, 1_600_000_000))
        test = Test(build, folder, scratch)
        runs = [(c, *test.learn(c)) for c in COMMANDS]
        for command, counts, whole in runs:
            old = harness.with_old(test.before, command)
            plans = [] if arguments.random else list(points(counts, rng))
            for i, plan in enumerate(plans):
                test.try_plan(command, plan, whole, (test.before, old)[i % 2])
        for _ in range(arguments.random):
            command, counts, whole = rng.choice(runs)
            before = rng.choice((test.before, harness.with_old(test.before, command)))
            test.try_plan(command, drawn(counts, rng), whole, before)
    ways = ", ".join(f"{harness.signal_name(code)} {n}" for code, n in sorted(test.n.items()))
    test.findings.finish(f"runs ended with {ways}")


if __name__ == "__main__":
    main()
