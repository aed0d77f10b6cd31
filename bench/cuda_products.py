# SPDX-License-Identifier: BSD-3-Clause
"""cuda_products.py - parts of cuda.json: operators, right-hand sides, networks, and calls between which
backend auto chooses."""
import numpy as np

import csrecover
from csrecover._library import NULL, check, ffi, lib, new_atoms, new_error, new_shape, pointer
from csrecover._operators import _created
from library import (BACKENDS, BRIEF, THREADS, Recovery, beside, learn, least_ms, picture, sampled,
                       side_of)


def specified(spec):
    """Fields of csrec_operator_spec."""
    ctypes = {"d": "double", "l": "int64_t", "L": "uint64_t"}
    made = {}
    for key, value in spec.items():
        if isinstance(value, np.ndarray):
            value = pointer(value, ctypes[value.dtype.char])
        elif isinstance(value, tuple):
            value = new_shape(value) if key == "shape" else ffi.new("int64_t[]", value)
        made[key] = ffi.new("char[]", value.encode()) if isinstance(value, str) else value
    return made


def operator(name, backend, **spec):
    return _created(name, backend, **specified(spec))


def product(A, what, x, y):
    check(getattr(lib, f"csrec_operator_{what}")(A, pointer(x), pointer(y)))


def transfer_ms(up, down):
    """A vector up and one down: by operator mask, which does little else."""
    most, least = max(up, down), min(up, down)
    A = operator("mask", BACKENDS[0], shape=(most,), m=least, index=np.arange(least))
    x, y = np.ones(up), np.empty(down)
    return least_ms(lambda: product(A, "forward" if up >= down else "adjoint", x, y), 10)


def products(name, whats=("forward", "adjoint", "correlate"), **spec):
    """The results are compared before any is timed."""
    made = {backend: operator(name, backend, **spec) for backend in BACKENDS}
    size = ffi.new("int64_t[2]")
    lib.csrec_operator_size(made["cpu"], size, size + 1)
    m, n = size
    for what in whats:
        sizes = (n, m) if what == "forward" else (m, n)
        x, out = np.random.default_rng(1).uniform(-1, 1, sizes[0]), np.empty(sizes[1])
        found = []
        for A in made.values():
            product(A, what, x, out)
            found.append(out.copy())
        largest = float(np.abs(found[0] - found[-1]).max() / max(np.abs(found[-1]).max(), 1e-300))
        assert largest < 1e-10, f"{name}: the device differs from the CPU"
        yield {"operator": name, "what": what, "m": m, "n": n,
               **beside(lambda backend: product(made[backend], what, x, out), 3, 0.3),
               "transfer_ms": transfer_ms(*sizes), "largest": largest,
               "same_bits": bool(np.array_equal(found[0], found[-1]))}


def operators():
    rng = np.random.default_rng(1)
    for m, n in ((256, 1024), (side_of(4096), side_of(16384))):
        yield from products("dense", m=m, n=n, matrix=rng.uniform(-1, 1, (m, n)))
    for side in map(side_of, (512, 1024)):
        index = sampled(picture(side)).index
        at, n = {"shape": (side, side), "m": len(index), "index": index}, side * side
        yield from products("mask", **at)
        # The CPU finds the norms of wavelets anew for every correlation, in seconds.
        yield from products("wavelet", ("forward", "adjoint"), kind="cdf97", **at)
        for block in (8, 16, 32):
            yield from products("dct", block=block, step=block // 2, **at)
        half = {"shape": (side, side), "m": n // 2, "index": 2 * np.arange(n // 2)}
        yield from products("hadamard", scrambled=True, **half)
        yield from products("fourier", complex_signal=True, n_coils=4,
                            coils=rng.uniform(-1, 1, (4, n, 2)), **half)
        yield from products("matrix", shape=(side, side), m=64, kernel=(16, 16),
                            matrix=rng.uniform(-1, 1, (64, 256)))
        # Norms of a blur take a product a column.
        yield from products("blur", ("forward", "adjoint"), shape=(side, side), m=n, kernel=(9, 9),
                            filters=rng.uniform(-1, 1, (9, 9)))
    side = side_of(512)
    index = sampled(picture(side)).index
    yield from products("conv", shape=(side, side), m=len(index), index=index, n_filters=32,
                        kernel=(8, 8), threads=THREADS, filters=rng.uniform(-1, 1, (32, 8, 8)))
    for log_n in (12,) if BRIEF else (20, 23):
        n = 1 << log_n
        yield from products("haar", m=n, levels=log_n + 2, rows=rows_of(n),
                            columns=int(lib.CSREC_COLUMNS_PAPER))


def rows_of(n):
    """One of every four rows."""
    return (4 * np.arange(n) + np.random.default_rng(2).integers(0, 4, n)).astype(np.uint64)


def solve_many(A, Y, atoms, found=NULL):
    options, error = ffi.new("csrec_solve_options *"), new_error()
    name = ffi.new("char[]", b"omp")
    options.solver, options.stop.atoms = name, atoms
    check(lib.csrec_solve_many(A._handle, len(Y), pointer(Y), options, 0, found, NULL, NULL, error),
          error)


def picks(A, Y, atoms):
    found = new_atoms(len(Y))
    solve_many(A, Y, atoms, found)
    return [bytes(ffi.buffer(found[k].column, 8 * found[k].n)) for k in range(len(Y))]


def omp():
    """Signals of as many columns as are picked, with 1 % noise. same_picks: the share of signals
    with the CPU's columns, all of them."""
    for m, n, atoms, most in ((64, 128, 8, 100),) if BRIEF else (
            (256, 1024, 32, 100000), (128, 512, 16, 100000), (512, 2048, 64, 10000)):
        rng = np.random.default_rng(3)
        matrix = rng.standard_normal((m, n))
        Y = 0.01 * np.sqrt(atoms) * rng.standard_normal((most, m))
        for _ in range(atoms):
            Y += rng.uniform(1, 2, (most, 1)) * matrix.T[rng.integers(0, n, most)]
        there, cpu = (csrecover.Dense(matrix, backend) for backend in BACKENDS)
        few = np.ascontiguousarray(Y[:2000])
        same = float(np.mean([a == b for a, b in zip(picks(there, few, atoms),
                                                     picks(cpu, few, atoms))]))
        assert same > 0.99, "the device picks other columns"
        cpu_ms = least_ms(lambda: solve_many(cpu, few, atoms), 1, warm=False)
        for count in sorted({min(most, count) for count in (1000, 10000, 100000)}):
            part = np.ascontiguousarray(Y[:count])
            yield {"m": m, "n": n, "atoms": atoms, "signals": count,
                   "signals_per_s": 1e3 * count / least_ms(lambda: solve_many(there, part, atoms)),
                   "cpu_per_s": 1e3 * len(few) / cpu_ms, "cpu_threads": THREADS, "same_picks": same}


def layers():
    """A U-Net of 32, 64, 128, 256 channels, two residual blocks a scale on both ways: kind, channels,
    the result that is added, whether it is rectified."""
    conv, down, up = lib.CSREC_NET_CONV, lib.CSREC_NET_DOWN, lib.CSREC_NET_UP
    made, skips = [(conv, 32, -1, False)], []

    def blocks(channels):
        for _ in range(2):
            made.extend([(conv, channels, -1, True), (conv, channels, len(made), False)])
    for scale in range(4):
        blocks(32 << scale)
        skips.append(len(made))
        if scale < 3:
            made.append((down, 64 << scale, -1, False))
    for scale in (2, 1, 0):
        made.append((up, 32 << scale, skips[scale], False))
        blocks(32 << scale)
    return [*made, (conv, 1, -1, False)]


def gmac(pixels):
    """Multiplications of the definition in 1e9."""
    total, channels = 0, 3
    for kind, out, *_ in layers():
        taps = {lib.CSREC_NET_CONV: 9, lib.CSREC_NET_DOWN: 1, lib.CSREC_NET_UP: 4}[kind]
        total += pixels * taps * channels * out
        pixels, channels = pixels * {1: 0.25, 4: 4}.get(taps, 1), out
    return 1e-9 * total


class Network:
    def __init__(self, fast):
        name, error = ffi.new("char[]", BACKENDS[0].encode()), new_error()
        made, weights = ffi.new("csrec_net **"), ffi.new("int64_t *")
        options = ffi.new("csrec_net_options *", {"backend": name, "fast": fast})
        check(lib.csrec_net_create(3, len(layers()), ffi.new("csrec_net_layer[]", layers()), options,
                                   made, error), error)
        self.net = ffi.gc(made[0], lib.csrec_net_destroy)
        lib.csrec_net_info(self.net, weights, NULL, NULL)
        self.weights = self.numbers(weights[0], 0.02)
        self.call("set_weights", pointer(self.weights, "float"))

    @staticmethod
    def numbers(count, scale=1.0):
        return scale * np.random.default_rng(1).standard_normal(count, np.float32)

    def call(self, what, *arguments):
        error = new_error()
        check(getattr(lib, f"csrec_net_{what}")(self.net, *arguments, error), error)

    def apply_ms(self, side):
        X, Y = self.numbers(3 * side * side), self.numbers(side * side)
        return least_ms(lambda: self.call("apply", side, side, pointer(X, "float"),
                                          pointer(Y, "float"), 0, NULL, NULL), 3, 1.0)

    def training_ms(self, parts, side, steps):
        """Of a step; the weights are read at the end of all, which waits for the device."""
        X, Y = self.numbers(3 * parts * side * side), self.numbers(parts * side * side)
        dY = self.numbers(parts * side * side, 1e-6)
        adam = ffi.new("csrec_net_adam *", {"rate": 1e-6, "clip": 1.0, "average": 0.999})

        def run():
            for _ in range(steps):
                self.call("forward", parts, side, side, pointer(X, "float"), pointer(Y, "float"))
                self.call("backward", pointer(dY, "float"), NULL, NULL)
                self.call("step", adam)
            self.call("weights", False, pointer(self.weights, "float"))
        return least_ms(run, 2) / steps


def net():
    parts, steps = (1, 1) if BRIEF else (64, 10)
    for fast in (False, True):
        network = Network(fast)
        for side in map(side_of, (256, 512)):
            yield {"what": "apply", "side": side, "fast": fast, "ms": network.apply_ms(side),
                   "gmac": gmac(side * side)}
        side = side_of(128)
        yield {"what": "training", "patches": parts, "side": side, "fast": fast,
               "ms": network.training_ms(parts, side, steps), "gmac": 3 * gmac(parts * side * side)}


# ---- what backend auto chooses between

def statistics(m, n):
    X = np.random.default_rng(5).random((m, n), np.float32)
    mean, C, size = np.empty(n), np.empty((n, n)), f"{m} x {n}"

    def run(what, out, *weights):
        def call(backend):
            error = new_error()
            check(getattr(lib, f"csrec_{what}_on")(backend.encode(), m, n, pointer(X, "float"),
                                                   *weights, 0, pointer(out), error), error)
        return call
    yield "mean", size, m * n, run("mean", mean, NULL)
    yield "covariance", size, m * n * n, run("covariance", C, NULL, NULL)


def transforms(log_n, method):
    n = 1 << log_n
    rows, y = rows_of(n), np.random.default_rng(2).uniform(-1, 1, n)
    number = getattr(lib, f"CSREC_TRANSFORM_{method.upper()}")
    found, error = ffi.new("int64_t *"), new_error()

    def run(backend, room=0, made=NULL):
        check(lib.csrec_haar_transform(backend.encode(), log_n + 2, n, pointer(rows, "uint64_t"),
                                       pointer(y), number, room, made, found, error), error)
    run("cpu")
    room, made = found[0], ffi.new("csrec_product[]", found[0])
    yield "all inner products", f"{method}, N = 2^{log_n}", n, lambda b: run(b, room, made)


def learnings(m, n):
    X = np.random.default_rng(5).random((m, n), np.float32)
    yield "pca", f"{m} x {n}", m * n * n, lambda backend: learn(
        lib.csrec_pca_learn, X, (n,), backend, components=200)


def convolutions(batch, channels, out, side, kernel):
    rng, pad = np.random.default_rng(5), kernel // 2
    x = rng.random((batch, channels, side, side), np.float32)
    w = rng.random((out, channels, kernel, kernel), np.float32)
    y = csrecover.conv2d(x, w, padding=pad, backend="cpu")
    size = f"({','.join(map(str, x.shape))}) ({','.join(map(str, w.shape))})"
    yield "conv2d forward", size, y.size * channels * kernel ** 2, lambda backend: csrecover.conv2d(
        x, w, padding=pad, backend=backend)
    yield ("conv2d backward", size, 2 * y.size * channels * kernel ** 2,
           lambda backend: csrecover.conv2d_backward(x, w, y, padding=pad, backend=backend))


def recoveries(basis, solver, side):
    yield (f"recover, {basis}, {solver}", f"{side} x {side}", side * side,
           Recovery(sampled(picture(side)), basis=basis, solver=solver, atoms=40))


def calls():
    """work: what the choice counts, multiplications of a covariance or a convolution, pixels of a
    recovery, whose solver runs 40 iterations. Eigenvectors: cuda_kernels.cu."""
    sizes = ((4000, 256), (20000, 1024), (40000, 2475))
    cases = [statistics(side_of(m), side_of(n)) for m, n in sizes]
    cases += [transforms(log_n, "distinct") for log_n in ((12,) if BRIEF else (16, 18, 20, 22))]
    cases += [transforms(12 if BRIEF else 20, "levels")]
    cases += [learnings(*each) for each in ((300, 256),) if BRIEF] + [
        learnings(*each) for each in ((4096, 256), (4096, 512), (4096, 1024), (4096, 2048),
                                      (40000, 2475)) if not BRIEF]
    cases += [convolutions(*each) for each in (
        (1, 16, 16, side_of(128), 3), (8, 64, 64, side_of(128), 3), (1, 64, 1, side_of(512), 8),
        (1, 1, 64, side_of(512), 8))]
    cases += [recoveries(basis, solver, side_of(side)) for basis in ("dct", "wavelet")
              for solver in ("fista", "iht") for side in (128, 512)]
    for name, what, work, run in (case for of_one in cases for case in of_one):
        yield {"call": name, "what": what, "work": work, **beside(run)}


PARTS = (operators, omp, net, calls)
