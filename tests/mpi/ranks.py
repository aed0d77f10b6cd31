#!/usr/bin/env python3
"""ranks.py BUILD openmpi|mpich - csrecover under a launcher of MPI: files, tiles and slabs shared by
1 to 5 ranks give the bytes of one process; failures and killed ranks end all and leave nothing.
Exit code 77 without that MPI."""
import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

build, mpi = os.path.abspath(sys.argv[1]), sys.argv[2]
seed = int(os.environ.get("CSREC_TEST_SEED", time.time_ns() // 1000))
print(f"CSREC_TEST_SEED={seed}", flush=True)
draw = random.Random(seed)
OPEN = mpi == "openmpi"
launcher = f"mpirun.{mpi}"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


if subprocess.run(["which", launcher], capture_output=True).returncode:
    launcher = "mpirun"
    said = subprocess.run(["sh", "-c", "mpirun --version"], capture_output=True, text=True).stdout
    if ("Open MPI" in said) != OPEN or not said:
        skip(f"no {mpi}")
if not any(
    os.path.exists(f"{build}/libcsrec_mpi{suffix}.so") for suffix in (f"_{mpi}", "")
):
    skip("built without MPI")

environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
environment.update(OMPI_MCA_rmaps_base_oversubscribe="1", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")


def command(ranks, *words):
    tool = [f"{build}/{words[0]}", *words[1:]]
    return [launcher, "-n", str(ranks), *tool] if ranks else tool


def run(ranks, *words, code=0):
    done = subprocess.run(
        command(ranks, *words), env=environment, capture_output=True, text=True, timeout=300
    )
    # MPICH adds the codes of the ranks bit by bit, as ours are 0 but for one.
    assert (done.returncode == 0) == (code == 0), (words, done.returncode, done.stderr)
    return done


def lines_of_ours(done):
    return [line for line in done.stderr.splitlines() if line.startswith("csrecover")]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def write_npy(path, shape):
    """A picture of waves and steps of which a quarter is known."""
    height, width = shape
    a, b, c = (draw.uniform(20, 60) for _ in range(3))
    values = [
        math.sin(x / a) * math.cos(y / b) + (int(x / c + y / a) % 2)
        if draw.random() < 0.25
        else math.nan
        for y in range(height)
        for x in range(width)
    ]
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % shape
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))


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
    for ranks in (2, 3, 5):
        folder = f"r{ranks}/"
        done = run(ranks, "csrecover", *inputs, "-o", folder, "--json", *options, code=1)
        assert sum("bad.npy: " in line for line in lines_of_ours(done)) == 1, done.stderr
        assert sum("failed: bad.npy" in line for line in lines_of_ours(done)) == 1, done.stderr
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
    write_npy("tiles.npy", (draw.randrange(600, 700), draw.randrange(860, 960)))
    options = ["--quality", "fast", "--tile", "90000"]
    run(0, "csrecover", "tiles.npy", "-o", "one.npy", *options)
    for ranks in (1, 2, 3, 5):
        done = run(ranks, "csrecover", "tiles.npy", "-o", "all.npy", "--verbose", *options)
        assert bytes_of("all.npy") == bytes_of("one.npy"), ranks
        assert sum("iterations, residual" in line for line in lines_of_ours(done)) == 1
        os.remove("all.npy")


def slabs_are_shared():
    write_npy("slabs.npy", (draw.randrange(2200, 2400), draw.randrange(900, 1000)))
    options = ["--quality", "fast", "--memory", "45", "--tile", "160000"]
    run(0, "csrecover", "slabs.npy", "-o", "one.npy", *options)
    for ranks in (2, 3, 5):
        run(ranks, "csrecover", "slabs.npy", "-o", "all.npy", *options)
        assert bytes_of("all.npy") == bytes_of("one.npy"), ranks
        os.remove("all.npy")


def wrong_use_is_one_line():
    cases = [
        (["tiles.npy", "-o", "x.npy", "--quality", "fast"], "3 processes for"),
        (["tiles.npy", "-o", "x.npy", "--shifts", "1", "--solver", "omp"], "needs the whole signal"),
        (["missing.npy", "-o", "x.npy", "--tile", "90000"], "missing.npy"),
        (["tiles.npy", "-o", "x.npy", "--nonsense"], "unknown option --nonsense"),
        (["-", "-o", "x.npy"], "stdin is read by one process"),
        (["tiles.npy", "slabs.npy", "-o", "x/"], "3 ranks share 2 inputs"),
    ]
    for words, part in cases:
        lines = lines_of_ours(run(3, "csrecover", *words, code=1))
        assert len(lines) == 1 and part in lines[0], (words, lines)
        assert not os.path.exists("x.npy")


def a_killed_rank_ends_all():
    options = ["--quality", "best", "--tile", "90000"]
    process = subprocess.Popen(
        command(3, "csrecover", "tiles.npy", "-o", "killed.npy", *options),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    mine = []
    while len(mine) < 3 and process.poll() is None:
        time.sleep(0.05)
        found = subprocess.run(["pgrep", "-f", f"{build}/csrecover"], capture_output=True, text=True)
        mine = [
            int(pid)
            for pid in found.stdout.split()
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "csrecover"
        ]
    time.sleep(draw.uniform(0.0, 1.5))
    os.kill(draw.choice(mine), signal.SIGKILL)
    assert process.wait(timeout=60) != 0
    assert not os.path.exists("killed.npy")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for test in (
        files_are_shared,
        tiles_are_shared,
        slabs_are_shared,
        wrong_use_is_one_line,
        a_killed_rank_ends_all,
    ):
        start = time.time()
        test()
        print(f"{test.__name__}: {time.time() - start:.1f} s", flush=True)
    os.chdir("/")
