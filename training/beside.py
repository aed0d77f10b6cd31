# SPDX-License-Identifier: BSD-3-Clause
"""beside.py - what is known beside the samples: movies, of which every frame has samples of its own,
and guides, planes of the same scene with other tones that are known everywhere. The samples of a
network that takes both (docs/prior.md), whole batches on one device.

A picture is [frames + guides] planes: the frames of a movie, the middle one to be recovered, then
the guides of that frame."""
import torch
import torch.nn.functional as F

import network
import pictures
import sampling
import scenes
import things
from data import Batch, Data
from tones import Palette, flat, surfaces

# Movies, guided pictures, and guided movies; what is in them.
SORTS = {"movie": 0.40, "guided": 0.44, "both": 0.16}
TARGETS = 0.4, 0.4, 0.2  # another band, depth, what has little in common with the guides
KINDS = {"leaves": 0.76, "motif": 0.1, "drawing": 0.06, "signs": 0.08}


def scene(d, count, side, scale, tables):
    """Shapes, surfaces, palette."""
    palette, kind = Palette(d, count, 1), d.host.choices(list(KINDS), list(KINDS.values()))[0]
    make = getattr(things, kind if kind != "signs" else "leaves")
    made = make(d, palette, side, scale, tables)
    if kind == "signs":
        made = scenes.join(things.text(d, palette, side, scale), made)
    return *made, palette


# ---- frames

class Motion:
    """A camera that moves, turns and zooms, shapes that move by themselves, or neither."""

    def __init__(self, d, shapes, side, scale):
        B, S, _ = shapes.shape
        moves = 1.0 * ~d.chance(0.15, B, 1)
        self.middle = 0.5 * side
        self.camera = [scale * d.scale(0.05, 8, B, 1) * d.normal(B, 1) * moves for _ in range(2)]
        own = moves * d.chance(0.7, B, 1) * d.chance(0.4, B, S)
        fast = d.scale(0.05, 5, B, 1)
        self.shapes = [scale * fast * d.normal(B, S) * own for _ in range(2)]
        self.turn, self.zoom = (0.012 * d.normal(B, 1) * d.chance(0.4, B, 1) * moves
                                for _ in range(2))

    def at(self, time, shapes, surface):
        """Shapes and surfaces at a time; the scene is that of time 0."""
        z, turn = torch.exp(self.zoom * time), self.turn * time
        cosine, sine = torch.cos(turn), torch.sin(turn)
        x = shapes[..., 0] + self.shapes[0] * time - self.middle
        y = shapes[..., 1] + self.shapes[1] * time - self.middle
        moved, of = shapes.clone(), dict(surface)
        moved[..., 0] = self.middle + z * (cosine * x - sine * y) + self.camera[0] * time
        moved[..., 1] = self.middle + z * (sine * x + cosine * y) + self.camera[1] * time
        moved[..., 2] = shapes[..., 2] * cosine - shapes[..., 3] * sine
        moved[..., 3] = shapes[..., 3] * cosine + shapes[..., 2] * sine
        moved[..., 4] = shapes[..., 4] * z
        moved[..., 5:9] = shapes[..., 5:9] / (z * z)[..., None]
        moved[..., 11::3] = shapes[..., 11::3] * z[..., None]
        along = shapes[..., 0] * shapes[..., 2] + shapes[..., 1] * shapes[..., 3]
        across = shapes[..., 1] * shapes[..., 2] - shapes[..., 0] * shapes[..., 3]
        of["noise_x"], of["noise_y"] = along * of["noise_scale"], across * of["noise_scale"]
        for name in ("fu", "fv", "noise_scale"):
            of[name] = of[name] / z
        ramp = surface["texture"] == scenes.RAMP
        of["amplitude"] = torch.where(ramp, surface["amplitude"] / z, surface["amplitude"])
        return moved, of


def movie(d, shapes, surface, side, scale, tables, frames):
    """[B][frames][side][side], in half of them each with light of its own."""
    motion, made = Motion(d, shapes, side, scale), []
    for t in range(frames):
        moved, of = motion.at(float(t - frames // 2), shapes, surface)
        made.append(scenes.paint(moved, of, scenes.front(moved, side), tables))
    return torch.cat(made, 1)


# ---- guides

def other_tones(d, palette, surface, shared):
    """The same shapes in other tones, textures weaker or stronger; shared [B][1]: of the tones."""
    tone = surface["tone"][..., 0]
    own = palette.mean + palette.contrast * d.normal(*tone.shape)
    mixed = shared * (tone - palette.mean) + (1 - shared) * (own - palette.mean)
    return {**surface, "tone": (palette.mean + mixed)[..., None],
            "amplitude": surface["amplitude"] * d.between(0.2, 1.3, *tone.shape)}


def depth_like(d, palette, surface):
    """Values by the order of the shapes, ramps, no texture. In most pictures shapes that follow each
    other are at one depth, as what is printed or lies on a thing."""
    n = surface["tone"].shape[:2]
    order = torch.arange(n[1], device=d.device).expand(n)
    groups = torch.where(d.chance(0.7, n[0], 1), d.scale(4, n[1], n[0], 1), 1.0 * n[1])
    order = (torch.floor(order * groups / n[1]) * n[1] / groups).ceil().long().clamp_max(n[1] - 1)
    tone = palette.mean + 2.2 * palette.contrast * (0.35 - (order / n[1]).sqrt()) \
        + 0.1 * palette.contrast * d.normal(*n).gather(1, order) * d.chance(0.5, n[0], 1)
    sign = torch.where(d.chance(0.3, n[0], 1), -1.0, 1.0)
    made = flat(d, palette, palette.mean + sign * (tone - palette.mean))
    alone = (groups == n[1]) | (order == n[1] - 1)
    made["texture"] = torch.where(d.chance(0.5, *n) & alone, scenes.RAMP, scenes.FLAT)
    made["amplitude"] = 0.4 * palette.contrast * d.between(-1, 1, *n)
    made["table"] = surface["table"]
    made["fu"], made["fv"] = surface["fu"], surface["fv"]
    return made


def target_surface(d, palette, surface):
    """Another band, depth, or what has little in common with the guides; some shapes merged."""
    B, S = surface["tone"].shape[:2]
    kind, one = d.pick(TARGETS, B, 1), (B, 1)
    shared = torch.where(kind == 2, 0.1 * d.uniform(*one), d.uniform(*one))
    band = other_tones(d, palette, surface, shared)
    sign = torch.where(d.chance(0.25, *one), -1.0, 1.0)
    band["tone"] = (palette.mean + sign * (band["tone"][..., 0] - palette.mean))[..., None]
    keep = d.uniform(B, S) < torch.where(kind == 2, 0.2, 0.75)
    band["amplitude"] = band["amplitude"] * keep
    band["grain"] = band["grain"] * d.chance(0.5, *one)
    fresh = d.chance(0.15, B, S) & (kind == 0)
    band["texture"] = torch.where(fresh, d.below(10, B, S), band["texture"])
    merged = d.uniform(B, S) < 0.35 * d.uniform(*one)
    band["tone"] = torch.where(merged[..., None], band["tone"][:, -1:], band["tone"])
    depth = depth_like(d, palette, surface)
    pick = lambda a, b: torch.where((kind == 1).view(B, *[1] * (a.dim() - 1)), a, b)  # noqa: E731
    return {name: pick(depth[name], band[name]) for name in band}


def shade(d, count, size, knots=5):
    return F.interpolate(d.normal(count, 1, knots, knots), size=(size, size), mode="bicubic",
                         align_corners=True)


def light(d, count, side, scale, tables):
    """What falls on a scene: with the sharp shadows of a few large shapes, or smooth."""
    size, palette = side // scale, Palette(d, count, 1)
    shapes, surface = things.leaves(d, palette, side, scale, tables)
    S = shapes.shape[1]
    behind = torch.arange(S, device=d.device) < S - 60
    shapes[..., 4] = torch.where(behind, things.NONE, shapes[..., 4])
    surface = {**surface, "texture": torch.zeros_like(surface["texture"]),
               "grain": torch.zeros_like(surface["grain"])}
    cast = scenes.paint(shapes, surface, scenes.front(shapes, side), tables)
    cast = pictures.blur(d, F.avg_pool2d(cast, scale)) / 127
    cast = (cast.clamp(0.15, 2) * (1 + 0.4 * shade(d, count, size))).clamp_min(0.2)
    smooth = (1 + 0.5 * shade(d, count, size)).clamp_min(0.2)
    return torch.where(d.chance(0.4, count, 1, 1, 1), cast, smooth)


def guided(d, count, side, scale, tables, guides):
    """[B][1 + guides]: the target, and what guides it; of 30 % the target is a guide in a light.
    Guides are shaded or missing (0) in some."""
    shapes, surface, palette = scene(d, count, side, scale, tables)
    seen, size, one = scenes.front(shapes, side), side // scale, (count, 1, 1, 1)
    paint = lambda of: F.avg_pool2d(scenes.paint(shapes, of, seen, tables), scale)  # noqa: E731
    planes = [paint(other_tones(d, palette, surface, d.uniform(count, 1).sqrt()))
              for _ in range(guides - 1)] + [paint(depth_like(d, palette, surface))]
    y = paint(target_surface(d, palette, surface))
    lit = planes[0].clamp(0, 255) * light(d, count, side, scale, tables)
    y = torch.where(d.chance(0.3, *one), lit, y)
    y = y * (1 + 0.35 * shade(d, count, size, 6) * d.chance(0.4, *one))
    g = torch.cat(planes, 1) * (1 + 0.35 * shade(d, count, size) * d.chance(0.4, *one))
    g = pictures.blur(d, g)
    g = g[:, torch.randperm(guides, generator=d.generator, device=d.device)]
    return torch.cat([pictures.blur(d, y), g * ~d.chance(0.25, count, guides, 1, 1)], 1)


# ---- pictures

def filmed(d, count, side, scale, tables, frames, guides, planes):
    """A movie in `planes`, with guides of its middle frame: in half of these the first one is what
    the light falls on."""
    shapes, surface, palette = scene(d, count, side, scale, tables)
    size, one, smaller = side // scale, (count, 1, 1, 1), lambda x: F.avg_pool2d(x, scale)
    clip = smaller(movie(d, shapes, surface, side, scale, tables, frames))
    seen = scenes.front(shapes, side)
    for g in range(guides):
        of = other_tones(d, palette, surface, d.uniform(count, 1))
        planes[:, frames + g] = smaller(scenes.paint(shapes, of, seen, tables))[:, 0]
    if guides:
        lit = d.chance(0.5, *one)
        planes[:, frames] = torch.where(lit[:, 0], clip[:, frames // 2], planes[:, frames])
        clip = torch.where(lit, clip.clamp(0, 255) * light(d, count, side, scale, tables), clip)
        planes[:, frames:] *= ~d.chance(0.25, count, guides, 1, 1)
    shading = 1 + 0.25 * shade(d, count, size) * d.uniform(*one) * d.chance(0.5, *one)
    planes[:, :frames] = pictures.blur(d, clip) * shading


def block(d, count, size, tables, frames, guides, parts=8):
    """count pictures, [count][frames + guides][size][size], about 0 to 255."""
    made = []
    for part in range(parts):
        n = count * (part + 1) // parts - count * part // parts
        if not n:
            continue
        sort, scale = d.host.choices(list(SORTS), list(SORTS.values()))[0], d.one((2, 2, 3))
        side = scale * size
        planes = torch.zeros(n, frames + guides, size, size, device=d.device)
        if sort == "guided":
            both = guided(d, n, side, scale, tables, guides)
            planes[:, frames // 2], planes[:, frames:] = both[:, 0], both[:, 1:]
        else:
            filmed(d, n, side, scale, tables, frames, guides if sort == "both" else 0, planes)
        made.append(planes.clamp(-60, 320))
    return torch.cat(made)


# ---- samples

def clouds(d, n, frames, size):
    """What is known beside blobs or stripes that are elsewhere in every frame."""
    knots = d.one(range(3, 14))
    field = shade(d, n * frames, size, knots).view(n, frames, size, size)
    blobs = field > 0.5 * d.normal(n, frames, 1, 1) - 0.1
    at = torch.arange(size, device=d.device)
    period, angle = d.between(12, 62, n, frames, 1, 1), 3.1415927 * d.uniform(n, frames, 1, 1)
    along = at * torch.cos(angle) + at[:, None] * torch.sin(angle)
    stripes = (along / period + d.uniform(n, frames, 1, 1)) % 1 > d.between(0.15, 0.65, n, frames, 1,
                                                                            1)
    return torch.where(d.chance(0.65, n, 1, 1, 1), blobs, stripes)


def shown(picture, frames):
    """[n][frames][1][1]: whether there is such a frame."""
    return picture[:, :frames].flatten(2).abs().amax(2)[..., None, None] > 0


def known_of(d, picture, frames, ranks):
    """known [n][frames][size][size] and sigma: a pattern for the middle frame; other frames have the
    same share of their own, or the same entries, or all but clouds. Frames without a picture have
    none."""
    n, _, size, _ = picture.shape
    one, (middle, sigma) = (n, 1, 1, 1), sampling.block(d, n, size, ranks)
    share = d.scale(0.02, 0.6, *one) * torch.exp(0.7 * d.normal(n, frames, 1, 1) * d.chance(0.2, *one))
    known = d.uniform(n, frames, size, size) < share
    known = torch.where(d.chance(0.15, *one), known[:, :1], known)
    cloud, whole = clouds(d, n, frames, size), d.chance(0.6, *one)
    known = torch.where(d.chance(0.3, *one), cloud & (known | whole), known)
    there = shown(picture, frames)
    alone = ~there[:, :1] | d.chance(0.05, *one)  # a picture without other frames
    known = torch.where(alone & there, middle > 0, known) & there
    known[:, :, 0, 0] |= there[..., 0, 0]
    centre = torch.arange(frames, device=d.device)[:, None, None] == frames // 2
    known = known & (~alone | centre)
    return known.float(), torch.where(alone | d.chance(0.4, *one), sigma, 0.0)


class Beside(Batch):
    """Planes X, F of the middle frame, and that frame in normal values."""

    def __init__(self, picture, known, sigma, noise):
        frames, middle = known.shape[1], known.shape[1] // 2
        clip = picture[:, :frames]
        self.X, filled, mean, self.unit = network.beside_planes(
            (clip + sigma * noise) * known, known, sigma, picture[:, frames:])
        self.filled = filled
        self.target = (clip[:, middle:middle + 1] - mean) / self.unit
        self.weight = torch.where(sigma > 0, 1.0, 1 - known[:, middle:middle + 1])


class BesideData(Data):
    """Batches of movies and guided pictures."""

    def __init__(self, device, frames, guides, **more):
        self.frames, self.guides = frames, guides
        super().__init__(device, channels=frames + guides, **more)

    def pictures(self, d, count):
        return block(d, count, self.size, self.tables, self.frames, self.guides)

    def samples(self, d, picture):
        back = torch.cat([picture[:, :self.frames].flip(1), picture[:, self.frames:]], 1)
        picture = torch.where(d.chance(0.5, len(picture), 1, 1, 1), back, picture)
        known, sigma = known_of(d, picture, self.frames, self.ranks)
        return Beside(picture, known, sigma, d.normal(*known.shape))

    def uniform(self, d, picture, share):
        known = d.uniform(len(picture), self.frames, self.size, self.size) < share
        known[:, :, 0, 0] = True
        known = (known & shown(picture, self.frames)).float()
        return Beside(picture, known, 0 * share, torch.zeros_like(known))
