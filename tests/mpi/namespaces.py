# SPDX-License-Identifier: BSD-3-Clause
"""namespaces.py - "hosts" on one machine: network namespaces with an address and a host name each, which
a launcher of MPI reaches by a script instead of ssh; and networks between them: a cable, or one on
which every packet takes a set time at least. Only root may make them."""
import collections
import ctypes
import fcntl
import os
import select
import signal
import struct
import subprocess
import time

libc = ctypes.CDLL(None, use_errno=True)


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
        self.relay = None

    def set_up(self):
        """Whether this machine allows it."""
        good = all(ip("netns", "add", name) for name in self.names.values())
        good = good and all(ip("-n", name, "link", "set", "lo", "up") for name in self.names.values())
        return good and done(*self.inside(self.first, "true"))

    def tear_down(self):
        self.stop_relay()
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

    def connect_slowly(self, seconds):
        """A process with a TUN device on every host, which passes the packets on after that time;
        whether that is possible."""
        ready, told = os.pipe()
        self.relay = os.fork()
        if self.relay == 0:
            try:
                os.close(ready)
                PR_SET_PDEATHSIG, PR_SET_TIMERSLACK = 1, 29
                libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                libc.prctl(PR_SET_TIMERSLACK, 1)
                run_first()
                devices = {address: open_tun(name) for address, name in self.names.items()}
                os.write(told, b"+")
                os.close(told)
                relay(devices, seconds)
            finally:
                os._exit(1)
        os.close(told)
        good = os.read(ready, 1) == b"+"
        os.close(ready)
        return good and all(self.use(name, "slow0", address) for address, name in self.names.items())

    def stop_relay(self):
        if self.relay:
            os.kill(self.relay, signal.SIGKILL)
            os.waitpid(self.relay, 0)
        self.relay = None


def run_first():
    """Before the ranks, as a network does not wait for a processor."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass  # later packets then, never earlier ones


def enter(name):
    """This thread goes on in the network of that namespace."""
    with open(f"/run/netns/{name}", "rb") as file:
        if libc.setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"setns {name}")


def open_tun(name):
    """A device slow0 in that namespace, which this process then is in, that ends with the file."""
    TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
    enter(name)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"slow0", IFF_TUN | IFF_NO_PI))
    return tun


def relay(devices, seconds):
    """Passes packets of IPv4 on, each `seconds` after it was read. devices: files, by address. As all
    take equally long, the queue is in the order of time."""
    target = {bytes(map(int, address.split("."))): tun for address, tun in devices.items()}
    queue = collections.deque()
    poll = list(devices.values())
    while True:
        now = time.monotonic()
        while queue and queue[0][0] <= now:
            packet = queue.popleft()[1]
            try:
                os.write(target[packet[16:20]], packet)
            except (KeyError, OSError):
                pass  # to nobody, or not taken, as by any network
            now = time.monotonic()
        for tun in select.select(poll, [], [], max(queue[0][0] - now, 0) if queue else None)[0]:
            try:
                while True:
                    packet = os.read(tun, 65536)
                    if packet[0] >> 4 == 4:
                        queue.append((time.monotonic() + seconds, packet))
            except OSError:
                pass  # no more
