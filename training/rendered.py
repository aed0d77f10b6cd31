# SPDX-License-Identifier: BSD-3-Clause
"""rendered.py - synthetic renderings: shapes with curved, bumped and folded surfaces under several
lights with soft and sharp shadows; mirrors, glass and gloss that show another scene; lamps, a sky;
moved, and out of focus. Whole batches on one device, drawn by the same shapes and textures as
pictures are.

Light is painted, not traced: a network learns from what it looks like. A scene is PHASES pictures,
one for each place within a pixel, each at a time of the exposure and a point of the lens of its
own. A ray is one phase of a pixel, with noise (rays.py), and the truth is the mean over phases. So
edges are smooth in the truth, and albedo, normal and depth of a ray are those of what it hits.

Planes of a phase: radiance of lights that are seen or shine directly, 3; of all else, 3; relative
variance of one ray of each, 2; albedo, normal, depth, 7."""
import torch
import torch.nn.functional as F

import scenes
import things
from beside import shade
from tones import Palette

GRID = 3  # places of a pixel along each axis
PHASES = GRID * GRID
DIRECT, OTHER, VARIANCES, AOVS, WIDTH = slice(0, 3), slice(3, 6), slice(6, 8), slice(8, 15), 15
KINDS = {"leaves": 0.62, "foliage": 0.14, "motif": 0.13, "drawing": 0.04, "signs": 0.07}
NIGHT = 0.15  # share of scenes of many small lights and little else
DIFFUSE, MIRROR, GLASS, GLOSS, LAMP, SKY = range(6)
LIGHTS = 3


def unit(v):
    return v / v.square().sum(1, keepdim=True).clamp_min(1e-12).sqrt()


# ---- shapes

def geometry(d, count, size, tables):
    """Shapes and surfaces in pixels; of many scenes few shapes, which are large things then."""
    palette = Palette(d, count, 3)
    palette.mean = d.between(40, 190, count, 1)
    palette.chroma = palette.chroma * d.scale(1, 4, count, 1)
    kind = d.host.choices(list(KINDS), list(KINDS.values()))[0]
    make = getattr(things, kind if kind != "signs" else "leaves")
    shapes, surface = make(d, palette, size, 1, tables)
    if kind in ("leaves", "signs"):
        S = shapes.shape[1]
        most = torch.where(d.chance(0.6, count, 1), d.scale(6, 120, count, 1), 1.0 * S)
        k = torch.arange(S, device=d.device)
        gone = (k >= most) & (k < S - 1)
        shapes[..., 4] = torch.where(gone, things.NONE, shapes[..., 4])
    strong = torch.where(d.chance(0.35, count, 1), d.scale(1, 3, count, 1), 1.0)
    surface["amplitude"] = surface["amplitude"] * strong
    if kind == "signs":
        shapes, surface = scenes.join(things.text(d, palette, size, 1), (shapes, surface))
    return shapes, surface


def materials(d, shapes, night=False, small=12.0):
    """Of each shape, entries [B][S]; the last one is the ground. night [B][1]: things that reach
    less far than `small` often shine."""
    n, one, S = shapes.shape[:2], (shapes.shape[0], 1), shapes.shape[1]
    last = torch.arange(S, device=d.device) == S - 1
    shiny = d.chance(0.7, *one) * d.uniform(*one)
    sort = d.uniform(*n)
    material = torch.full(n, DIFFUSE, device=d.device)
    for kind, low, high in ((MIRROR, 0.0, 0.15), (GLASS, 0.15, 0.25), (GLOSS, 0.25, 0.6)):
        material = torch.where((sort >= low * shiny) & (sort < high * shiny), kind, material)
    shining = 0.06 * d.chance(0.65, *one)
    shining = torch.where((shapes[..., 4] < small) & night, d.scale(0.02, 0.4, *one), shining)
    material = torch.where(d.uniform(*n) < shining, LAMP, material)
    sky = last & d.chance(0.2, *one)
    material = torch.where(sky, SKY, torch.where(last & (material == LAMP), DIFFUSE, material))
    order = (torch.arange(S, device=d.device) / S).expand(n)
    order = order ** d.scale(0.3, 1.2, *one)
    flat = d.chance(0.3, *one)  # what is printed or lies on a thing is at its depth
    steps = d.scale(2, 12, *one)
    depth = torch.where(flat, torch.floor(order * steps) / steps, order)
    curved = d.pick((0.45, 0.35, 0.2), *n) * d.chance(0.8, *one) * ~last
    slant = d.scale(0.001, 0.012, *one) * d.chance(0.4, *one)
    return {"material": material, "depth": depth, "curved": curved,
            "tilt_x": d.normal(*n) * d.scale(0.05, 1.5, *one),
            "tilt_y": d.normal(*n) * d.scale(0.05, 1.5, *one),
            "bump": d.scale(0.03, 0.6, *n) * d.chance(0.5, *n) * d.chance(0.7, *one),
            "fold": d.scale(0.05, 1.2, *n) * d.chance(0.25, *n),
            "fold_x": d.normal(*n) * d.scale(0.01, 0.12, *one),
            "fold_y": d.normal(*n) * d.scale(0.01, 0.12, *one),
            "rough": torch.where(d.chance(0.5, *n), 0.0, d.uniform(*n)),
            "far_x": slant * d.normal(*n), "far_y": slant * d.normal(*n),
            "power": d.scale(1.5, 120, *n), "x": d.normal(*n), "y": d.normal(*n)}


def drawn_phases(d, count):
    """Place, time and point of the lens of each phase: [B][PHASES] of x, y, time, two more."""
    k = torch.arange(PHASES, device=d.device).expand(count, PHASES)
    mixed = [torch.argsort(d.uniform(count, PHASES), 1) for _ in range(3)]
    x, y = (k % GRID + 0.5) / GRID - 0.5, (k // GRID + 0.5) / GRID - 0.5
    time = (mixed[0] + 0.5) / PHASES - 0.5
    radius, angle = ((mixed[1] + 0.5) / PHASES).sqrt(), 6.2831853 * mixed[2] / PHASES
    return x, y, time, radius * torch.cos(angle), radius * torch.sin(angle)


def moved(d, shapes, surface, what, size):
    """Shapes of each phase [B * PHASES][S], and their surfaces: rays of a pixel see it at places,
    times and points of the lens of their own. Noise on a surface moves with it."""
    B, S, _ = shapes.shape
    x, y, time, lens_x, lens_y = (p[..., None] for p in drawn_phases(d, B))
    moves = d.chance(0.25, B, 1)
    speed = [(d.normal(B, 1) * d.scale(0.3, 8, B, 1) + d.normal(B, S) * d.scale(0.3, 12, B, 1)
              * d.chance(0.2, B, S)) * moves for _ in range(2)]
    focus, open_ = d.uniform(B, 1), d.scale(0.5, 10, B, 1) * d.chance(0.3, B, 1)
    blur = open_ * (what["depth"] - focus)
    made = shapes[:, None].repeat(1, PHASES, 1, 1)
    for axis, (place, lens) in enumerate(((x, lens_x), (y, lens_y))):
        made[..., axis] += speed[axis][:, None] * time + blur[:, None] * lens - place
    along = shapes[..., 0] * shapes[..., 2] + shapes[..., 1] * shapes[..., 3]
    across = shapes[..., 1] * shapes[..., 2] - shapes[..., 0] * shapes[..., 3]
    of = {**surface, "noise_x": along * surface["noise_scale"],
          "noise_y": across * surface["noise_scale"]}
    every = {name: a.repeat_interleave(PHASES, 0) for name, a in {**of, **what}.items()}
    return made.flatten(0, 1), every


# ---- surfaces

def surface_of(shapes, every, seen, tables):
    """Entries [B][size][size] of what is seen: those of `every` by name, normals, heights."""
    B, side, _ = seen.shape
    index = seen.view(B, -1).long()
    at = {name: every[name].gather(1, index) for name in
          ("material", "depth", "curved", "tilt_x", "tilt_y", "bump", "fold", "fold_x", "fold_y",
           "rough", "power", "x", "y", "phase")}
    _, _, u, v, cosine, sine = scenes.places(shapes, index, side)
    reach = shapes[..., 4].clamp_min(0.5)
    inverse = [torch.where(s * reach * reach > 0.25, s, reach ** -2).sqrt().gather(1, index)
               for s in (shapes[..., 5], shapes[..., 6])]
    p = u * inverse[0] * (at["curved"] == 1)
    q = v * inverse[1] * (at["curved"] > 0)
    square = (p * p + q * q).clamp_max(0.97)
    height = (1 - square).sqrt()
    shrunk = (square / (p * p + q * q).clamp_min(1e-6)).sqrt()
    wave = at["fold"] * torch.cos(6.2831853 * (at["fold_x"] * u + at["fold_y"] * v + at["phase"]))
    long = (at["fold_x"] ** 2 + at["fold_y"] ** 2 + 1e-9).sqrt()
    table = (16 + 6 * at["phase"]).long()  # smooth ones
    bx, by = 0.7 * u + 512 * at["phase"], 0.7 * v + 91 * at["phase"]
    bumps = [scenes.noise_at(tables, table, bx + i, by + j)
             for i, j in ((0, 0), (1.5, 0), (0, 1.5))]
    gx = p * shrunk + wave * at["fold_x"] / long + 2 * at["bump"] * (bumps[1] - bumps[0])
    gy = q * shrunk + wave * at["fold_y"] / long + 2 * at["bump"] * (bumps[2] - bumps[0])
    tilted = at["curved"] == 0
    normal = torch.stack([gx * cosine - gy * sine + at["tilt_x"] * tilted,
                          gx * sine + gy * cosine + at["tilt_y"] * tilted, height], 1)
    radius = shapes[..., 4].gather(1, index).clamp(0.5, side)
    slope = (at["tilt_x"] * u + at["tilt_y"] * v) * tilted / (3 * side)
    at["height"] = (height * radius / side * (at["curved"] > 0) * 0.3 - slope.clamp(-0.3, 0.3))
    at = {name: a.view(B, side, side) for name, a in at.items()}
    return at, unit(normal).view(B, 3, side, side)


# ---- light

def looked_up(picture, x, y):
    """picture [B][C][H][W] at x, y [B * K][size][size] in -1 to 1, reflected beyond: bilinear."""
    B, size = picture.shape[0], x.shape[-1]
    grid = torch.stack([x, y], -1).view(B, -1, size, 2)
    made = F.grid_sample(picture, grid, mode="bilinear", padding_mode="reflection",
                         align_corners=False)
    return made.view(B, picture.shape[1], -1, size, size).transpose(1, 2).flatten(0, 1)


def phases_of(a):
    """[B]... as [B * PHASES]..."""
    return a.repeat_interleave(PHASES, 0)


def shadows(d, count, size, tables):
    """[B * LIGHTS][1][2 size][2 size]: the share of a light that is seen; edges sharp or soft."""
    n, side = count * LIGHTS, 2 * size
    shapes, _ = things.leaves(d, Palette(d, n, 1), side, 2, tables)
    S = shapes.shape[1]
    few = d.scale(3, 60, n, 1) * ~d.chance(0.25, n, 1)
    k = torch.arange(S, device=d.device)
    shapes[..., 4] = torch.where((k >= few) & (k < S - 1), things.NONE, shapes[..., 4])
    lit = (scenes.front(shapes, side) == S - 1).float()[:, None]
    lit = torch.where(d.chance(0.25, n, 1, 1, 1), 1 - lit, lit)
    for radius in (1, d.one((1, 2, 4))):
        lit = F.avg_pool2d(F.pad(lit, (radius,) * 4, mode="replicate"), 2 * radius + 1, 1)
        if radius == 1:
            sharp = lit
    for radius in (d.one((3, 6, 12)), 4):
        lit = F.avg_pool2d(F.pad(lit, (radius,) * 4, mode="replicate"), 2 * radius + 1, 1)
    soft = (0.5 + 1.5 * d.normal(n, 1, 1, 1) + shade(d, n, side, 4)).clamp(0, 1)
    return sharp + soft * (lit - sharp)


def surroundings(d, count, size, tables):
    """What mirrors and glass show, [B][6][size][size] and blurred: radiance of two other scenes."""
    palette = Palette(d, 2 * count, 3)
    shapes, surface = things.leaves(d, palette, size, 1, tables)
    S = shapes.shape[1]
    few = d.scale(8, 300, 2 * count, 1)
    k = torch.arange(S, device=d.device)
    shapes[..., 4] = torch.where((k >= few) & (k < S - 1), things.NONE, shapes[..., 4])
    made = scenes.paint(shapes, surface, scenes.front(shapes, size), tables)
    bright = made.mean(1, keepdim=True)
    made = (made / 255).clamp(0.005, 1.5) ** d.scale(1, 2.2, 2 * count, 1, 1, 1)
    lamps = bright > palette.mean[..., None, None] + 1.6 * palette.contrast[..., None, None]
    made = made * torch.where(lamps, d.scale(1, 30, 2 * count, 1, 1, 1), 1.0)
    made = made * (1 + 0.5 * shade(d, 2 * count, size)).clamp_min(0.2)
    made = made.view(count, 6, size, size)
    blurred = F.interpolate(F.avg_pool2d(made, 8), size=(size, size), mode="bilinear")
    return made, blurred


def lamp_light(d, count, at, normal, size, tables):
    """Diffuse light and highlights of LIGHTS lights, [N][3][size][size] each; and the variance of
    the light by what is half in shadow."""
    N, one = normal.shape[0], (count, 1, 1)
    shadow = shadows(d, count, size, tables).view(count, LIGHTS, 2 * size, 2 * size)
    pixel = (torch.arange(size, device=d.device) + 0.5) * 2 / size - 1
    px, py = pixel.expand(size, size), pixel[:, None].expand(size, size)
    diffuse, glints, hidden = 0, 0, 0
    for k in range(LIGHTS):
        place = [phases_of(d.normal(*one) * 1.5), phases_of(d.normal(*one) * 1.5 - 0.5),
                 phases_of(d.scale(0.3, 4, *one))]
        to = unit(torch.stack([place[0] - px, place[1] - py, place[2].expand(N, size, size)], 1))
        far = (place[0] - px) ** 2 + (place[1] - py) ** 2 + place[2] ** 2
        fall = phases_of(d.chance(0.5, *one))
        fall = torch.where(fall, place[2] ** 2 / far, 1.0)
        move = phases_of(d.scale(0.05, 1.2, *one))
        seen = looked_up(shadow[:, k:k + 1],
                         px + move * at["depth"] * place[0] + 0.3 * at["x"] * move,
                         py + move * at["depth"] * place[1])[:, 0]
        seen = torch.where(phases_of(d.chance(0.25, *one)), 1.0, seen)
        colour = torch.exp(0.35 * d.normal(count, 3, 1, 1) + 0.8 * d.normal(count, 1, 1, 1))
        colour = phases_of(colour * ((k == 0) | d.chance(0.5, count, 1, 1, 1)))
        light = fall * (normal * to).sum(1).clamp_min(0)
        half = unit(to + torch.tensor([0.0, 0.0, 1.0], device=d.device)[:, None, None])
        glint = ((normal * half).sum(1).clamp(0, 1) ** at["power"]) * fall * (at["power"] + 8) / 25
        diffuse = diffuse + colour * (light * seen)[:, None]
        glints = glints + colour * (glint * seen)[:, None]
        weight = colour.mean(1) * light
        hidden = hidden + weight ** 2 * seen * (1 - seen)
    return diffuse, glints, hidden / (diffuse.mean(1) + 1e-4) ** 2


def pools(d, count, size, most=24):
    """Light of small lamps near what they shine on, [count][3][size][size]."""
    n = (count, most, 1, 1)
    pixel = (torch.arange(size, device=d.device) + 0.5) * 2 / size - 1
    far = (d.between(-1.1, 1.1, *n) - pixel) ** 2 + (d.between(-1.1, 1.1, *n) - pixel[:, None]) ** 2
    high = d.scale(0.02, 0.4, *n) ** 2
    there = torch.arange(most, device=d.device)[:, None, None] <= d.below(most, count, 1, 1, 1)
    light = there * torch.exp(0.8 * d.normal(*n)) * (high / (high + far)) ** 1.5
    return torch.einsum("nkyx,nkc->ncyx", light, torch.exp(0.4 * d.normal(count, most, 3)))


def sky(d, count, size, x, y, tables):
    """Radiance [N][3][size][size]: a gradient, clouds, a sun; sharper than the grid."""
    low, high = (d.scale(0.1, 3, count, 1, 1, 1) * torch.exp(0.4 * d.normal(count, 3, 1, 1))
                 for _ in range(2))
    t = ((y + 1) / 2)[:, None]
    made = phases_of(high) * (1 - t) + phases_of(low) * t
    cloud = scenes.noise_at(tables, torch.full_like(x, 18).long(), 60 * x + 300, 90 * y + 300)
    cloud = cloud * phases_of(d.between(0, 0.5, count, 1, 1) * d.chance(0.5, count, 1, 1))
    sun = [phases_of(d.between(-0.9, 0.9, count, 1, 1)) for _ in range(2)]
    far = ((x - sun[0]) ** 2 + (y - sun[1]) ** 2).sqrt()
    wide = phases_of(d.scale(0.02, 0.2, count, 1, 1))
    disc = (far < wide) * phases_of(d.scale(5, 300, count, 1, 1) * d.chance(0.4, count, 1, 1))
    return made * (1 + cloud).clamp_min(0.1)[:, None] + disc[:, None]


# ---- a scene

def mirrored(d, count, at, normal, size, tables):
    """What mirrors and glass show, [N][3][size][size] each, and the share that is reflected."""
    sharp, blurred = surroundings(d, count, size, tables)
    pixel = (torch.arange(size, device=d.device) + 0.5) * 2 / size - 1
    curve = phases_of(d.between(0.6, 2, count, 1, 1))
    flat = phases_of(d.between(0.1, 0.8, count, 1, 1))
    x = curve * normal[:, 0] + flat * pixel + 0.7 * at["x"]
    y = curve * normal[:, 1] + flat * pixel[:, None] + 0.7 * at["y"]
    rough = at["rough"][:, None]
    seen = looked_up(sharp[:, :3], x, y)
    seen = seen + rough * (looked_up(blurred[:, :3], x, y) - seen)
    through = looked_up(sharp[:, 3:], 0.9 * pixel - curve * 0.6 * normal[:, 0],
                        0.9 * pixel[:, None] - curve * 0.6 * normal[:, 1])
    fresnel = (0.04 + 0.96 * (1 - normal[:, 2:3].clamp(0, 1)) ** 5)
    return seen, fresnel * seen + (1 - fresnel) * through, fresnel


def by_night(d, count, at, normal, lit, night, size):
    """lit, or where it is night little of it and the light of pools; the rest of what shines, the
    variance of one ray of so many lights."""
    one = (count, 1, 1, 1)
    up = phases_of(unit(d.normal(count, 3, 1, 1)))
    pooled = phases_of(pools(d, count, size) * d.scale(0.1, 2, *one))
    pooled = pooled * (0.6 + 0.4 * (normal * up).sum(1, True)) * torch.exp(0.4 * at["y"])[:, None]

    def dim(low, high):
        return phases_of(torch.where(night, d.scale(low, high, *one), 1.0))
    lit = lit * dim(0.003, 0.3) + pooled * phases_of(night)
    return lit, dim(0.005, 0.3), phases_of(d.scale(0.3, 30, *one) * night)


def radiance(d, count, at, normal, albedo, night, size, tables):
    """[N][8][size][size]: planes DIRECT, OTHER and VARIANCES."""
    one, material = (count, 1, 1, 1), at["material"][:, None]
    draw = lambda low, high: phases_of(d.scale(low, high, *one))  # noqa: E731
    pixel = (torch.arange(size, device=d.device) + 0.5) * 2 / size - 1
    x, y = pixel.expand_as(at["depth"]), pixel[:, None].expand_as(at["depth"])
    lit, glints, hidden = lamp_light(d, count, at, normal, size, tables)
    lit, dim, picked = by_night(d, count, at, normal, lit, night, size)
    mirror, glass, fresnel = mirrored(d, count, at, normal, size, tables)
    mirror = mirror * phases_of(torch.exp(0.7 * d.normal(*one)))
    around = phases_of(torch.exp(0.5 * shade(d, count, size, 4) + 0.3 * d.normal(count, 3, 1, 1))
                       * d.scale(0.02, 1.5, *one)) * dim
    up = phases_of(unit(d.normal(count, 3, 1, 1)))
    around = around * (0.6 + 0.4 * (normal * up).sum(1, True))
    body = (material == DIFFUSE) | (material == GLOSS)
    spread = phases_of(torch.where(night, 1.0, 0.5))
    lamp = draw(1.5, 60) * torch.exp(spread * at["x"][:, None]) * (0.3 + 0.7 * albedo)
    warm = torch.tensor([1.0, 0.0, -1.0], device=d.device).view(1, 3, 1, 1)
    lamp = lamp * torch.exp(0.5 * spread * warm * at["y"][:, None])
    direct = torch.where(body, albedo * lit + (material == GLOSS) * 0.1 * glints, 0.0)
    direct = torch.where(material == LAMP, lamp, direct)
    direct = torch.where(material == SKY, dim * sky(d, count, size, x, y, tables), direct)
    tint = torch.where(phases_of(d.chance(0.5, *one)), 0.4 + 0.6 * albedo, 0.9)
    gloss = (material == GLOSS) * (fresnel + 0.03) * mirror
    other = torch.where(body, albedo * around + gloss, 0.0)
    other = torch.where(material == MIRROR, mirror * tint, other)
    other = torch.where(material == GLASS, glass, other)
    caustic = torch.exp(3 * shade(d, count, size, 12) - 5) * d.chance(0.2, *one)
    caustic = phases_of(caustic * torch.exp(0.4 * d.normal(count, 3, 1, 1)))
    other = other + body * albedo * caustic
    quiet = (material == LAMP) | (material == SKY)
    noise = torch.where(quiet, 0.0, draw(0.01, 1.5) + picked + hidden[:, None].clamp_max(30))
    field = torch.exp(0.8 * phases_of(shade(d, count, size, 6)))
    loud = draw(0.3, 8) * field * (1 + 60 * caustic.mean(1, True) / (other.mean(1, True) + 0.01))
    shiny = (material == MIRROR) | (material == GLASS)
    loud = torch.where(shiny, draw(0.003, 1.5) * (0.1 + at["rough"][:, None]), loud)
    loud = torch.where(quiet, 0.0, loud.clamp_max(100))
    return torch.cat([direct, other, noise, loud], 1)


def turned_normals(d, count, normal):
    """In axes of the world, mostly, not of the camera."""
    axes = torch.linalg.qr(d.normal(count, 3, 3))[0]
    axes = torch.where(d.chance(0.3, count, 1, 1), torch.eye(3, device=d.device), axes)
    return torch.einsum("nij,njhw->nihw", phases_of(axes), normal)


def part(d, count, size, tables):
    """count scenes, [count][PHASES * WIDTH][size][size]."""
    shapes, surface = geometry(d, count, size, tables)
    night = d.chance(NIGHT, count, 1)
    what = materials(d, shapes, night)
    shapes, every = moved(d, shapes, surface, what, size)
    seen = scenes.front(shapes, size)
    colours = scenes.paint(shapes, every, seen, tables)
    at, normal = surface_of(shapes, every, seen, tables)
    one, material = (count, 1, 1, 1), at["material"][:, None]
    albedo = (colours / 255).clamp(0, 1) ** phases_of(d.between(1, 2.4, *one))
    light = radiance(d, count, at, normal, albedo, night.view(one), size, tables)
    light[:, :6] *= phases_of(torch.exp(d.normal(*one)))
    dark = (material == SKY) | (material == MIRROR) | (material == GLASS)
    dark = dark | ((material == LAMP) & phases_of(d.chance(0.5, *one)))
    white = phases_of(d.chance(0.3, *one))
    albedo = torch.where(dark, 1.0 * white, albedo)
    range_ = phases_of(d.scale(1.2, 30, count, 1, 1))
    depth = range_ ** (at["depth"] - at["height"]) * phases_of(d.scale(0.1, 100, count, 1, 1))
    depth = torch.where(material == SKY, torch.where(white, 1e4, 0.0), depth[:, None])
    normal = torch.where(material == SKY, 0.0, turned_normals(d, count, normal))
    light[:, :6] = light[:, :6].clamp(0, 2e4)
    return torch.cat([light, albedo, normal, depth], 1).view(count, -1, size, size)


def block(d, count, size, tables, parts=8):
    """In up to `parts` parts, each of shapes of one kind, [count][PHASES * WIDTH][size][size]."""
    counts = [count * (k + 1) // parts - count * k // parts for k in range(parts)]
    return torch.cat([part(d, n, size, tables).half() for n in counts if n])
