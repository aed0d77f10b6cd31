# SPDX-License-Identifier: BSD-3-Clause
"""launch.py - what the tests of ranks share: arguments BUILD openmpi|mpich, a printed seed, the
launcher of that MPI, and inputs. Exit code 77 without that MPI. With CSREC_TEST_SLURM set, Slurm's
srun is the launcher (tests/long/slurm.sh)."""
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from npy import npy, npz, read_npy  # noqa: E402

build, mpi = os.path.abspath(sys.argv[1]), sys.argv[2]
seed = int(os.environ.get("CSREC_TEST_SEED", time.time_ns() // 1000))
print(f"CSREC_TEST_SEED={seed}", flush=True)
draw = random.Random(seed)
OPEN = mpi == "openmpi"
SLURM = bool(os.environ.get("CSREC_TEST_SLURM"))
launcher = f"mpirun.{mpi}"


def skip(why):
    print(f"skipped: {why}", flush=True)
    sys.exit(77)


if not SLURM and subprocess.run(["which", launcher], capture_output=True).returncode:
    launcher = "mpirun"
    said = subprocess.run(["sh", "-c", "mpirun --version"], capture_output=True, text=True).stdout
    if ("Open MPI" in said) != OPEN or not said:
        skip(f"no {mpi}")
if not any(os.path.exists(f"{build}/libcsrec_mpi{suffix}.so") for suffix in (f"_{mpi}", "")):
    skip("built without MPI")

# A test may be run under ctest by a process of MPI, or by Slurm.
clean = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("OMPI_", "PMI", "SLURM_", "HYD"))
}
# Else each start of Open MPI waits two seconds for a munge daemon that was installed and does not run.
if not SLURM:
    clean["PMIX_MCA_psec"] = "^munge"
environment = dict(clean, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
environment.update(
    OMPI_MCA_rmaps_base_oversubscribe="1",
    PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
    OMP_WAIT_POLICY="passive",
)
# MPI leaks, from plug-ins that it has closed, so that no suppression names them; ours are looked for
# in the tests of communicators between threads.
environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

with open(f"{build}/CMakeCache.txt", encoding="utf-8") as cache:
    SANITIZED = "\nCSREC_SANITIZE:STRING=ON" in cache.read()

start_ranks = [launcher]
if SLURM:
    start_ranks = ["srun", "--quiet", f"--mpi={'pmix' if OPEN else 'pmi2'}", "--overcommit"]
    start_ranks += ["--kill-on-bad-exit=1"]


def command(ranks, *words):
    """ranks 0: without a launcher."""
    tool = [f"{build}/{words[0]}", *words[1:]]
    return [*start_ranks, "-n", str(ranks), *tool] if ranks else tool


def run(ranks, *words, code=0):
    done = subprocess.run(
        command(ranks, *words), env=environment, capture_output=True, text=True, timeout=300
    )
    # MPICH adds the codes of the ranks bit by bit, as ours are 0 but for one.
    assert (done.returncode == 0) == (code == 0), (words, done.returncode, done.stderr)
    return done


def run_each(*ranks, code=0):
    """One rank for each command, of which the first word may be a program of another folder."""
    words = [launcher]
    for k, command_of in enumerate(ranks):
        words += [*([":"] if k else []), "-n", "1", *command_of]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode == 0) == (code == 0), (words, done.returncode, done.stderr)
    return done


def start(ranks, *words, stderr=subprocess.DEVNULL):
    return subprocess.Popen(
        command(ranks, *words), env=environment, stdout=subprocess.DEVNULL, stderr=stderr, text=True,
        start_new_session=True,
    )


def lines_of_ours(text):
    """What our tools say, but for the line of each success."""
    return [line for line in text.splitlines() if re.match("cs(recover|sample|learn|bench)", line)
            and not re.search(r" -> \S+: recovered, |inputs: \d+ recovered", line)]


def processes(folder):
    """Process numbers of csrecover that work in that folder, the ranks of a test."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(f"{build}/csrecover"):
                if os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(folder):
                    found.append(int(pid))
        except OSError:
            pass
    return sorted(found)


def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def write_npy(path, shape, known=0.25):
    """A picture of waves and steps of which that share is known."""
    height, width = shape
    a, b, c = (draw.uniform(20, 60) for _ in range(3))
    across = [math.sin(x / a) for x in range(width)]
    values = []
    for y in range(height):
        down = math.cos(y / b)
        values += (
            across[x] * down + (int(x / c + y / a) & 1) if draw.random() < known else math.nan
            for x in range(width)
        )
    with open(path, "wb") as file:
        file.write(npy(values, shape, "<f4"))


def write_mask(path, like):
    """A quarter of the entries of a .npy of write_npy."""
    shape, _, values = read_npy(like)
    with open(path, "wb") as file:
        file.write(npy([draw.random() < 0.25 for _ in values], shape, "|u1"))


def write_npz(path, like):
    """The known entries of a .npy of write_npy, stored as numpy.savez does, in any order."""
    shape, _, values = read_npy(like)
    index = [i for i, value in enumerate(values) if not math.isnan(value)]
    if draw.random() < 0.5:
        draw.shuffle(index)
    npz(
        path, y=npy([values[i] for i in index], (len(index),), "<f4"),
        index=npy(index, (len(index),), "<i8"), shape=npy(shape, (2,), "<i8"),
    )


def run_tests(*tests):
    """Each in its turn, in one temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for test in tests:
            begin = time.time()
            test()
            print(f"{test.__name__}: {time.time() - begin:.1f} s", flush=True)
        os.chdir("/")
