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
PLACES = {"all": 0.24, "uniform": 0.19, "poisson": 0.15, "placed": 0.19, "varying": 0.23}
COUNTS = ((1, 0.38), (2, 0.10), (4, 0.13), (8, 0.06), (16, 0.06), (32, 0.04), (64, 0.03))
CONVERGED = 256.0  # rays that leave no noise; the share of such samples is what COUNTS leaves
FEWEST = 4  # rays of AOVs that are few
MOST_RAYS, DRAWS = 64.0, 8  # of a pixel; a pixel of more rays has so many draws of several each
CLEAN, FEW, OWN = range(3)  # AOVs: everywhere, of many rays or of few; of the same rays
# What is kept aside: share of the pixels, rays of each, AOVs.
KEPT = (("1/4", 0.25, 1.0, CLEAN), ("1/2", 0.5, 1.0, CLEAN), ("1", 1.0, 1.0, CLEAN),
        ("4", 1.0, 4.0, CLEAN), ("16", 1.0, 16.0, CLEAN), ("1/4 own", 0.25, 1.0, OWN),
        ("1 own", 1.0, 1.0, OWN), ("1/8 exact", 0.125, CONVERGED, CLEAN),
        ("1/4 exact", 0.25, CONVERGED, CLEAN))


# ---- how many

def wanted(d, truth, unit, loud):
    """Density [n][1][H][W] of mean 1 where errors are expected, and some of it even."""
    seen = radiance.shown(truth / unit).mean(1, keepdim=True)
    def blur(a, r=3):
        return F.avg_pool2d(F.pad(a, (r,) * 4, mode="replicate"), 2 * r + 1, 1)
    n = (len(truth), 1, 1, 1)
    edges = (seen - blur(seen)).abs()
    edges = torch.where(d.chance(0.4, *n), blur(edges, 1), blur(edges)) ** d.between(0.6, 1.5, *n)
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
    dense = share.clamp_max(0.7) * density
    apart = sampling.poisson(d, n, size, dense[:, 0], ranks)[:, None]
    placed = torch.where(d.chance(0.5, *one), apart, even < dense)
    known = torch.where(place == 3, placed.float(), known)
    budget, first = d.scale(0.25, 16, *one), d.chance(0.3, *one).float()
    varying = torch.floor((budget * density + first).clamp_max(MOST_RAYS - 1) + even)
    many = torch.where((place == 0) & (many == CONVERGED), 16.0, many)
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


def of_a_ray(scenes, noise):
    """The true variance of one ray [n][3][H][W]."""
    hues, level, mean, square = noise[2:4], noise[4], 0, 0
    for k in range(PHASES):
        phase = scenes[:, k].float()
        parts = [phase[:, planes] for planes in (DIRECT, OTHER)]
        found = parts[0] + parts[1]
        square = square + found ** 2
        mean = mean + found
        for part, planes in enumerate(parts):
            variance = level * phase[:, VARIANCES][:, part:part + 1]
            hue = hues[part] ** 2 * variance / (1 + variance)
            square = square + planes ** 2 * ((1 + variance) * torch.exp(hue) - 1)
    return (square / PHASES - (mean / PHASES) ** 2).clamp_min(0)


def few_of(d, scenes, count):
    """AOVs of so many rays [n][1][1][1] of each pixel, at most FEWEST."""
    total = 0
    for k in range(FEWEST):
        which = d.below(PHASES, len(scenes), 1, 1, *scenes.shape[3:])
        which = which.expand(-1, -1, AOVS.stop - AOVS.start, -1, -1)
        total = total + (count > k) * scenes[:, :, AOVS].gather(1, which)[:, 0].float()
    return total / count


def traced(d, scenes, rays):
    """Mean radiance, its variance (below 0: of one ray, not known), AOVs of the rays of each pixel
    and the true variance; scenes [n][PHASES][WIDTH][H][W]. Scenes of the most draws come first, so that those still
    at work are a part in front."""
    draws = rays.clamp(1, DRAWS)
    most, order = draws.amax((1, 2, 3)).sort(descending=True)
    scenes, rays, draws = scenes[order], rays[order], draws[order]
    together, noise = rays.clamp_min(1) / draws, noise_of(d, len(rays))
    single = of_a_ray(scenes, noise)
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
    return mean[back], variance[back], (aovs / draws)[back], (single / rays.clamp_min(1))[back]


class Rendered(Batch):
    """Planes X, and the truth in the unit of the planes."""
    least = 1e-5

    def __init__(self, d, scenes, rays, there, aov, told, gray):
        """there [n][3][1][1] of albedo, normal and depth; [n][1][1][1] of the others: aov, CLEAN,
        FEW or OWN; told, what is known of the variances of samples: 0 none, 1 those of the rays, 2
        the true ones; gray: one channel, three times."""
        n, mean, exact = len(rays), scenes.mean(1, dtype=torch.float32), rays >= CONVERGED
        truth, known = mean[:, DIRECT] + mean[:, OTHER], (rays > 0).float()
        y, variance, own, true = traced(d, scenes, rays)
        y = torch.where(exact, truth, y)
        variance = torch.where(told == 2, true, torch.where(told == 1, variance, -1.0))
        variance = torch.where(exact & (told > 0), 0.0, variance)
        aovs = torch.where((aov == CLEAN) | exact, mean[:, AOVS], own)
        share = torch.where(aov == CLEAN, 255.0, rays)
        some = (aov == FEW).flatten().nonzero()[:, 0]
        if len(some):
            count = 2.0 ** d.below(3, len(some), 1, 1, 1)
            aovs[some], share[some] = few_of(d, scenes[some], count), count.expand_as(share[some])
        which = torch.arange(3, device=d.device).view(1, 3, 1, 1)
        which = torch.where(gray, d.below(3, n, 1, 1, 1), which).expand_as(y)
        y, variance, truth = (a.gather(1, which) for a in (y * known, variance, truth))
        aovs = torch.cat([aovs[:, :3].gather(1, which), aovs[:, 3:]], 1)
        self.X, unit = radiance.planes(y, rays, variance, aovs, share, there,
                                       radiance.unit_of(y, rays) * d.scale(0.6, 1.6, n, 1, 1, 1))
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
        one = (n, 1, 1, 1)
        there = (d.chance(0.82, n, 3, 1, 1) & ~d.chance(0.13, *one)).float()
        aov, told = d.pick((0.58, 0.1, 0.32), *one), d.pick((0.4, 0.35, 0.25), *one)
        return Rendered(d, scenes, rays, there, aov, told, d.chance(0.15, *one))

    def make(self, number):
        """Batches of steps number * steps on, a few at once."""
        self.extend(FIRST + number)
        d = Draws(self.device, self.seed, SAMPLES, self.rank, number)
        made, there = [], min(self.slots, self.made) * self.block
        while len(made) < self.steps:
            steps = min(8, self.steps - len(made))
            index = d.below(there, self.batch * steps)
            whole = self.samples(d, torch.cat([turned(self.ring[part], k)
                                               for k, part in enumerate(index.chunk(8))]))
            made += [whole.part(i, steps) for i in range(steps)]
        return made

    def kept_aside(self, count=8):
        """`count` scenes that no step has, each with the rays and AOVs of every sort."""
        d = Draws(self.device, self.seed, KEPT_ASIDE)
        scenes = self.pictures(d, count).view(count, PHASES, WIDTH, self.size, self.size)
        made, one = [], torch.ones(count, 1, 1, 1, dtype=torch.long, device=self.device)
        for _, share, rays, aov in KEPT:
            known = (d.uniform(count, 1, self.size, self.size) < share).float()
            known[:, :, 0, 0] = 1
            made.append(Rendered(d, scenes, known * rays, one.expand(-1, 3, -1, -1).float(),
                                 aov * one, one, 0 > one))
        whole = made[0]
        for name in whole.__dict__:
            setattr(whole, name, torch.cat([getattr(m, name) for m in made]))
        return whole
