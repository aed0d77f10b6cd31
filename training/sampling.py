# SPDX-License-Identifier: BSD-3-Clause
"""sampling.py - which pixels of a picture are known, and how noisy they are; whole batches on one
device. Masks are [B][size][size], bool."""
import torch
import torch.nn.functional as F

# Samples: every pixel by itself, no two near each other, one a cell, of a density that varies by
# factors. Damage: rows or columns missing or skipped, discs and boxes missing, thin curves missing.
# Samples and damage; all known, with noise.
PATTERNS = {"uniform": 0.44, "poisson": 0.20, "jittered": 0.05, "clustered": 0.04, "lines": 0.07,
            "holes": 0.06, "scratches": 0.03, "mixed": 0.05, "all": 0.06}
HOLE = 40  # pixels across, at most


def shares(d, n):
    """Log-uniform, four of five times between 3 and 60 %, else between 1 and 100 %."""
    return torch.where(d.chance(0.8, n), d.scale(0.03, 0.6, n), d.scale(0.01, 1, n))[:, None, None]


# ---- samples

def uniform(d, n, size, share):
    return d.uniform(n, size, size) < share


def disc_most(value, squared):
    """The most of `value` [B][H][W], periodic, nearer than sqrt(squared)."""
    most, y = value, 0
    while y * y < squared:
        x = int((squared - y * y - 1) ** 0.5)
        line = F.max_pool1d(F.pad(value, (x, x), mode="circular"), 2 * x + 1, 1) if x else value
        most = most.maximum(line.roll(y, 1)).maximum(line.roll(-y, 1))
        y += 1
    return most


def poisson_ranks(d, count, side):
    """Progressive Poisson-disc patterns: ranks 0 to 1 of all pixels, [count][side][side], periodic;
    those below a share are no nearer to each other than that share allows. Darts at a distance hit
    until nothing is free, then at smaller ones. All at once: what has the highest number of all
    that are free around it is hit (Luby 1986)."""
    rank = torch.full((count, side, side), -1.0, device=d.device)
    filled, squared = torch.zeros(count, 1, 1, device=d.device), min(200, side * side // 16)
    while squared >= 1:
        free = (rank < 0) & (disc_most((rank >= 0).float(), squared) == 0)
        while free.any():
            number = torch.where(free, d.uniform(*rank.shape), 0.0)
            hit = free & (number >= disc_most(number, squared))
            order = torch.where(hit, d.uniform(*rank.shape), 2.0).flatten(1).argsort(1).argsort(1)
            rank = torch.where(hit, filled + order.view_as(rank), rank)
            filled = filled + hit.sum((1, 2), keepdim=True)
            free = (rank < 0) & (disc_most((rank >= 0).float(), squared) == 0)
        squared -= max(1, squared // 20)
    return rank / (side * side)


def poisson(d, n, size, share, ranks):
    """Parts of the patterns, shifted; flips and turns of the pictures do for the masks."""
    which, side = d.below(ranks.shape[0], n, 1, 1), ranks.shape[-1]
    at = torch.arange(size, device=d.device)
    y, x = at[:, None] + d.below(side, n, 1, 1), at[None] + d.below(side, n, 1, 1)
    return ranks[which, y % side, x % side] < share


def jittered(d, n, size, share):
    """One pixel in each of cells x cells boxes."""
    cells = torch.round(share.sqrt() * size).clamp(1, size).long()
    at = torch.arange(size, device=d.device)[None, None]
    cell = (at * cells + cells - 1) // size          # of the boxes i size / cells on
    cell = torch.where(cell * size // cells > at, cell - 1, cell)
    first, end = cell * size // cells, (cell + 1) * size // cells
    picked = d.uniform(2, n, size, size)
    rows, columns = cell.transpose(1, 2), cell
    number = (rows * size + columns).flatten(1)      # of the box of a pixel
    y, x = (p.flatten(1).gather(1, number).view(n, size, size) for p in picked)
    left = first + (x * (end - first)).long()
    top = (first.transpose(1, 2) + (y * (end - first).transpose(1, 2)).long())
    return (at == left) & (at.transpose(1, 2) == top)


def clustered(d, n, size, share):
    knots = d.one(range(3, 25))
    density = torch.exp(d.between(0.7, 2, n, 1, 1, 1) * d.normal(n, 1, knots + 1, knots + 1))
    density = density / density.mean((2, 3), keepdim=True)
    density = F.interpolate(density, size=(size, size), mode="bilinear", align_corners=True)
    return d.uniform(n, size, size) < share * density[:, 0]


# ---- damage: what is missing

def lines(d, n, size):
    """Rows, columns or both; all but every 2nd to 8th, or 2 to 50 % of them, single or in runs."""
    which = 1 + d.below(3, n, 1)
    which = torch.where((which == 3) & d.chance(0.6, n, 1), 1, which)
    at, gone = torch.arange(size, device=d.device)[None], []
    for bit in (1, 2):
        step = 2 + d.below(7, n, 1)
        skipped = (at + d.below(8, n, 1)) % step != 0
        longest = torch.where(d.chance(0.5, n, 1), 1, 2 + d.below(7, n, 1))
        begin = d.uniform(n, size) < d.scale(0.02, 0.5, n, 1) / (0.5 * (1 + longest))
        begin = begin | (at == d.below(size, n, 1))
        end = torch.where(begin, at + 1 + (d.uniform(n, size) * longest).long(), 0)
        dropped = end.cummax(1).values > at
        gone.append(torch.where(d.chance(0.4, n, 1), skipped, dropped) & ((which & bit) > 0))
    return gone[0][:, :, None] | gone[1][:, None]


def holes(d, n, size, most=12):
    """Discs, ellipses and boxes of 2 to 40 pixels that do not touch."""
    widest = min(HOLE, 0.6 * size) + 0.99
    width, height = (torch.where(d.chance(0.5, n, most), d.scale(2, widest, n, most),
                                 d.between(2, widest, n, most)).floor() for _ in range(2))
    height = torch.where(d.chance(0.6, n, most), height, width)
    left, top = (torch.floor(d.uniform(n, most) * size - s / 2) for s in (width, height))
    round_ = d.chance(0.5, n, most)
    there = torch.arange(most, device=d.device) <= d.below(most, n, 1)
    for k in range(1, most):  # those that touch an earlier one go
        apart = ((left[:, :k] > (left + width)[:, k:k + 1]) | (left[:, k:k + 1] > (left + width)[:, :k])
                 | (top[:, :k] > (top + height)[:, k:k + 1])
                 | (top[:, k:k + 1] > (top + height)[:, :k]))
        there[:, k] &= (apart | ~there[:, :k]).all(1)
    at = torch.arange(size, device=d.device) + 0.5
    u = (at[None, None, None] - left[..., None, None]) / (0.5 * width)[..., None, None] - 1
    v = (at[None, None, :, None] - top[..., None, None]) / (0.5 * height)[..., None, None] - 1
    box = (u.abs() < 1) & (v.abs() < 1)
    hit = torch.where(round_[..., None, None], u * u + v * v < 1, box)
    return (hit & there[..., None, None]).any(1)


def scratches(d, n, size, most=10):
    """Walks of half a pixel a step that turn slowly, 1 to 4 pixels wide."""
    steps = 3 * size
    wild = d.scale(0.001, 0.02, n, most, 1)
    bends = -(-steps // 8)
    age = torch.arange(bends, device=d.device)[:, None] - torch.arange(bends, device=d.device)
    fading = torch.where(age >= 0, 0.9 ** age.clamp_min(0), 0.0)
    turn = (wild * d.normal(n, most, bends)) @ fading.T
    turn = turn.repeat_interleave(8, 2)[..., :steps]
    angle = 6.2831853 * d.uniform(n, most, 1) + turn.cumsum(2)
    x = d.uniform(n, most, 1) * size + 0.5 * torch.cos(angle).cumsum(2)
    y = d.uniform(n, most, 1) * size + 0.5 * torch.sin(angle).cumsum(2)
    there = torch.arange(steps, device=d.device) < d.scale(0.2, 3, n, most, 1) * size
    there = there & (torch.arange(most, device=d.device)[:, None] <= d.below(most, n, 1, 1))
    there = there & (x >= 0) & (y >= 0) & (x < size) & (y < size)
    near = torch.zeros(n, size * size, device=d.device)
    radius = d.between(0.72, 2, n, most, 1).expand_as(x)
    place = (y.clamp(0, size - 1).long() * size + x.clamp(0, size - 1).long()).flatten(1)
    near.scatter_reduce_(1, place, torch.where(there, radius, 0.0).flatten(1), "amax")
    near, gone = near.view(n, 1, size, size), torch.zeros(n, size, size, dtype=torch.bool,
                                                          device=d.device)
    padded = F.pad(near, (2, 2, 2, 2))[:, 0]
    for j in range(5):
        for i in range(5):
            away = ((i - 2) ** 2 + (j - 2) ** 2) ** 0.5
            gone |= padded[:, j:j + size, i:i + size] > away
    return gone


# ---- masks

def pattern(d, name, n, size, ranks):
    share, damage = shares(d, n), {"lines": lines, "holes": holes, "scratches": scratches}
    if name == "poisson":
        return poisson(d, n, size, share, ranks)
    if name in ("uniform", "jittered", "clustered"):
        return globals()[name](d, n, size, share)
    known = torch.ones(n, size, size, dtype=torch.bool, device=d.device)
    if name == "mixed":
        share = d.scale(0.1, 0.9, n)[:, None, None]
        known = torch.where(d.chance(0.6, n, 1, 1), uniform(d, n, size, share),
                            poisson(d, n, size, share.clamp_max(0.6), ranks))
        name = d.one(("holes", "holes", "holes", "lines", "scratches"))
    elif name in ("holes", "scratches"):  # in a picture that is known, or in one of three in part
        part = uniform(d, n, size, d.scale(0.3, 1, n)[:, None, None])
        known = part | ~d.chance(0.3, n, 1, 1)
    return known & ~damage[name](d, n, size) if name in damage else known


def block(d, count, size, ranks):
    """known [count][1][size][size], at least one pixel; and sigma [count][1][1][1] of the noise on
    them, 0 to 255: 0 for 55 % of all, else uniform up to 50, and never 0 where all is known."""
    most, counts = 50.0, d.counts(count, PATTERNS)
    known = torch.cat([pattern(d, name, n, size, ranks) for name, n in counts.items()])
    full = known.flatten(1).all(1)
    quiet = d.chance(0.55 / (1 - PATTERNS["all"]), count) & ~full
    sigma = torch.where(quiet, 0.0, most * (1 - d.uniform(count)))
    first = d.below(size * size, count, 1) == torch.arange(size * size, device=d.device)
    empty = ~known.flatten(1).any(1)
    known = known | (first & empty[:, None]).view_as(known)
    order = torch.argsort(d.uniform(count))
    return known[order][:, None].float(), sigma[order][:, None, None, None]
