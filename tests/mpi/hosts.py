#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hosts.py BUILD openmpi|mpich - ranks on two "hosts": network namespaces with an address and a host
name each, which the launcher reaches by a script instead of ssh. The bytes are those of one process,
with a common file system and without; a rank killed on the other host ends the run. Exit code 77
without that MPI, or where the machine does not allow namespaces."""
import os
import subprocess
import time

from launch import (
    OPEN, build, bytes_of, draw, environment, launcher, lines_of_ours, processes, run, run_tests, skip,
    wait_until, write_npy,
)
from namespaces import Hosts

LIMIT = 30
hosts = Hosts(2)


def command(ranks, *words):
    """Half of the ranks on each host; the launcher is on the first."""
    options = (hosts.open_mpi if OPEN else hosts.mpich)("agent.sh", (ranks + 1) // 2)
    inner = [launcher, *options, "-n", str(ranks), f"{build}/{words[0]}", *words[1:]]
    return hosts.inside(hosts.first, *inner)


def launch(ranks, *words, code=0):
    done = subprocess.run(
        command(ranks, *words), env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode == 0) == (code == 0), (words, done.returncode, done.stderr)
    return lines_of_ours(done.stderr)


OPTIONS = ["big.npy", "--tile", "90000", "--quality", "fast"]


def two_hosts_share_tiles():
    write_npy("big.npy", (draw.randrange(800, 900), draw.randrange(800, 900)))
    run(0, "csrecover", *OPTIONS, "-o", "one.npy")
    hosts.write_agent("agent.sh")
    for ranks in (2, 4):
        ours = launch(ranks, "csrecover", *OPTIONS, "-o", "all.npy", "--verbose")
        assert not any("rank 0 writes" in line for line in ours), ours
        assert bytes_of("all.npy") == bytes_of("one.npy")
        os.remove("all.npy")


def two_hosts_share_files():
    names = [f"f{k}.npy" for k in range(8)]
    for name in names:
        write_npy(name, (40, draw.randrange(40, 50)))
    with open("bad.npy", "w", encoding="ascii") as file:
        file.write("no array")
    options = ["--quality", "fast", "-o"]
    run(0, "csrecover", *names, *options, "one/")
    ours = launch(4, "csrecover", *names, "bad.npy", *options, "all/", code=1)
    assert any(line.startswith("csrecover on csrec") and "bad.npy" in line for line in ours), ours
    for name in names:
        assert bytes_of("all/" + name) == bytes_of("one/" + name), name


def without_a_common_folder_rank_0_writes():
    os.mkdir("own")
    hosts.write_agent("agent.sh", os.path.abspath("own"))
    options = [*OPTIONS, "-o", "own/all.npy"]
    ours = launch(4, "csrecover", *options, "--verbose", "--resume")
    assert sum("rank 0 writes the values of all" in line for line in ours) == 1, ours
    assert bytes_of("own/all.npy") == bytes_of("one.npy")
    assert os.listdir("own") == ["all.npy"]


def of_host(name):
    """Ranks of a host."""
    found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout
    return sorted(set(processes(".")) & {int(pid) for pid in found.split()})


def a_rank_killed_on_the_other_host_ends_all():
    hosts.write_agent("agent.sh")
    first, second = hosts.names.values()
    slow = [*OPTIONS, "--set", "steps=9000", "--quiet"]
    with open("said", "w", encoding="utf-8") as said:
        process = subprocess.Popen(
            command(4, "csrecover", *slow, "-o", "killed.npy"), env=environment, stdout=subprocess.DEVNULL,
            stderr=said,
        )
        wait_until(lambda: len(of_host(first)) == 2 and len(of_host(second)) == 2)
        time.sleep(draw.uniform(0.0, 1.0))
        begin = time.monotonic()
        os.kill(draw.choice(of_host(second)), 9)
        assert process.wait(timeout=LIMIT) != 0
        wait_until(lambda: not processes("."), LIMIT)
    print(f"  ended within {time.monotonic() - begin:.1f} s")
    with open("said", encoding="utf-8") as said:
        ours = lines_of_ours(said.read())
    assert len(ours) <= 1, ours
    assert not os.path.exists("killed.npy")


try:
    if not (hosts.set_up() and hosts.connect()):
        skip("no network namespaces (they need root)")
    run_tests(
        two_hosts_share_tiles, two_hosts_share_files, without_a_common_folder_rank_0_writes,
        a_rank_killed_on_the_other_host_ends_all,
    )
finally:
    hosts.tear_down()
