# SPDX-License-Identifier: BSD-3-Clause
"""namespaces.py - "hosts" on one machine: network namespaces with an address and a host name each, which
a launcher of MPI reaches by a script instead of ssh; and a cable between two. Only root may make
them."""
import os
import subprocess


def done(*words):
    """Whether the command is there and succeeds."""
    try:
        return subprocess.run(words, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def ip(*words):
    return done("ip", *words)


class Hosts:
    """`count` namespaces; .names by address. Nothing connects them yet."""

    def __init__(self, count):
        number = os.getpid()
        self.network = f"10.203.{number % 250}"
        self.names = {f"{self.network}.{i}": f"csrec{number}-{i}" for i in range(1, count + 1)}
        self.first = next(iter(self.names.values()))

    def set_up(self):
        """Whether this machine allows it."""
        good = all(ip("netns", "add", name) for name in self.names.values())
        good = good and all(ip("-n", name, "link", "set", "lo", "up") for name in self.names.values())
        return good and done(*self.inside(self.first, "true"))

    def tear_down(self):
        for name in self.names.values():
            ip("netns", "del", name)

    def inside(self, name, *words):
        """The command on that host, under its name."""
        own = ["unshare", "--uts", "sh", "-c", f'hostname {name} && exec "$@"', "sh"]
        return ["ip", "netns", "exec", name, *own, *words]

    def write_agent(self, path, private=""):
        """agent HOST COMMAND...; the second host has a folder of its own under the name `private`."""
        second = list(self.names)[1]
        names = "\n".join(f"{address}) name={name} ;;" for address, name in self.names.items())
        with open(path, "w", encoding="ascii") as file:
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
        os.chmod(path, 0o755)

    def open_mpi(self, agent, ranks_each):
        """Options of Open MPI's mpirun; the launcher has to be on the first host."""
        options = ["--host", ",".join(f"{address}:{ranks_each}" for address in self.names)]
        options += ["--mca", "plm_rsh_agent", os.path.abspath(agent), "--mca", "plm", "rsh"]
        for part in ("btl", "oob"):
            options += ["--mca", f"{part}_tcp_if_include", f"{self.network}.0/24"]
        return options

    def mpich(self, agent, ranks_each):
        """Options of MPICH's mpirun."""
        options = ["-hosts", ",".join(self.names), "-ppn", str(ranks_each)]
        return [*options, "-launcher", "rsh", "-launcher-exec", os.path.abspath(agent)]

    # ------------------------------------------------------------------ networks

    def use(self, name, device, address):
        return ip("-n", name, "addr", "add", f"{address}/24", "dev", device) and ip(
            "-n", name, "link", "set", device, "up"
        )

    def connect(self):
        """A cable between two hosts."""
        cable = [f"cs{os.getpid()}v{i}" for i in (1, 2)]
        good = ip("link", "add", cable[0], "type", "veth", "peer", "name", cable[1])
        for end, (address, name) in zip(cable, self.names.items()):
            good = good and ip("link", "set", end, "netns", name) and self.use(name, end, address)
        return good
