#!/usr/bin/env python3
"""hosts.py BUILD openmpi|mpich - ranks on two "hosts": network namespaces with an address and a host
name each, which the launcher reaches by a script instead of ssh. The bytes are those of one process,
with a common file system and without; a rank killed on the other host ends the run. Exit code 77
without that MPI, or where the machine does not allow namespaces."""
import os
import subprocess
import time

from launch import (
    OPEN,
    build,
    bytes_of,
    draw,
    environment,
    launcher,
    lines_of_ours,
    processes,
    run,
    run_tests,
    skip,
    wait_until,
    write_npy,
)

LIMIT = 30
HOSTS = {f"10.203.{os.getpid() % 250}.{i}": f"csrec{os.getpid()}-{i}" for i in (1, 2)}
NET = next(iter(HOSTS)).rsplit(".", 1)[0] + ".0/24"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True)


def set_up():
    """Whether the two hosts are there: a namespace each, and a cable between them."""
    cable = [f"cs{os.getpid()}v{i}" for i in (1, 2)]
    good = all(ip("netns", "add", name).returncode == 0 for name in HOSTS.values())
    good = good and not ip("link", "add", cable[0], "type", "veth", "peer", "name", cable[1]).returncode
    for end, (address, name) in zip(cable, HOSTS.items()):
        good = good and not ip("link", "set", end, "netns", name).returncode
        good = good and not ip("-n", name, "addr", "add", address + "/24", "dev", end).returncode
        good = good and not ip("-n", name, "link", "set", end, "up").returncode
        good = good and not ip("-n", name, "link", "set", "lo", "up").returncode
    inside = ["ip", "netns", "exec", next(iter(HOSTS.values())), "unshare", "--uts", "true"]
    return good and subprocess.run(inside, capture_output=True).returncode == 0


def tear_down():
    for name in HOSTS.values():
        ip("netns", "del", name)


def write_agent(private):
    """agent HOST COMMAND...; the second host has a folder of its own under the name `private`."""
    second = list(HOSTS)[1]
    names = "\n".join(f"{address}) name={name} ;;" for address, name in HOSTS.items())
    with open("agent.sh", "w", encoding="ascii") as file:
        file.write(
            f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
case $host in
{names}
esac
mount=
[ -z "{private}" ] || [ $host != {second} ] || mount='mount -t tmpfs none {private} &&'
exec ip netns exec $name unshare --uts --mount sh -c "$mount hostname $name && $*"
"""
        )
    os.chmod("agent.sh", 0o755)


def command(ranks, *words):
    """Half of the ranks on each host; the launcher is on the first."""
    agent, half = os.path.abspath("agent.sh"), (ranks + 1) // 2
    if OPEN:
        options = ["--host", ",".join(f"{address}:{half}" for address in HOSTS)]
        options += ["--mca", "plm_rsh_agent", agent, "--mca", "plm", "rsh"]
        for part in ("btl", "oob"):
            options += ["--mca", f"{part}_tcp_if_include", NET]
    else:
        options = ["-hosts", ",".join(HOSTS), "-ppn", str(half)]
        options += ["-launcher", "rsh", "-launcher-exec", agent]
    inner = [launcher, *options, "-n", str(ranks), f"{build}/{words[0]}", *words[1:]]
    first = next(iter(HOSTS.values()))
    uts = ["unshare", "--uts", "sh", "-c", f'hostname {first} && exec "$@"', "sh"]
    return ["ip", "netns", "exec", first, *uts, *inner]


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
    write_agent("")
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
    write_agent(os.path.abspath("own"))
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
    write_agent("")
    first, second = HOSTS.values()
    slow = [*OPTIONS, "--set", "steps=9000", "--quiet"]
    with open("said", "w", encoding="utf-8") as said:
        process = subprocess.Popen(
            command(4, "csrecover", *slow, "-o", "killed.npy"),
            env=environment,
            stdout=subprocess.DEVNULL,
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
    if not set_up():
        skip("no network namespaces (they need root)")
    run_tests(
        two_hosts_share_tiles,
        two_hosts_share_files,
        without_a_common_folder_rank_0_writes,
        a_rank_killed_on_the_other_host_ends_all,
    )
finally:
    tear_down()
