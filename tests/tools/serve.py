#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""serve.py BUILD - csrecover serve: results against the tools, limits, and clients that send
nonsense, are slow, or are killed at any point, beside one that must not notice. 77: built without."""
import ast
import contextlib
import json
import os
import random
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from npy import npy as plain, read_npy  # noqa: E402

TOOL = os.path.join(sys.argv[1], "csrecover")
SEED = int(os.environ.get("CSREC_TEST_SEED", time.time_ns()))
print(f"CSREC_TEST_SEED={SEED}", flush=True)
draw = random.Random(SEED)
SHAPE = [24, 20]
TRUTH = [float((y * 7 + x * 3) % 40 + (60 if (y - 9) ** 2 + (x - 8) ** 2 < 30 else 0))
         for y in range(24) for x in range(20)]


def npy(values, code="d"):
    return plain(values, [len(values)], {"d": "<f8", "q": "<i8"}[code])


def values_of(data):
    size = 10 + struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:size].decode())
    code = {"<f8": "d", "<i8": "q"}[head["descr"]]
    return list(struct.unpack(f"<{(len(data) - size) // 8}{code}", data[size:])), head["shape"]


class Client:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def send(self, what, arrays=(), **fields):
        line = {"do": what, **fields, "arrays": [[name, len(data)] for name, data in arrays]}
        self.writer.write(json.dumps(line).encode() + b"\n" + b"".join(data for _, data in arrays))
        self.writer.flush()

    def answer(self):
        line = json.loads(self.reader.readline())
        return line, {name: values_of(self.reader.read(size)) for name, size in line["arrays"]}

    def ask(self, what, arrays=(), **fields):
        self.send(what, arrays, **fields)
        line, found = self.answer()
        assert line["ok"], line
        return line, found

    def refused(self, words, what, arrays=(), **fields):
        self.send(what, arrays, **fields)
        line, _ = self.answer()
        assert not line["ok"] and words in line["error"], (words, line)

    def add(self, at):
        return self.ask("add", [("positions", npy(at, "q")), ("values", npy([TRUTH[i] for i in at]))])


def open_socket(path):
    link = socket.socket(socket.AF_UNIX)
    while link.connect_ex(path):  # too many wait
        time.sleep(0.05)
    link.settimeout(300)
    return link


def connect(path):
    file = open_socket(path).makefile("rwb")
    return Client(file, file)


def results(client, folder):
    """Rounds, whose picture is that of the tool, to the bit."""
    line, _ = client.ask("open", shape=SHAPE, sigma=0, quality="balanced", id=[1, "a"])
    assert line["id"] == [1, "a"]
    found = client.ask("next", count=90, seed=5)[1]["positions"]
    assert found[1] == (90,) and len(set(found[0])) == 90
    assert client.add(found[0])[0]["left"] == 0
    more = client.ask("next", count=20, tile=[1, 20])[1]["positions"][0]
    assert len({at // 20 for at in more}) == 1 and not set(more) & set(found[0])
    line, _ = client.ask("add", [("positions", npy([3, 4], "q")), ("values", npy([1, float("nan")]))])
    assert line["left"] == 1
    picture = client.ask("picture")[1]["picture"]
    assert picture[1] == tuple(SHAPE)
    scan, out = os.path.join(folder, "scan.npz"), os.path.join(folder, "out.npy")
    client.ask("save", path=scan)
    rms = client.ask("expected")[0]["rms"]
    assert 0 < rms < 100
    client.ask("close")
    client.ask("open", shape=SHAPE, method="smooth")
    client.refused("nothing is measured", "picture")
    client.ask("load", path=scan)
    client.ask("picture")
    client.ask("frame")
    client.ask("picture")
    client.ask("close")
    return picture[0], scan, out


def same_as_tool(picture, scan, out):
    subprocess.run([TOOL, scan, "-o", out, "-q"], check=True)
    assert list(read_npy(out)[2]) == picture


MISTAKES = (("do: must be", "opne", (), {}), ("do: must be", None, (), {}),
            ("shape", "open", (), {}), ("shape", "open", (), {"shape": [0, 3]}),
            ("limit", "open", (), {"shape": [1 << 20, 1 << 20]}),
            ("field 'sahpe'", "open", (), {"sahpe": [3, 3]}),
            ("quality", "open", (), {"shape": [9], "quality": "great"}),
            ("settings", "open", (), {"shape": [9], "settings": {"x": "y"}}),
            ("no session", "picture", (), {}),
            ("unknown here", "open", (("wrong", npy([1.0])),), {"shape": [9]}),
            ("allowed", "open", (("allowed", npy([1.0])),), {"shape": [9]}),
            ("twice", "open", (("guide:a", npy([1.0])), ("guide:a", npy([1.0] * 9))), {"shape": [9]}))


def mistakes(client):
    for words, what, arrays, fields in MISTAKES:
        client.refused(words, what, arrays, **fields)
    client.ask("open", shape=[9], method="smooth")
    for words, what, arrays, fields in (
            ("close it first", "open", (), {"shape": [9]}),
            ("positions", "add", (), {}),
            ("positions", "add", (("positions", npy([1.0])),), {}),
            ("values", "add", (("positions", npy([1], "q")),), {}),
            ("must have 1", "add", (("positions", npy([1], "q")), ("values", npy([1, 2.0]))), {}),
            ("outside", "add", (("positions", npy([9], "q")), ("values", npy([1.0]))), {}),
            ("outside", "add", (("positions", npy([2 ** 63 - 1], "q")), ("values", npy([1.0]))), {}),
            ("count", "next", (), {}), ("count", "next", (), {"count": "9"}),
            ("count", "next", (), {"count": 0}), ("path", "save", (), {}),
            ("even", "next", (), {"count": 1, "even": 1}),
            ("", "load", (), {"path": "/nowhere/at/all"}),
            ("", "add", (("positions", b"no array"), ("values", npy([1.0]))), {})):
        client.refused(words, what, arrays, **fields)
    client.ask("close")


def nonsense(path):
    """Each is answered by a line, and ends its client alone."""
    for data in (b"hello\n", b"[1]\n", b"{" * 5000 + b"\n", b"x" * 70000, b'{"do":"a","do":"b"}\n',
                 b'{"arrays":5}\n', b'{"arrays":[["a"]]}\n', b'{"arrays":[["a",-1]]}\n',
                 b'{"arrays":[["a",1e3]]}\n', b'{"arrays":[["a",99999999999999]]}\n', b"\xff\xfe\0\n",
                 bytes(draw.randrange(256) for _ in range(300)) + b"\n{\n"):
        link = open_socket(path)
        file = link.makefile("rwb")
        file.write(data)
        file.flush()
        line = json.loads(file.readline())
        assert not line["ok"] and line["error"], line
        try:
            assert file.read() == b""
        except ConnectionResetError:
            pass  # of bytes that nobody read


def killed(path):
    """Clients that end within a message, or do not take the answer."""
    whole = json.dumps({"do": "open", "shape": SHAPE, "arrays": []}).encode() + b"\n"
    at = npy(list(range(0, 480, 5)), "q")
    y = npy(TRUTH[::5])
    whole += json.dumps({"do": "add", "arrays": [["positions", len(at)], ["values", len(y)]]}).encode() \
        + b"\n" + at + y + b'{"do":"picture"}\n' * 3
    for _ in range(30):
        link = open_socket(path)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # while others are served
            link.sendall(whole[:draw.randrange(len(whole) + 1)])
        if draw.random() < 0.5:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.close()


def slow(path):
    link = open_socket(path)
    link.sendall(b'{"do":')
    line = json.loads(link.makefile("rb").readline())
    assert not line["ok"] and "too long" in line["error"]
    link = open_socket(path)
    link.sendall(b'{"do":"open","shape":[4],"arrays":[["allowed",200]]}\nxx')
    line = json.loads(link.makefile("rb").readline())
    assert not line["ok"] and "too long" in line["error"]


def by_stdin(server, folder):
    same_as_tool(*results(Client(server.stdout, server.stdin), folder))
    mistakes(Client(server.stdout, server.stdin))
    server.stdin.close()
    assert server.wait(300) == 0


def by_socket(server, path, command):
    assert b"listens" in server.stderr.readline()
    mode = os.stat(path).st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 1
    steady = connect(path)
    steady.ask("open", shape=SHAPE)
    steady.add(list(range(0, 480, 7)))
    before = steady.ask("picture")[1]
    nonsense(path)
    slow(path)
    killed(path)
    others = []
    while len(others) < 7:  # until those killed are gone
        other = connect(path)
        try:
            other.ask("close")
            others.append(other)
        except (AssertionError, ConnectionError):
            time.sleep(0.2)
    assert "too many" in connect(path).answer()[0]["error"]
    mistakes(others[0])
    assert steady.ask("picture")[1] == before
    steady.add([1, 2])
    assert steady.ask("picture")[1] != before
    server.send_signal(signal.SIGTERM)
    assert server.wait(300) == 143 and not os.path.exists(path)


def main():
    found = subprocess.run([TOOL, "serve"], stdin=subprocess.DEVNULL, capture_output=True)
    if b"without jansson" in found.stderr:
        print("SKIP: built without jansson")
        return 77
    assert found.returncode == 0 and found.stdout == b""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        command = [TOOL, "serve", path, "-t", "1", "--clients", "8", "--timeout", "2"]
        for run, *more in ((by_stdin, folder), (by_socket, path, command)):
            words = command if run == by_socket else [TOOL, "serve", "-t", "1"]
            with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as server:
                try:
                    run(server, *more)
                finally:
                    server.kill()
    return 0


sys.exit(main())
