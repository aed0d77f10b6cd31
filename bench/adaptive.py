#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""adaptive.py - what places chosen by expected errors are worth: PSNR from samples measured in nine
rounds (a fifth evenly, then cssample --next), beside as many Poisson-disc and uniform ones, on the
five pictures of pictures.py; and the seconds of a round. Needs NumPy and cffi."""
import sys
import tempfile
import time

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import pictures

RATES = (0.10, 0.125, 0.25)
ROUNDS, FIRST = 8, 0.2  # as csrec_adaptive


def ends(count):
    """The samples at the end of each round, the even one first."""
    first = int(np.ceil(FIRST * count))
    return [first + round(k / ROUNDS * (count - first)) for k in range(ROUNDS + 1)]


def drawn(picture, pattern, count):
    import csrecover
    return csrecover.sample(picture, pattern=pattern, seed=1, count=count).index


class Bench(common.Tools):
    def scan(self, picture, index):
        path = self.folder / "scan.npz"
        np.savez(path, y=picture.ravel()[index], index=index, shape=np.array(picture.shape),
                 scale=[0.0, 255.0])
        return path

    def rounds(self, picture, count):
        """The positions, and the seconds of the slowest round."""
        first, *later = ends(count)
        index, slowest = drawn(picture, "poisson", first), 0.0
        for until in later:
            scan, found = self.scan(picture, index), self.folder / "next.npz"
            start = time.perf_counter()
            self.run("cssample", scan, "--next", until - len(index), "-o", found)
            slowest = max(slowest, time.perf_counter() - start)
            with np.load(found) as more:
                index = np.concatenate([index, more["index"]])
        return index, slowest

    def quality(self, picture, index, preset, threads):
        out = self.folder / "out.npy"
        self.run("csrecover", self.scan(picture, index), "-o", out, "--quality", preset,
                 "--threads", threads, "--backend", "cpu")
        return pictures.psnr(np.load(out), picture)


def main():
    arguments = common.arguments(__doc__, "adaptive.json", images=None, threads="2")
    common.load(arguments.build)
    found, source = pictures.load(arguments.images)
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.build, folder)
        for name, picture in found:
            for rate in RATES:
                count = round(rate * picture.size)
                ways = {"uniform": drawn(picture, "uniform", count),
                        "poisson": drawn(picture, "poisson", count)}
                ways["rounds"], seconds = bench.rounds(picture, count)
                measured += [{"picture": name, "rate": rate, "pattern": way, "preset": preset,
                              "seconds": seconds if way == "rounds" else None,
                              "psnr": bench.quality(picture, index, preset, arguments.threads)}
                             for way, index in ways.items() for preset in ("balanced", "best")]
            print(name, file=sys.stderr, flush=True)
    table = common.means(measured, ("preset", "rate", "pattern"), ("psnr",))
    for row in table:
        print(f"{row['preset']:9s} {100 * row['rate']:5.1f} % {row['pattern']:8s} {row['psnr']:.2f}")
    common.save(arguments, source=source, mean=table, pictures=measured)


if __name__ == "__main__":
    main()
