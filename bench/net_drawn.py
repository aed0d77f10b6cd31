# SPDX-License-Identifier: BSD-3-Clause
"""net_drawn.py - the pictures of net_kinds.py that are drawn or rendered: text, drawings,
renderings of a high range; and what all of them share. NumPy alone, fixed seeds."""
import numpy as np

SIDE = 256


def grid(times=1):
    """v, u of the points, 0 to 1, `times` of them a pixel and direction."""
    n = SIDE * times
    return (np.mgrid[:n, :n] + 0.5) / n


def shrink(picture, times):
    """Means of times x times."""
    h, w = (size // times for size in picture.shape)
    return picture.reshape(h, times, w, times).mean((1, 3))


def levels(picture, low, high):
    """Integers from low at the least value to high at the greatest."""
    least, most = picture.min(), picture.max()
    return np.rint(low + (high - low) * (picture - least) / (most - least))


def power_noise(rng, exponent, low=0.0, high=1.0):
    """Periodic, mean 0, deviation 1; amplitude frequency^-exponent from low to high."""
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(SIDE), np.fft.fftfreq(SIDE)))
    f[0, 0] = 1
    weight = np.where((f >= low) & (f < high), f ** -exponent, 0)
    weight[0, 0] = 0
    noise = np.fft.ifft2(np.fft.fft2(rng.standard_normal((SIDE, SIDE))) * weight).real
    return noise / noise.std()


def to_line(y, x, a, b):
    """Distance of the points (y, x) from the segment between a and b, each (y, x)."""
    ay, ax, dy, dx = a[0], a[1], b[0] - a[0], b[1] - a[1]
    t = (((y - ay) * dy + (x - ax) * dx) / max(dy * dy + dx * dx, 1e-12)).clip(0, 1)
    return np.hypot(y - ay - t * dy, x - ax - t * dx)


def stroke(ink, v, u, a, b, width):
    """Draws a segment into ink, coverage 0 to 1, its edge one pixel soft; all in pixels."""
    reach = int(width + 3)
    top, left = (max(int(min(p, q)) - reach, 0) for p, q in zip(a, b))
    low, right = (max(int(max(p, q)) + reach, 0) for p, q in zip(a, b))
    at = np.s_[top:low, left:right]
    if ink[at].size:
        near = to_line(v[at], u[at], a, b)
        ink[at] = np.maximum(ink[at], (width / 2 + 0.5 - near).clip(0, 1))


def synthetic(seed, side=256):
    """Regions with sharp edges over a texture whose spectrum falls as 1 / f."""
    rng = np.random.default_rng(seed)
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side)))
    f[0, 0] = 1
    texture = np.fft.ifft2(np.fft.fft2(rng.standard_normal((side, side))) / f ** 1.3).real
    picture = 120 + 18 * texture / texture.std()
    v, u = np.mgrid[:side, :side] / side
    for _ in range(9):
        cu, cv, a, b, angle = rng.random(5) * (1, 1, 0.3, 0.3, np.pi) + (0, 0, 0.05, 0.05, 0)
        x = (u - cu) * np.cos(angle) + (v - cv) * np.sin(angle)
        y = (v - cv) * np.cos(angle) - (u - cu) * np.sin(angle)
        inside = (x / a) ** 2 + (y / b) ** 2 < 1
        picture[inside] = picture[inside] * 0.5 + 220 * rng.random()
    return np.rint(np.clip(picture, 0, 255))


# ---- text: strokes between points of a grid 0 .. 4 across and 0 .. 6 down, "xyxy..." a stroke

STROKES = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", (
    "062046 1434", "060036454333 03334241300006", "4130100105163645", "06002041452606",
    "40000646 0333", "400006 0333", "413010010516364543 23", "0006 4046 0343", "1030 2026 1636",
    "40453616", "0006 4003 0346", "000646", "0600234046", "06004640", "1030414536160501 10",
    "060030414233 0333", "1030414536160501 10 2446", "0600304142330333 2346",
    "413010010213334445361605", "0040 2026", "000516364540", "002640", "0016233640", "0046 4006",
    "002340 2326", "00400646", "103041453616050110 4105", "112026 1636", "01103041420646",
    "01103041423323 334445361605", "3036 300444", "4000033344453606", "403010010516364544330403",
    "004016", "1030414233130201 10 13040516364544 33", "434313020110304145361605")))


def write(ink, v, u, text, at, size, width, turn=0.0):
    """Text from `at` (y, x in pixels), letters `size` high, turned by an angle."""
    c, s = np.cos(turn), np.sin(turn)
    for k, letter in enumerate(text):
        for line in STROKES.get(letter, "").split():
            points = [(int(line[i]) + 6 * k, int(line[i + 1])) for i in range(0, len(line), 2)]
            places = [(at[0] + size / 6 * (y * c + x * s), at[1] + size / 6 * (x * c - y * s))
                      for x, y in points]
            for a, b in zip(places, places[1:]):
                stroke(ink, v, u, a, b, width)


def words(rng, count):
    found = "".join(rng.choice(list("EEETTAAOOIINNSSHHRRDDLLUCMWFGYPBVK2019"), 4 * count))
    places = set(rng.choice(4 * count, count, replace=False))
    return "".join(" " if i in places else letter for i, letter in enumerate(found))


def letters():
    """A page: a heading, lines of three sizes, a frame, paper of uneven light."""
    rng = np.random.default_rng(106)
    v, u = np.mgrid[:SIDE, :SIDE] + 0.5
    ink = np.zeros((SIDE, SIDE))
    write(ink, v, u, "RECOVERED", (14, 16), 22, 4.2)
    y = 48
    for size, width, lines in ((12, 1.9, 4), (8, 1.2, 5), (10, 1.3, 2)):
        for _ in range(lines):
            write(ink, v, u, words(rng, 12)[:int(224 / size)], (y, 16), size, width)
            y += 1.7 * size
        y += 4
    frame = ((6, 6), (6, 250), (250, 250), (250, 6), (6, 6))
    for a, b in zip(frame, frame[1:]):
        stroke(ink, v, u, a, b, 1.5)
    paper = 226 + 10 * power_noise(rng, 2.5) + 1.5 * rng.standard_normal((SIDE, SIDE))
    return np.rint((paper * (1 - ink) + 28 * ink).clip(0, 255))


def sign():
    """Large light letters, turned, on dark ground with a pattern."""
    rng = np.random.default_rng(107)
    v, u = np.mgrid[:SIDE, :SIDE] + 0.5
    ink = np.zeros((SIDE, SIDE))
    for text, at, size, width in (("SAMPLES", (40, 8), 34, 5.5), ("4096", (95, 60), 44, 8),
                                  ("OF 65536", (165, 12), 26, 3.5),
                                  ("MEASURED", (215, 30), 20, 2.2)):
        write(ink, v, u, text, at, size, width, turn=0.12)
    ground = 60 + 25 * np.tanh(4 * np.sin(0.35 * (u + 0.6 * v))) + 6 * power_noise(rng, 1.5)
    return np.rint((ground * (1 - ink) + 232 * ink).clip(0, 255))


def contours():
    """Lines of equal height of a smooth ground, each fifth one thick, of constant width: the
    distance from a line is the difference of heights over the slope."""
    ground = power_noise(np.random.default_rng(108), 3.2)
    slope = np.hypot(*np.gradient(ground)) + 1e-4
    ink = np.zeros((SIDE, SIDE))
    for k in range(-30, 31):
        near = np.abs(ground - 0.18 * k) / slope
        ink = np.maximum(ink, ((1.3 if k % 5 == 0 else 0.6) + 0.5 - near).clip(0, 1))
    return np.rint(250 - 225 * ink)


def plan():
    """A technical drawing: walls, circles, a hatched section, measures."""
    rng = np.random.default_rng(109)
    v, u = np.mgrid[:SIDE, :SIDE] + 0.5
    ink = np.zeros((SIDE, SIDE))

    def box(top, left, low, right, width):
        corners = [(top, left), (top, right), (low, right), (low, left), (top, left)]
        for a, b in zip(corners, corners[1:]):
            stroke(ink, v, u, a, b, width)

    box(30, 30, 220, 170, 3)
    box(44, 44, 120, 100, 1.2)
    box(44, 110, 206, 156, 1.2)
    for _ in range(6):
        y, x, r = rng.random(3) * (60, 50, 14) + (135, 40, 4)
        ink = np.maximum(ink, (1.1 - np.abs(np.hypot(v - y, u - x) - r)).clip(0, 1))
    ink = np.maximum(ink, (1.6 - np.abs(np.hypot(v - 90, u - 212) - 32)).clip(0, 1))
    ink = np.maximum(ink, (1.0 - np.abs(np.hypot(v - 90, u - 212) - 20)).clip(0, 1))
    hatched = (v > 46) & (v < 118) & (u > 46) & (u < 98)
    ink = np.maximum(ink, hatched * (1.0 - np.abs((u + v) / np.sqrt(2) % 6 - 3)).clip(0, 1))
    for k in range(12):  # a scale, with measures
        stroke(ink, v, u, (232, 30 + 18 * k), (244 if k % 3 == 0 else 238, 30 + 18 * k), 1)
    stroke(ink, v, u, (232, 30), (232, 228), 1)
    write(ink, v, u, "PLAN 7", (150, 182), 11, 1.6)
    write(ink, v, u, "R 32", (186, 190), 9, 1.2)
    stroke(ink, v, u, (90, 212), (67, 235), 1)
    return np.rint(255 - 240 * ink)


# ---- renderings of a high range, brought to 0 .. 255 by L / (L + 1) and a gamma of 2.2

def shown(light):
    return np.rint(255 * (light / (light + 1)) ** (1 / 2.2))


BALLS = ((0.0, 0.0, 5.0, 1.0, 90, 0.5), (-1.5, -0.45, 4.2, 0.55, 400, 0.2),
         (1.4, -0.4, 4.0, 0.6, 20, 0.7), (0.5, -0.75, 3.0, 0.25, 200, 0.9))


def spheres():
    """Balls (x, y, z, radius, shininess, colour) on a checked floor, one lamp, shadows, highlights
    many times as bright as the rest. 2 x 2 rays a pixel."""
    v, u = grid(2)
    ray = np.stack([1.3 * (u - 0.5), 0.35 - 1.3 * v + 0.2, np.ones(u.shape)])
    ray /= np.linalg.norm(ray, axis=0)
    lamp = np.array([-3.0, 5.0, 0.0])
    depth, light = np.full(u.shape, np.inf), 0.25 + 0.5 * v
    floor = np.where(ray[1] < -1e-3, -1.0 / np.minimum(ray[1], -1e-3), np.inf)
    hit = np.where(np.isfinite(floor), floor, 0) * ray
    checks = (np.floor(2 * hit[0]) + np.floor(2 * hit[2])) % 2
    shade = lit(hit, lamp) * (0.15 + 0.85 * checks) / (1 + 0.02 * floor ** 2)
    on = floor < 40
    light[on], depth[on] = shade[on], floor[on]
    for x, y, z, r, shine, colour in BALLS:
        centre = np.array([x, y, z])[:, None, None]
        along = (ray * centre).sum(0)
        inside = along ** 2 - (centre ** 2).sum(0) + r * r
        t = along - np.sqrt(inside.clip(0))
        on = (inside > 0) & (t < depth)
        normal = (t * ray - centre) / r
        way = lamp[:, None, None] - t * ray
        way /= np.linalg.norm(way, axis=0)
        mirrored = 2 * (normal * way).sum(0) * normal - way
        gloss = (-(mirrored * ray).sum(0)).clip(0) ** shine
        value = colour * (0.08 + (normal * way).sum(0).clip(0)) + 25 * gloss
        light[on], depth[on] = value[on], t[on]
    return shown(shrink(light, 2))


def lit(hit, lamp):
    """Ambient light, and the lamp's where no ball is between."""
    way = lamp[:, None, None] - hit
    far = np.linalg.norm(way, axis=0)
    way = way / far
    free = np.ones(far.shape)
    for x, y, z, r, _, _ in BALLS:
        to = np.array([x, y, z])[:, None, None] - hit
        along = (to * way).sum(0)
        free *= ~((along > 0) & ((to ** 2).sum(0) - along ** 2 < r * r))
    return 0.08 + 0.9 * free * way[1].clip(0)


def water():
    """Waves in the evening sun: from deep shade to glints 200 times as bright."""
    rng = np.random.default_rng(110)
    v, u = grid(2)
    far = 0.25 + 1.5 * (1 - v) ** 1.5  # the pattern shrinks towards the upper edge
    x, y = (u - 0.5) * far * 60, far * 90
    slope_x, slope_y = np.zeros(u.shape), np.zeros(u.shape)
    for _ in range(40):
        f, angle, phase = np.exp(rng.random() * 2.2 - 1.2), rng.normal() * 0.5, rng.random() * 6.3
        fx, fy = f * np.sin(angle), f * np.cos(angle)
        wave = 0.05 * np.cos(fx * x + fy * y + phase)
        slope_x, slope_y = slope_x + fx * wave / f ** 0.5, slope_y + fy * wave / f ** 0.5
    glint = np.exp(-((slope_x + 0.4 * (u - 0.55)) ** 2 + (slope_y - 0.12) ** 2) / 0.004)
    sky = 0.06 + 0.5 * (0.5 + 2 * slope_y).clip(0, 1) ** 2
    return shown(shrink(sky + 12 * glint ** 2, 2))
