#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slow_hosts.py BUILD openmpi|mpich - "hosts" on a network on which every packet takes a set time: a
pursuit shared over it gives the bytes of one process, and tells its messages. Exit code 77 without that MPI, or where the machine does not allow namespaces."""
import json
import math
import os
import subprocess

from launch import OPEN, build, bytes_of, draw, environment, launcher, run, run_tests, skip, write_npy
from namespaces import Hosts


def one_pursuit():
    """Messages: of each exchange, and of one before, each rank sends log2(ranks), rounded up."""
    write_npy("picture.npy", (draw.randrange(60, 120), draw.randrange(60, 120)))
    options = ["picture.npy", "--shifts", "1", "--epsilon", "0.05", "--json", "--quiet", "-C"]
    one = json.loads(run(0, "csrecover", *options, "one.npz").stdout)
    assert one["exchanges"] is None
    ranks = draw.randrange(2, 5)
    hosts = Hosts(ranks)
    try:
        if not hosts.set_up():
            skip("no network namespaces (they need root)")
        assert hosts.connect_slowly(1e-3)
        hosts.write_agent("agent.sh")
        mpi = (hosts.open_mpi if OPEN else hosts.mpich)("agent.sh", 1)
        words = [launcher, *mpi, "-n", str(ranks), f"{build}/csrecover", *options, "all.npz"]
        done = subprocess.run(
            hosts.inside(hosts.first, *words), env=environment, capture_output=True, text=True, timeout=300,
        )
    finally:
        hosts.tear_down()
    assert done.returncode == 0, (words, done.stderr)
    told = json.loads(done.stdout)["exchanges"]
    assert bytes_of("all.npz") == bytes_of("one.npz")
    deep = math.ceil(math.log2(ranks))
    assert told["messages"] == (told["rounds"] + 1) * ranks * deep, (ranks, told)
    assert told["bytes"] > 16 * told["messages"] and told["seconds"] > 0, told
    assert not os.path.exists("/run/netns/" + hosts.first)


run_tests(one_pursuit)
