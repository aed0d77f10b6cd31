#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check.py - PSNR of one pass of models over pictures, from 10 and 25 % of the pixels.

  python3 check.py prior.npz other.npz                 # the pictures of bench/, in this tree
  python3 check.py prior.npz --pictures five.npz mine.npy

A picture is an array [H][W] or [H][W][channels] of 0 to 255, a .npy or one of a .npz. Masks are
those of the bench. Needs PyTorch and NumPy."""
import argparse
import sys
from pathlib import Path

import numpy as np
import torch

import network

RATES = (0.10, 0.25)


def bench_pictures():
    """The five and those of other kinds, [(name, picture)] of each set."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
    import net_kinds
    import pictures
    return {"five": pictures.load(None, pictures.FIVE)[0],
            "other kinds": net_kinds.load(net_kinds.ALL)}


def read_pictures(paths):
    sets = {}
    for path in paths:
        try:
            found = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise SystemExit(f"check.py: {path}: {error}; give .npy or .npz files")
        named = found.items() if path.endswith(".npz") else [(Path(path).stem, found)]
        sets[Path(path).stem] = [(name, picture) for name, picture in named]
    return sets


def mask_of(shape, rate, seed=1):
    n = shape[0] * shape[1]
    mask = np.zeros(n, bool)
    mask[np.random.default_rng(seed).choice(n, round(rate * n), replace=False)] = True
    return mask.reshape(shape[:2])


def psnr(net, channels, picture, rate):
    """Channels beyond the model's are recovered one by one."""
    planes = np.atleast_3d(np.asarray(picture, np.float32)).transpose(2, 0, 1)
    mask = mask_of(planes.shape[1:], rate)
    if planes.shape[0] % channels:
        raise SystemExit(f"check.py: a picture of {planes.shape[0]} channels, but the model is for "
                         f"{channels}")
    made = np.concatenate([network.recover(net, planes[c:c + channels], mask).cpu().numpy()
                           for c in range(0, len(planes), channels)])
    return 10 * np.log10(255.0 ** 2 / np.mean((made.clip(0, 255) - planes) ** 2))


def check(paths, sets, device, tell=print):
    """PSNR by (model, set, picture, rate)."""
    found = {}
    for path in paths:
        net, channels, _ = network.read(path)
        net = net.to(device).eval()
        for name, pictures in sets.items():
            for picture, truth in pictures:
                for rate in RATES:
                    found[path, name, picture, rate] = psnr(net, channels, truth, rate)
            means = [np.mean([found[path, name, p, rate] for p, _ in pictures]) for rate in RATES]
            tell(f"{path}  {name} ({len(pictures)})  " + " / ".join(f"{m:.3f}" for m in means))
    for name, pictures in sets.items():
        for picture, _ in pictures:
            tell(f"  {picture:16s}" + "  ".join(
                " / ".join(f"{found[path, name, picture, rate]:.2f}" for rate in RATES)
                for path in paths))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.npz")
    parser.add_argument("--pictures", nargs="+", metavar="FILE")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    o = parser.parse_args()
    try:
        check(o.models, read_pictures(o.pictures) if o.pictures else bench_pictures(), o.device)
    except (OSError, ValueError) as error:
        sys.exit(f"check.py: {error}")


if __name__ == "__main__":
    main()
