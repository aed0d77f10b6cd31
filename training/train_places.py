#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""train_places.py - trains a head that tells where to measure next, beside a prior that stays as it is.

  python3 train_places.py --prior ../share/csrecover/prior-gray.npz -o places.npz --minutes 9

From a picture of one pass of the prior and what it expects of its errors the head makes two planes, a
and b. Where a round asks for samples at a density of t times the mean density, the expected squared
error after it is

    e^2 = v exp(a) t^-b,

v being the prior's variance before the round. Samples cost the same everywhere, so the sum of e^2 is
least where b v exp(a) t^(-b - 1) is the same everywhere: t goes with (b v exp(a))^(1 / (1 + b)).
csrec_where_next takes it. a and b are learned by the likelihood of the true errors after rounds at
densities that vary at random, on synthetic pictures. The file has the layers of a prior's."""
import argparse
import math
import sys
import time

import numpy as np
import torch

import network
import pictures
import places
import sampling
import scenes
from draws import Draws

BANK, RANKS, BLOCK, ROUND, KEPT = range(5)
PLANES = 7
MOST_RATIO = 100.0


def planes(X, filled, Y, known, count):
    """What the head takes: the pass, its logarithm of v, the mask, its local density and distances, all
    in units of this size: 1. count: samples of the next round."""
    size = known.shape[2] * known.shape[3]
    rate = known.sum((1, 2, 3), keepdim=True) / size
    local = torch.nn.functional.avg_pool2d(known, 9, 1, 4, count_include_pad=False)
    near = places.nearest_squared(known)
    r = torch.where(known > 0, X[:, 1:2], filled + Y[:, :1])
    s = Y[:, 1:2].clamp(-20, 20)
    return torch.cat([r, s / 3, known, torch.log1p(local / rate), torch.log1p(near * rate),
                      torch.log(rate).expand_as(known) / 2,
                      torch.log(count / size / rate).expand_as(known)], 1)


def made(width, blocks, scales, seed):
    net = network.Network(PLANES, network.design(2, width, blocks, scales)).start(1, seed)
    net.products[-1].bias.data.copy_(torch.tensor([0.0, 0.0]))
    return net


def read(path):
    with np.load(path, allow_pickle=False) as z:
        return network.Network(PLANES, z["layers"]).fill(z["weights"]).eval()


def curves(Z, Y):
    """a + log v, and b from 0.1 on, 1 in the beginning."""
    b = 0.1 + torch.nn.functional.softplus(Z[:, 1:2] + 0.38)
    return Z[:, :1] + Y[:, 1:2].clamp(-20, 20), b


def density(Z, Y, known):
    """For csrec_where_next: (b v exp(a))^(1 / (1 + b))."""
    a, b = curves(Z, Y)
    return torch.exp((torch.log(b) + a) / (1 + b)) * (1 - known)


class Rounds:
    """Pictures, masks of none to two placed rounds, a round at a random density, errors after it."""

    def __init__(self, o, prior, device):
        self.o, self.prior, self.device = o, prior, device
        self.tables = scenes.noise_tables(Draws(device, o.seed, BANK))
        self.ranks = sampling.poisson_ranks(Draws(device, o.seed, RANKS), 16 if o.patch > 64 else 2,
                                            256 if o.patch > 64 else 64)
        self.held = None

    def drawn(self, d, n, number):
        """A block of pictures serves several times."""
        if self.held is None or number % self.o.reuse == 0:
            self.held = pictures.block(d, n, 1, self.o.patch, self.tables)
        return self.held[torch.argsort(d.uniform(n))]

    def place(self, d, e, known, count):
        ranks = places.drawn_ranks(d, self.ranks, len(known), self.o.patch)
        return places.place(e, known, count, ranks)

    @torch.no_grad()
    def make(self, number, head=None):
        d, n, size = Draws(self.device, self.o.seed, ROUND, number), self.o.batch, self.o.patch
        picture = self.drawn(d, n, number)
        total = d.scale(0.02, 0.35, n, 1, 1, 1) * size * size
        first = total * d.between(0.15, 0.6, n, 1, 1, 1)
        known = (places.drawn_ranks(d, self.ranks, n, size) < first / size ** 2).float()
        known[:, :, 0, 0] = 1
        steps = d.one((1, 1, 2, 2, 3))
        for step in range(steps):
            X, filled, Y, mean, unit = places.passed(self.prior, picture, known)
            count = ((total - first) / steps).clamp_min(4)
            planes_ = planes(X, filled, Y, known, count)
            e = places.expected(Y, known) * places.wavy(d, n, size)
            if head is not None and d.one((0, 1)):
                e = density(head(planes_), Y, known) * places.wavy(d, n, size)
            new, asked = self.place(d, e, known, count)
            before, known = known, known + new
        after = places.passed(self.prior, picture, known)
        error = ((picture - after[3]) / after[4] - after[1] - after[2][:, :1]) * (1 - known)
        error = error * (after[4] / unit)
        t = torch.log(places.PACKED / asked * size * size / (count + before.sum((1, 2, 3), keepdim=True)))
        return planes_, Y, before, t, error


def loss_of(Z, Y, before, t, error, clamp=MOST_RATIO):
    """The likelihood of the errors, weighed by their share of the picture's: what matters for PSNR is
    where most of the error is; and the plain one, a tenth."""
    a, b = curves(Z, Y)
    s = (a - b * t).clamp(-20, 20)
    ratio = (error.square() * torch.exp(-s)).clamp_max(clamp)
    free = 1 - before
    share = torch.exp(0.5 * s.detach())
    share = share / (share * free).mean((1, 2, 3), keepdim=True)
    return ((s + ratio) * free * (0.2 + 0.8 * share)).mean()


def train(o):
    device = torch.device(o.device)
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
    prior = network.read(o.prior)[0].to(device).eval()
    head = made(o.width, o.blocks, o.scales, o.seed).to(device)
    mean = [p.detach().clone() for p in head.parameters()]
    adam = torch.optim.Adam(head.parameters(), o.rate, betas=(0.9, 0.98))
    rounds, began, step, losses, told = Rounds(o, prior, device), time.monotonic(), 0, [], 0.0
    base = []
    while True:
        share = (time.monotonic() - began) / (60 * o.minutes)
        if share >= 1:
            break
        batch = rounds.make(step, head if share > 0.15 else None)
        for group in adam.param_groups:
            group["lr"] = o.rate * min(1, (step + 1) / 50) * (0.5 * (1 + math.cos(math.pi * share)) + 0.003)
        loss = loss_of(head(batch[0]), *batch[1:])
        adam.zero_grad()
        loss.backward()
        if torch.isfinite(loss):
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            adam.step()
        step += 1
        keep = min(0.995, 1 - 1 / (step + 1))
        with torch.no_grad():
            torch._foreach_lerp_(mean, [p.detach() for p in head.parameters()], 1 - keep)
            zero = torch.zeros_like(batch[1])
            losses.append(float(loss))
            base.append(float(loss_of(zero, *batch[1:])))
        if time.monotonic() - told > o.every:
            told = time.monotonic()
            k = min(len(losses), 100)
            with torch.no_grad():
                b = curves(head(batch[0]), batch[1])[1]
            print(f"step {step}  {(told - began) / 60:.2f} min  loss {sum(losses[-k:]) / k:.4f}  "
                  f"of no head {sum(base[-k:]) / k:.4f}  b {b.mean():.2f} +- {b.std():.2f}", flush=True)
    with torch.no_grad():
        for p, m in zip(head.parameters(), mean):
            p.copy_(m)
    checked(rounds, head)
    network.write(o.output, head, 1, kind="places", settings=f"train_places.py: step {step}")


@torch.no_grad()
def checked(rounds, head, count=128):
    """PSNR of pictures kept aside, in three rounds, by densities: what the prior expects to a power, the
    head's, the true errors of single pixels and their root mean squares around."""
    o, device = rounds.o, rounds.device
    picture = pictures.block(Draws(device, o.seed, KEPT), count, 1, o.patch, rounds.tables)
    ways = ("0.7", "1.0", "1.5", "head", "oracle", "oracle 5 x 5")
    for rate in (0.05, 0.125, 0.25):
        line = []
        for way in ways:
            d, total = Draws(device, o.seed, KEPT, 1), torch.full((count, 1, 1, 1), rate * o.patch ** 2,
                                                                 device=device)
            known = (places.drawn_ranks(d, rounds.ranks, count, o.patch) < rate / 3).float()
            known[:, :, 0, 0] = 1
            for k in (2, 1, 0):
                X, filled, Y, mean, unit = places.passed(rounds.prior, picture, known)
                true = ((picture - mean) / unit - filled - Y[:, :1]) * (1 - known)
                if k == 0:
                    break
                n = (total - known.sum((1, 2, 3), keepdim=True)) / k
                if way == "head":
                    e = density(head(planes(X, filled, Y, known, n)), Y, known)
                elif way == "oracle":
                    e = true.abs() + 1e-3
                elif way == "oracle 5 x 5":
                    e = torch.nn.functional.avg_pool2d(true.square(), 5, 1, 2).sqrt() + 1e-3
                else:
                    e = places.expected(Y, known) ** float(way)
                known = known + rounds.place(d, e, known, n)[0]
            mse = (true * unit).square().mean((1, 2, 3))
            line.append(f"{way}: {(10 * torch.log10(255 ** 2 / (mse + 1e-2))).mean():.3f}")
        print(f"kept aside, {100 * rate:g} %  " + "  ".join(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-o", "--output", required=True)
    add("--prior", required=True)
    add("--minutes", type=float, default=9)
    add("--width", type=int, default=16)
    add("--blocks", type=int, default=1)
    add("--scales", type=int, default=3)
    add("--batch", type=int, default=64)
    add("--patch", type=int, default=128)
    add("--reuse", type=int, default=4)
    add("--rate", type=float, default=1e-3)
    add("--seed", type=int, default=0)
    add("--every", type=float, default=10)
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
