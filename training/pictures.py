# SPDX-License-Identifier: BSD-3-Clause
"""pictures.py - synthetic pictures to train a network on, whole batches on one device. No
photograph is behind them, so weights trained on them carry no licence but the library's.

Most are dead leaves: shapes with sizes by a power law over each other, the front one seen (Lee,
Mumford and Huang, "Occlusion models for natural images", 2001). They have the spectrum, the edges
and the regions of one surface that natural pictures have."""
import torch
import torch.nn.functional as F

import scenes
import things
from tones import Palette, flat

# Leaves and bent leaves; power-law noise alone; text on flat ground and on leaves (documents,
# signs), drawings and cartoons, repeated motifs (walls, facades), large regular patterns (fabrics,
# cladding), spots and bodies (microscopy, tomography), reliefs (elevation, radar).
KINDS = {"leaves": 0.42, "bent": 0.12, "noise": 0.08, "text": 0.03, "signs": 0.025,
         "drawing": 0.07, "motif": 0.085, "cloth": 0.09, "spots": 0.04, "relief": 0.04}


# ---- with shapes

def bend(d, canvas, scale, tables, folds=False):
    """Displaced by smooth noise, so that straight edges become curved and frayed; folds: by the
    smoothest, farther and over longer ways."""
    B, _, side, _ = canvas.shape
    amount, step = d.scale(0.7, 7, B, 1) * scale, d.scale(0.15, 1, B, 1) / scale
    table = 14 + 2 * d.below((tables.shape[0] - 14) // 2, B, 1)
    if folds:
        amount, step, table = 2 * amount, 0.4 * step, torch.full_like(table, tables.shape[0] - 2)
    at = torch.arange(side * side, device=d.device)
    x, y = (at % side) * step + 512 * d.uniform(B, 1), (at // side) * step
    shift = [amount * scenes.noise_at(tables, (table + k).expand_as(x), x, y) for k in range(2)]
    place = torch.stack([at % side + shift[0], at // side + shift[1]], -1) + 0.5
    return F.grid_sample(canvas, (2 * place / side - 1).view(B, side, side, 2), mode="bilinear",
                         padding_mode="border", align_corners=False)


def shaped(d, kind, count, channels, size, tables):
    """Painted at 2 or 3 times the size and averaged down."""
    scale = d.one((2, 2, 2, 3, 3))
    side, palette = scale * size, Palette(d, count, channels)
    if kind == "text":  # paper is mostly light, a screen often dark
        sort = d.uniform(count, 1)
        palette.mean = torch.where(sort < 0.5, d.between(190, 255, count, 1), palette.mean)
        palette.mean = torch.where(sort > 0.8, d.between(0, 60, count, 1), palette.mean)
        ground = scenes.everywhere(count, d.device), flat(d, palette, palette.mean)
        scene = scenes.join(things.text(d, palette, side, scale), ground)
    elif kind in ("drawing", "motif", "cloth"):
        scene = getattr(things, kind)(d, palette, side, scale, tables)
    else:
        scene = things.leaves(d, palette, side, scale, tables)
        if kind == "signs":
            scene = scenes.join(things.text(d, palette, side, scale), scene)
    canvas = scenes.paint(*scene, scenes.front(scene[0], side), tables)
    if kind == "bent" or (kind in ("motif", "cloth") and d.one((True, False, False))):
        canvas = bend(d, canvas, scale, tables, kind == "cloth")
    return F.avg_pool2d(canvas, scale), palette


# ---- without shapes

def window(d, count, size, tables, smooth, fine=1.0, of=None):
    """Parts of the tables, [B][size^2]: of the smooth half of the spectra or of all but the
    roughest; half of them on the entries in one of four directions, others turned and stretched.
    of: (table, x, y, dx, dy), drawn unless given; also returned."""
    if of is None:
        table = 2 * (7 if smooth else 2) + d.below(tables.shape[0] - (14 if smooth else 4), count, 1)
        quarter = 1.5707963 * d.below(4, count, 1)
        turned, level = 6.2831853 * d.uniform(count, 1), d.chance(0.5, count, 1)
        step = torch.where(level, 1.0, d.between(0.4, 1.2, count, 1))
        angle = torch.where(level, quarter, turned)
        start = [d.below(scenes.SIDE, count, 1).float() for _ in range(2)]
        of = table, *start, step * torch.cos(angle), step * torch.sin(angle)
    table, x, y, dx, dy = of
    at = torch.arange(size * size, device=d.device)
    px, py = fine * (at % size), fine * (at // size)
    x, y = x + dx * px - dy * py, y + dy * px + dx * py
    return scenes.noise_at(tables, table.expand_as(x), x, y), of


def standard(plane):
    plane = plane - plane.mean(1, keepdim=True)
    return plane / plane.square().mean(1, keepdim=True).clamp_min(1e-6).sqrt()


def coloured(d, plane, palette, brightness, contrast, size, tables):
    """Each channel is its tone and gain times the plane; and colour of its own."""
    count = plane.shape[0]
    tone = palette.tone(d, brightness)
    gain = palette.gain(d, tone) * contrast[..., None]
    made = tone + gain * plane[..., None]  # [B][size^2][channels]
    if palette.channels > 1:
        tint = window(d, count, size, tables, True)[0][..., None]
        made = made + palette.chroma[..., None] * tint * (d.normal(count, 1, 2) @ palette.axes)
    return made.transpose(1, 2).reshape(count, -1, size, size), palette


def noise(d, kind, count, channels, size, tables):
    """The sum of two windows, so that no picture is a piece of a table; in 40 % pressed into two
    tones."""
    angle = 1.5707963 * d.uniform(count, 1)
    plane = standard(torch.sin(angle) * window(d, count, size, tables, False)[0]
                     + torch.cos(angle) * window(d, count, size, tables, False)[0])
    plane = torch.where(d.chance(0.4, count, 1), torch.tanh(2 * plane), plane)
    return coloured(d, plane, Palette(d, count, channels), d.between(90, 165, count, 1),
                    d.between(10, 50, count, 1), size, tables)


def relief(d, kind, count, channels, size, tables):
    """Heights as brightness, with ridges where smooth noise passes 0 (Musgrave's ridged
    multifractal) or without, or as lit from a side, as radar and elevation are shown."""
    smooth, _ = window(d, count, size, tables, True)
    first, of = window(d, count, size, tables, True)
    ridged = 0
    for octave in range(4):
        moved = of[0], of[1] + 131 * octave, of[2] + 57 * octave, *of[3:]
        crest = window(d, count, size, tables, True, 2.1 ** octave, moved)[0]
        ridged = ridged + 0.45 ** octave * (1 - crest.abs())
    plane = d.between(0, 1.5, count, 1) * smooth + ridged * d.chance(0.7, count, 1)
    square = plane.view(count, 1, size, size)
    lit = square - F.pad(square, (1, 0, 1, 0), mode="replicate")[..., :-1, :-1]
    plane = torch.where(d.chance(0.35, count, 1), lit.flatten(1), plane)
    return coloured(d, standard(plane), Palette(d, count, channels), d.between(80, 170, count, 1),
                    d.between(20, 60, count, 1), size, tables)


def blobs(d, picture, x, y, a, c, edge, add, at_once=16):
    """Adds ellipses with soft edges, smooth at the centre and the rim: entries [B][n]; edge 1: soft
    all over, larger: a plateau with an edge of 1 / edge of the radius; add [B][n][channels]."""
    B, _, size, _ = picture.shape
    angle, at = 6.2831853 * d.uniform(*x.shape), torch.arange(size, device=d.device) + 0.5
    for first in range(0, x.shape[1], at_once):
        s = [t[:, first:first + at_once, None, None]
             for t in (x, y, a, c, edge, torch.cos(angle), torch.sin(angle))]
        dx, dy = at[None, None, None, :] - s[0], at[None, None, :, None] - s[1]
        u, v = (dx * s[5] + dy * s[6]) / s[2], (dy * s[5] - dx * s[6]) / s[3]
        t = ((1 - u * u - v * v) * s[4]).clamp(0, 1)
        value = (t * t * (3 - 2 * t)).flatten(2)
        picture = picture + torch.einsum("bnc,bnp->bcp", add[:, first:first + at_once],
                                         value).view_as(picture)
    return picture


def glows(d, picture, palette, count, most, radius, bright):
    """Up to `most` bright spots, count [B][1] of them, mostly small."""
    B, _, size, _ = picture.shape
    n = (B, most)
    a = 1.5 * torch.exp(d.uniform(*n) * torch.log(radius.clamp_min(2) / 1.5))
    c = a * torch.where(d.chance(0.5, *n), 1.0, d.between(0.4, 1, *n))
    edge = torch.where(d.chance(0.7, *n), 1.0, d.between(1, 4, *n))
    add = palette.tone(d, bright * d.scale(0.2, 1.2, *n))
    add = add * (torch.arange(most, device=d.device) < count)[..., None]
    return blobs(d, picture, d.between(-0.05, 1.05, *n) * size, d.between(-0.05, 1.05, *n) * size,
                 a, c, edge, add)


def bodies(d, picture, palette, most=24):
    """Bodies in a body: every one inside the first, brighter or darker than what it lies in."""
    B, _, size, _ = picture.shape
    n = (B, most)
    a = d.between(0.3, 0.48, B, 1) * size
    c = a * d.between(0.6, 1, B, 1)
    b = c * d.scale(0.03, 0.45, *n)
    x = torch.cat([torch.zeros_like(a), a * d.between(-0.5, 0.5, *n)], 1) + 0.5 * size
    y = torch.cat([torch.zeros_like(a), c * d.between(-0.5, 0.5, *n)], 1) + 0.5 * size
    bright = d.between(30, 140, B, most + 1)
    bright[:, 1:] *= torch.where(d.chance(0.5, *n), -0.5, 1.0)
    add = palette.tone(d, bright)
    there = torch.arange(most + 1, device=d.device) <= 4 + d.below(most - 3, B, 1)
    edge = d.scale(2, 20, B, 1).expand(B, most + 1)
    return blobs(d, picture, x, y, torch.cat([a, b], 1),
                 torch.cat([c, b * d.between(0.4, 1, *n)], 1), edge, add * there[..., None])


def spots(d, kind, count, channels, size, tables):
    """Bright spots on dark ground, as a microscope or a telescope sees, or a tomogram's bodies."""
    palette, area = Palette(d, count, channels), min(16, max(0.2, size * size / 16384))
    ground = palette.tone(d, d.between(2, 50, count, 1)).transpose(1, 2)[..., None]
    picture = ground.expand(-1, -1, size, size)
    palette.saturated = torch.where(d.chance(0.4, count, 1), 0.8, palette.saturated)  # dyes
    if d.one((True, True, False, False, False)):
        return bodies(d, picture, palette), palette
    wanted, most = d.scale(8, 150, count, 1) * area, int(150 * area)
    return glows(d, picture, palette, wanted, most, d.between(3, 30, count, 1), 160), palette


# ---- what a camera and light do

def blur(d, picture):
    """A Gauss function of deviation 0.3 to 1 pixels, on half of the pictures."""
    B, C, size, _ = picture.shape
    k = torch.arange(-3, 4, device=d.device)
    weight = torch.exp(-0.5 * (k / d.between(0.3, 1, B, 1)) ** 2)
    weight = torch.where(d.chance(0.5, B, 1), weight / weight.sum(1, keepdim=True), (k == 0) * 1.0)
    weight = weight.repeat_interleave(C, 0)[:, None]
    x = F.pad(picture, (3, 3, 3, 3), mode="reflect").reshape(1, B * C, size + 6, size + 6)
    x = F.conv2d(x, weight[..., None], groups=B * C)
    return F.conv2d(x, weight[:, :, None], groups=B * C).view_as(picture)


def finish(d, picture, palette):
    """A little blur; light that falls unevenly, on half; on 7 % lamps and glints that are cut at
    255 and a tone curve, mostly to dark pictures with few bright places."""
    B, size = picture.shape[0], picture.shape[-1]
    picture, one = blur(d, picture), (B, 1, 1, 1)
    shade = F.interpolate(d.normal(B, 1, 5, 5), size=(size, size), mode="bicubic",
                          align_corners=True)
    picture = picture * (1 + d.between(0, 0.25, *one) * d.chance(0.5, *one) * shade)
    strong = d.count(B, 0.07)  # of pictures that were drawn alike: the first
    if strong:
        few = Palette(d, strong, palette.channels)
        count, one = d.below(20, strong, 1) * d.chance(0.5, strong, 1), (strong, 1, 1, 1)
        lit = glows(d, picture[:strong], few, count, 20, torch.full_like(few.mean, 12.0), 300)
        lit = d.between(255, 408, *one) * (lit.clamp(0, 255) / 255) ** d.scale(0.6, 3, *one)
        picture = torch.cat([lit, picture[strong:]])
    return picture.clamp(0, 255)


def block(d, count, channels, size, tables, parts=8):
    """count pictures, [count][channels][size][size], 0 to 255, not rounded, of up to `parts`
    drawn kinds."""
    made = []
    for part in range(parts):
        kind, n = d.host.choices(list(KINDS), list(KINDS.values()))[0], (
            count * (part + 1) // parts - count * part // parts)
        if n:
            make = {"noise": noise, "relief": relief, "spots": spots}.get(kind, shaped)
            made.append(finish(d, *make(d, kind, n, channels, size, tables)))
    return torch.cat(made)
