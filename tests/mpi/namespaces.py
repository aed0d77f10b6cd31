# SPDX-License-Identifier: BSD-3-Clause
"""namespaces.py - "hosts" on one machine: network namespaces with an address and a host name each, which
a launcher of MPI reaches by a script instead of ssh; and networks between them: a cable, or one on
which every packet takes a set time. Only root may make them."""
import collections
import ctypes
import fcntl
import os
import select
import signal
import socket
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


def tc(*words):
    return done("tc", *words)


def has_netem(name):
    good = tc("-n", name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
    return good and tc("-n", name, "qdisc", "del", "dev", "lo", "root")


class Hosts:
    """`count` namespaces; .names by address. Nothing connects them yet."""

    def __init__(self, count):
        number = os.getpid()
        self.network = f"10.203.{number % 250}"
        self.names = {f"{self.network}.{i}": f"csrec{number}-{i}" for i in range(1, count + 1)}
        self.first = next(iter(self.names.values()))
        self.relay = self.switch = None

    def set_up(self):
        """Whether this machine allows it."""
        good = all(ip("netns", "add", name) for name in self.names.values())
        good = good and all(ip("-n", name, "link", "set", "lo", "up") for name in self.names.values())
        return good and done(*self.inside(self.first, "true"))

    def tear_down(self):
        self.stop_relay()
        for name in [*self.names.values(), *filter(None, [self.switch])]:
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
        """A network on which a packet takes that long, in place of that before; "netem", "relay", or
        None: not possible."""
        if not self.relay and (self.switch or has_netem(self.first)):
            return "netem" if self.start_netem(seconds) else None
        self.stop_relay()
        return "relay" if self.start_relay(seconds) else None

    def start_netem(self, seconds):
        """Cables to a bridge, each of which holds what its host sends for that time."""
        good = True
        if not self.switch:
            self.switch = f"csrec{os.getpid()}-0"
            good = ip("netns", "add", self.switch)
            good = good and ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
            good = good and ip("-n", self.switch, "link", "set", "bridge", "up")
            for i, (address, name) in enumerate(self.names.items()):
                peer = ["type", "veth", "peer", "name", f"port{i}", "netns", self.switch]
                good = good and ip("-n", name, "link", "add", "slow0", *peer)
                good = good and ip("-n", self.switch, "link", "set", f"port{i}", "master", "bridge", "up")
                good = good and self.use(name, "slow0", address)
        delay = ["netem", "delay", f"{round(1e6 * seconds)}us", "limit", "100000"]
        for name in self.names.values():
            good = good and tc("-n", name, "qdisc", "replace", "dev", "slow0", "root", *delay)
        return good

    def start_relay(self, seconds):
        """A process with a TUN device on every host, which passes the packets on after that time."""
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

    # ------------------------------------------------------------------ measuring

    def round_trips(self, count, size=64):
        """Seconds from the first host to the second and back, of packets one after another."""
        (_, name), (address, other) = list(self.names.items())[:2]
        ready, told = os.pipe()
        echo = os.fork()
        if echo == 0:
            try:
                enter(other)
                answer(address, told)
            finally:
                os._exit(1)
        os.read(ready, 1)
        asker = os.fork()
        if asker == 0:
            try:
                enter(name)
                os.write(told, struct.pack(f"{count}d", *ask(address, count, bytes(size))))
            finally:
                os._exit(0)
        os.close(told)
        os.waitpid(asker, 0)
        found = os.read(ready, 8 * count)
        os.close(ready)
        os.kill(echo, signal.SIGKILL)
        os.waitpid(echo, 0)
        return struct.unpack(f"{count}d", found)


PORT = 9


def answer(address, told):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind((address, PORT))
        os.write(told, b"+")
        while True:
            own.sendto(*own.recvfrom(65536))


def ask(address, count, data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.connect((address, PORT))
        own.settimeout(30)
        for _ in range(count):
            begin = time.monotonic()
            own.send(data)
            own.recv(65536)
            yield time.monotonic() - begin


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
