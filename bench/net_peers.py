#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_peers.py - what completes pictures elsewhere beside csrecover, in one run, one thread each:
PSNR and seconds from 10 % and 25 % of the pixels, on the five pictures and on a hold-out of
other kinds (net_kinds.py), masks as in pictures.py.

  OpenCV FSR          cv2.xphoto.inpaint, frequency-selective; INPAINT_FSR_FAST, and
                      INPAINT_FSR_BEST with --slow (100 s a picture)
  biharmonic          scikit-image
  BM3D, plug and play PyPI bm3d as the denoiser: BM3D-like inpainting, for there is no
                      inpainting in bm3d itself
  E-PLE               left out: its code is only on its journal's page, in no package registry

Each NAME is a preset of csrecover (fast) or comma-separated options (method=net,seed=3);
default: fast balanced best. Needs NumPy and SciPy, and each peer where installed."""
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import net_kinds
import pictures
from common import by_method, versions

BM3D_SIGMAS = (12.0, 1.0)  # first, last: of those tried, on camera and moon
PACKAGES = ("opencv-contrib-python-headless", "bm3d", "torch")
NOT_HAD = {"E-PLE (Wang 2013)": "its code is only on its journal's page, in no package registry"}


# ---- peers: method(values at the samples, mask) -> picture

def frequency_selective(y, mask, quality):
    import cv2
    cv2.setNumThreads(1)
    holes, out = np.zeros(mask.shape, np.uint8), np.zeros(mask.shape, np.uint8)
    holes[mask] = np.rint(y.clip(0, 255))
    cv2.xphoto.inpaint(holes, mask.astype(np.uint8) * 255, out,
                       getattr(cv2.xphoto, f"INPAINT_FSR_{quality}"))
    return out.astype(np.float64)


def block_matching(y, mask, steps):
    """Plug and play by half-quadratic splitting from the Delaunay triangulation (Zhang et al. 2021,
    "Plug-and-play image restoration with deep denoiser prior", equations 6 and 7; known pixels are
    without noise and stay). Hard thresholding alone until the last step, which also has the Wiener
    stage."""
    from bm3d import BM3DStages, bm3d
    x = pictures.delaunay(y, mask)
    for step, sigma in enumerate(np.geomspace(*BM3D_SIGMAS, steps)):
        stages = BM3DStages.ALL_STAGES if step == steps - 1 else BM3DStages.HARD_THRESHOLDING
        x = np.array(bm3d(x, sigma, stage_arg=stages))
        x[mask] = y
    return x


def peers(arguments):
    """name -> method."""
    found = dict(pictures.PEERS)
    found["OpenCV FSR, fast"] = lambda y, mask: frequency_selective(y, mask, "FAST")
    if arguments.slow:
        found["OpenCV FSR, best"] = lambda y, mask: frequency_selective(y, mask, "BEST")
    name = f"BM3D (bm3d), plug and play, {arguments.steps} steps"
    found[name] = lambda y, mask: block_matching(y, mask, arguments.steps)
    return found


def options(name):
    """fast -> --quality fast; method=net,set=effort=0 -> --method net --set effort=0."""
    pairs = [part.split("=", 1) for part in name.split(",")] if "=" in name else [("quality", name)]
    return [word for key, *value in pairs for word in (f"--{key}", *value)]


def methods(arguments):
    """name -> function(y, mask, truth) -> row."""
    found = {name: lambda y, m, t, n=name, f=method: pictures.measure(n, f, y, m, t)
             for name, method in peers(arguments).items()}
    tool = str(Path(arguments.build) / "csrecover")
    for name in arguments.ours:
        shown = " ".join(("csrecover", *options(name)))
        found[shown] = lambda y, m, t, n=shown, o=options(name): pictures.measure_ours(
            n, tool, o, y, m, t)
    return {name: method for name, method in found.items()
            if not any(word in name for word in arguments.without)}


def means(rows):
    """Of each set, those of pictures.py; and the kinds one by one."""
    groups = {"five": [r for r in rows if r["kind"] == "photograph"],
              "hold-out": [r for r in rows if r["kind"] != "photograph"]}
    for kind in dict.fromkeys(r["kind"] for r in groups["hold-out"]):
        groups[kind] = [r for r in rows if r["kind"] == kind]
    return {group: pictures.means(of) for group, of in groups.items() if of}


def show(table):
    groups = list(table)
    cell = {(group, row["method"], row["rate"]): row for group in groups for row in table[group]}
    names = list(dict.fromkeys(row["method"] for group in groups for row in table[group]))
    print("\nmean PSNR (dB), 10 % / 25 % known; seconds a picture at 25 %, "
          f"{pictures.THREADS} thread(s)")
    print(f"{'':42s} " + " ".join(f"{group:>13s}" for group in groups) + "        s")
    for name in names:
        low, high = ([cell[group, name, rate] for group in groups] for rate in pictures.RATES)
        print(f"{name:42s} " + " ".join(f"{a['psnr']:6.2f} {b['psnr']:6.2f}"
                                        for a, b in zip(low, high))
              + f" {np.mean([row['seconds'] for row in high[:2]]):8.2f}")


def parsed():
    parser = common.parser(
        __doc__, "net_peers.json", images=None, threads=("1", "of csrecover"),
        pictures=([*pictures.FIVE, *net_kinds.ALL], "of these only"),
        without=([], "leave out methods whose name has one of these words"),
        steps=(30, "of plug and play"), slow=(False, "OpenCV's INPAINT_FSR_BEST, too"))
    parser.add_argument("ours", nargs="*", metavar="NAME", default=["fast", "balanced", "best"])
    return parser.parse_args()


def main():
    arguments = parsed()
    pictures.THREADS = arguments.threads
    found, source = pictures.load(arguments.images, arguments.pictures)
    rows, left_out = by_method(methods(arguments), [
        ({**fields, "kind": net_kinds.kind(fields["picture"])}, *case)
        for fields, *case in pictures.cases(found)])
    left_out = NOT_HAD | left_out
    table = means(rows)
    show(table)
    common.save(arguments, versions=versions(*PACKAGES), source=source, steps=arguments.steps,
                 mean=table, pictures=rows, left_out=left_out)


if __name__ == "__main__":
    main()
