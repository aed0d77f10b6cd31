#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""trouble.py BUILD openmpi|mpich - killed ranks end the run and leave no half-written output;
--resume goes on with files and tiles, by any number of ranks, to the same bytes; two runs on one
output refuse each other. Exit code 77 without that MPI."""
import json
import os
import signal
import time

from launch import SANITIZED, SLURM, bytes_of, draw, lines_of_ours, processes, run, run_tests, start, wait_until, write_npy

# A killed rank ends the run within seconds; this is a failure.
LIMIT = 30
TILED = ["big.npy", "--tile", "90000", "--quality", "fast"]
SLOW = [*TILED, "--set", f"steps={40 if SANITIZED else 120}"]
ENDLESS = [*TILED, "--set", "steps=9000", "--quiet"]  # ends by a kill


def hidden():
    return [name for name in os.listdir() if name.startswith(".csrec-")]


def kill_and_wait(process, victims):
    """Seconds until the launcher and all ranks have ended."""
    begin = time.monotonic()
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    assert process.wait(timeout=LIMIT) != 0
    wait_until(lambda: not processes("."), LIMIT)
    return time.monotonic() - begin


def a_killed_rank_ends_all():
    write_npy("big.npy", (draw.randrange(900, 950), draw.randrange(1100, 1200)))
    run(0, "csrecover", *SLOW, "-o", "one.npy")
    took = []
    for victim in (0, draw.choice((1, 2))):
        with open("said", "w", encoding="utf-8") as said:
            process = start(3, "csrecover", *ENDLESS, "-o", "killed.npy", stderr=said)
            wait_until(lambda: len(processes(".")) == 3)
            time.sleep(draw.uniform(0.0, 1.5))
            took.append(kill_and_wait(process, [processes(".")[victim]]))
        with open("said", encoding="utf-8") as said:
            ours = lines_of_ours(said.read())
        assert len(ours) <= 1, ours
        assert not os.path.exists("killed.npy") and not os.path.exists("killed.npy.part")
    print("  ended within", ", ".join(f"{seconds:.1f} s" for seconds in took))
    run(2, "csrecover", *TILED, "-o", "swept.npy")
    assert not hidden(), hidden()


def records(path):
    """Tiles that a file for them has, about: the first is not counted, and those being written."""
    return os.stat(path).st_blocks * 512 // (160000 * 8) if os.path.exists(path) else 0


def tiles_go_on():
    for before, after in ((0, 2), (draw.choice((2, 3)), 0), (2, draw.choice((3, 5)))):
        process = start(before, "csrecover", *SLOW, "-o", "out.npy", "--resume")
        least = 2 * max(before, 1)
        wait_until(lambda: records("out.npy.part") >= least or process.poll() is not None)
        kill_and_wait(process, processes(".")[:1])
        assert not os.path.exists("out.npy")
        done = run(after, "csrecover", *SLOW, "-o", "out.npy", "--resume", "--json")
        resumed = json.loads(done.stdout)["tiles_resumed"]
        assert resumed >= 1, done.stdout
        print(f"  {before} ranks, then {after}: {resumed} tiles")
        assert bytes_of("out.npy") == bytes_of("one.npy")
        assert not os.path.exists("out.npy.part")
        again = run(after, "csrecover", *SLOW, "-o", "out.npy", "--resume", "--json")
        assert json.loads(again.stdout)["status"] == "skipped"
        os.remove("out.npy")


def other_tiles_are_not_used():
    """Those of other settings, or damaged ones, are recovered again; another file is not touched."""
    process = start(0, "csrecover", *SLOW, "-o", "out.npy", "--resume")
    wait_until(lambda: records("out.npy.part") >= 3)
    kill_and_wait(process, processes("."))
    os.link("out.npy.part", "kept")
    done = run(0, "csrecover", *TILED, "--seed", "5", "-o", "out.npy", "--resume", "--json")
    assert json.loads(done.stdout)["tiles_resumed"] == 0
    assert not os.path.exists("out.npy.part")
    process = start(0, "csrecover", *SLOW, "-o", "more.npy", "--resume")
    wait_until(lambda: records("more.npy.part") >= 3)
    kill_and_wait(process, processes("."))
    with open("more.npy.part", "r+b") as part:
        size = part.seek(0, os.SEEK_END)
        for at in range(size // 4, size, 40000):
            part.seek(at)
            byte = part.read(1)
            part.seek(at)
            part.write(bytes([byte[0] ^ 1]))
    run(0, "csrecover", *SLOW, "-o", "more.npy", "--resume")
    assert bytes_of("more.npy") == bytes_of("one.npy")
    with open("mine.npy.part", "w", encoding="ascii") as mine:
        mine.write("a file of the user's own")
    done = run(0, "csrecover", *TILED, "-o", "mine.npy", "--resume", code=1)
    assert "is another file; move it" in lines_of_ours(done.stderr)[0]
    run(0, "csrecover", *TILED, "-o", "mine.npy")
    assert bytes_of("mine.npy.part") == b"a file of the user's own"


def files_go_on():
    names = [f"f{k}.npy" for k in range(12)]
    for name in names:
        write_npy(name, (120, draw.randrange(120, 160)))
    options = ["--quality", "fast", "--set", f"steps={150 if SANITIZED else 500}"]
    run(0, "csrecover", *names, "-o", "whole/", *options)
    process = start(3, "csrecover", *names, "-o", "some/", *options)
    wait_until(lambda: os.path.isdir("some") and any(n in names for n in os.listdir("some")))
    kill_and_wait(process, [draw.choice(processes("."))])
    # A launcher ends the other ranks by SIGTERM, at which they may write the best so far: it says so,
    # and is recovered again.
    kept = {name: bytes_of("some/" + name) for name in os.listdir("some") if name in names}
    whole = [name for name in kept if b"csrec-fingerprint: whole=0;" not in kept[name]]
    for name in whole:
        assert kept[name] == bytes_of("whole/" + name), name
    done = run(2, "csrecover", *names, "-o", "some/", "--resume", "--json", *options)
    assert json.loads(done.stdout)["skipped"] == len(whole) > 0
    assert sorted(os.listdir("some")) == sorted(names)
    for name in names:
        assert bytes_of("some/" + name) == bytes_of("whole/" + name), name


def runs_refuse_each_other():
    os.mkdir("folder")
    os.symlink("folder/big.npy", "link.npy")
    process = start(2, "csrecover", *ENDLESS, "-o", "folder/")
    wait_until(lambda: any(name.endswith(".lock") for name in os.listdir("folder")))
    for ranks, name in ((0, "folder/big.npy"), (0, "link.npy"), (2, "folder/")):
        if SLURM and ranks:  # it lets a second job wait for the first
            continue
        done = run(ranks, "csrecover", *TILED, "-o", name, code=1)
        lines = lines_of_ours(done.stderr)
        assert len(lines) == 1 and "is being written by another run on " in lines[0], lines
        assert f", process {processes('.')[0]}; " in lines[0], (lines, processes("."))
    run(0, "csrecover", *TILED, "-o", "other.npy")
    kill_and_wait(process, processes("."))
    run(0, "csrecover", *TILED, "-o", "folder/")  # no lock outlives its process
    assert os.listdir("folder") == ["big.npy"]


run_tests(a_killed_rank_ends_all, tiles_go_on, other_tiles_are_not_used, files_go_on, runs_refuse_each_other)
