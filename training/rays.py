# SPDX-License-Identifier: BSD-3-Clause
"""rays.py - rays of synthetic renderings: how many a pixel has, what each finds, and what is known
of albedo, normal and depth. The samples of a network for renderings, whole batches on one
device."""
import torch
import torch.nn.functional as F

import radiance
import rendered
import sampling
from data import FIRST, KEPT_ASIDE, SAMPLES, Batch, Data, turned
from draws import Draws
from rendered import AOVS, DIRECT, OTHER, PHASES, VARIANCES, WIDTH

# Every pixel; a share at random; nearly evenly; where errors are expected; numbers by pixel.
PLACES = {"all": 0.28, "uniform": 0.24, "poisson": 0.14, "placed": 0.16, "varying": 0.18}
COUNTS = ((1, 0.46), (2, 0.13), (4, 0.15), (8, 0.07), (16, 0.06), (32, 0.03), (64, 0.02))
CONVERGED = 256.0  # rays that leave no noise; the share of such samples is what COUNTS leaves
MOST_RAYS, DRAWS = 64.0, 8  # of a pixel; a pixel of more rays has so many draws of several each
KEPT = (("1/4", 0.25, 1.0), ("1/2", 0.5, 1.0), ("1", 1.0, 1.0), ("4", 1.0, 4.0), ("16", 1.0, 16.0),
        ("1/4 exact", 0.25, CONVERGED))


# ---- how many

def wanted(d, truth, unit, loud):
    """Density [n][1][H][W] of mean 1 where errors are expected, and some of it even."""
    seen = radiance.shown(truth / unit).mean(1, keepdim=True)
    blur = lambda a: F.avg_pool2d(F.pad(a, (3,) * 4, mode="replicate"), 7, 1)  # noqa: E731
    edges = blur((seen - blur(seen)).abs())
    n = (len(truth), 1, 1, 1)
    density = edges / edges.mean((2, 3), keepdim=True).clamp_min(1e-6)
    noise = blur(loud.sqrt() * seen)
    density = density + d.uniform(*n) * noise / noise.mean((2, 3), keepdim=True).clamp_min(1e-6)
    density = density + d.scale(0.1, 2, *n)
    return density / density.mean((2, 3), keepdim=True)


def counts_of(d, n):
    """[n][1][1][1] rays."""
    shares = [share for _, share in COUNTS]
    values = torch.tensor([float(k) for k, _ in COUNTS] + [CONVERGED], device=d.device)
    return values[d.pick((*shares, 1 - sum(shares)), n)].view(n, 1, 1, 1)


def rays_of(d, density, ranks):
    """Rays of each pixel [n][1][H][W], 0: none."""
    n, _, size, _ = density.shape
    one, many = (n, 1, 1, 1), counts_of(d, n)
    place = d.pick(tuple(PLACES.values()), n).view(one)
    share = d.scale(0.06, 1, *one)
    even = d.uniform(n, 1, size, size)
    spread = sampling.poisson(d, n, size, share[:, 0], ranks)[:, None]
    known = torch.where(place == 0, 1.0, (even < share).float())
    known = torch.where(place == 2, spread.float(), known)
    known = torch.where(place == 3, (even < share.clamp_max(0.7) * density).float(), known)
    budget = d.scale(0.25, 16, *one)
    varying = torch.floor((budget * density).clamp_max(MOST_RAYS) + even)
    rays = torch.where(place == 4, varying, known * many)
    rays[:, :, 0, 0] = rays[:, :, 0, 0].clamp_min(1)
    return rays


# ---- what rays find

def factor(d, variance, zeros, shape):
    """Draws [n][1][H][W] of mean 1 and this variance, of which `zeros`, 0 to 1, is by rays that
    find nothing; the rest is log-normal."""
    chance = 1 / (1 + zeros * variance)
    s2 = torch.log((1 + variance) * chance)
    found = (d.uniform(*shape) < chance) / chance
    return found * torch.exp(s2.clamp_min(0).sqrt() * d.normal(*shape) - 0.5 * s2)


def noise_of(d, n):
    """Of each scene: shares of rays that find nothing, differences of colours, level of noise."""
    one = (n, 1, 1, 1)
    zeros = [torch.where(d.chance(0.3, *one), 1.0, d.uniform(*one)) for _ in range(2)]
    return *zeros, d.scale(0.02, 0.4, *one), d.scale(0.05, 0.6, *one), d.scale(0.3, 3, *one)


def found_by(d, phase, together, noise):
    """Radiance [n][3][H][W] of one draw, the mean of `together` [n][1][H][W] rays."""
    n, _, *size = phase.shape
    zeros, hues, level, found = noise[:2], noise[2:4], noise[4], 0
    for part, planes in enumerate((DIRECT, OTHER)):
        variance = level * phase[:, VARIANCES][:, part:part + 1] / together
        hue = hues[part] * (variance / (1 + variance)).sqrt()
        colour = torch.exp(hue * d.normal(n, 3, *size) - 0.5 * hue * hue)
        found = found + phase[:, planes] * colour * factor(d, variance, zeros[part], variance.shape)
    return found


def traced(d, scenes, rays):
    """Mean radiance, its variance (below 0: of one ray, not known) and AOVs of the rays of each
    pixel; scenes [n][PHASES][WIDTH][H][W]. Scenes of the most draws come first, so that those still
    at work are a part in front."""
    draws = rays.clamp(1, DRAWS)
    most, order = draws.amax((1, 2, 3)).sort(descending=True)
    scenes, rays, draws = scenes[order], rays[order], draws[order]
    together, noise = rays.clamp_min(1) / draws, noise_of(d, len(rays))
    zeros = lambda k: torch.zeros(len(rays), k, *rays.shape[2:], device=rays.device)  # noqa: E731
    total, squares, aovs = zeros(3), zeros(3), zeros(7)
    most = most.tolist()
    for k in range(int(most[0])):
        some = slice(sum(m > k for m in most))
        on = (draws[some] > k).float()
        which = d.below(PHASES, len(on), 1, 1, *on.shape[2:]).expand(-1, -1, WIDTH, -1, -1)
        phase = scenes[some].gather(1, which)[:, 0].float()
        found = on * found_by(d, phase, together[some], [of[some] for of in noise])
        total[some] += found
        squares[some] += found ** 2
        aovs[some] += on * phase[:, AOVS]
    back, mean = order.argsort(), total / draws
    variance = (squares / draws - mean ** 2).clamp_min(0) / (draws - 1).clamp_min(1)
    variance = torch.where(draws > 1, variance, -1.0)
    return mean[back], variance[back], (aovs / draws)[back]


class Rendered(Batch):
    """Planes X, and the truth in the unit of the planes."""
    least = 1e-5

    def __init__(self, d, scenes, rays, flags):
        """flags: `there` [n][3][1][1] of albedo, normal and depth; `clean` [n][1][1][1]: those are
        known everywhere, of many rays; `told` [n][1][1][1]: the variance of samples is."""
        there, clean, told = flags
        mean = scenes.mean(1, dtype=torch.float32)
        truth = mean[:, DIRECT] + mean[:, OTHER]
        y, variance, aovs = traced(d, scenes, rays)
        exact = rays >= CONVERGED
        y = torch.where(exact, truth, y)
        variance = torch.where(exact, 0.0, variance)
        variance = torch.where(told, variance, -1.0)
        aovs = torch.where(clean | exact, mean[:, AOVS], aovs)
        share = torch.where(clean, 255.0, rays)
        known = (rays > 0).float()
        self.X, unit = radiance.planes(y * known, rays, variance, aovs, share, there,
                                       radiance.unit_of(y, rays)
                                       * d.scale(0.6, 1.6, len(y), 1, 1, 1))
        self.target = truth / unit
        self.weight = 1 - known * exact

    def errors(self, Y):
        e = radiance.shown(radiance.made(self.X, Y)) - radiance.shown(self.target)
        count = (3 * self.weight.sum((1, 2, 3))).clamp_min(1)
        return e * self.weight, Y[:, 7:8], count

    def decibels(self, Y):
        """As a display of range 1 has it."""
        display = lambda c: c.clamp(0, 1) ** (1 / 2.2)  # noqa: E731
        e = (display(radiance.made(self.X, Y)) - display(self.target)) * self.weight
        mse = e.square().sum((1, 2, 3)) / (3 * self.weight.sum((1, 2, 3))).clamp_min(1)
        return -10 * torch.log10(mse.clamp_min(1e-12))


class RenderedData(Data):
    """Batches of renderings. A block of scenes is large, so each serves more often, and samples are
    made of a few steps at once."""
    sorts = tuple(name for name, *_ in KEPT)

    def __init__(self, device, reuse=4, slots=16, **more):
        super().__init__(device, channels=PHASES * WIDTH, reuse=4 * reuse, slots=slots, **more)

    def pictures(self, d, count):
        return rendered.block(d, count, self.size, self.tables)

    def samples(self, d, picture):
        n = len(picture)
        scenes = picture.view(n, PHASES, WIDTH, self.size, self.size)
        light = scenes[:, ::3].mean(1, dtype=torch.float32)
        truth = light[:, DIRECT] + light[:, OTHER]
        unit = radiance.unit_of(truth, torch.ones_like(truth[:, :1]))
        rays = rays_of(d, wanted(d, truth, unit, light[:, VARIANCES][:, 1:]), self.ranks)
        alone = d.chance(0.1, n, 1, 1, 1)
        there = (d.chance(0.85, n, 3, 1, 1) & ~alone).float()
        clean, told = d.chance(0.7, n, 1, 1, 1), d.chance(0.6, n, 1, 1, 1)
        return Rendered(d, scenes, rays, (there, clean, told))

    def make(self, number):
        """Batches of steps number * steps on, a few at once."""
        self.extend(FIRST + number)
        d = Draws(self.device, self.seed, SAMPLES, self.rank, number)
        made, there = [], min(self.slots, self.made) * self.block
        while len(made) < self.steps:
            steps = min(4, self.steps - len(made))
            index = d.below(there, self.batch * steps)
            whole = self.samples(d, torch.cat([turned(self.ring[part], k)
                                               for k, part in enumerate(index.chunk(8))]))
            made += [whole.part(i, steps) for i in range(steps)]
        return made

    def kept_aside(self, count=8):
        """`count` scenes that no step has, each with the rays of every sort, all AOVs clean."""
        d = Draws(self.device, self.seed, KEPT_ASIDE)
        scenes = self.pictures(d, count).view(count, PHASES, WIDTH, self.size, self.size)
        made = []
        for _, share, rays in KEPT:
            known = (d.uniform(count, 1, self.size, self.size) < share).float()
            known[:, :, 0, 0] = 1
            yes = torch.ones(count, 1, 1, 1, dtype=torch.bool, device=self.device)
            all_ = yes.expand(-1, 3, -1, -1).float()
            made.append(Rendered(d, scenes, known * rays, (all_, yes, yes)))
        whole = made[0]
        for name in whole.__dict__:
            setattr(whole, name, torch.cat([getattr(m, name) for m in made]))
        return whole
