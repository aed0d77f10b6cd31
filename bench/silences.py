#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""silences.py [EDGE [SECONDS [WAY]]] - the longest time between two reports of progress, the first and
last included, of each method on a picture of EDGE x EDGE (2048), one thread. After SECONDS (60) the
callback asks to stop: `stop` is the time from there to the return. All times are of the thread's
processor, which other processes do not disturb. Needs NumPy, cffi and a built library."""
import time

import numpy as np

import common

RECOVERIES = {
    "plain grid, mp": {"solver": "mp", "shifts": 1}, "plain grid, omp": {"solver": "omp", "shifts": 1},
    "grids": {"solver": "mp", "shifts": 8}, "dct, threshold": {"solver": "threshold", "basis": "dct"},
    **{f"dct, {solver}": {"solver": solver, "basis": "dct"}
       for solver in ("fista", "iht", "cosamp", "omp")},
    **{f"wavelet, {solver}": {"solver": solver, "basis": "wavelet"}
       for solver in ("threshold", "fista")},
    "gaussian": {"solver": "gaussian"}}


class Listener:
    def __init__(self, limit):
        self.begun = self.last = time.thread_time()
        self.limit, self.longest, self.asked, self.where, self.at = limit, 0.0, None, "", ("start", 0)

    def hear(self, stage, done):
        now = time.thread_time()
        if self.asked is None and now - self.last > self.longest:
            self.longest = now - self.last
            self.where = f"{self.at[0]} {self.at[1]}, then {stage}"
        self.last, self.at = now, (stage, done)

    def __call__(self, progress):
        self.hear(progress.stage, progress.done)
        if self.asked is None and self.last - self.begun > self.limit:
            self.asked = self.last
        return self.asked is not None

    def row(self, way):
        stop = time.thread_time() - self.asked if self.asked is not None else 0.0
        self.hear("return", 0)
        return {"way": way, "seconds": self.last - self.begun, "longest": self.longest, "stop": stop,
                "where": self.where}


def recovery(m, options):
    from csrecover._progress import Watch
    from library import Recovery
    run = Recovery(m, threads=1, **options)

    def call(listener):
        with Watch(listener) as watch:
            run("cpu", watch.function)
    return call


def scattered(*shape):
    """Multiples of a prime, modulo 1000."""
    numbers = np.arange(np.prod(shape), dtype=np.uint64) * np.uint64(2654435761) >> np.uint64(7)
    return (numbers % np.uint64(1000)).astype(np.float32).reshape(shape)


def ways(edge):
    """name -> function of a listener."""
    import csrecover
    y, x = np.mgrid[:edge, :edge]
    m = csrecover.sample((x * 5 // edge + y * 3 // edge) % 2 * 120.0 + x * 60 // edge + (x + y) % 11,
                         0.25, "uniform", 1)
    m.scale = (0.0, 255.0)
    for name, options in RECOVERIES.items():
        yield name, recovery(m, options)
    A, Y = csrecover.Dense(scattered(1000, 4000) - 500.0), scattered(1000, 6000) - 500.0
    yield "omp, many", lambda listener: csrecover.solve(A, Y, "omp", atoms=300, threads=1,
                                                        callback=listener)
    for name, shape in (("pca, covariance", (20000, 1024)), ("pca, gram", (1500, 20000))):
        X = scattered(*shape)
        yield name, lambda listener, X=X: csrecover.learn_pca(X, components=64, threads=1,
                                                              callback=listener)


def main():
    parser = common.parser(__doc__, "silences.json")
    parser.add_argument("edge", nargs="?", type=int, default=2048)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0)
    parser.add_argument("way", nargs="?")
    arguments = parser.parse_args()
    csrecover = common.load(arguments.build)
    rows = []
    for name, call in ways(arguments.edge):
        if arguments.way not in (None, name):
            continue
        listener = Listener(arguments.seconds)
        try:
            call(listener)
        except csrecover.Stopped:
            pass
        rows.append(listener.row(name))
        print(rows[-1], flush=True)
    common.save(arguments, edge=arguments.edge, limit=arguments.seconds, rows=rows)


if __name__ == "__main__":
    main()
