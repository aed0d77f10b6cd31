# SPDX-License-Identifier: BSD-3-Clause
"""places.py - where to measure next, for whole batches on one device: what csrec_where_next does with
a density, approximately, so that masks of several rounds can be made while a network trains."""
import torch
import torch.nn.functional as F

import network

REACH = 16      # pixels: distances beyond count as this
PACKED = 0.56   # random darts that keep r from each other: so many in r x r
SPACING = 1.5   # csrec_where_next: the largest distance over that of a square grid


def nearest_squared(known):
    """Squared distance to the nearest known pixel, at most REACH^2. known [B][1][H][W] of 0 and 1."""
    squared = torch.where(known > 0, 0.0, float(REACH * REACH))
    for pad in ((1, 1, 0, 0), (0, 0, 1, 1)):
        wide = F.pad(squared, [REACH * p for p in pad], value=float(REACH * REACH))
        axis = 3 if pad[0] else 2
        size = squared.shape[axis]
        for step in range(-REACH, REACH + 1):
            squared = torch.minimum(squared, wide.narrow(axis, REACH + step, size) + step * step)
    return squared


def wanted(density, known, count):
    """Squared distances of csrec_where_next at c = 1, and the largest one."""
    free = 1 - known
    n = free.sum((1, 2, 3), keepdim=True)
    mean = (density * free).sum((1, 2, 3), keepdim=True) / n.clamp_min(1)
    most = (SPACING ** 2 * n / count.clamp_min(1)).clamp_max(REACH * REACH - 1)
    return mean.clamp_min(1e-30) / density.clamp_min(1e-30), most


def place(density, known, count, ranks, steps=16):
    """A mask of about `count` [B][1][1][1] new pixels, and the squared distance that each asked for.
    ranks [B][1][H][W]: Poisson-disc ranks in 0 to 1 (sampling.poisson_ranks), of patterns that were
    not used before for these pictures."""
    spread, most = wanted(density, known, count)
    near = nearest_squared(known)
    low, high = (torch.full_like(count, v) for v in (-12.0, 12.0))
    for _ in range(steps):
        middle = (low + high) / 2
        asked = (spread * torch.exp(middle)).minimum(most)
        hit = (near >= asked.clamp_min(1)) & (ranks * asked < PACKED)
        few = hit.sum((1, 2, 3), keepdim=True) < count
        low, high = torch.where(few, low, middle), torch.where(few, middle, high)
    asked = (spread * torch.exp(high)).minimum(most)
    return ((near >= asked.clamp_min(1)) & (ranks * asked < PACKED)).float(), asked


def drawn_ranks(d, ranks, n, size):
    """Parts of the patterns [count][side][side], shifted."""
    which, side = d.below(ranks.shape[0], n, 1, 1), ranks.shape[-1]
    at = torch.arange(size, device=d.device)
    y, x = at[:, None] + d.below(side, n, 1, 1), at[None] + d.below(side, n, 1, 1)
    return ranks[which, y % side, x % side][:, None]


@torch.no_grad()
def passed(net, shown, known, sigma=None, chunk=64):
    """One pass of a gray network over samples: planes, F, output, mean and unit. On a GPU in
    bfloat16."""
    found = []
    for at in range(0, len(shown), chunk):
        p, k = shown[at:at + chunk], known[at:at + chunk]
        level = torch.zeros_like(p[:, :1, :1, :1]) if sigma is None else sigma[at:at + chunk]
        X, filled, mean, unit = network.planes(p, k, level)
        with torch.autocast(X.device.type, torch.bfloat16, enabled=X.device.type == "cuda"):
            Y = net(X)
        found.append((X, filled, Y.float(), mean, unit))
    return [torch.cat(parts) for parts in zip(*found)]


def expected(Y, known):
    """The error that the network expects, in normal values."""
    return torch.exp(0.5 * Y[:, 1:2].clamp(-20, 20)) * (1 - known)


def wavy(d, n, size, most=1.2):
    """Random factors of a density, of 4 to 40 pixels."""
    cells = max(2, round(size / d.one((4, 6, 10, 16, 24, 40))))
    waves = F.interpolate(d.normal(n, 1, cells, cells), size=(size, size), mode="bicubic",
                          align_corners=False)
    return torch.exp(d.between(0, most, n, 1, 1, 1) * waves)


def measured(d, net, shown, sigma, ranks, total, steps, first, most=0.4):
    """Masks of `total` [B][1][1][1] pixels, the part `first` of them evenly, the rest in rounds where
    the network expects errors, times random factors and to a random power."""
    n, size = len(shown), shown.shape[-1]
    known = (drawn_ranks(d, ranks, n, size) * size ** 2 < first * total).float()
    known[:, :, 0, 0] = 1
    power = d.between(0.7, 1.4, n, 1, 1, 1)
    for k in range(steps):
        Y = passed(net, shown, known, sigma)[2]
        density = (expected(Y, known) ** power + 1e-12) * wavy(d, n, size, most)
        count = ((total - known.sum((1, 2, 3), keepdim=True)) / (steps - k)).clamp_min(1)
        known = known + place(density, known, count, drawn_ranks(d, ranks, n, size))[0]
    return known
