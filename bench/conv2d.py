#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""conv2d.py - convolutions forward and backward: GFLOP/s by shape and bytes of workspace, beside the
plain way on one thread, the whole im2col matrix and one product by NumPy's BLAS an image; rounds of
learning and atoms of the pursuit a second. Needs NumPy, cffi and a built library. --quick: shorter."""
import os
import time

import onethread  # noqa: F401, before NumPy
import numpy as np

import common

# batch, channels in and out, side, kernel, padding
SHAPES = ((8, 64, 64, 128, 3, 1), (1, 64, 1, 512, 8, 4), (1, 1, 64, 512, 8, 4))


def numbers(*shape):
    return np.random.default_rng(1).random(shape, np.float32) - np.float32(0.5)


class Case:
    def __init__(self, batch, channels, out, side, kernel, pad, threads):
        from csrecover._library import check, ffi, lib, new_error, pointer
        self.lib, self.check, self.error, self.kernel, self.pad = lib, check, new_error(), kernel, pad
        self.conv = ffi.new("csrec_conv2d *", {
            "batch": batch, "channels_in": channels, "channels_out": out, "size": [side, side],
            "kernel": [kernel, kernel], "padding": [pad, pad], "threads": threads,
            "backend": (backend := ffi.new("char[]", b"cpu"))})
        edge = side + 2 * pad - kernel + 1
        self.X, self.W, self.dX, self.dW = (numbers(*shape) for shape in 2 * (
            (batch, channels, side, side), (out, channels, kernel, kernel)))
        self.Y, self.dB, self.keep = numbers(batch, out, edge, edge), numbers(out), backend
        weights, sizes = ffi.new("csrec_conv2d_weights **"), ffi.new("size_t[2]")
        self.call("weights_create", pointer(self.W, "float"), weights)
        self.call("workspace", sizes, sizes + 1)
        self.weights = ffi.gc(weights[0], lib.csrec_conv2d_weights_destroy)
        self.forward_room, self.backward_room = sizes
        self.room = ffi.new("char[]", max(sizes))
        self.at = {name: pointer(getattr(self, name), "float") for name in ("X", "Y", "dX", "dW", "dB")}
        self.at[None], self.null = ffi.NULL, ffi.NULL
        self.columns = np.empty((channels * kernel * kernel, edge * edge), np.float32)

    def call(self, what, *arguments):
        self.check(getattr(self.lib, f"csrec_conv2d_{what}")(self.conv, *arguments, self.error),
                   self.error)

    # ---- ours

    def forward(self):
        self.call("forward", self.at["X"], self.null, self.weights, self.null, self.at["Y"], self.room,
                  self.forward_room)

    def backward(self, X="X", dX="dX", dW="dW", dB="dB"):
        self.call("backward", self.at[X], self.null, self.weights if dX else self.null, self.at["Y"],
                  self.at[dX], self.at[dW], self.at[dB], self.room, self.backward_room)

    def backward_x(self):
        self.backward(None, "dX", None, None)

    def backward_w(self):
        self.backward("X", None, "dW", None)

    # ---- the plain way; strides 1 as in all shapes here

    def im2col(self, x):
        padded = np.pad(x, ((0, 0), (self.pad, self.pad), (self.pad, self.pad)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (self.kernel, self.kernel), (1, 2))
        self.columns.reshape(len(x), self.kernel, self.kernel, *windows.shape[1:3])[:] = (
            windows.transpose(0, 3, 4, 1, 2))

    def plain_forward(self):
        for n, x in enumerate(self.X):
            self.im2col(x)
            np.matmul(self.W.reshape(len(self.W), -1), self.columns,
                      out=self.Y[n].reshape(len(self.W), -1))

    def plain_backward(self):
        kernel, edge, side = self.kernel, self.Y.shape[-1], self.X.shape[-1]
        self.dW[:] = 0
        for n, x in enumerate(self.X):
            dY = self.Y[n].reshape(len(self.W), -1)
            self.im2col(x)
            self.dW += (dY @ self.columns.T).reshape(self.W.shape)
            np.matmul(self.W.reshape(len(self.W), -1).T, dY, out=self.columns)
            taps = self.columns.reshape(len(x), kernel, kernel, edge, edge)
            padded = np.zeros((len(x), side + 2 * self.pad, side + 2 * self.pad), np.float32)
            for a in range(kernel):
                for b in range(kernel):
                    padded[:, a:a + edge, b:b + edge] += taps[:, a, b]
            self.dX[n] = padded[:, self.pad:self.pad + side, self.pad:self.pad + side]
        self.dB[:] = self.Y.sum((0, 2, 3), dtype=float)


def measure(shape, threads, least):
    from library import least_ms
    case = Case(*shape, threads)
    batch, channels, out, side, kernel, pad = shape
    row = {"threads": threads, "workspace_bytes": max(case.forward_room, case.backward_room),
           "shape": f"({batch},{channels},{side},{side}) ({out},{channels},{kernel},{kernel}) pad {pad}",
           "im2col_bytes": case.columns.nbytes}
    flops = 2.0 * case.Y.size * channels * kernel ** 2
    ways = {"forward": case.forward, "dx": case.backward_x, "dw": case.backward_w,
            "backward": case.backward}
    if threads == 1:
        ways |= {"plain_forward": case.plain_forward, "plain_backward": case.plain_backward}
    for name, work in ways.items():
        ms = least_ms(work, 1, least)
        row |= {f"{name}_ms": ms, f"{name}_gflops": flops * (1 + ("backward" in name)) / ms * 1e-6}
    print(row, flush=True)
    return row


def learning(csrecover, threads, rounds):
    """Rounds a second on a picture of smooth noise; the first has 30 steps on the codes, others 5."""
    values = numbers(256 * 256)
    for i in range(1, values.size):
        values[i] += np.float32(0.9) * values[i - 1]
    for side in (8, 12):
        start = time.perf_counter()
        csrecover.learn_conv([values.reshape(256, 256)], filters=64, size=side, iterations=rounds,
                             threads=threads)
        yield {"filters": 64, "side": side, "picture": 256, "threads": threads, "rounds": rounds,
               "rounds_a_second": rounds / (time.perf_counter() - start)}


def pursuit(csrecover):
    """Atoms a second where only neighbours are updated, beside all correlations anew for each; the
    start is measured apart and taken off."""
    rng, local, whole = np.random.default_rng(3), 4000, 4
    scan = csrecover.sample(rng.standard_normal((256, 256)), 0.25, "uniform", 1)
    A = csrecover.Conv(rng.standard_normal((64, 8, 8)), scan.shape, scan.index)

    def seconds(atoms, reference):
        start = time.perf_counter()
        csrecover.solve(A, scan.y, "mp", atoms=atoms, reference=reference)
        return time.perf_counter() - start

    def rate(atoms, reference):
        return atoms / (seconds(atoms + 1, reference) - seconds(1, reference))
    return {"filters": 64, "samples": len(scan.y), "atoms_a_second": rate(local, False),
            "atoms_a_second_all_anew": rate(whole, True)}


def main():
    arguments = common.arguments(__doc__, "conv.json", quick=False)
    csrecover = common.load(arguments.build)
    rows = [measure(shape, threads, 0.2 if arguments.quick else 2.0) for shape in SHAPES
            for threads in sorted({1, os.cpu_count()})]
    found = {"conv2d": rows, "pursuit": pursuit(csrecover), "learning": list(
        learning(csrecover, os.cpu_count(), 3 if arguments.quick else 20))}
    print(found["pursuit"], *found["learning"], sep="\n")
    common.save(arguments, **found)


if __name__ == "__main__":
    main()
