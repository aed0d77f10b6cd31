#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scanner.py - a simulated scanning microscope (a beam or a tip) for which moving costs time,
steered by a csrecover session; beside it, in the same time, rasters and a random scan.

  python3 scanner.py [PICTURE] [--time 0.25] [--settle 5] [--pass 0.05] [--noise 0] [--goal RMS]

PICTURE (default: samples/example.png) stands for the specimen. Time is counted in dwells, the time
of one measurement. Going ahead along a line costs --pass for each pixel that is passed. Any other
move (to another line, or back) costs --settle, and --pass for each pixel of its length. --time is
the budget: the part of what a full raster takes. Replace Microscope.measure by your instrument.
Needs numpy and csrecover."""
import argparse
import warnings
from pathlib import Path

import csrecover
import numpy as np

EXAMPLE = Path(__file__).resolve().parents[1] / "example.png"
WHITE = 255.0


class Microscope:
    """Measures positions of a picture in the order given, and counts the time that takes."""

    def __init__(self, truth, settle, passing, noise, seed=1):
        self.truth, self.settle, self.passing, self.noise = truth, settle, passing, noise
        self.rng, self.at, self.time = np.random.default_rng(seed), 0, 0.0

    def cost(self, positions, dwell=1.0):
        """The time after each of the positions, from where the instrument is."""
        row, column = np.divmod(np.r_[self.at, positions], self.truth.shape[1])
        down, ahead = np.diff(row), np.diff(column)
        other = self.settle + self.passing * np.hypot(down, ahead)
        moves = np.where((down == 0) & (ahead > 0), self.passing * (ahead - 1), other)
        return np.cumsum(dwell + moves)

    def measure(self, positions, dwell=1.0):
        self.time += self.cost(positions, dwell)[-1]
        self.at = positions[-1]
        noise = self.noise / dwell ** 0.5 * self.rng.standard_normal(len(positions))
        return self.truth.flat[positions] + noise


def gray(path):
    """A picture that is known everywhere, in gray, 0 to 255."""
    every = csrecover.read(path, noisy=True)
    values = every.y.reshape(*every.shape, -1)[..., :3].mean(-1)
    low, high = every.scale if every.scale and every.scale[1] > every.scale[0] else (
        values.min(), values.max())
    return WHITE * (values - low) / (high - low)


def psnr(found, truth):
    return csrecover.psnr(np.clip(found, 0, WHITE), truth, peak=WHITE)


# ---- ways to spend the time: each returns the picture that it makes

def recovered(scope, positions, quality, dwell=1.0):
    y = scope.measure(positions, dwell)
    scan = csrecover.Measurement(y, positions, scope.truth.shape, scale=(0, WHITE),
                                 sigma=scope.noise / dwell ** 0.5)
    return csrecover.recover(scan, quality=quality)


def raster(shape, lines, along):
    rows = ((np.arange(lines) + 0.5) * shape[0] / lines).astype(int)
    return (rows[:, None] * shape[1] + np.arange(along // 2, shape[1], along)).ravel()


def most(scope, time, make, high):
    """The positions of make(k) with the largest k that the time is enough for."""
    low = 1
    while high - low > 1:
        k = (low + high) // 2
        low, high = (k, high) if scope.cost(make(k))[-1] <= time else (low, k)
    return make(low)


def fewer_lines(scope, time, quality, along=1):
    shape = scope.truth.shape
    make = lambda n: raster(shape, n, along)  # noqa: E731
    return recovered(scope, most(scope, time, make, shape[0] + 1), quality)


def coarse_raster(scope, time, quality):
    """A raster of every second pixel along each line, or fewer lines of them."""
    return fewer_lines(scope, time, quality, along=2)


def short_dwell(scope, time, quality):
    """All pixels, with what dwell the moves leave time for."""
    everywhere = np.arange(scope.truth.size)
    dwell = (time - scope.cost(everywhere, 0.0)[-1]) / len(everywhere)
    return recovered(scope, everywhere, quality, dwell) if dwell > 0 else None


def random_scan(scope, time, quality):
    shape = scope.truth.shape
    make = lambda n: csrecover.positions_of(shape, n, "poisson")  # noqa: E731
    return recovered(scope, most(scope, time, make, scope.truth.size), quality)


def steered(scope, time, quality, goal=0.0, first=0.5, rounds=4, cost=True):
    """Half of the time for a raster, then rounds where errors are expected."""
    move = (scope.settle, scope.passing) if cost else (0.0, 0.0)
    height, width = scope.truth.shape
    back = scope.settle + scope.passing * np.hypot(height, width)  # to where a round begins
    with csrecover.Session((height, width), scale=(0, WHITE), sigma=scope.noise,
                           quality=quality) as session:
        for left in range(rounds, 0, -1):
            share = first * time if left == rounds else (time - scope.time) / left
            count = int(share if left == rounds else share - back)
            at = session.next(max(count, 1), move=move, seed=left)
            at = at[scope.cost(at) <= (share if cost else time - scope.time)]
            if not len(at):
                break
            session.add(at, scope.measure(at))
            if goal and session.expected()[1] <= goal:
                break
        return session.picture()


def without_cost(scope, time, quality):
    """The session is not told: it asks for single pixels wherever they help most."""
    return steered(scope, time, quality, cost=False)


WAYS = {"every k-th line": fewer_lines, "coarse raster": coarse_raster,
        "all pixels, short dwell": short_dwell, "random scan": random_scan,
        "session, not told": without_cost, "session, told of moves": steered}


def compare(truth, o):
    """PSNR and part of the time of each way; None where there is no time for it."""
    full = Microscope(truth, o.settle, o.passing, 0).cost(np.arange(truth.size))[-1]
    for name, way in WAYS.items():
        if way is short_dwell and not o.noise:
            continue  # without noise a dwell costs nothing but time
        scope = Microscope(truth, o.settle, o.passing, o.noise, o.seed)
        more = {"goal": o.goal} if way is steered else {}
        found = way(scope, o.time * full, o.quality, **more)
        yield name, None if found is None else psnr(found, truth), scope.time / full, found


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", metavar="PICTURE", nargs="?", default=EXAMPLE)
    parser.add_argument("--time", type=float, default=0.25, help="of that of a full raster")
    parser.add_argument("--settle", type=float, default=5.0, help="of a move, in dwells")
    parser.add_argument("--pass", dest="passing", type=float, default=0.05, help="a pixel")
    parser.add_argument("--noise", type=float, default=0.0, help="of one dwell; white is 255")
    parser.add_argument("--goal", type=float, default=0.0,
                        help="expected error at which the session stops")
    parser.add_argument("--quality", default="balanced")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", metavar="FILE.npy",
                        help="the picture of the session that was told")
    o = parser.parse_args(words)
    if not 0 < o.time <= 1 or not all(0 <= v < np.inf for v in (
            o.settle, o.passing, o.noise, o.goal)):
        parser.error("--time must be above 0 and at most 1, the others 0 or more")
    warnings.simplefilter("ignore", csrecover.RecoveryWarning)  # a raster is regular, as it says
    print(f"{'':26s}{'PSNR':>8s}{'time':>9s}")
    for name, quality, time, found in compare(gray(o.picture), o):
        told = "no time" if quality is None else f"{quality:.2f}"
        print(f"{name:26s}{told:>8s}{time:9.3f}", flush=True)
    if o.output:
        np.save(o.output, found)


if __name__ == "__main__":
    main()
