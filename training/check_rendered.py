#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_rendered.py - decibels of a prior for renderings on path-traced scenes (path_traced.py),
from 1/4 to 64 rays a pixel; after tone mapping, as a display of range 1 has it.

  python3 check_rendered.py prior.npz box.npz things.npz

Needs PyTorch and NumPy. Columns: the samples as they are (of pixels without one those spread); one
pass; 8 passes; channel by channel, and that by 8 passes; with the AOVs of the same rays only;
without AOVs; with variances. Rows "placed" have exact samples, or 1 to 16 rays a pixel and 2 in the
mean, more of them where the picture has edges."""
import argparse
import sys
from pathlib import Path

import numpy as np
import torch

import network
import radiance

CLASSES = (("1/8", 1 / 8, 1), ("1/4", 1 / 4, 1), ("1/2", 1 / 2, 1), ("1", 1, 1),
           ("4 in 1/4", 1 / 4, 4), ("4", 1, 4), ("16", 1, 16), ("64", 1, 64),
           ("1/8 exact", 1 / 8, 256), ("1/4 exact", 1 / 4, 256),
           ("1/8 placed", 1 / 8, -256), ("1/4 placed", 1 / 4, -256), ("2 placed", 1, -2))


def decibels(found, truth):
    display = lambda c: np.clip(c, 0, 1) ** (1 / 2.2)  # noqa: E731
    return -10 * np.log10(np.mean((display(np.asarray(found)) - display(truth)) ** 2))


def aovs_of(a):
    return {"albedo": a[..., :3].transpose(2, 0, 1), "normal": a[..., 3:6].transpose(2, 0, 1),
            "depth": a[..., 6]}


def density_of(ref):
    """Of mean 1, more at edges [H][W]."""
    shown = np.clip(ref, 0, 1).mean(2) ** (1 / 2.2)

    def blur(a):
        rows = np.lib.stride_tricks.sliding_window_view(np.pad(a, 2, mode="edge"), (5, 5))
        return rows.mean((2, 3))
    edges = blur(np.abs(shown - blur(shown)))
    return 0.25 + 0.75 * edges / edges.mean()


def placed(scene, mean):
    """As samples: of each pixel the first of its rays, so many as density_of says."""
    n = np.clip(np.round(mean * density_of(scene["ref"])), 1, len(scene["rays"]))
    some = (np.arange(len(scene["rays"]))[:, None, None] < n)[..., None]
    y, beside = ((scene[name] * some).sum(0) / n[..., None] for name in ("rays", "beside"))
    square = ((scene["rays"] - y) ** 2 * some).sum(0) / np.maximum(n - 1, 1)[..., None]
    variance = np.where(n[..., None] > 1, square / n[..., None], -1)
    return y.transpose(2, 0, 1), n, aovs_of(beside), variance.transpose(2, 0, 1)


def samples(scene, share, count, seed=1):
    """y [3][H][W], rays [H][W], AOVs of the same rays, variance of y or None. count < 0: placed."""
    p, count = density_of(scene["ref"]).ravel() if count < 0 else None, abs(count)
    if p is not None and share == 1:
        return placed(scene, count)
    rays, beside, ref = scene["rays"][:count], scene["beside"][:count], scene["ref"]
    y, aovs, variance = rays.mean(0), beside.mean(0), None
    if count == 64:
        y = (16 * y + 48 * scene["more"]) / 64
    elif count > 64:
        y, aovs = ref, scene["clean"]
    if 1 < count <= 16:
        variance = rays.var(0, ddof=1).transpose(2, 0, 1) / count
    known = np.zeros(y.shape[:2], bool).ravel()
    known[np.random.default_rng(seed).choice(known.size, round(share * known.size), False,
                                              p if p is None else p / p.sum())] = True
    known = known.reshape(y.shape[:2])
    return y.transpose(2, 0, 1) * known, known * float(count), aovs_of(aovs), variance


def check(net, scene, tell=print, classes=CLASSES):
    """Decibels by (class, how)."""
    truth, clean, found = scene["ref"].transpose(2, 0, 1), aovs_of(scene["clean"]), {}
    device = next(net.parameters()).device
    for name, share, count in classes:
        y, rays, own, variance = samples(scene, share, count)
        ways = {"one pass": {"aovs": clean}, "eight": {"aovs": clean, "turns": 8},
                "by channel": {"aovs": clean, "together": False},
                "both": {"aovs": clean, "together": False, "turns": 8},
                "noisy AOVs": {"aovs": own, "share": rays}, "no AOVs": {}}
        if variance is not None:
            ways["variance"] = {"aovs": clean, "variance": variance}
        X, unit = radiance.planes(
            *(torch.as_tensor(a, dtype=torch.float32)[None] for a in (y, rays[None])),
            torch.full((1, *y.shape), -1.0), torch.zeros(1, 7, *rays.shape),
            torch.zeros(1, 1, *rays.shape), torch.zeros(1, 3, 1, 1))
        found[name, "samples"] = decibels((radiance.untone(X[:, radiance.FILLED]) * unit)[0], truth)
        for way, more in ways.items():
            made = radiance.recover(net, y, rays, **more).cpu().numpy()
            if abs(count) > 64:
                made = np.where(rays > 0, y, made)
            found[name, way] = decibels(made, truth)
        tell(f"  {name:10s}" + "".join(f"  {way} {found[name, way]:.2f}"
                                       for way in ("samples", *ways)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL.npz")
    parser.add_argument("scenes", nargs="+", metavar="SCENE.npz")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    o = parser.parse_args()
    net, *_ = network.read(o.model)
    if net.kind != "rendered":
        sys.exit(f"check_rendered.py: {o.model}: a model of kind {net.kind}, not rendered")
    net = net.to(o.device).eval()
    for path in o.scenes:
        if not Path(path).exists():
            print(f"{path}: not there, left out; path_traced.py makes it")
            continue
        print(path)
        with np.load(path) as scene:
            check(net, {name: scene[name].astype(np.float32) for name in scene})


if __name__ == "__main__":
    main()
