# SPDX-License-Identifier: BSD-3-Clause
"""scenes.py - pictures as lists of shapes, the front one seen: which shape is seen at a pixel, and
what is on it. Scenes are plain tensors, so that the same shapes can be moved (frames of a movie) or
painted again with other tones (guides).

shapes [B][S][27]: x, y, cosine, sine, reach (less than 0: none); u^2 / a^2 + v^2 / c^2 < 1 of an
ellipse outside, and > 1 of one inside; six half-planes p u + q v < d, with (u, v) the pixel's
coordinates on the shape. surfaces: a tensor [B][S] for each name of FIELDS, tone and gain
[B][S][channels]."""
import numpy as np
import torch

try:  # a part of PyTorch for CUDA
    import triton
    import triton.language as tl
except ImportError:
    triton = None

SHAPE, PLANES = 27, 6
NO_PLANE = 0.0, 0.0, 1e6  # p, q, d of a half-plane that cuts nothing
FIELDS = ("texture", "amplitude", "fu", "fv", "phase", "warp", "second", "threshold", "salt",
          "table", "noise_scale", "grain")
FLAT, RAMP, WAVES, STRIPES, NOISE, STAINS, CREASES, BRICKS, CHECKS, DOTS = range(10)
SIDE = 512  # of a table of noise


# ---- shapes

def shape(x, y, angle, reach, outer=None, inner=None, planes=None):
    """Shapes of tensors that broadcast to one extent; outer, inner: half axes (a, c); planes
    [...][6][3]."""
    parts = [x, y, torch.cos(angle), torch.sin(angle), reach, *(outer or ()), *(inner or ())]
    parts = torch.broadcast_tensors(*parts)
    made = torch.zeros(*parts[0].shape, SHAPE, device=parts[0].device)
    made[..., :5] = torch.stack(parts[:5], -1)
    at = 5
    if outer:
        made[..., 5:7] = torch.stack(parts[at:at + 2], -1) ** -2
        at += 2
    made[..., 7:9] = torch.stack(parts[at:at + 2], -1) ** -2 if inner else 1e9
    made[..., 11::3] = NO_PLANE[2]
    if planes is not None:
        made[..., 9:] = planes.expand(*parts[0].shape, PLANES, 3).flatten(-2)
    return made


def no_planes(*extent, device):
    planes = torch.zeros(*extent, PLANES, 3, device=device)
    planes[..., 2] = NO_PLANE[2]
    return planes


def box_planes(a, c):
    planes = no_planes(*a.shape, device=a.device)
    for k, (p, q, d) in enumerate(((1, 0, a), (-1, 0, a), (0, 1, c), (0, -1, c))):
        planes[..., k, 0], planes[..., k, 1], planes[..., k, 2] = p, q, d
    return planes


def polygon_planes(draws, a, c):
    """Convex polygons of 3 to 6 corners on an ellipse."""
    corners = 3 + draws.below(PLANES - 2, *a.shape, 1)
    k = torch.arange(PLANES, device=a.device)
    share = (k + 0.8 * draws.uniform(*a.shape, PLANES)) / corners + draws.uniform(*a.shape, 1)
    angle = 6.2831853 * share
    after = torch.where(k + 1 < corners, angle.roll(-1, -1), angle[..., :1])
    u, v = a[..., None] * torch.cos(angle), c[..., None] * torch.sin(angle)
    p = c[..., None] * torch.sin(after) - v
    q = u - a[..., None] * torch.cos(after)
    length = torch.sqrt(p * p + q * q) + 1e-6
    planes = torch.stack((p / length, q / length, (p * u + q * v) / length), -1)
    none = torch.tensor(NO_PLANE, device=a.device)
    return torch.where((k < corners)[..., None], planes, none)


def everywhere(count, device):
    """[count][1]: a ground behind everything."""
    zero = torch.zeros(count, 1, device=device)
    return shape(zero, zero, zero, zero + 1e6)


# ---- which shape is seen

def front_on_host(shapes, side):
    """Shapes one by one, each within the square around its circle."""
    made = np.full((shapes.shape[0], side, side), shapes.shape[1] - 1, np.int32)
    for front, list_ in zip(made, shapes.cpu().numpy()):
        open_ = np.ones((side, side), bool)
        ends = np.stack([list_[:, 0] - list_[:, 4], list_[:, 0] + list_[:, 4] + 1,
                         list_[:, 1] - list_[:, 4], list_[:, 1] + list_[:, 4] + 1], 1)
        ends = ends.clip(0, side).astype(int)
        for k in np.flatnonzero((list_[:, 4] > 0) & (ends[:, 0] < ends[:, 1])
                                & (ends[:, 2] < ends[:, 3])):
            s, (left, right, top, low) = list_[k], ends[k]
            waiting = open_[top:low, left:right]
            dx, dy = np.arange(left, right) + 0.5 - s[0], (np.arange(top, low) + 0.5 - s[1])[:, None]
            u, v = dx * s[2] + dy * s[3], dy * s[2] - dx * s[3]
            seen = waiting & (dx * dx + dy * dy < s[4] * s[4])
            seen &= (u * u * s[5] + v * v * s[6] < 1) & (u * u * s[7] + v * v * s[8] > 1)
            for p, q, d in s[9:].reshape(PLANES, 3):
                if p or q:  # NO_PLANE otherwise
                    seen &= p * u + q * v < d
            front[top:low, left:right][seen] = k
            waiting &= ~seen
            if not open_.any():
                break
    return torch.from_numpy(made).to(shapes.device)


if triton:
    @triton.jit
    def front_kernel(shapes, front, S, side, tiles, T: tl.constexpr):
        """A tile of T x T pixels: shapes from the front until none of it is open. Shapes whose
        circle does not meet the tile are skipped after three numbers."""
        tile, b = tl.program_id(0), tl.program_id(1)
        top, left = tile // tiles * T, tile % tiles * T
        i = tl.arange(0, T * T)
        row, column = top + i // T, left + i % T
        px, py = column + 0.5, row + 0.5
        number = tl.full([T * T], -1, tl.int32)
        waiting = tl.sum((number < 0).to(tl.int32), 0)
        k = 0
        while (k < S) & (waiting > 0):
            s = shapes + (b * S + k) * 27
            x, y, reach = tl.load(s), tl.load(s + 1), tl.load(s + 4)
            ex, ey, far = x - left - 0.5 * T, y - top - 0.5 * T, reach + 0.7072 * T
            if (ex * ex + ey * ey < far * far) & (reach > 0):
                dx, dy = px - x, py - y
                cosine, sine = tl.load(s + 2), tl.load(s + 3)
                u, v = dx * cosine + dy * sine, dy * cosine - dx * sine
                seen = dx * dx + dy * dy < reach * reach
                seen = seen & (u * u * tl.load(s + 5) + v * v * tl.load(s + 6) < 1)
                seen = seen & (u * u * tl.load(s + 7) + v * v * tl.load(s + 8) > 1)
                for plane in tl.static_range(9, 27, 3):
                    seen = seen & (tl.load(s + plane) * u + tl.load(s + plane + 1) * v
                                   < tl.load(s + plane + 2))
                number = tl.where(seen & (number < 0), k, number)
                waiting = tl.sum((number < 0).to(tl.int32), 0)
            k += 1
        number = tl.where(number < 0, S - 1, number)
        inside_ = (row < side) & (column < side)
        tl.store(front + (b * side + row) * side + column, number, mask=inside_)


def front(shapes, side):
    """The number of the shape that is seen at each pixel, [B][side][side]; the last one where none
    is."""
    if not (triton and shapes.is_cuda):
        return front_on_host(shapes, side)
    T, (B, S, _) = 16, shapes.shape
    made = torch.empty(B, side, side, dtype=torch.int32, device=shapes.device)
    tiles = -(-side // T)
    front_kernel[(tiles * tiles, B)](shapes.contiguous(), made, S, side, tiles, T=T, num_warps=1)
    return made


# ---- noise

def noise_tables(draws, side=SIDE, spectra=12):
    """Power-law noise, [2 * spectra][side][side], periodic, mean 0, variance 1: amplitude
    f^-exponent, 0.3 to 2.3; of every third spectrum long along one axis (wood, brushed metal)."""
    f = torch.fft.fftfreq(side, device=draws.device)
    size = torch.sqrt(f[:, None] ** 2 + f[None] ** 2)
    size[0, 0] = 1
    made = []
    for s in range(spectra):
        weight = size ** -(0.3 + 2.0 * s / (spectra - 1))
        if s % 3 == 2:
            weight = weight / (1 + (40 * f[None]) ** 2)
        weight[0, 0] = 0
        white = torch.complex(draws.normal(side, side), draws.normal(side, side))
        field = torch.fft.ifft2(white * weight)
        made += [part / part.std() for part in (field.real, field.imag)]
    return torch.stack(made)


def noise_at(tables, table, x, y):
    """Bilinear, periodic; table, x, y of one extent."""
    side = tables.shape[-1]
    fx, fy = torch.floor(x), torch.floor(y)
    px, py = x - fx, y - fy
    left, top = fx.long() % side, fy.long() % side
    right, low = (left + 1) % side, (top + 1) % side
    flat, first = tables.reshape(-1), table.long() * side * side
    a, b = flat[first + top * side + left], flat[first + top * side + right]
    c, d = flat[first + low * side + left], flat[first + low * side + right]
    above = a + (b - a) * px
    return above + (c + (d - c) * px - above) * py


# ---- what is on a shape

def wave(t):
    return torch.sin(6.2831853 * t)


def cell_tone(i, j, salt):
    """-1 to 1, of a cell of a pattern."""
    t = torch.sin(i * 12.9898 + j * 78.233 + salt) * 43758.547
    return 2 * (t - torch.floor(t)) - 1


def bricks(along, across, threshold, salt):
    """Rows of bricks, each its own tone, every second row half a brick on (threshold > 0) or in
    columns, as tiles are; mortar between them."""
    row = torch.floor(across)
    at = along + torch.where(threshold > 0, 0.5, 0.0) * (row % 2)
    column = torch.floor(at)
    edge = torch.minimum(at - column, (across - row) * 2) - (0.04 + 0.2 * threshold.abs())
    edge = (12 * edge + 0.5).clamp(0, 1)
    return edge * (1.4 + 0.6 * cell_tone(column, row, salt)) - 1


def dots(along, across, threshold):
    row = torch.floor(across)
    at = along + 0.5 * (row % 2)
    p, q = at - torch.floor(at) - 0.5, across - row - 0.5
    radius = 0.25 + 0.15 * threshold
    return 2 * (16 * (radius * radius - p * p - q * q) + 0.5).clamp(0, 1) - 1


def places(shapes, index, side):
    """Of every pixel, its place turned as the shape is that is seen there, and its place on that
    shape; cosine and sine of the turn. index [B][side^2]: the shape."""
    x, y, cosine, sine = (shapes[..., k].gather(1, index) for k in range(4))
    pixel = torch.arange(side * side, device=index.device)
    px, py = (pixel % side).float() + 0.5, (pixel // side).float() + 0.5
    nx, ny = px * cosine + py * sine, py * cosine - px * sine
    return (nx, ny, nx - (x * cosine + y * sine), ny - (y * cosine - x * sine), cosine, sine)


def paint(shapes, surfaces, seen, tables):
    """[B][channels][side][side] of the shapes that are seen at each pixel."""
    B, side, _ = seen.shape
    index = seen.view(B, -1).long()
    f = {name: surfaces[name].gather(1, index) for name in FIELDS}
    nx, ny, u, v, _, _ = places(shapes, index, side)
    at = nx * f["noise_scale"], ny * f["noise_scale"]
    if "noise_x" in surfaces:  # of what moves: its place in the noise at time 0
        at = [w * f["noise_scale"] + surfaces[name].gather(1, index)
              for w, name in ((u, "noise_x"), (v, "noise_y"))]
    noise = noise_at(tables, f["table"], at[0] + 512 * f["phase"], at[1] + 313 * f["phase"])
    if "far_x" in surfaces:  # of what is seen at a slant
        far = [surfaces[name].gather(1, index) for name in ("far_x", "far_y")]
        near = (1 + far[0] * u + far[1] * v).clamp_min(0.4)
        u, v = u / near, v / near
    along = f["fu"] * u + f["fv"] * v + f["phase"] + f["warp"] * noise
    across = f["second"] * (f["fu"] * v - f["fv"] * u) + f["phase"]
    first, t, texture = wave(along), f["threshold"], f["texture"]
    checks = ((1 + 6 * t.clamp_min(0)) * first * wave(across)).clamp(-1, 1)
    value = torch.zeros_like(noise)
    for number, of in ((RAMP, 0.02 * (u + v)), (WAVES, first),
                       (STRIPES, torch.where(first > t, 1.0, -1.0)), (NOISE, noise),
                       (STAINS, torch.where(noise > t, 0.7, -0.7)), (CREASES, noise.abs() - 1),
                       (BRICKS, bricks(along, across, t, f["salt"])), (CHECKS, checks),
                       (DOTS, dots(along, across, t))):
        value = torch.where(texture == number, of, value)
    value = f["amplitude"] * value + f["grain"] * noise
    made = [surfaces["tone"][..., c].gather(1, index) + surfaces["gain"][..., c].gather(1, index)
            * value for c in range(surfaces["tone"].shape[-1])]
    return torch.stack(made, 1).view(B, -1, side, side)


def join(*scenes):
    """Scenes (shapes, surfaces), front first."""
    shapes = torch.cat([s for s, _ in scenes], 1)
    return shapes, {name: torch.cat([f[name].expand(s.shape[:2] + f[name].shape[2:])
                                     for s, f in scenes], 1) for name in scenes[0][1]}
