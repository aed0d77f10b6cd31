#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cudnn.py - a pass of the installed gray prior, and chains of its convolutions, by the library and by
PyTorch in one run: by cuDNN on a GPU, without one by oneDNN on --threads cores. Seconds are from arrays
of the host to arrays of the host, the best of some; weights are prepared before. Needs PyTorch and the
library: of --build, beside CSRECOVER_TOOLS or on LD_LIBRARY_PATH."""
import copy
import ctypes as c
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch

import common

sys.path.insert(0, str(common.ROOT / "training"))
import network  # noqa: E402

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
TYPES = {"float32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}


def library(build):
    tools = os.environ.get("CSRECOVER_TOOLS", build)
    folders = [build, tools, f"{tools}/../lib", *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    found = [path for folder in folders for path in sorted(Path(folder or ".").glob("libcsrec.so*"))]
    return c.CDLL(str(found[0].resolve() if found else "libcsrec.so"))


class Layer(c.Structure):
    _fields_ = [("kind", c.c_int), ("channels", c.c_int64), ("add", c.c_int64), ("relu", c.c_bool)]


class Options(c.Structure):
    _fields_ = [("threads", c.c_int), ("backend", c.c_char_p), ("fast", c.c_bool)]


def ours(lib, net, x, threads, fast):
    """A function that makes y."""
    def check(status):
        if status:
            raise RuntimeError(error.value.decode())
    error, handle, weights = c.create_string_buffer(512), c.c_void_p(), net.flat().numpy()
    y = np.empty((net.layers[-1][1], *x.shape[1:]), np.float32)
    layers = (Layer * len(net.layers))(*net.layers)
    options = Options(threads, DEVICE.encode(), fast)
    check(lib.csrec_net_create(c.c_int64(len(x)), len(layers), layers, c.byref(options),
                               c.byref(handle), error))
    check(lib.csrec_net_set_weights(handle, c.c_void_p(weights.ctypes.data), error))

    def run():
        check(lib.csrec_net_apply(handle, *map(c.c_int64, x.shape[1:]), c.c_void_p(x.ctypes.data),
                                  c.c_void_p(y.ctypes.data), c.c_uint64(0), None, None, error))
        return y
    return run


def on_gpu(model, x, compiled):
    """(way, function from host to host, function without the copies)."""
    torch._dynamo.reset()
    held = x.cuda().contiguous(memory_format=torch.channels_last)
    yield "launched", lambda: model(held.copy_(x)).float().cpu(), lambda: model(held)
    for inner in (model, torch.compile(model, dynamic=False))[:1 + compiled]:
        for _ in range(3):
            inner(held)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = inner(held)

        def whole():
            held.copy_(x)
            graph.replay()
            return y.float().cpu()
        yield "graph" if inner is model else "compiled, graph", whole, graph.replay


def on_cpu(model, x, compiled):
    last, model = (of.to(memory_format=torch.channels_last) for of in (x, model))
    yield "channels last", lambda: model(last), None
    if compiled:
        torch._dynamo.reset()
        torch._inductor.config.freezing = True
        whole = torch.compile(model.requires_grad_(False), dynamic=False)
        yield "compiled", lambda: whole(last), None


def seconds(call):
    """The best of those of 1.5 s, after some."""
    def once():
        call()
        if GPU:
            torch.cuda.synchronize()
    one = common.seconds(once, 4, time.perf_counter)[1]
    return common.seconds(once, int(min(300, max(3, 1.5 / one))), time.perf_counter)[1]


def measure(lib, what, net, side, threads, compiled):
    """Rows; error: of the result, relative to that in double."""
    x = np.random.default_rng(1).standard_normal((net.products[0].in_channels, side, side), np.float32)
    given = torch.from_numpy(x)[None]
    torch.set_num_threads(threads)
    torch.backends.cudnn.benchmark = True
    true = copy.deepcopy(net).double().to(DEVICE)(given.double().to(DEVICE)).cpu().numpy()[0]

    def row(who, way, kind, whole, alone=None):
        off = np.linalg.norm(np.asarray(whole()).reshape(true.shape) - true) / np.linalg.norm(true)
        return {"what": what, "side": side, "threads": threads, "who": who, "way": way, "arithmetic": kind,
                "error": float(off), "seconds": seconds(whole), "alone": seconds(alone) if alone else None}
    for fast in (False, True)[:1 + GPU]:
        yield row("csrecover", "", "tf32" if fast else "float32", ours(lib, net, x, threads, fast))
    for kind, dtype in TYPES.items() if GPU else [("float32", torch.float32)]:
        torch.backends.cudnn.allow_tf32 = kind != "float32"
        model = copy.deepcopy(net).to(DEVICE, dtype)
        if GPU:
            model = model.to(memory_format=torch.channels_last)
        try:
            for way in (on_gpu if GPU else on_cpu)(model.eval(), given.to(dtype), compiled):
                yield row("PyTorch", way[0], kind, *way[1:])
        except Exception as error:  # as where torch.compile finds no compiler
            print(f"left out, further ones of {kind}: {error}", file=sys.stderr)


def cases(sides):
    prior = network.read(common.ROOT / "share" / "csrecover" / "prior-gray.npz")[0]
    yield from (("prior", prior, side) for side in sides)
    for wide, side in ((32, 256), (64, 128), (128, 64), (256, 32)):
        for count in (2, 10):  # a convolution is an eighth of the difference
            net = network.Network(wide, [(network.CONV, wide, -1, int(i < count - 1)) for i in range(count)])
            for product in net.products:
                torch.nn.init.kaiming_normal_(product.weight)
            yield f"{count} of {wide} channels", net, side


@torch.no_grad()
def main():
    arguments = common.arguments(__doc__, "cudnn.json", sides=[256, 512, 1024], threads=[1, 2],
                                 compiled=(False, "by torch.compile, too: minutes, and a compiler"))
    lib, rows = library(arguments.build), []
    torch.manual_seed(1)
    for what, net, side in cases(arguments.sides):
        for threads in arguments.threads[:1] if GPU else arguments.threads:
            for row in measure(lib, what, net, side, threads, arguments.compiled and (what == "prior" or not GPU)):
                rows.append(row)
                print(row, flush=True)
    common.save(arguments, device=torch.cuda.get_device_name() if GPU else common.cpu(),
                torch=torch.__version__, cudnn=torch.backends.cudnn.version() if GPU else None,
                onednn=torch.__config__.show().split("MKL-DNN ")[-1].split(" ")[0], rows=rows)


if __name__ == "__main__":
    main()
