# SPDX-License-Identifier: BSD-3-Clause
"""radiance.py - what the network of a prior for renderings takes and makes: its planes, from few
rays of a path tracer and from albedo, normal and depth (AOVs); and the radiance from its output.
The library computes the same; README.md has the formulas.

y [B][3][H][W] is the mean of the n [B][1][H][W] rays of a pixel, n = 0: none. c = y / U is in units
of U = 4 (sum n sqrt(mean of the three channels of y) / sum n)^2, so that a picture has a mean near
0.25; tone(c) = log(1 + 20 c) / 3."""
import torch

import network

PLANES, MADE = network.RENDERED, network.RENDERED_MADE
FILLED, SAMPLES, KNOWN, RAYS, SPREAD, QUOTIENT, ALBEDO, NORMAL, DEPTH, SHARE = (
    slice(0, 3), slice(3, 6), slice(6, 7), slice(7, 8), slice(8, 9), slice(9, 12), slice(12, 15),
    slice(15, 18), slice(18, 19), slice(19, 20))
DARK, WHITE = 0.04, 0.96  # is added to albedo; the albedo that stands for none
UNSURE, MOST_SPREAD = -0.5, 2.0  # where no variance is known; at most
STEEP, TIMES, MOST = 20.0, 3.0, 4.0


def tone(c):
    return torch.log1p(STEEP * c) / TIMES


def untone(z):
    return torch.expm1(TIMES * z.clamp(-0.01, MOST)) / STEEP


def shown(c):
    """As a display has it, and less of what is brighter than white: the measure of errors."""
    c = c.clamp_min(0)
    return torch.where(c < 1, (c.clamp_max(1) + 0.002) ** (1 / 2.2),
                       1.0009 + torch.log(c.clamp_min(1)) / 4.4)


def unit_of(y, rays):
    """U [B][1][1][1]."""
    root = (y.mean(1, keepdim=True).clamp_min(0).sqrt() * rays).sum((2, 3), keepdim=True)
    return (4 * (root / rays.sum((2, 3), keepdim=True).clamp_min(1e-30)) ** 2).clamp_min(1e-30)


def near(depth, weight):
    """0 at the eye, 1 far away or where nothing is hit (0 or less, inf): d / (d + g), g the
    geometric mean of what is hit and known."""
    hit = (depth > 0) & torch.isfinite(depth)
    logs = torch.where(hit, depth, 1.0).clamp_min(1e-30).log()
    of = hit * weight
    g = torch.exp((logs * of).sum((2, 3), keepdim=True)
                  / of.sum((2, 3), keepdim=True).clamp_min(1e-30))
    return torch.where(hit, 1 / (1 + g / torch.where(hit, depth, 1.0)), 1.0)


def spread_of(c, variance):
    """Standard deviation of the mean after tone(), at most 2: of c [B][3][H][W] and the variance of
    each channel; the mean of three deviations at the mean of three channels. variance < 0: not
    known."""
    deviation = variance.clamp_min(0).sqrt().mean(1, keepdim=True)
    slope = STEEP / TIMES / (1 + STEEP * c.mean(1, keepdim=True))
    return torch.where(variance[:, :1] < 0, UNSURE, (deviation * slope).clamp_max(MOST_SPREAD))


def planes(y, rays, variance, aovs, share, there, unit=None):
    """y, rays: above; variance [B][3][H][W] of y, below 0: not known; aovs [B][7][H][W], albedo,
    normal and depth, anything where share [B][1][H][W], the rays that they are the mean of, is 0;
    there [B][3][1][1]: 1 where there are albedo, normal, depth. Returns planes [B][20][H][W], U."""
    known = (rays > 0).float()
    unit = unit_of(y, rays) if unit is None else unit
    c = (y / unit).clamp_min(0) * known
    count = torch.log2(1 + rays) / 6
    has = (share > 0).float()
    albedo, normal = aovs[:, :3].clamp(0, 1), aovs[:, 3:6].clamp(-1, 1)
    albedo = torch.where(there[:, :1] > 0, albedo, WHITE)
    own = torch.cat([albedo, normal * there[:, 1:2], near(aovs[:, 6:7], has) * there[:, 2:3]], 1)
    own = torch.where(has > 0, own, network.pull_push(own * share, share.expand_as(own)))
    direct, quotient = tone(c), tone(c / (own[:, :3] + DARK))
    weight = rays.expand_as(direct)
    spread = spread_of(c, variance / unit ** 2) * known
    return torch.cat([network.pull_push(direct * rays, weight), direct * known, known, count,
                      spread, network.pull_push(quotient * rays, weight), own,
                      (torch.log2(1 + share) / 8).clamp_max(1) * there.amax(1, keepdim=True)],
                     1), unit


def made(X, Y):
    """Radiance / U: a mixture of the picture itself and of albedo times its quotient."""
    direct = untone(X[:, FILLED] + Y[:, 0:3])
    lit = (X[:, ALBEDO] + DARK) * untone(X[:, QUOTIENT] + Y[:, 3:6])
    share = torch.sigmoid(Y[:, 6:7])
    return direct + share * (lit - direct)


def passes(net, X, turns):
    """tone() of radiance / U: the mean of so many passes over planes turned and flipped."""
    total = 0
    for turn in range(turns):
        flip = (lambda a: a.flip(3)) if turn & 4 else (lambda a: a)
        turned = flip(X.rot90(turn % 4, (2, 3)))
        found = tone(made(turned, network.run(net, turned)).clamp_min(0))
        total = total + flip(found).rot90(-(turn % 4), (2, 3))
    return total / turns


def grays(a, first=0):
    """Each of the three channels from `first` on as a gray picture: [3][...]."""
    return torch.cat([torch.cat([a[:, :first], a[:, k:k + 1].expand(-1, 3, -1, -1),
                                 a[:, first + 3:]], 1) for k in range(first, first + 3)])


@torch.no_grad()
def recover(net, y, rays, aovs=None, share=None, variance=None, turns=1, together=True):
    """Radiance [3][H][W] of samples [3][H][W] with rays [H][W]. aovs: a dict of albedo [3][H][W],
    normal [3][H][W], depth [H][W], or some of these; share [H][W]: the rays that they are the mean
    of, everywhere many if not given. turns: 1 or 8 passes. together False: each channel as a gray
    picture with its own albedo, of whose three results tone() is averaged."""
    device = next(net.parameters()).device
    put = lambda a: torch.as_tensor(a, dtype=torch.float32, device=device)[None]  # noqa: E731
    y, rays, aovs = put(y), put(rays)[None], aovs or {}
    names, planes_of = ("albedo", "normal", "depth"), (3, 3, 1)
    size, zero = y.shape[2:], lambda k: torch.zeros(1, k, *y.shape[2:], device=device)  # noqa: E731
    given = torch.cat([put(aovs[name]).view(1, k, *size) if name in aovs else zero(k)
                       for name, k in zip(names, planes_of)], 1)
    there = torch.tensor([1.0 * (name in aovs) for name in names], device=device).view(1, 3, 1, 1)
    share = put(share)[None] if share is not None else torch.full_like(rays, 255.0)
    variance = put(variance) if variance is not None else torch.full_like(y, -1.0)
    if not together:
        y, variance, given = grays(y), grays(variance), grays(given)
        rays, share, there = (a.expand(3, -1, -1, -1) for a in (rays, share, there))
    X, unit = planes(y, rays, variance, given, share, there)
    found = passes(net, X, turns)
    if not together:
        found = found.mean(1, keepdim=True)
    return (untone(found) * unit).view(3, *size)
