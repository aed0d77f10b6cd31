#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_places.py - PSNR of one pass of priors over pictures that are measured in three rounds, a third
of the samples each, placed by csrec_where_next; beside as many uniform positions.

  PYTHONPATH=../build/python python3 check_places.py prior.npz other.npz --head places.npz

Each model recovers and places. Densities: expected, the error that it expects; head, what the head of
train_places.py makes of it; oracle, the true error of each pixel. Needs PyTorch, NumPy, csrecover."""
import argparse

import numpy as np
import torch

import check
import network
import places
import train_places

RATES = (0.05, 0.125, 0.25)


def seen(net, picture, mask):
    p, k = (torch.as_tensor(np.asarray(a, np.float32))[None, None] for a in (picture, mask))
    X, filled, Y, mean, unit = places.passed(net, p, k)
    return X, filled, Y, k, torch.where(k > 0, p, mean + unit * (filled + Y[:, :1]))[0, 0].numpy()


def density_of(way, head, pass_, picture, count):
    X, filled, Y, known, recovered = pass_
    if way == "oracle":
        return np.abs(recovered - picture) + 1e-3
    if way == "expected":
        return places.expected(Y, known)[0, 0].numpy()
    Z = network.run(head, train_places.planes(X, filled, Y, known, torch.full((1, 1, 1, 1), count)))
    return train_places.density(Z, Y, known)[0, 0].numpy()


def psnr(net, head, way, picture, rate, rounds=3, seed=1):
    import csrecover
    total = round(rate * picture.size)
    if way == "uniform":
        mask = check.mask_of(picture.shape, rate)
    else:
        scan = csrecover.sample(picture, pattern="poisson", seed=seed, count=-(-total // rounds))
        mask = np.zeros(picture.size, bool)
        mask[scan.index] = True
        for k in range(2, rounds + 1):
            count = round(k * total / rounds) - int(mask.sum())
            pass_ = seen(net, picture, mask.reshape(picture.shape))
            density = density_of(way, head, pass_, picture, float(count))
            mask[csrecover.where_next(mask.reshape(picture.shape), count, density, seed=seed)] = True
        mask = mask.reshape(picture.shape)
    made = seen(net, picture, mask)[4]
    return 10 * np.log10(255.0 ** 2 / np.mean((made.clip(0, 255) - picture) ** 2))


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.npz")
    parser.add_argument("--head", metavar="PLACES.npz")
    parser.add_argument("--five", action="store_true", help="these alone")
    parser.add_argument("--ways", default="uniform,expected,head,oracle")
    o = parser.parse_args()
    head = train_places.read(o.head) if o.head else None
    sets = check.bench_pictures()
    for path in o.models:
        net = network.read(path)[0].eval()
        for name, pictures in list(sets.items())[:1 if o.five else None]:
            for way in o.ways.split(","):
                if way == "head" and head is None:
                    continue
                each = [np.mean([psnr(net, head, way, np.asarray(p, np.float64), rate)
                                 for _, p in pictures]) for rate in RATES]
                print(f"{path}  {name} ({len(pictures)})  {way:9s}"
                      + " / ".join(f"{m:.3f}" for m in each), flush=True)


if __name__ == "__main__":
    main()
