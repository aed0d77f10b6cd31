#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""defaults.py - what the defaults give on real kinds of gaps, beside what they were before the
samples chose them and what everyone has: signals of one axis, a table of unlike sensors, holes and
clouds in pictures and an elevation, volumes. One thread, one run. Needs NumPy, SciPy and cffi;
scikit-image's biharmonic is left out where it is not installed."""
import time
import warnings

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import pictures
import smooth


def sensors(n=1440, seed=7):
    """Ten days of twelve sensors, every ten minutes: daily waves, slow noise, unlike units."""
    rng, day = np.random.default_rng(seed), np.sin(np.arange(n) / n * 20 * np.pi)

    def slow(a, size):
        e = np.zeros(n)
        for i in range(1, n):
            e[i] = a * e[i - 1] + rng.normal(0, size)
        return e
    air = 15 + 5 * day + slow(0.98, 0.2)
    return np.stack([air, 1013 + slow(0.99, 0.3), 100 - 2.5 * air + slow(0.9, 1), abs(slow(0.9, 1)),
                     420 - 4 * air + slow(0.9, 4), np.maximum(0, 800 * day) + slow(0.8, 20),
                     230 + slow(0.7, 1), 0.8 * air - 7 + slow(0.95, 0.1), slow(0.9, 30),
                     1e-3 * (1 + slow(0.98, 0.1)), air + slow(0.95, 0.2), 3e5 + slow(0.99, 1e3)], 1)


def holes_of_a_table(shape):
    rng = np.random.default_rng(8)
    gaps = np.ones(shape, bool)
    for column in range(shape[1]):
        for start in rng.integers(0, shape[0] - 30, 10):
            gaps[start:start + 30, column] = False
    return {"20 % missing": rng.random(shape) < 0.8, "gaps of 30": gaps}


def by_column(fill):
    return lambda y, known: np.stack([fill(y[:, c], known[:, c]) for c in range(y.shape[1])], 1)


def volumes(side=32):
    t = np.arange(side) / side
    z, v, u = np.meshgrid(t, t, t, indexing="ij")
    edges = (100.0 * (np.hypot(u - 0.5, v - 0.4) < 0.3) + 60 * ((z + v) % 0.4 < 0.2)
             + 20 * np.random.default_rng(9).random(u.shape))
    return {"smooth volume": smooth.volume(side), "volume of edges": edges}


def holes_of_a_volume(shape):
    rng = np.random.default_rng(1)
    hole, planes = np.ones(shape, bool), np.ones(shape, bool)
    hole[9:23, 9:23, 9:23] = False
    planes[:] = smooth.clouds(shape[1:], rng)
    return {"5 %": rng.random(shape) < 0.05, "25 %": rng.random(shape) < 0.25, "hole of 14": hole,
            "clouds in all planes": ~planes}


def label_maps(side=256):
    """Regions of 8 classes with roads of 4 pixels, and warped cells of 60 points."""
    from scipy import ndimage, spatial
    rng = np.random.default_rng(10)

    def waves(count, size):
        made = rng.standard_normal((count, side, side))
        made = np.stack([ndimage.gaussian_filter(one, size, mode="wrap") for one in made])
        return made / made.std((1, 2), keepdims=True)
    regions, road = waves(8, 12).argmax(0), waves(1, 18)[0]
    regions[np.abs(road) < 2 * np.hypot(*np.gradient(road))] = 8
    at = np.stack(np.mgrid[:side, :side] + 6 * waves(2, 10), -1).reshape(-1, 2)
    cells = rng.integers(0, 8, 60)[spatial.cKDTree(rng.random((60, 2)) * side).query(at)[1]]
    rng, holes = np.random.default_rng(11), np.ones((side, side), bool)
    for at in rng.integers(0, 232, (25, 2)):
        holes[tuple(slice(a, a + n) for a, n in zip(at, rng.integers(6, 24, 2)))] = False
    masks = {"10 %": rng.random(holes.shape) < 0.1, "25 %": rng.random(holes.shape) < 0.25}
    return {"regions": regions, "cells": cells.reshape(side, side)}, {**masks, "25 holes": holes}


def of_classes(y, known):
    """The class of the largest of the linear interpolations that are 1 in a class and 0 elsewhere."""
    fill, classes = smooth.griddata("linear"), np.unique(y[known])
    return classes[np.argmax([fill(np.where(known, y == k, np.nan), known) for k in classes], 0)]


def radiance(lamp=1000.0):
    """Light that spans decades beside a lamp, and the gaps away from it that count."""
    v, u = np.mgrid[:64, :80]
    light, aside = 0.05 * np.exp(2 * np.sin(u / 9) + np.cos(v / 7)), np.ones(u.shape, bool)
    light[20:26, 40:46], aside[10:36, 30:56] = lamp, False
    return light, aside


def soundings(csrecover, side=128, n=2500):
    """Of n points of the elevation at real coordinates: (range, {way: error of each cell})."""
    from scipy import interpolate
    land, rng = smooth.elevation(side), np.random.default_rng(12)
    at = np.r_[[[0, 0], [side - 1] * 2], rng.random((n - 2, 2)) * (side - 1)]
    y = interpolate.RegularGridInterpolator((np.arange(side),) * 2, land, method="cubic")(at)
    cells = np.stack(np.mgrid[:side, :side], -1).reshape(-1, 2)

    def placed(quality, cell_means=False):
        scan = csrecover.place(at, y, grid=(side, side), cell_means=cell_means)
        return csrecover.recover(scan, quality=quality, backend="cpu", threads=1).ravel()
    return np.ptp(land), {way: lambda fill=fill: fill() - land.ravel() for way, fill in {
        "default": lambda: placed(None), "fast": lambda: placed("fast"),
        "best": lambda: placed("best"), "best of means": lambda: placed("best", True),
        "thin plate of 24": lambda: interpolate.RBFInterpolator(at, y, neighbors=24)(cells),
        "linear": lambda: interpolate.griddata(at, y, cells)}.items()}


def main():
    arguments = common.on_pictures(__doc__, "defaults.json")
    csrecover = common.load(arguments.build)
    warnings.simplefilter("ignore", csrecover.RecoveryWarning)  # holes are what is measured

    def by(**options):
        return lambda y, known: csrecover.recover(y, backend="cpu", threads=1, **options)

    found = []

    def keep(kind, name, mask, way, rms, start):
        found.append({"kind": kind, "case": name, "mask": mask, "way": way, "rms": rms,
                      "psnr": -20 * np.log10(max(rms, 1e-6)), "seconds": time.process_time() - start})

    def measure(kind, name, truth, masks, ways, counts=...):
        for mask, known in masks.items():
            for way, fill in ways.items():
                start = time.process_time()
                try:
                    error = fill(np.where(known, truth, np.nan), known) - truth
                except ImportError:
                    continue
                scale = truth.std(0) if kind == "table" else np.ptp(truth[counts])
                rms = np.sqrt(np.nanmean(((error / scale)[counts])[~known[counts]] ** 2))
                rms = np.mean(error[~known] != 0) if kind == "label map" else rms
                keep(kind, name, mask, way, rms, start)
    axis = {"default": by(), "fast": by(quality="fast"), "before": by(method="grids"),
            **{name: smooth.of_one_axis(name) for name in ("linear", "pchip", "cubic")}}
    for name, truth in smooth.signals().items():
        measure("one axis", name, truth, smooth.gaps(len(truth)), axis)
    table = sensors()
    measure("table", "table", table, holes_of_a_table(table.shape),
            {"default": by(), "before": by(quality="balanced"), "fast": by(quality="fast"),
             "smooth by column": by_column(axis["default"]),
             "linear by column": by_column(axis["linear"])})
    five, source = pictures.load(arguments.images)
    plane = {"default": by(), "fast": by(quality="fast"), "biharmonic": smooth.biharmonic,
             "membrane": smooth.ours(csrecover, 1)}
    for name, truth in [*five[:1 if arguments.quick else None], ("elevation", smooth.elevation())]:
        masks = {k: m for k, m in smooth.masks(truth.shape).items() if k in ("hole", "clouds")}
        measure("elevation" if name == "elevation" else "picture", name, truth, masks, plane)
    for name, truth in volumes().items():
        measure(name, name, truth, holes_of_a_volume(truth.shape),
                {"default": by(), "before": by(method="frames"), "thin plate": by(method="smooth")})
    light, aside = radiance()
    some = np.random.default_rng(2).random(light.shape) < 0.4
    linear = smooth.griddata("linear")
    measure("radiance", "radiance", light, {"60 %": some},
            {"default": by(), "without curve": by(curve="none"), "linear": linear,
             "logarithm": lambda y, known: np.exp(by()(np.log(y), known))}, aside)
    span, ways = soundings(csrecover)
    for way, errors in ways.items():
        start = time.process_time()
        keep("soundings", "elevation", "2500 points", way,
             np.sqrt(np.nanmean((errors() / span) ** 2)), start)
    maps, gaps = label_maps()
    for name, truth in maps.items():
        measure("label map", name, truth.astype(float), gaps,
                {"default": by(labels=True), "fast": by(labels=True, quality="fast"),
                 "nearest": smooth.griddata("nearest"), "linear": of_classes})
    mean = common.means(found, ("kind", "mask", "way"), ("psnr", "rms", "seconds"))
    for row in mean:
        print(f"{row['kind']:16s} {row['mask']:20s} {row['way']:18s} {row['psnr']:7.2f} dB "
              f"{row['rms']:9.4f} {row['seconds']:8.3f} s")
    common.save(arguments, source=source, mean=mean, rows=found,
                 versions=common.versions("numpy", "scipy", "scikit-image"))


if __name__ == "__main__":
    main()
