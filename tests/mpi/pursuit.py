#!/usr/bin/env python3
"""pursuit.py BUILD openmpi|mpich - one pursuit by several ranks: csrecover --shifts 1 under a launcher
of MPI gives the bytes of one process, atoms and signal; what cannot be shared is refused by one line.
Exit code 77 without that MPI."""
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

build, mpi = os.path.abspath(sys.argv[1]), sys.argv[2]
seed = int(os.environ.get("CSREC_TEST_SEED", time.time_ns() // 1000))
print(f"CSREC_TEST_SEED={seed}", flush=True)
draw = random.Random(seed)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def launcher():
    """mpirun of that MPI, under its own name or as the system's default."""
    own = f"mpirun.{mpi}"
    if subprocess.run(["which", own], capture_output=True).returncode == 0:
        return own
    said = subprocess.run(["sh", "-c", "mpirun --version"], capture_output=True, text=True).stdout
    if not said or ("Open MPI" in said) != (mpi == "openmpi"):
        skip(f"no {mpi}")
    return "mpirun"


mpirun = launcher()
if not any(os.path.exists(f"{build}/libcsrec_mpi{end}.so") for end in (f"_{mpi}", "")):
    skip("built without MPI")
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
environment.update(
    OMPI_MCA_rmaps_base_oversubscribe="1", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe"
)
# As launch.py: MPI's own leaks.
environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"


def recover(ranks, *words, code=0):
    command = [f"{build}/csrecover", *words]
    if ranks:
        command = [mpirun, "-n", str(ranks), *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode == 0) == (code == 0), (words, done.returncode, done.stderr)
    return [line for line in done.stderr.splitlines() if line.startswith("csrecover")]


def summary(lines):
    """Outcome, pursuits, iterations and residual, of one line with --verbose."""
    (line,) = [line for line in lines if "iterations, residual" in line]
    return line[line.index(" samples, ") :]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


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
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }" % (
        shape if shape[2] > 1 else shape[:2],
    )
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}d", *values))


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


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for test in (
        ranks_give_the_bytes_of_one,
        atoms_or_signal_alone,
        what_one_process_does_is_refused,
    ):
        start = time.time()
        test()
        print(f"{test.__name__}: {time.time() - start:.1f} s", flush=True)
    os.chdir("/")
