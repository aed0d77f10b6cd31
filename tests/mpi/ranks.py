#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ranks.py BUILD openmpi|mpich - csrecover under a launcher of MPI: files, tiles and slabs shared by
1 to 5 ranks give the bytes of one process; wrong use is one line. Exit code 77 without that MPI."""
import glob
import json
import os
import shutil
import subprocess
import zipfile

from launch import (
    OPEN, SLURM, build, bytes_of, clean, command, draw, environment, lines_of_ours, run, run_each, run_tests,
    write_mask, write_npy, write_npz,
)

# Differing ranks are refused by what they tell each other, whatever the MPI; Open MPI starts slowly.
ELSEWHERE = OPEN and shutil.which("mpirun.mpich")


def files_are_shared():
    names = [f"f{k:02}.npy" for k in range(draw.randrange(6, 14))]
    for name in names:
        write_npy(name, (draw.randrange(20, 50), draw.randrange(20, 50)))
    with open("bad.npy", "w", encoding="ascii") as file:
        file.write("no array")
    inputs = names + ["bad.npy"]
    draw.shuffle(inputs)
    options = draw.choice([["--quality", "fast"], ["--shifts", "3"]])
    one = json.loads(run(0, "csrecover", *inputs, "-o", "one/", "--json", *options, code=1).stdout)
    for ranks in (2, draw.choice((3, 4)), 5):
        folder = f"r{ranks}/"
        done = run(ranks, "csrecover", *inputs, "-o", folder, "--json", *options, code=1)
        ours = lines_of_ours(done.stderr)
        assert sum("bad.npy: " in line for line in ours) == 1, done.stderr
        assert sum("failed: bad.npy" in line for line in ours) == 1, done.stderr
        all_of = json.loads(done.stdout)
        assert [f["input"] for f in all_of["files"]] == inputs
        for key in ("recovered", "skipped", "failed", "interrupted"):
            assert all_of[key] == one[key], key
        assert sorted(os.listdir(folder)) == sorted(os.listdir("one"))
        for name in names:
            assert bytes_of(folder + name) == bytes_of("one/" + name), name
    again = run(ranks, "csrecover", *inputs, "-o", folder, "--json", "--resume", *options, code=1)
    assert json.loads(again.stdout)["skipped"] == len(names)


def tiles_are_shared():
    """To .npy, which all write; to a picture and to a pipe, which rank 0 writes; of a .npz, which all
    read."""
    write_npy("tiles.npy", (draw.randrange(600, 700), draw.randrange(860, 960)))
    options = ["--quality", "fast", "--tile", "90000", "--dtype", draw.choice(("float32", "uint16"))]
    run(0, "csrecover", "tiles.npy", "-o", "one.npy", *options)
    for ranks in (1, 2, 3, 5):
        done = run(ranks, "csrecover", "tiles.npy", "-o", "all.npy", "--verbose", *options)
        assert bytes_of("all.npy") == bytes_of("one.npy"), ranks
        ours = lines_of_ours(done.stderr)
        assert sum("iterations, residual" in line for line in ours) == 1, ours
        assert not any("rank 0 writes" in line for line in ours), ours
        os.remove("all.npy")
    write_npy("full.npy", (600, 800), 1.0)
    run(0, "cssample", "full.npy", "-o", "tiles.npz", "--rate", "0.2")
    for source, result in (("tiles.npy", ".png"), ("tiles.npz", ".npy")):
        run(0, "csrecover", source, "-o", "one" + result, *options[:4])
        run(3, "csrecover", source, "-o", "all" + result, *options[:4])
        assert bytes_of("all" + result) == bytes_of("one" + result), source


def slabs_are_shared():
    write_npy("slabs.npy", (draw.randrange(1400, 1500), draw.randrange(700, 800)))
    options = ["--quality", "fast", "--memory", "25", "--tile", "100000"]
    run(0, "csrecover", "slabs.npy", "-o", "one.npy", *options)
    run(0, "csrecover", "slabs.npy", "-o", "one.tif", *options)
    for ranks in (2, 5):
        run(ranks, "csrecover", "slabs.npy", "-o", "all.npy", *options)
        assert bytes_of("all.npy") == bytes_of("one.npy"), ranks
        os.remove("all.npy")
    done = run(3, "csrecover", "slabs.npy", "-o", "all.tif", "--verbose", *options)
    assert bytes_of("all.tif") == bytes_of("one.tif")
    assert any("rank 0 writes the values of all" in line for line in lines_of_ours(done.stderr))


def slabs_of_archives_are_shared():
    """Input and output as .npz and as HDF5 without chunks, each rank its own part."""
    options = ["--quality", "fast", "--tile", "90000", "--verbose"]
    endings = [".npz"]
    if "HDF5" in run(0, "csrecover", "--version").stdout:
        endings.append(".h5")
    write_npy("small.npy", (draw.randrange(600, 700), draw.randrange(860, 960)))
    write_npz("small.npz", "small.npy")
    write_mask("mask.npy", "small.npy")
    for ending in endings:
        run(0, "csrecover", "small.npy", "-o", "one" + ending, *options)
        done = run(draw.choice((2, 3, 5)), "csrecover", "small.npy", "-o", "all" + ending, *options)
        assert bytes_of("all" + ending) == bytes_of("one" + ending), ending
        assert not any("rank 0 writes" in line for line in lines_of_ours(done.stderr)), done.stderr
        source = ["small.npz"] if ending == ".npz" else ["one.h5", "--mask", "mask.npy"]
        run(0, "csrecover", *source, "-o", "two.npy", *options)
        run(draw.choice((2, 3, 5)), "csrecover", *source, "-o", "all.npy", *options)
        assert bytes_of("all.npy") == bytes_of("two.npy"), ending
    assert zipfile.ZipFile("all.npz").testzip() is None


def one_line(words, part, ranks=3):
    lines = lines_of_ours(run(ranks, "csrecover", *words, code=1).stderr)
    assert len(lines) == 1 and part in lines[0], (words, lines)
    assert not os.path.exists("x.npy")


def fewer_tiles_than_ranks():
    """Those without a tile wait; a note tells of them. Of a .npy, and of what every rank reads."""
    run(0, "cssample", "full.npy", "-o", "one.npz", "--rate", "0.3")
    for source, tile in (("one.npz", []), ("small.npy", draw.choice(([], ["--tile", "300000"])))):
        words = [source, "--quality", "fast", *tile]
        one = run(0, "csrecover", *words, "-o", "one.npy", "--json")
        ranks = json.loads(one.stdout)["estimate"]["tiles"] + draw.choice((1, 2))
        done = run(ranks, "csrecover", *words, "-o", "all.npy")
        lines = lines_of_ours(done.stderr)
        assert len(lines) == 1 and "ranks had no tile" in lines[0], lines
        assert bytes_of("all.npy") == bytes_of("one.npy"), words
        assert not lines_of_ours(run(ranks, "csrecover", *words, "-q", "-o", "all.npy").stderr)


def a_terminal_of_the_launcher_is_named():
    """Open MPI gives its processes one as stdout, MPICH a pipe, which takes a recovery."""
    words = ["small.npy", "-o", "-", "--quality", "fast"]
    done = subprocess.run(command(2, "csrecover", *words), env=environment, capture_output=True)
    if done.returncode:
        one_line(words, "gives every process a terminal as its stdout", 2)
    else:
        run(0, "csrecover", *words[:2], "one.npy", *words[3:])
        assert done.stdout and bytes_of("one.npy").startswith(done.stdout)  # its fingerprint follows


def wrong_use_is_one_line():
    tiles = ["tiles.npy", "-o", "x.npy", "--tile", "90000"]
    cases = [
        (["tiles.npy", "-o", "x.npy", "--shifts", "1", "--solver", "omp"], "needs the whole signal"),
        ([*tiles, "--quality", "fast", "--json", "--history"], "several processes give the signal"),
        (["missing.npy", "-o", "x.npy", "--tile", "90000"], "missing.npy"),
        (["tiles.npy", "-o", "x.npy", "--nonsense"], "unknown option --nonsense"),
        (["-", "-o", "x.npy"], "stdin is read by one process"),
        (["tiles.npy", "slabs.npy", "-o", "x/"], "3 ranks share 2 inputs"),
    ]
    for words, part in cases:
        one_line(words, part)


def refused(first, second, *parts):
    """Before anything is written; one line, which names rank 1 and has the parts."""
    before = sorted(os.listdir())
    done = run_each(first, second, code=1)
    lines = lines_of_ours(done.stderr)
    assert len(lines) == 1 and all(part in lines[0] for part in parts), (first, second, done.stderr)
    assert sorted(os.listdir()) == before and not done.stdout.strip(), (first, second)


def ranks_that_differ_are_one_line():
    """In settings, inputs, their contents, outputs, version, prior. What only concerns a process may
    differ."""
    tool = f"{build}/csrecover"
    for name in ("a.npy", "b.npy", "c.npy", "d.npy"):
        write_npy(name, (40, draw.randrange(41, 60)))
    shared, tiles = ["a.npy", "b.npy", "-o", "x/"], ["tiles.npy", "-o", "x.npy", "--tile", "90000"]
    one = ["a.npy", "-o", "x.npy", "--shifts", "1"]
    rank = "(rank 1): differs from rank 0 in "
    settings = ["--set", "block=8", "--set", "last=2", "--set", "soft=1"]
    reverse = ["--set", "soft=1", "--set", "block=16", "--set", "last=2", "--set", "block=8"]
    run_each([tool, *shared, "-Q", "fast", *settings], [tool, *shared, "-Q", "fast", *reverse])
    shutil.rmtree("x")
    refused(
        [tool, *shared, *settings],
        [tool, *shared, *reverse, "--set", "soft=0"],
        rank + "--set: soft=0, and there soft=1",
    )
    twice = ["--set", "k=3", "--set", "solver.k=4"]
    refused(
        [tool, *shared, *twice],
        [tool, *shared, *twice[2:], *twice[:2]],
        rank + "--set: solver.k=4, and there k=3",
    )
    for other in ("cssample", "cslearn", "csbench"):
        pair = [[tool, *shared], [f"{build}/{other}", "--help"]]
        first, second = draw.sample(pair, 2)
        refused(first, second, "(rank 1): is another tool than rank 0, which is cs")
    for words in (shared, tiles, one):
        differences = [
            (["--sigma", "0.1"], ["--sigma", "0.2"]),
            ([], ["--seed", "7"]),
            (["--set", "block=8"], ["--set", "block=16"]),
            ([], ["--resume"]),
            (["--json"], []),
        ]
        for less, more in draw.sample(differences, 2):
            swap = draw.random() < 0.5
            first, second = (more, less) if swap else (less, more)
            option = (less + more)[0]
            refused([tool, *words, *first], [tool, *words, *second], f"{rank}{option}: ")
    refused([tool, *shared], [tool, "a.npy", "b.npy", "c.npy", "d.npy", "-o", "x/"], rank + "input 3: c.npy")
    refused([tool, *shared], [tool, "a.npy", "c.npy", "-o", "x/"], rank + "input 2: c.npy", "b.npy")
    refused([tool, *shared], [tool, "a.npy", "-o", "x/"], rank + "input 2: not given", "there b.npy")
    refused([tool, *tiles], [tool, "tiles.npy", "missing.npy", "-o", "x/"], "(rank 1): ", "--output")
    refused([tool, *shared], [tool, *shared, "--nonsense"], "(rank 1): unknown option --nonsense")
    refused([tool, *shared], [tool, *shared[:-1], "y/"], rank + "--output: y/")
    os.mkdir("elsewhere")
    write_npy("elsewhere/a.npy", (40, 44))
    shutil.copy("b.npy", "elsewhere")
    there = ["env", "-C", "elsewhere", tool]
    refused([tool, *shared], [*there, *shared], rank + "input 1: a.npy of ")
    shutil.copy("a.npy", "elsewhere")
    write_mask("elsewhere/m.npy", "a.npy")
    write_mask("m.npy", "a.npy")
    refused([tool, *one, "-m", "m.npy"], [*there, *one, "-m", "m.npy"], rank + "--mask: ")
    for folder in ("bare", "newer"):
        os.mkdir(folder)
        for name in os.listdir(build):
            if name == "csrecover" or (name.startswith("libcsrec") and ".so" in name):
                shutil.copy(f"{build}/{name}", folder, follow_symlinks=False)
    for name in os.listdir("newer"):
        if name.startswith("libcsrec.so") and not os.path.islink("newer/" + name):
            data = bytes_of("newer/" + name)
            version = run(0, "csrecover", "--version").stdout.split()[1].encode()
            assert b"\0" + version + b"\0" in data
            other = version[:-1] + (b"8" if version[-1:] == b"9" else b"9")
            with open("newer/" + name, "wb") as file:
                file.write(data.replace(b"\0" + version + b"\0", b"\0" + other + b"\0"))
    here = os.path.dirname(os.path.abspath(__file__))
    priors = len(glob.glob(here + "/../../share/csrecover/prior-*.npz"))
    bare, newer = (
        ["env", "LD_LIBRARY_PATH=" + os.path.abspath(folder), folder + "/csrecover"]
        for folder in ("bare", "newer")
    )
    refused([tool, *shared], [*bare, *shared], rank + f"prior: none, and there {priors} files")
    refused([tool, *tiles], [*bare, *tiles, "--method", "net"], rank + "--method: net")
    refused([tool, *shared], [*newer, *shared], "process 1 has version", "install the same")
    run_each([tool, *shared, "-Q", "fast"], [*bare, *shared, "-Q", "fast", "-t", "1", "-q"])
    assert sorted(os.listdir("x")) == ["a.npy", "b.npy"]
    shutil.rmtree("x")


def alone(told, part, program=f"{build}/csrecover"):
    """Started as one of two, but without the launcher that the environment tells of."""
    done = subprocess.run(
        [program, "tiles.npy", "-o", "x.npy", "--tile", "90000"],
        env=dict(clean, ASAN_OPTIONS=environment["ASAN_OPTIONS"], **told), capture_output=True, text=True,
        timeout=60,
    )
    lines = lines_of_ours(done.stderr)
    assert done.returncode == 1 and len(lines) == 1 and part in lines[0], (told, done)
    assert not os.path.exists("x.npy")


def launchers_are_recognised():
    """Each MPI, alone, knows of one process."""
    root = {name: environment[name] for name in environment if name.startswith("OMPI_ALLOW")}
    if OPEN:
        alone({"OMPI_COMM_WORLD_SIZE": "2", **root}, "Open MPI's mpirun started 2 processes")
    else:
        alone({"PMI_SIZE": "2"}, "mpiexec or srun --mpi=pmi2 started 2 processes, but MPI knows of 1")
    slurm = {"SLURM_STEP_NUM_TASKS": "2"}
    alone({**slurm, **root}, "or --mpi=pmi2 (MPICH)")
    alone({**slurm, "PMI_SIZE": "3"}, "mpiexec or srun --mpi=pmi2 started 3 processes")
    one = dict(clean, SLURM_STEP_NUM_TASKS="1", ASAN_OPTIONS=environment["ASAN_OPTIONS"])
    subprocess.run([f"{build}/csrecover", "--version"], env=one, check=True, capture_output=True)


def a_missing_plugin_is_one_line():
    os.mkdir("without")
    for name in os.listdir(build):
        if name == "csrecover" or name.startswith("libcsrec.so"):
            shutil.copy(f"{build}/{name}", "without", follow_symlinks=False)
    told = {"OMPI_COMM_WORLD_SIZE": "2", "LD_LIBRARY_PATH": os.path.abspath("without")}
    alone(told, "csrecover's part for MPI is missing", os.path.abspath("without/csrecover"))


run_tests(
    files_are_shared, tiles_are_shared, slabs_are_shared, slabs_of_archives_are_shared,
    fewer_tiles_than_ranks, a_terminal_of_the_launcher_is_named, wrong_use_is_one_line,
    *([] if SLURM or ELSEWHERE else [ranks_that_differ_are_one_line]), launchers_are_recognised,
    a_missing_plugin_is_one_line,
)
