# SPDX-License-Identifier: BSD-3-Clause
"""things.py - scenes of synthetic pictures: leaves, text, drawings, repeated motifs. Each makes, for
every picture of a batch, shapes on a canvas of side x side, front first, and their surfaces; a pixel
of the picture has scale x scale of the canvas."""
import torch

import scenes
from scenes import SHAPE
from tones import TEXTURES, flat, surfaces

NONE = -1e6  # reach of a shape that is not there

# Of cloth; shares of textures in the order of scenes.
PATTERNS = (0.08, 0.08, 0.20, 0.20, 0.06, 0, 0, 0.22, 0.10, 0.06)

def leaves(d, palette, side, scale, tables):
    """1,600 over 128 x 128 pixels. Of some pictures most lie along the axes, or nearly all are thin
    bars (grass, hair, fibres), or all have one texture; in one of eight, few leaves lie on one
    textured ground."""
    B, S = palette.mean.shape[0], max(160, 1600 * side * side // (scale * 128) ** 2)
    one, n = (B, 1), (B, S)
    least = d.scale(1.2, 16.8, *one) * scale
    most = torch.maximum(2 * least, side * d.between(0.15, 0.75, *one))
    power = 1 - d.between(2, 3.5, *one)
    low, high = least ** power, most ** power
    a = (low + d.uniform(*n) * (high - low)) ** (1 / power)
    bars = d.chance(0.1, *one)
    kind = torch.where(bars, 1, d.pick((0.45, 0.30, 0.08, 0.17), *n))
    thin = d.uniform(*n) < torch.where(bars, 0.9, 0.12)
    aspect = torch.where(thin, d.between(0.03, 0.18, *n), torch.exp(-1.2 * d.uniform(*n)))
    a = torch.where(thin, 2.5 * a, a)
    c = a * aspect
    c = torch.where(thin, torch.maximum(c, 0.5 * scale * d.between(1, 3, *n)), c)
    c = torch.where(kind == 2, a, c)
    angle = 6.2831853 * d.uniform(*n)
    tilt = d.between(-0.15, 0.15, *one) * d.chance(0.5, *one)
    along = d.chance(0.35, *one) & d.chance(0.85, *n)
    angle = torch.where(along, torch.round(angle / 1.5707963) * 1.5707963 + tilt, angle)
    x, y = d.between(-0.2, 1.2, *n) * side, d.between(-0.2, 1.2, *n) * side
    few = d.chance(0.12, *one) & (torch.arange(S, device=d.device) >= 3 + d.below(23, *one))
    reach = torch.where(kind == 1, torch.sqrt(a * a + c * c), torch.maximum(a, c))
    reach = torch.where(few, NONE, reach)
    planes = torch.where((kind == 1)[..., None, None], scenes.box_planes(a, c),
                         scenes.polygon_planes(d, a, c))
    round_ = (kind == 0) | (kind == 2)
    none = torch.tensor(scenes.NO_PLANE, device=d.device)
    planes = torch.where(round_[..., None, None], none, planes)
    ring = torch.where(kind == 2, a * d.between(0.4, 0.95, *n), 1e-4)
    wide = torch.where(round_, 1.0, 1e4)
    shapes = scenes.shape(x, y, angle, reach, (a * wide, c * wide), (ring, ring), planes)
    texture = d.below(len(TEXTURES), *one)
    texture = torch.where(d.chance(0.25, *one), texture, d.pick(TEXTURES, B, S + 1))
    surface = surfaces(d, palette, S + 1, scale, tables, texture)
    return torch.cat([shapes, scenes.everywhere(B, d.device)], 1), surface


def cloth(d, palette, side, scale, tables, most=10):
    """A few large shapes, each of one regular pattern: stripes, waves, checks, bricks, dots of 2.5
    to 24 pixels. Fabrics, walls, cladding, blinds, fences, screens."""
    B = palette.mean.shape[0]
    one, n = (B, 1), (B, most)
    a = side * d.scale(0.12, 1.2, *n)
    c = a * d.between(0.3, 1, *n)
    kind = d.below(3, *n)[..., None, None]
    planes = torch.where(kind == 1, scenes.box_planes(a, c), scenes.polygon_planes(d, a, c))
    planes = torch.where(kind == 0, scenes.no_planes(*n, device=d.device), planes)
    round_ = torch.where(kind[..., 0, 0] == 0, 1.0, 1e4)
    there = torch.arange(most, device=d.device) < d.below(most, *one)
    shapes = scenes.shape(d.between(-0.2, 1.2, *n) * side, d.between(-0.2, 1.2, *n) * side,
                          6.2831853 * d.uniform(*n), torch.where(there, torch.hypot(a, c), NONE),
                          (a * round_, c * round_), None, planes)
    texture = d.pick(PATTERNS, B, most + 1)
    surface = surfaces(d, palette, most + 1, scale, tables, texture)
    regular = (texture != scenes.FLAT) & (texture != scenes.RAMP) & (texture != scenes.NOISE)
    walls = (texture == scenes.BRICKS) | (texture == scenes.DOTS)
    frequency = d.scale(1 / 24, 1 / 2.5, B, most + 1) / scale * torch.where(walls, 0.6, 1.0)
    angle = torch.where(d.chance(0.5, *one), 1.5707963 * d.below(4, B, most + 1),
                        6.2831853 * d.uniform(B, most + 1)) + d.between(-0.1, 0.1, *one)
    surface["fu"], surface["fv"] = frequency * torch.cos(angle), frequency * torch.sin(angle)
    strong = palette.contrast * d.between(0.2, 1.2, B, most + 1)
    surface["amplitude"] = torch.where(regular, strong, surface["amplitude"])
    surface["warp"] = surface["warp"] * 0.3
    return torch.cat([shapes, scenes.everywhere(B, d.device)], 1), surface


def foliage(d, palette, side, scale, tables, clusters=12):
    """Small and thin leaves, most of nearly one colour, in clusters, before larger ones."""
    shapes, surface = leaves(d, palette, side, scale, tables)
    B, S, _ = shapes.shape
    one, n = (B, 1), (B, S)
    front = torch.arange(S, device=d.device) < d.between(0.3, 0.97, *one) * (S - 1)
    shrunk = torch.where(front, d.scale(0.1, 0.6, *one), 1.0)
    shapes[..., 4] *= shrunk
    shapes[..., 5:9] /= shrunk[..., None] ** 2
    shapes[..., 11::3] *= shrunk[..., None]
    which = (d.uniform(*n) ** 1.5 * (1 + d.below(clusters, *one))).long()
    wide = d.between(0.05, 0.3, B, clusters).gather(1, which) * side
    for axis in (0, 1):
        middle = d.between(-0.1, 1.1, B, clusters).gather(1, which) * side
        shapes[..., axis] = torch.where(front, middle + wide * d.normal(*n), shapes[..., axis])
    common, tone = surface["tone"][:, :1], surface["tone"]
    like = d.between(0.05, 0.6, *one)[..., None]
    surface["tone"] = torch.where(front[..., None], common + like * (tone - common), tone)
    return shapes, surface


def strokes(d, count, glyphs=14, most=4):
    """Of an alphabet for each picture: bars between points of the unit box and arcs of half its
    size; entries [B][glyphs][most]: is_arc, x0, y0, x1, y1 (centre and half axes), facing, there."""
    n = (count, glyphs, most)
    grid = lambda: 0.5 * d.below(3, *n)  # noqa: E731
    arc, small = d.chance(0.4, *n), d.chance(0.6, *n)
    x0, y0 = grid(), grid()
    upright = d.chance(0.5, *n)
    x1 = torch.where(upright, x0, grid())
    level = torch.where(d.chance(0.6, *n), y0, 1 - y0)
    y1 = torch.where(x1 == x0, torch.where(y0 < 0.5, 1.0, 0.0), level)
    centre = torch.where(small, 0.25 + 0.5 * d.below(2, *n), 0.5)
    facing = torch.where(d.chance(0.35, *n), -1.0, 1.5707963 * d.below(4, *n))
    there = torch.arange(most, device=d.device) <= d.below(most, count, glyphs, 1)
    return torch.stack([arc.float(), torch.where(arc, 0.5, x0), torch.where(arc, centre, y0),
                        torch.where(arc, 0.5, x1), torch.where(arc, torch.where(small, 0.25, 0.5),
                                                               y1), facing, there.float()], -1)


def text(d, palette, side, scale, slots=512):
    """Lines of words of glyphs, each glyph one to four strokes of one pen, 5 to 36 pixels high."""
    B, one = palette.mean.shape[0], (palette.mean.shape[0], 1)
    height = d.scale(max(5, 0.04 * side / scale), 36, *one) * scale
    width = height * d.between(0.35, 0.8, *one)
    pen = torch.clamp_min(height * d.between(0.08, 0.22, *one), 0.8 * scale)
    slant = d.between(0, 0.3, *one) * d.chance(0.3, *one) * height
    turned = d.between(-0.4, 0.4, *one) * ~d.chance(0.6, *one) + 1.5707963 * d.chance(0.15, *one)
    pitch, step = height * d.between(1.3, 2.2, *one), width + 1.6 * pen
    columns = torch.ceil(1.3 * side / step).clamp(1, slots)
    slot = torch.arange(slots, device=d.device)[None]
    line, column = torch.floor(slot / columns), slot % columns
    margin = d.between(-0.3, 0.15, *one) * side
    along = (margin + column * step)[..., None]
    down = ((line - d.uniform(*one)) * pitch)[..., None]
    seen = (~d.chance(0.2, B, slots))[..., None] & (down < side) & (along < 1.3 * side)
    s = strokes(d, B)
    glyph = d.below(s.shape[1], B, slots)
    s = s[torch.arange(B, device=d.device)[:, None], glyph]  # [B][slots][strokes][7]
    arc, x0, y0, x1, y1, facing, there = s.unbind(-1)
    width, height, pen, slant, turned = (t[..., None] for t in (width, height, pen, slant, turned))
    middle, cosine, sine = 0.5 * side, torch.cos(turned), torch.sin(turned)

    def place(u, v):
        u, v = along + u * width - slant * v - middle, down + v * height - middle
        return middle + u * cosine - v * sine, middle + u * sine + v * cosine

    (px, py), (qx, qy) = place(x0, y0), place(x1, y1)
    arc = arc > 0
    half = 0.5 * torch.hypot(qx - px, qy - py) + 0.5 * pen
    a, c = x1 * width, y1 * height
    reach = torch.where(arc, torch.maximum(a, c) + pen, half + pen)
    reach = torch.where(seen & (there > 0), reach, NONE)
    planes = scenes.box_planes(half, 0.5 * pen.expand_as(half))
    cut = scenes.no_planes(*half.shape, device=d.device)
    cut[..., 0, 0], cut[..., 0, 1] = torch.cos(facing), torch.sin(facing)
    cut[..., 0, 2] = torch.where(facing < 0, 1e6, 0.5 * pen.expand_as(half))
    open_ = (a > 0.55 * pen) & (c > 0.55 * pen) & arc
    made = scenes.shape(
        torch.where(arc, px, 0.5 * (px + qx)), torch.where(arc, py, 0.5 * (py + qy)),
        torch.where(arc, turned, torch.atan2(qy - py, qx - px)), reach,
        (torch.where(arc, a + 0.5 * pen, 1e6), torch.where(arc, c + 0.5 * pen, 1e6)),
        (torch.where(open_, a - 0.5 * pen, 1e-4), torch.where(open_, c - 0.5 * pen, 1e-4)),
        torch.where(arc[..., None, None], cut, planes)).reshape(B, -1, SHAPE)
    away = torch.where(palette.mean > 127, -1.0, 1.0)  # ink far from the ground's brightness
    ink = (palette.mean + away * d.between(40, 160, *one)).clamp(0, 255)
    return made, flat(d, palette, ink.expand(-1, made.shape[1]))


def drawing(d, palette, side, scale, tables, things=32, bars=24):
    """Ink on paper: outlined shapes, whose inside lies in front of them, and paths of bars with a
    disc at each joint; or the flat regions with outlines of a cartoon."""
    B, one, n = palette.mean.shape[0], (palette.mean.shape[0], 1), (palette.mean.shape[0], things)
    dark_paper, cartoon = d.chance(0.25, *one), d.chance(0.5, *one)
    light, dark = d.between(170, 255, *one), d.between(0, 80, *one)
    pen = d.scale(0.8, 4, *one) * scale
    there = torch.arange(things, device=d.device) < 5 + d.below(things - 4, *one)
    outlined = d.uniform(*n) < torch.where(cartoon, 0.8, 0.5)
    # outlined shapes: [B][things][2]
    angle = 6.2831853 * d.uniform(*n) * d.chance(0.5, *n)
    a = d.scale(0.03, 0.4, *n) * side + 2 * pen
    c = torch.maximum(a * d.between(0.3, 1, *n), 2 * pen)
    kind = d.below(3, *n)[..., None, None]
    planes = torch.where(kind == 1, scenes.box_planes(a, c), scenes.polygon_planes(d, a, c))
    planes = torch.where(kind == 0, scenes.no_planes(*n, device=d.device), planes)
    both = torch.stack([planes, planes], 2)
    both[:, :, 0, :, 2] -= pen[..., None] * (kind[..., 0] > 0)
    round_ = torch.where(kind[..., 0, 0] == 0, 1.0, 1e4)
    thick = torch.stack([pen.expand(*n), torch.zeros(*n, device=d.device)], -1)
    x, y = d.between(-0.1, 1.1, *n) * side, d.between(-0.1, 1.1, *n) * side
    reach = torch.where(there & outlined, torch.hypot(a, c), NONE)
    shapes = scenes.shape(x[..., None], y[..., None], angle[..., None], reach[..., None],
                          ((a[..., None] - thick) * round_[..., None],
                           (c[..., None] - thick) * round_[..., None]), None, both)
    # paths: [B][things][2 bars], a joint and a bar in turn
    bend = torch.where(d.chance(0.7, *n), 0.35, 1.5)
    half = d.scale(0.02, 0.2, *n) * side
    straight = d.chance(0.3, *n)
    bend, half = torch.where(straight, 0.0, bend), torch.where(straight, 5 * half, half)
    count = torch.where(straight, 1, 3 + d.below(bars - 2, *n))[..., None]
    k = torch.arange(bars, device=d.device)
    turn = torch.cumsum(bend[..., None] * d.normal(*n, bars), -1) + 6.2831853 * d.uniform(*n, 1)
    half = half[..., None]
    dx, dy = half * torch.cos(turn), half * torch.sin(turn)
    ex, ey = 2 * torch.cumsum(dx, -1), 2 * torch.cumsum(dy, -1)
    sx, sy = d.uniform(*n, 1) * side, d.uniform(*n, 1) * side
    seen = (there & ~outlined)[..., None] & (k < count)
    wide = pen[..., None].expand(*n, bars)
    disc = scenes.shape(sx + ex - 2 * dx, sy + ey - 2 * dy, torch.zeros_like(turn),
                        torch.where(seen, wide, NONE), (0.5 * wide, 0.5 * wide))
    bar = scenes.shape(sx + ex - dx, sy + ey - dy, turn, torch.where(seen, half + wide, NONE),
                       planes=scenes.box_planes(half.expand_as(turn), 0.5 * wide))
    shapes = torch.cat([shapes, torch.stack([disc, bar], 3).flatten(2, 3)], 2)
    ink = flat(d, palette, torch.where(dark_paper, light, dark))
    paper = flat(d, palette, torch.where(dark_paper, dark, light))
    texture = torch.where(d.chance(0.8, *n), scenes.FLAT, scenes.RAMP)
    own = surfaces(d, palette, things, scale, tables, texture)
    made = {}
    for name, of in own.items():
        extra = of.dim() - 2
        pad = (...,) + (None,) * extra
        inner = torch.where(cartoon[pad], of, paper[name])[:, :, None]
        every = ink[name][:, :, None].expand(B, things, shapes.shape[2] - 1, *of.shape[2:])
        made[name] = torch.cat([torch.cat([inner, every], 2).flatten(1, 2), paper[name]], 1)
    return torch.cat([shapes.flatten(1, 2), scenes.everywhere(B, d.device)], 1), made


def motif(d, palette, side, scale, tables, parts=4):
    """Copies of a few shapes on a lattice, every second row shifted in some, each copy a little
    displaced and lighter or darker in some. The noise of a surface belongs to the picture, so that
    copies differ in it as things of one make do."""
    B, one, n = palette.mean.shape[0], (palette.mean.shape[0], 1), (palette.mean.shape[0], parts)
    turned = 6.2831853 * d.uniform(*one) * d.chance(0.5, *one)
    width = d.scale(max(6, 0.06 * side / scale), 48, *one) * scale
    height = width * d.between(0.45, 1, *one)
    shift = 0.5 * width * d.chance(0.5, *one)
    shaken = d.between(0, 0.08, *one) * d.chance(0.5, *one) * height
    lighter = 0.3 * palette.contrast * d.chance(0.5, *one)
    a, c = d.between(0.15, 0.6, *n) * width, d.between(0.15, 0.55, *n) * height
    kind = d.below(3, *n)[..., None, None]
    planes = torch.where(kind == 1, scenes.box_planes(a, c), scenes.polygon_planes(d, a, c))
    planes = torch.where(kind == 0, scenes.no_planes(*n, device=d.device), planes)
    round_ = torch.where(kind[..., 0, 0] == 0, 1.0, 1e4)
    angle = torch.where(d.chance(0.6, *n), turned, 6.2831853 * d.uniform(*n))
    there = torch.arange(parts, device=d.device) <= d.below(parts, *one)
    x, y = d.between(-0.4, 0.4, *n) * width, d.between(-0.4, 0.4, *n) * height
    columns, rows = 27, 43
    j, i = torch.meshgrid(torch.arange(rows, device=d.device) - rows // 2,
                          torch.arange(columns, device=d.device) - columns // 2, indexing="ij")
    i, j = i.reshape(1, -1), j.reshape(1, -1)
    u, v = i * width + (j % 2) * shift, j * height
    cosine, sine = torch.cos(turned), torch.sin(turned)
    cx = 0.5 * side + u * cosine - v * sine + shaken * d.normal(B, columns * rows)
    cy = 0.5 * side + u * sine + v * cosine + shaken * d.normal(B, columns * rows)
    seen = (cx - 0.5 * side).abs().maximum((cy - 0.5 * side).abs()) < 0.5 * side + width + height
    reach = torch.where(there, torch.hypot(a, c), NONE)[:, None].expand(-1, columns * rows, -1)
    copies = scenes.shape(x[:, None] + cx[..., None], y[:, None] + cy[..., None], angle[:, None],
                          torch.where(seen[..., None], reach, NONE),
                          ((a * round_)[:, None], (c * round_)[:, None]), None, planes[:, None])
    own, ground = (surfaces(d, palette, k, scale, tables) for k in (parts, 1))
    made = {}
    for name, of in own.items():
        of = of[:, None].expand(B, columns * rows, *of.shape[1:])
        if name == "tone":
            of = of + (lighter * d.normal(B, columns * rows))[..., None, None]
        made[name] = torch.cat([of.flatten(1, 2), ground[name]], 1)
    return torch.cat([copies.flatten(1, 2), scenes.everywhere(B, d.device)], 1), made
