# SPDX-License-Identifier: BSD-3-Clause
"""net_kinds.py - pictures of other kinds than photographs, to judge methods on: elevation,
tomography, microscopy, text, drawings, renderings. They are kept aside: no setting, preset or prior
may be chosen by them. 256 x 256, gray, integers 0 to 255, made by formula with fixed seeds and
NumPy alone; in addition two that packages ship, where these are installed:

  fault  elevation near Jacksboro (US Geological Survey, public domain), matplotlib's sample data
         jacksboro_fault_dem.npz: rows 44 to 299 and columns 73 to 328, lowest to highest linearly
  cell   a cell in a quantitative phase microscope (CC0), scikit-image's cell.png: the middle
         512 x 512 pixels, means of 2 x 2

Not used though bundled: coffee, rocket, page, coins, gravel, grass, text, retina, motorcycle,
hubble, ihc (presets.py and docs/notebook used them), phantom.png (no licence is named)."""
import importlib.util
from pathlib import Path

import numpy as np

import net_drawn
from net_drawn import SIDE, grid, levels, power_noise


def shipped(package, path):
    """A file of a package, which is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise ImportError(f"{package} is not installed")
    return Path(spec.origin).parent / path


def ridges():
    """Ridged octaves: sharp crests where noise changes sign, rougher where the ground is high."""
    rng = np.random.default_rng(101)
    height, weight = np.zeros((SIDE, SIDE)), np.ones((SIDE, SIDE))
    for octave in range(6):
        crest = (1 - np.abs(power_noise(rng, 2.6, low=2.0 ** octave / SIDE,
                                        high=2.0 ** (octave + 2) / SIDE)) / 2).clip(0, 1) ** 2
        height += 0.5 ** octave * weight * crest
        weight = (1.5 * crest).clip(0, 1)
    return levels(height, 12, 245)


def relief():
    """The same kind of ground, lit from the upper left as on a map, with a lake that is flat."""
    ground = power_noise(np.random.default_rng(102), 2.2)
    ground = np.maximum(ground, -0.7)
    dy, dx = np.gradient(ground * 18)
    light = (1 + 0.7 * dx + 0.7 * dy) / np.sqrt(1 + dx ** 2 + dy ** 2) / np.sqrt(1.98)
    return levels(light.clip(0, 1), 20, 240)


def fault():
    with np.load(shipped("matplotlib", "mpl-data/sample_data/jacksboro_fault_dem.npz")) as z:
        return levels(z["elevation"][44:300, 73:329].astype(np.float64), 0, 255)


HEAD = ((1.0, 0.69, 0.92, 0, 0, 0), (-0.8, 0.6624, 0.874, 0, -0.0184, 0),
        (-0.2, 0.11, 0.31, 0.22, 0, -18), (-0.2, 0.16, 0.41, -0.22, 0, 18),
        (0.1, 0.21, 0.25, 0, 0.35, 0), (0.1, 0.046, 0.046, 0, 0.1, 0),
        (0.1, 0.046, 0.046, 0, -0.1, 0), (0.1, 0.046, 0.023, -0.08, -0.605, 0),
        (0.1, 0.023, 0.023, 0, -0.606, 0), (0.1, 0.023, 0.046, 0.06, -0.605, 0))


def ellipses(x, y, rows):
    """Sums of ellipses; value, half axes, centre, degrees."""
    picture = np.zeros(x.shape)
    for value, a, b, cx, cy, angle in rows:
        c, s, u, v = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle)), x - cx, y - cy
        picture += value * (((u * c + v * s) / a) ** 2 + ((v * c - u * s) / b) ** 2 <= 1)
    return picture


def phantom():
    """Shepp and Logan's head with Toft's contrasts. Means of 4 x 4 points a pixel."""
    v, u = grid(4)
    return levels(net_drawn.shrink(ellipses(2 * u - 1, 1 - 2 * v, HEAD), 4), 0, 255)


def body(rng):
    """Ellipses of a slice through a trunk: skin, two lungs, a spine, vessels."""
    rows = [(1.0, 0.92, 0.66, 0, 0, 0), (-0.75, 0.28, 0.42, -0.42, 0.06, 0.15),
            (-0.75, 0.30, 0.40, 0.42, 0.06, -0.2), (0.25, 0.24, 0.22, 0.06, 0.1, 0.4),
            (0.8, 0.12, 0.10, 0, -0.44, 0), (-0.5, 0.05, 0.04, 0, -0.44, 0)]
    for _ in range(40):
        r, t, s = rng.random(3) * (0.03, 2 * np.pi, 0.2) + (0.008, 0, 0.05)
        rows.append((0.6, r, r * (0.6 + 0.4 * rng.random()), np.sign(rng.random() - 0.5) * 0.42
                     + s * np.cos(t), 0.06 + 1.4 * s * np.sin(t), t))
    return rows


def scan():
    """Reconstructed by filtered back projection from 240 noisy projections of ellipses, whose line
    integrals are known: 2 A a b sqrt(w - s^2) / w, w = a^2 cos^2 + b^2 sin^2."""
    rng = np.random.default_rng(103)
    s = np.linspace(-1.5, 1.5, 769)
    ramp = np.abs(np.fft.fftfreq(2 * s.size))
    v, u = grid()
    x, y, picture = 2 * u - 1, 1 - 2 * v, np.zeros((SIDE, SIDE))
    rows = body(rng)
    for angle in np.arange(240) * np.pi / 240:
        line = 0.004 * rng.standard_normal(s.size)
        for value, a, b, cx, cy, turn in rows:
            w = (a * np.cos(angle - turn)) ** 2 + (b * np.sin(angle - turn)) ** 2
            at = s - cx * np.cos(angle) - cy * np.sin(angle)
            line += 2 * value * a * b * np.sqrt((w - at ** 2).clip(0)) / w
        line = np.fft.ifft(np.fft.fft(line, 2 * s.size) * ramp).real[:s.size]
        picture += np.interp(x * np.cos(angle) + y * np.sin(angle), s, line)
    low, high = np.percentile(picture, (1, 99.7))
    return levels(picture.clip(low, high), 0, 255)


def spots():
    """Fluorescence: threads and spots on dark ground, blurred by the lens, with photon noise."""
    rng = np.random.default_rng(104)
    v, u = np.mgrid[:SIDE, :SIDE] + 0.5
    light = 2 + 3 * np.exp(-((v - 140) ** 2 + (u - 120) ** 2) / 8000)
    for _ in range(160):
        cy, cx, bright = rng.random() * SIDE, rng.random() * SIDE, 10 * np.exp(rng.normal() * 0.9)
        size = 0.9 + 2.2 * rng.random() ** 3
        light += bright * np.exp(-((v - cy) ** 2 + (u - cx) ** 2) / (2 * size ** 2))
    for _ in range(14):
        t = np.linspace(0, 1, 400)
        angle = rng.random() * 2 * np.pi + np.cumsum(rng.standard_normal(400)) * 0.03
        path = rng.random(2)[:, None] * SIDE + 0.5 * np.cumsum((np.sin(angle), np.cos(angle)), 1)
        near = np.full((SIDE, SIDE), np.inf)
        for y, x in path.T[::2]:
            np.minimum(near, (v - y) ** 2 + (u - x) ** 2, out=near)
        light += (8 + 10 * rng.random()) * np.exp(-near / (2 * 1.1 ** 2)) * (0.6 + 0.4 * t.mean())
    return levels(np.sqrt(rng.poisson(light * 6) / 6).clip(0, 7), 0, 255)


def tissue():
    """Cells beside each other: dark walls between the two nearest centres, a nucleus in each."""
    rng = np.random.default_rng(105)
    v, u = grid()
    bend = 0.02 * power_noise(rng, 2.0), 0.02 * power_noise(rng, 2.0)
    at = rng.random((90, 2)) * 1.2 - 0.1
    away = np.stack([np.hypot(v + bend[0] - y, u + bend[1] - x) for y, x in at])
    first, second = np.partition(away, 1, 0)[:2]
    wall = 1 - np.exp(-((second - first) / 0.012) ** 2)
    tone = (150 + 25 * rng.standard_normal(90))[away.argmin(0)]
    nucleus = 1 / (1 + np.exp((first - 0.022 - 0.003 * power_noise(rng, 1.5)) / 0.002))
    picture = (tone + 8 * power_noise(rng, 1.2)) * (0.35 + 0.65 * wall) * (1 - 0.55 * nucleus)
    return levels(picture.clip(20, 235), 15, 240)


def cell():
    from PIL import Image
    found = np.asarray(Image.open(shipped("skimage", "data/cell.png")).convert("L"), np.float64)
    top, left = ((size - 2 * SIDE) // 2 for size in found.shape)
    return np.rint(net_drawn.shrink(found[top:top + 2 * SIDE, left:left + 2 * SIDE], 2))


# name -> kind, function; the order of the tables.
KINDS = {"ridges": ("elevation", ridges), "relief": ("elevation", relief),
         "phantom": ("tomography", phantom), "scan": ("tomography", scan),
         "spots": ("microscopy", spots), "tissue": ("microscopy", tissue),
         "letters": ("text", net_drawn.letters), "sign": ("text", net_drawn.sign),
         "contours": ("drawing", net_drawn.contours), "plan": ("drawing", net_drawn.plan),
         "spheres": ("rendering", net_drawn.spheres), "water": ("rendering", net_drawn.water)}
INSTALLED = {"fault": ("elevation", fault), "cell": ("microscopy", cell)}


ALL = {**KINDS, **INSTALLED}


def kind(name):
    return ALL[name][0] if name in ALL else "photograph"


def load(names):
    """(name, picture) of those that are here; without what it needs a picture is left out."""
    found = []
    for name in (n for n in names if n in ALL):
        try:
            found.append((name, ALL[name][1]()))
        except (ImportError, OSError) as error:
            print(f"left out: {name}: {error}")
    return found
