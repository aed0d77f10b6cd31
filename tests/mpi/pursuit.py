#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pursuit.py BUILD openmpi|mpich - one pursuit by several ranks: csrecover --shifts 1 under a launcher
of MPI gives the bytes of one process, atoms and signal; what cannot be shared is refused by one line.
Exit code 77 without that MPI."""
import json
import math
import os

from launch import bytes_of, draw, lines_of_ours, npy, run, run_tests


def recover(ranks, *words, code=0):
    return lines_of_ours(run(ranks, "csrecover", *words, code=code).stderr)


def summary(lines):
    """Outcome, pursuits, iterations and residual, of one line with --verbose."""
    (line,) = [line for line in lines if "iterations, residual" in line]
    return line[line.index(" samples, ") :]


def value(x, y, c, kind):
    if kind == "ties":
        return float(draw.randrange(-1, 2))
    return math.sin(x / 20 + c) * math.cos(y / 30) + (int(x / 40 + y / 50) % 2) + 0.2 * draw.random()


def write_npy(path, shape, kind):
    """A picture of which a share is known, with values of that kind in its channels."""
    known = draw.uniform(0.05, 0.6)
    values = []
    for y in range(shape[0]):
        for x in range(shape[1]):
            sampled = draw.random() < known
            values += [value(x, y, c, kind) if sampled else math.nan for c in range(shape[2])]
    with open(path, "wb") as file:
        file.write(npy(values, shape if shape[2] > 1 else shape[:2]))


RULES = (
    ["--epsilon", "0.05"],
    ["--atoms", "3000"],
    ["--epsilon", "0", "--min-coefficient", "0.7"],
    ["--epsilon", "0", "--sigma", "0.2"],
    ["--order", "hilbert"],
)


def ranks_give_the_bytes_of_one():
    for k in range(4):
        kind = draw.choice(("waves", "ties", "waves"))
        shape = (draw.randrange(60, 200), draw.randrange(60, 200), 3 if k == 3 else 1)
        write_npy("picture.npy", shape, kind)
        columns = draw.choice(("paper", "two-sided"))
        options = ["--shifts", "1", "--columns", columns, "--verbose", *draw.choice(RULES)]
        options += ["--volume"] if k == 3 else []
        one = recover(0, "picture.npy", "-o", "one.npy", "-C", "one.npz", *options)
        for ranks in (1, 2, 3, 5):
            what = (shape, kind, options, ranks)
            all_of = recover(ranks, "picture.npy", "-o", "all.npy", "-C", "all.npz", *options)
            assert summary(all_of) == summary(one), (what, all_of, one)
            assert bytes_of("all.npy") == bytes_of("one.npy"), what
            assert bytes_of("all.npz") == bytes_of("one.npz"), what
            os.remove("all.npy")
            os.remove("all.npz")
        os.remove("one.npy")
        os.remove("one.npz")


def atoms_or_signal_alone():
    write_npy("picture.npy", (150, 130, 1), "waves")
    for words in (["-C", "{}.npz"], ["-o", "{}.npy", "--shifts", "1"]):
        one, all_of = ([word.format(name) for word in words] for name in ("one", "all"))
        recover(0, "picture.npy", *one)
        recover(3, "picture.npy", *all_of)
        assert bytes_of(all_of[1]) == bytes_of(one[1]), words


def what_one_process_does_is_refused():
    for words in (["--solver", "omp"], ["--reference-pursuit"]):
        lines = recover(2, "picture.npy", "-o", "x.npy", "--shifts", "1", *words, code=1)
        assert len(lines) == 1 and "needs the whole signal" in lines[0], (words, lines)
        assert not os.path.exists("x.npy")


def messages_are_told():
    """Of each exchange, and of one before, each rank sends log2(ranks), rounded up."""
    write_npy("picture.npy", (90, 110, 1), "waves")
    words = ["csrecover", "picture.npy", "-o", "told.npy", "--shifts", "1", "--epsilon", "0.05",
             "--json", "--quiet"]
    assert json.loads(run(0, *words).stdout)["exchanges"] is None
    ranks = draw.randrange(2, 5)
    told = json.loads(run(ranks, *words).stdout)["exchanges"]
    deep = math.ceil(math.log2(ranks))
    assert told["messages"] == (told["rounds"] + 1) * ranks * deep, (ranks, told)
    assert told["bytes"] > 16 * told["messages"] and told["seconds"] > 0, told


run_tests(ranks_give_the_bytes_of_one, messages_are_told, atoms_or_signal_alone,
          what_one_process_does_is_refused)
