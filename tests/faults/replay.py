#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""replay.py BUILD - what a power cut may leave of a command's files.

A command runs once while every change of a file is logged in order. For every beginning of the log the
folder is rebuilt as it may be found after power fails there:

  names   Creating, renaming and removing become durable in order, at the latest when their folder is
          synchronised: every beginning of these operations that holds the synchronised ones.
  data    What is written to a file is durable at the latest when the file is synchronised. What was
          written since is there, or half of it is, or none: of all files alike. A rename does not
          wait for the data of its file.
  dates   The date that a file is given is durable with its data; without, it has the present one.

Then each file is as it was or as the whole run makes it, or is a temporary, and the same command again
(csrecover with --resume) exits 0 and makes every file as the whole run does, leaving no temporary. The
same is asked of csrecover interrupted by SIGINT, which writes the best so far: such a file is dated
before its input, and recovered again. With --no-sync nothing is synchronised: the replay must find
that, or it would find nothing.
"""

import dataclasses
import itertools
import os
import pathlib
import struct
import sys
import tempfile
from typing import Optional

import harness
import kills

O_CREAT, O_TRUNC, O_TMPFILE = os.O_CREAT, os.O_TRUNC, getattr(os, "O_TMPFILE", 0o20200000)
UTIME_OMIT = (1 << 30) - 2
SHARES = (0.0, 0.5, 1.0)  # of the data that was not synchronised


def records(log):
    """(what, result, a, b, first name, second name, data) of a log of log.c."""
    at = 0
    while at < len(log) and log[at] != 0:
        end = log.index(b"\n", at)
        what, *numbers = log[at:end].split()
        result, a, b, n, m, size = map(int, numbers)
        at = end + 1
        texts = [log[at:at + n].decode(), log[at + n:at + n + m].decode()]
        yield (what.decode(), result, a, b, *texts, log[at + n + m:at + n + m + size])
        at += n + m + size + 1


@dataclasses.dataclass
class Inode:
    data: bytearray
    synced: bytes = b""
    date: Optional[int] = None
    synced_date: Optional[int] = None

    def found(self, share):
        """(bytes, date) after a power cut."""
        if share == 1.0:
            return bytes(self.data), self.date
        if share == 0.0 or self.data[:len(self.synced)] != self.synced:
            return self.synced, self.synced_date
        more = int(share * (len(self.data) - len(self.synced)))
        return bytes(self.data[:len(self.synced) + more]), self.synced_date


class Disk:
    """Files of one folder while a log is replayed."""

    def __init__(self, folder, before):
        self.folder = pathlib.Path(folder)
        self.now = {name: None if value is None else Inode(bytearray(value[0]), value[0])
                    for name, value in before.items()}  # what the process sees
        self.start = dict(self.now)
        self.operations, self.durable = [], 0
        self.open, self.at = {}, None

    def name(self, path):
        """Relative to the folder; None: elsewhere."""
        under = self.folder / (self.at or ".") / path
        self.at = None
        clean = os.path.normpath(under)
        return os.path.relpath(clean, self.folder) if clean.startswith(str(self.folder)) else None

    def operate(self, operation):
        self.operations.append(operation)
        apply(self.now, operation)

    def step(self, what, result, a, b, first, second, data):
        if what in ("at", "open", "rename", "remove", "folder", "times"):
            getattr(self, f"on_{what}")(result, a, first, second, data)
        elif what == "close":
            self.open.pop(a, None)
        elif what == "sync":
            self.on_sync(a)
        elif isinstance(self.open.get(a, (None,))[0], Inode):
            self.on_data(what, result, a, b, data)

    def on_at(self, _result, a, *_):
        self.at = self.open.get(a, ("elsewhere",))[0]

    def on_open(self, fd, flags, path, *_):
        name = self.name(path)
        if name is None or flags & O_TMPFILE == O_TMPFILE:
            self.open.pop(fd, None)
            return
        if name == "." or self.now.get(name, 0) is None:
            self.open[fd] = [name, 0]
            return
        if name not in self.now and flags & O_CREAT:
            self.operate(("create", name, Inode(bytearray())))
        inode = self.now[name]
        if flags & O_TRUNC:
            inode.data.clear()
        self.open[fd] = [inode, 0]

    def on_rename(self, _result, _a, first, second, _data):
        self.operate(("rename", self.name(first), self.name(second)))

    def on_remove(self, _result, _a, first, *_):
        name = self.name(first)
        if name in self.now:
            self.operate(("remove", name, None))

    def on_folder(self, _result, _a, first, *_):
        self.operate(("create", self.name(first), None))

    def on_times(self, _result, fd, first, _second, data):
        inode = self.now[self.name(first)] if first else self.open[fd][0]
        seconds, nano = struct.unpack("4q", data)[2:] if data else (None, 0)
        if nano != UTIME_OMIT:
            inode.date = seconds

    def on_sync(self, fd):
        thing = self.open.get(fd, (None,))[0]
        if isinstance(thing, Inode):
            thing.synced, thing.synced_date = bytes(thing.data), thing.date
            return
        for i, operation in enumerate(self.operations):
            places = [n for n in operation[1:] if isinstance(n, str)]
            if thing is not None and any((os.path.dirname(n) or ".") == thing for n in places):
                self.durable = max(self.durable, i + 1)

    def on_data(self, what, result, fd, at, data):
        inode, place = self.open[fd]
        if what == "write":
            start = place if at < 0 else at
            inode.data.extend(bytes(max(0, start - len(inode.data))))
            inode.data[start:start + len(data)] = data
            self.open[fd][1] = start + len(data) if at < 0 else place
        elif what == "move":
            self.open[fd][1] += result
        elif what == "seek":
            self.open[fd][1] = result
        elif what == "cut":
            del inode.data[at:]
            inode.data.extend(bytes(at - len(inode.data)))

    def found(self):
        """Every folder that may be found: {name: None or (bytes, date)}."""
        for n, share in itertools.product(range(self.durable, len(self.operations) + 1), SHARES):
            names = dict(self.start)
            for operation in self.operations[:n]:
                apply(names, operation)
            yield {name: inode and inode.found(share) for name, inode in names.items()}


def apply(names, operation):
    what, name, other = operation
    if what == "create":
        names[name] = other
    elif what == "remove":
        names.pop(name, None)
    elif name in names:
        names[other] = names.pop(name)


class Replay(kills.Test):
    states = 0

    def log(self, command, plan, before, scratch):
        """The log of a run from `before`, and what it left."""
        harness.restore(self.folder, before)
        path = pathlib.Path(scratch) / "log"
        outcome = harness.run(self.build, self.build.words(command.line), self.folder, plan, log=path)
        wanted = (0,) if plan is None else (0, 130)
        if outcome.code not in wanted:
            raise SystemExit(f"{command.line}: exit code {outcome.code}: {outcome.err}")
        with open(path, "rb") as file:
            text = file.read(1 << 24)
        path.unlink()
        return list(records(text)), harness.snapshot(self.folder)

    def replay(self, command, plan, whole, before, scratch):
        steps, left = self.log(command, plan, before, scratch)
        disk, seen = Disk(self.folder, before), set()
        for i, step in enumerate(((), *steps)):
            if step:
                disk.step(*step)
            for found in disk.found():
                key = frozenset((n, v and (b"" if kills.TEMPORARY.fullmatch(n) else v[0], v[1]))
                                for n, v in found.items())
                if key not in seen:
                    seen.add(key)
                    self.check(command, f"{plan or 'whole'}@{i}", whole, before, left, found)
        if not plan and {n: v and v[0] for n, v in left.items()} != (
                {n: v and bytes(v.data) for n, v in disk.now.items()}):
            self.findings.add(command, "log", "does not end in the files of the run")

    def check(self, command, place, whole, before, left, found):
        self.states += 1
        add = lambda what: self.findings.add(command, place, what)
        harness.restore(self.folder, {n: v and (v[0], 0o100644) for n, v in found.items()})
        for name, value in found.items():
            path = self.folder / name
            if value is None or kills.TEMPORARY.fullmatch(name) or harness.LOCK.fullmatch(
                    name) or name in command.keeps:
                continue
            if name not in before or value[0] != before[name][0]:
                self.check_new(command, name, value, whole, left, add)
            if value[1] is not None:
                os.utime(path, (value[1], value[1]))
        for name in set(before) - set(found):
            add(f"{name} is gone")
        self.go_on(command, {n: v and (v[0], 0o100644) for n, v in whole.items()}, add)

    def check_new(self, command, name, value, whole, left, add):
        partial = name in left and value[0] == left[name][0]
        early = value[1] is not None and value[1] < self.folder.joinpath(
            command.line.split()[1]).stat().st_mtime
        if name in whole and value[0] == whole[name][0]:
            return
        if not partial:
            add(f"{name} is neither old nor new")
        elif not early:
            add(f"{name} is the best so far, and not dated before its input")


def check_unsynchronised(test, scratch):
    command = kills.COMMANDS[0]
    careless = dataclasses.replace(command, line=f"{command.line} --no-sync")
    states, findings, test.findings = test.states, test.findings, harness.Findings()
    _, whole = test.learn(careless)
    test.replay(careless, None, whole, test.before, scratch)
    test.states, test.findings, found = states, findings, test.findings
    if not found.plans:
        test.findings.add(careless, "whole", "no power cut does harm without sync")


def main():
    build = harness.Build.of(sys.argv[1])
    os.umask(0o022)
    harness.seed()
    with harness.inputs(build) as folder, tempfile.TemporaryDirectory() as scratch:
        harness.skip_without_filters(build, folder)
        for path in folder.rglob("*"):
            os.utime(path, (1_600_000_000, 1_600_000_000))
        test = Replay(build, folder.resolve(), scratch)
        for command in kills.COMMANDS:
            counts, whole = test.learn(command)
            plans = [None]
            if command.line.startswith("csrecover"):
                plans.append(f"openmp:{max(1, counts['openmp'] // 2)}:int")
            for plan in plans:
                for before in (test.before, harness.with_old(test.before, command)):
                    test.replay(command, plan, whole, before, scratch)
        check_unsynchronised(test, scratch)
        test.findings.finish(f"{test.states} folders that a power cut may leave")


if __name__ == "__main__":
    main()
