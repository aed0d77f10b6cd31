#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ranks_delay.py [--log2-n 18] [--ranks 2 4 8] [--delays US ...] [--repeats 3] - one exact pursuit by ranks
of Open MPI, each a "host" of its own (a network namespace), on a network on which every packet takes a
set time: seconds of the pursuit (the least of the repeats, as other
programs run on the machine), as csrecover --json tells them, beside those of the model,

    seconds without delay + rounds s delay,   s = log2(ranks), rounded up

(docs/pursuit.md); the delay is the one reached, the median by an echo. The files are compared with that
of one process. The last rows are of messages that ask the receiver before they send (rendezvous), as
Open MPI's above 64 KiB do. Needs root, Linux and Open MPI; the delays are netem's, or where the kernel
has none those of a relay (tests/mpi/namespaces.py)."""
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import common
import many

sys.path.insert(0, str(common.ROOT / "tests" / "mpi"))
from namespaces import Hosts  # noqa: E402

ENVIRONMENT = dict(
    os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
    OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")


def make(path, log2_n, seed=1):
    """A picture of waves, steps and noise with 4 N pixels, N of them known."""
    height, rng = 1 << (log2_n + 2) // 2, np.random.default_rng(seed)
    scan = many.scene(height, (4 << log2_n) // height)
    scan += 16 * rng.random(scan.shape, np.float32)
    scan.ravel()[rng.permutation(scan.size)[1 << log2_n:]] = np.nan
    np.save(path, scan)


def launch(words, name):
    """The summary of csrecover."""
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        sys.exit(f"ranks_delay.py: {name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tool = [str(Path(arguments.build).resolve() / "csrecover"), "picture.npy", "--shifts", "1",
                     "--atoms", str((1 << arguments.log2_n) // 4), "--epsilon", "0",
                     "--columns", "paper", "--threads", "1", "--backend", "cpu", "--quiet", "--json"]
        self.whole = None

    def one(self):
        seconds = [launch([*self.tool, "-C", "one.npz"], "one process")["seconds"]["pursuit"]
                   for _ in range(self.arguments.repeats)]
        self.whole = Path("one.npz").read_bytes()
        return min(seconds)

    def ranks(self, hosts, ranks, eager):
        """Of each repeat the summary; the bytes have to be those of one process."""
        hosts.write_agent("agent.sh")
        mpirun = [*self.arguments.mpirun, *hosts.open_mpi("agent.sh", 1), "-n", str(ranks)]
        for name in ("btl_tcp_eager_limit", "btl_tcp_rndv_eager_limit") if eager else ():
            mpirun += ["--mca", name, str(eager)]
        found = []
        for _ in range(self.arguments.repeats):
            Path("all.npz").unlink(missing_ok=True)
            found.append(launch(hosts.inside(hosts.first, *mpirun, *self.tool, "-C", "all.npz"),
                                f"{ranks} ranks"))
            if Path("all.npz").read_bytes() != self.whole:
                sys.exit(f"ranks_delay.py: {ranks} ranks: other bytes than those of one process")
        return found


def row(ranks, delay, latency, found):
    depth = math.ceil(math.log2(ranks))
    told = found[0]["exchanges"]
    return {"ranks": ranks, "delay_us": delay, "latency_us": round(1e6 * latency, 1),
            "seconds": round(min(r["seconds"]["pursuit"] for r in found), 4),
            "seconds_all": [round(r["seconds"]["pursuit"], 4) for r in found],
            "seconds_exchanging": round(min(r["exchanges"]["seconds"] for r in found), 4),
            "rounds": told["rounds"], "messages": told["messages"], "bytes": told["bytes"],
            "messages_deep": told["rounds"] * depth, "atoms": found[0]["iterations"]}


def expect(rows):
    """The model's seconds; the first row is that without delay."""
    for r in rows:
        added = 1e-6 * (r["latency_us"] - rows[0]["latency_us"])
        r["seconds_expected"] = round(rows[0]["seconds"] + r["messages_deep"] * added, 4)


def measure(bench, ranks, delays, eager=None):
    """By which means, and rows."""
    hosts, rows, means = Hosts(ranks), [], None
    try:
        if not hosts.set_up():
            return None, rows
        for delay in delays:
            means = hosts.connect_slowly(1e-6 * delay)
            if not means:
                return None, rows
            trips = hosts.round_trips(200 if delay < 2000 else 50)
            rows.append(row(ranks, delay, statistics.median(trips) / 2, bench.ranks(hosts, ranks, eager)))
            expect(rows)
            r = rows[-1]
            print(f"{ranks:5} {delay:8} {r['latency_us']:10.0f} {r['seconds']:8.3f} "
                  f"{r['seconds_expected']:8.3f} {r['rounds']:7} {r['messages']:8} {r['bytes']:10}"
                  + (f"  eager limit {eager}" if eager else ""), flush=True)
    finally:
        hosts.tear_down()
    return means, rows


def main():
    arguments = common.arguments(
        __doc__, "pursuit_delay.json", log2_n=18, ranks=[2, 4, 8],
        delays=([0, 500, 5000, 20000], "us, 0 first"), repeats=3,
        mpirun=("mpirun", "with options of its own"))
    arguments.mpirun = shlex.split(arguments.mpirun)
    mpi = many.version(arguments.mpirun[0])
    if "Open MPI" not in mpi:
        sys.exit("ranks_delay.py: skipped: needs mpirun of Open MPI")
    arguments.json = os.path.abspath(arguments.json)
    bench = Bench(arguments)
    data = {"machine": common.describe(arguments.build), "mpi": mpi, "log2_n": arguments.log2_n,
            "repeats": arguments.repeats, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make("picture.npy", arguments.log2_n)
        data["seconds_one"] = round(bench.one(), 4)
        print(f"one process: {data['seconds_one']} s\n"
              "ranks delay,us latency,us  seconds expected  rounds messages      bytes")
        for ranks in arguments.ranks:
            data["network"], rows = measure(bench, ranks, arguments.delays)
            if not data["network"]:
                sys.exit("ranks_delay.py: skipped: no network namespaces (they need root)")
            data["rows"] += rows
        data["eager_limit"] = 512
        data["rendezvous"] = measure(bench, 4, [0, 5000], data["eager_limit"])[1]
        os.chdir("/")
    common.write(arguments.json, data)


if __name__ == "__main__":
    main()
