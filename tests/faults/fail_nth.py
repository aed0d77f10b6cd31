#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fail_nth.py BUILD [--long] [--command NAME] [--kind KIND] - the n-th allocation or system call of a
command fails, once, or with every one after it; or moves half of what was asked.

A command is first run unharmed, which counts its calls and gives its results. Then, for every n
(--long) or a subset drawn by the seed, and with earlier results in place of every second n (--long:
both), the run must end within two minutes, without a signal, and either

  exit 0: the call did not matter. Every result, standard output and standard error are those of the
          unharmed run. A short read or write never matters.
  exit 1: standard error is one line that begins with the tool's name (several inputs: a line each that
          failed, and the list of them at the end). Every file that was there is as it was, bytes and
          mode; nothing is left beside it. A command of several inputs has whole results of those that
          did not fail; `keeps` of commands.py may be there. Whole results also stand where the
          line says so: what failed came after them (the JSON, the folder's sync), was the renaming
          of the next one, or a file that only tells about the result; those named after
          "; written: " are there, whole.

Standard output is then a beginning of what the unharmed run wrote, unless it is what failed, or JSON
that names the failure. Allocations of the OpenMP runtime
(kind openmp) are the exception: the runtime itself says "libgomp: ..." and ends the process with 1;
files are as with any other failure.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile

import commands
import harness

# Lines after which whole results of the failed run stand, as they say.
STAND = re.compile(r"stdout: cannot be written|is written, but|already replaced: |; written: ")
WRITTEN = re.compile(r"; written: (.*)")
OPENMP_LINE = re.compile(r"\nlibgomp: .*\n")
SHORT_EACH, SHORT_STICKY = 4, 1  # of one kind and command, in the short form


class Unharmed:
    """What a command does when nothing fails."""

    def __init__(self, build, command, folder, counts):
        self.before = harness.snapshot(folder)
        self.outcome = harness.run(build, build.words(command.line), folder, counts=counts,
                                   stdin=command.stdin)
        if self.outcome.code != 0:
            sys.exit(f"{command.line}: exit code {self.outcome.code}: {self.outcome.err}")
        self.after = harness.snapshot(folder)
        harness.restore(folder, self.before)

    def is_result(self, name, value):
        good = self.after.get(name)
        if not value or not good:
            return value == good
        return value[1] == good[1] and without_times(value[0]) == without_times(good[0])

    def is_out(self, out, whole):
        out, good = without_times(out), without_times(self.outcome.out)
        return out == good if whole else good.startswith(out)


# The times that a report (HTML) and --json tell: no two runs take the same.
TIMES = re.compile(rb'''(class="seconds">|class="time" [^<]*width:)[0-9.]+|[0-9-]{10} [0-9:]{5} UTC|'''
                   rb'''((?:"|&quot;)seconds(?:"|&quot;): (?:\{[^}]*|[0-9.e+-]+))''')


def without_times(text):
    return TIMES.sub(b"", text)


def judge(command, kind, unharmed, before, after, outcome):
    """Complaints about one run."""
    if outcome.code == 0:
        yield from judge_success(command, unharmed, after, outcome)
    elif outcome.code == 1:
        yield from judge_failure(command, kind, unharmed, before, after, outcome)
    else:
        yield f"ended with {harness.signal_name(outcome.code)}: {outcome.err[:200]!r}"


def judge_success(command, unharmed, after, outcome):
    for name in sorted((set(after) | set(unharmed.after)) - set(command.keeps)):
        if harness.LOCK.fullmatch(name):
            continue
        if name not in after:
            yield f"exit 0 without {name}"
        elif not unharmed.is_result(name, after[name]):
            yield f"exit 0 with another {name}"
    if not unharmed.is_out(outcome.out, True):
        yield "exit 0 with another standard output"
    if outcome.err != unharmed.outcome.err:
        yield f"exit 0, and standard error says {outcome.err[:200]!r}"


def judge_failure(command, kind, unharmed, before, after, outcome):
    stand = command.inputs > 1 or STAND.search(outcome.err) is not None
    for name in sorted(set(after) | set(before)):
        if harness.LOCK.fullmatch(name) or name in command.keeps or stand and name in after and name in unharmed.after and (
                unharmed.is_result(name, after[name])):
            continue
        if name not in before:
            yield f"exit 1 and left {name}"
        elif name not in after:
            yield f"exit 1 and {name} is gone"
        elif after[name] != before[name]:
            yield f"exit 1 and {name} has changed"
    for line in outcome.err.splitlines():
        for name in (WRITTEN.search(line) or [None, ""])[1].split(", "):
            if name in unharmed.after and not unharmed.is_result(name, after.get(name, (b"", 0))):
                yield f"exit 1 without {name}, which is said to be written"
    if kind == "openmp" and OPENMP_LINE.fullmatch(outcome.err):
        return
    yield from judge_lines(command, outcome, unharmed.outcome.err if stand else "")
    if "stdout: cannot" in outcome.err or unharmed.is_out(outcome.out, False):
        return
    if not (stand and is_told_in_json(outcome.out)):
        yield "exit 1 with another standard output"


def is_told_in_json(out):
    """Whether it is JSON that says what failed; the rest may lack what is not known."""
    try:
        return "error" in json.loads(out)
    except ValueError:
        return False


def judge_lines(command, outcome, usual):
    """usual: lines of the unharmed run, which tell of a result that stands."""
    lines = [line for line in outcome.err.splitlines() if line not in usual.splitlines()]
    told = [line for line in lines if re.match(r"cs\w+( \w+)?: \S", line)]
    failed = [line for line in lines if ": failed: " in line]
    if len(told) != len(lines) or not lines or not outcome.err.endswith("\n"):
        yield f"exit 1, and standard error is not lines of the tool: {outcome.err[:300]!r}"
    elif command.inputs == 1 and len(lines) != 1:
        yield f"exit 1 with {len(lines)} lines: {outcome.err[:300]!r}"
    elif command.inputs > 1 and failed and len(lines) != 2 * len(failed):
        yield f"exit 1 with {len(lines)} lines for {len(failed)} inputs: {outcome.err[:300]!r}"


def plans(counts, kinds, rng, long_form):
    """(kind, n, action) of one command's runs."""
    for kind in kinds:
        count = counts[kind]
        every = list(range(1, count + 1))
        some = every if long_form or count <= SHORT_EACH else sorted(
            {1, count, *rng.sample(every, SHORT_EACH - 2)})
        sticky = every if long_form else rng.sample(some, min(SHORT_STICKY, len(some)))
        yield from ((kind, n, "once") for n in some)
        yield from ((kind, n, "sticky") for n in sorted(sticky))
        if kind in ("read", "write") and count:
            yield (kind, 1, "shorts")
            yield from ((kind, n, "short") for n in (every if long_form else [rng.choice(every)]))


class Test:
    def __init__(self, build, folder, long_form):
        self.build, self.folder, self.long_form = build, folder, long_form
        self.findings = harness.Findings()
        self.done = dict.fromkeys(harness.KINDS, 0)
        self.codes = {0: 0, 1: 0}

    def run_command(self, command, kinds, rng, scratch):
        counts = f"{scratch}/counts"
        unharmed = Unharmed(self.build, command, self.folder, counts)
        fresh, old = unharmed.before, harness.with_old(unharmed.before, command)
        for kind, n, action in plans(unharmed.outcome.counts, kinds, rng, self.long_form):
            both = (fresh, old) if self.long_form else ((old, fresh)[n % 2],)
            for before in both:
                harness.restore(self.folder, before)
                self.run_once(command, unharmed, before, f"{kind}:{n}:{action}", counts)
        harness.restore(self.folder, fresh)

    def run_once(self, command, unharmed, before, plan, counts):
        kind = plan.split(":")[0]
        try:
            outcome = harness.run(self.build, self.build.words(command.line), self.folder, plan,
                                  counts=counts, stdin=command.stdin)
        except subprocess.TimeoutExpired:
            self.findings.add(command, plan, "did not end")
            return
        self.done[kind] += outcome.faults
        if outcome.code in self.codes:
            self.codes[outcome.code] += 1
        complaints = list(judge(command, kind, unharmed, before, harness.snapshot(self.folder), outcome))
        if plan.endswith(("short", "shorts")) and outcome.code != 0:
            complaints.append(f"a short transfer is no failure: {outcome.err[:200]!r}")
        for what in complaints:
            self.findings.add(command, plan, what)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--long", action="store_true", help="every n, not a subset")
    parser.add_argument("--command", help="of commands.py; else all")
    parser.add_argument("--kind", choices=harness.KINDS)
    arguments = parser.parse_args()
    build = harness.Build.of(arguments.build)
    rng = random.Random(harness.seed())
    kinds = (arguments.kind,) if arguments.kind else harness.KINDS
    with harness.inputs(build) as folder, tempfile.TemporaryDirectory() as scratch:
        harness.skip_without_filters(build, folder)
        test = Test(build, folder, arguments.long)
        for command in commands.COMMANDS:
            if arguments.command in (None, command.name):
                test.run_command(command, kinds, rng, scratch)
    made = ", ".join(f"{kind} {n}" for kind, n in test.done.items() if n)
    test.findings.finish(f"faults made: {made}; exit 0: {test.codes[0]}, exit 1: {test.codes[1]}")


if __name__ == "__main__":
    main()
