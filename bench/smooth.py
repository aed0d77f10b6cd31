#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""smooth.py - method smooth beside what others fill gaps with: scikit-image's biharmonic, SciPy's
griddata, GDAL's fillnodata (rasterio), one thread, in one run. Pictures and a made elevation with
samples, holes, clouds, lost lines; a smooth volume; signals of one axis beside numpy.interp and
SciPy's pchip and cubic spline. Needs NumPy, SciPy and cffi; each peer is left out where it is not
installed."""
import time
import warnings

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import pictures


def elevation(side=256, seed=4):
    """A fractal relief with a valley, 0 to 255."""
    rng = np.random.default_rng(seed)
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side)))
    f[0, 0] = 1
    relief = np.fft.ifft2(np.fft.fft2(rng.standard_normal((side, side))) * f ** -2.2).real
    v = np.abs(np.linspace(-1, 1, side)[:, None] - 0.3 * np.sin(np.linspace(0, 5, side)))
    relief = relief / relief.std() + 2 * np.minimum(v, 0.5)
    return 255 * (relief - relief.min()) / np.ptp(relief)


def volume(side=32):
    z, v, u = np.mgrid[:side, :side, :side] / side
    bump = np.exp(-20 * ((u - 0.5) ** 2 + (z - 0.4) ** 2))
    return 120 + 60 * np.sin(5 * u + 2 * v) * np.cos(4 * z) + 40 * bump


def clouds(shape, rng, share=0.25):
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(shape[1]), np.fft.fftfreq(shape[0])))
    f[0, 0] = 1
    field = np.fft.ifft2(np.fft.fft2(rng.standard_normal(shape)) * f ** -1.8).real
    return field < np.quantile(field, 1 - share)


def masks(shape):
    """Known entries, by name."""
    rng = np.random.default_rng(1)
    hole = np.ones(shape, bool)
    hole[tuple(slice(100, 156) for _ in shape)] = False
    lines = np.zeros(shape, bool)
    lines[::8] = True
    return {"25 %": rng.random(shape) < 0.25, "5 %": rng.random(shape) < 0.05, "hole": hole,
            "clouds": clouds(shape, rng), "every 8th line": lines}


# ---- the ways: whole = f(y with NaN, known)

def ours(csrecover, kind):
    return lambda y, known: csrecover.recover(y, method="smooth", kind=kind, backend="cpu",
                                              threads=1)


def biharmonic(y, known):
    return pictures.biharmonic(y[known], known)


def griddata(kind):
    """What griddata calls, and outside the nearest."""
    way = {"nearest": pictures.nearest, "linear": pictures.delaunay, "cubic": pictures.clough_tocher}[kind]
    return lambda y, known: way(y[known], known)


def fillnodata(y, known):
    from rasterio.fill import fillnodata as fill
    return fill(np.where(known, y, 0).astype(np.float32), known.astype(np.uint8),
                max_search_distance=200)


def of_one_axis(kind):
    def fill(y, known):
        from scipy.interpolate import CubicSpline, PchipInterpolator
        k, t = np.flatnonzero(known), np.arange(len(y))
        if kind == "linear":
            return np.interp(t, k, y[k])
        way = PchipInterpolator if kind == "pchip" else CubicSpline
        return way(k, y[k])(np.clip(t, k[0], k[-1]))
    return fill


def signals(n=1000):
    t, rng = np.arange(n) / n, np.random.default_rng(3)
    pulses = np.exp(-((t * 8 % 1 - 0.5) / 0.03) ** 2 / 2)
    return {"chirp": np.sin(2 * np.pi * (5 * t + 40 * t * t)),
            "steps": rng.normal(0, 1, 20).repeat(n // 20),
            "pulses": pulses + 0.2 * np.sin(2 * np.pi * t),
            "walk": rng.normal(0, 1, n).cumsum(), "kelvin": 285 + 8 * np.sin(np.arange(n) / 58),
            "noise beside": np.sin(np.arange(n) / 30) + 0.1 * rng.standard_normal(n)}


def gaps(n):
    rng = np.random.default_rng(5)
    twenty = np.ones(n, bool)
    for start in range(20, n - 20, 60):
        twenty[start:start + 20] = False
    return {"30 %": rng.random(n) < 0.3, "70 %": rng.random(n) < 0.7, "gaps of 20": twenty}


def measure(case, mask, truth, known, ways):
    for name, way in ways.items():
        start = time.process_time()
        try:
            found = way(np.where(known, truth, np.nan), known)
        except ImportError:
            continue
        error = np.sqrt(np.mean((found - truth)[~known] ** 2)) / np.ptp(truth)
        yield {"case": case, "mask": mask, "way": name, "seconds": time.process_time() - start,
               "psnr": -20 * np.log10(max(error, 1e-6))}


def plates(csrecover):
    return {"biharmonic": ours(csrecover, 2), "thin plate": ours(csrecover, 3),
            "membrane": ours(csrecover, 1),
            "biharmonic (scikit-image)": biharmonic, "griddata linear (SciPy)": griddata("linear"),
            "griddata cubic (SciPy)": griddata("cubic"), "fillnodata (GDAL)": fillnodata}


def main():
    arguments = common.on_pictures(__doc__, "smooth.json")
    csrecover = common.load(arguments.build)
    warnings.simplefilter("ignore", csrecover.RecoveryWarning)  # holes are what is measured
    five, source = pictures.load(arguments.images)
    found, two = [], plates(csrecover)
    for name, truth in [*five[:1 if arguments.quick else None], ("elevation", elevation())]:
        for mask, known in masks(truth.shape).items():
            found += measure(name, mask, truth, known, two)
    cube = volume()
    three = {name: two[name] for name in ("biharmonic", "thin plate", "membrane",
                                           "biharmonic (scikit-image)")}
    found += measure("volume", "5 %", cube, np.random.default_rng(1).random(cube.shape) < 0.05, three)
    one = {"vote": ours(csrecover, 0), "linear": ours(csrecover, 1), "cubic": ours(csrecover, 2),
           "autoregressive": ours(csrecover, 3), "numpy.interp": of_one_axis("linear"),
           "pchip (SciPy)": of_one_axis("pchip"), "CubicSpline (SciPy)": of_one_axis("cubic")}
    for name, truth in signals().items():
        for mask, known in gaps(len(truth)).items():
            found += measure(f"one axis: {name}", mask, truth, known, one)
    table = common.means([r | {"kind": "pictures" if r["case"] in dict(five) else r["case"]
                             if r["case"] in ("elevation", "volume") else "one axis"} for r in found],
                       ("kind", "mask", "way"), ("psnr", "seconds"))
    for row in table:
        print(f"{row['kind']:10s} {row['mask']:15s} {row['way']:26s} {row['psnr']:7.2f} dB "
              f"{row['seconds']:8.3f} s")
    common.save(arguments, source=source, mean=table, rows=found,
                 versions=common.versions("numpy", "scipy", "scikit-image", "rasterio"))


if __name__ == "__main__":
    main()
