# SPDX-License-Identifier: BSD-3-Clause
"""renderer_scenes.py - scenes for Mitsuba 3 (PyPI), all made here, and their rendering into a
folder, for renderer.py. DRJIT_LIBLLVM_PATH may name a libLLVM (19 works; one that does not is
noticed): with it Mitsuba is about three times as fast."""
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SINGLE = 16    # single-ray pictures that are kept
BATCH = 64     # rays of the reference that are traced at once
HALVES = 2     # of the reference, whose difference tells its own error
mi = None      # Mitsuba with a variant, after start()
PROBE = """import mitsuba as mi
mi.set_variant("llvm_ad_rgb")
scene = mi.cornell_box()
scene["sensor"]["film"].update(width=8, height=8)
mi.render(mi.load_dict(scene), spp=1).numpy()"""


def start():
    """The variant: with LLVM where that works; another process tries, as a wrong LLVM ends it."""
    global mi
    import mitsuba
    mi = mitsuba
    works = subprocess.run([sys.executable, "-c", PROBE], capture_output=True).returncode == 0
    mi.set_variant("llvm_ad_rgb" if works else "scalar_rgb")
    return mi.variant()


# ---- parts

def rgb(*values):
    return {"type": "rgb", "value": list(values)}


def diffuse(*values):
    return {"type": "diffuse", "reflectance": rgb(*values)}


def lamp(*values):
    return {"type": "area", "radiance": rgb(*values)}


def bitmap(pixels, across=1, down=1):
    return {"type": "bitmap", "bitmap": mi.Bitmap(np.ascontiguousarray(pixels, np.float32)),
            "raw": True, "to_uv": mi.ScalarTransform4f().scale([across, down, 1])}


def printed(pixels, across=1, down=1):
    return {"type": "diffuse", "reflectance": bitmap(np.clip(pixels, 0.02, 0.95), across, down)}


def sensor(side, origin, target, fov, up=(0, 0, 1)):
    return {"type": "perspective", "fov": fov,
            "to_world": mi.ScalarTransform4f().look_at(list(origin), list(target), list(up)),
            "film": {"type": "hdrfilm", "width": side, "height": side, "rfilter": {"type": "box"},
                     "pixel_format": "rgb", "component_format": "float32"}}


def wall(bsdf, centre, normal, half, up=(0, 0, 1), **more):
    """A rectangle that is seen from the side of its normal."""
    centre, normal = np.array(centre, float), np.array(normal, float)
    place = mi.ScalarTransform4f().look_at(list(centre), list(centre + normal), list(up))
    return {"type": "rectangle", "to_world": place.scale([*half, 1]), "bsdf": bsdf, **more}


def block(bsdf, centre, half, turned=0):
    place = mi.ScalarTransform4f().translate(list(centre)).rotate([0, 0, 1], turned)
    return {"type": "cube", "to_world": place.scale(list(half)), "bsdf": bsdf}


def ball(bsdf, centre, radius, **more):
    return {"type": "sphere", "center": list(centre), "radius": radius, "bsdf": bsdf, **more}


# ---- textures

def grain(rng, side, soft=0.6, waves=70, highest=30):
    """Noise [side][side] of deviation 1: a sum of waves, the finer the weaker."""
    y, x = np.mgrid[:side, :side] / side
    made = np.zeros((side, side))
    for _ in range(waves):
        i, j = rng.integers(-highest, highest + 1, 2)
        made += np.cos(2 * np.pi * (i * x + j * y + rng.random())) / (1 + soft * np.hypot(i, j))
    return made / made.std()


def planks(rng, side=192, rows=8):
    """Boards of wood: each a colour of its own, fine lines along it, dark joints."""
    y, x = np.mgrid[:side, :side] / side
    row, shift = (y * rows).astype(int), rng.random(rows)
    column = np.floor(2 * (x + shift[row])).astype(int) % 2
    tone = rng.uniform(0.55, 1.1, (rows, 2))[row, column]
    lines = 0.08 * np.sin(140 * y + 3 * grain(rng, side)) * (1 + 0.3 * grain(rng, side))
    joint = (y * rows % 1 < 0.05) | ((2 * (x + shift[row])) % 1 < 0.012)
    return ((tone + lines) * np.where(joint, 0.3, 1))[..., None] * np.array([0.55, 0.36, 0.2])


def bricks(rng, side=192, rows=10):
    y, x = np.mgrid[:side, :side] / side
    row = (y * rows).astype(int)
    along = x * rows / 2 + 0.5 * (row % 2)
    tone = rng.uniform(0.7, 1.2, (rows, rows))[row, along.astype(int) % rows]
    joint = (y * rows % 1 < 0.12) | (along % 1 < 0.06)
    brick = (tone + 0.08 * grain(rng, side))[..., None] * np.array([0.5, 0.2, 0.14])
    return np.where(joint[..., None], 0.55, brick)


def wallpaper(side=192):
    """Stripes and a small figure again and again."""
    y, x = np.mgrid[:side, :side] / side
    u, v = (8 * x) % 1 - 0.5, (8 * y + 0.5 * (np.floor(8 * x) % 2)) % 1 - 0.5
    figure = np.hypot(u, v) < 0.16 + 0.1 * np.cos(5 * np.arctan2(v, u))
    stripe = 0.06 * np.sign(np.sin(2 * np.pi * 16 * x))
    ground = np.array([0.62, 0.66, 0.55]) + stripe[..., None]
    return np.where(figure[..., None], np.array([0.5, 0.18, 0.2]), ground)


def painting(rng, side=192):
    """Soft coloured shapes one over another."""
    y, x = np.mgrid[:side, :side] / side
    made = np.full((side, side, 3), 0.8)
    for _ in range(25):
        at, turn, wide = rng.random(2), rng.uniform(0, np.pi), rng.uniform(0.03, 0.22, 2)
        u, v = (x - at[0]), (y - at[1])
        u, v = (u * np.cos(turn) + v * np.sin(turn), v * np.cos(turn) - u * np.sin(turn))
        inside = np.maximum(np.abs(u) / wide[0], np.abs(v) / wide[1]) < 1
        made = np.where(inside[..., None], rng.uniform(0.05, 0.9, 3), made)
    return made + 0.02 * grain(rng, side)[..., None]


def outside(rng, side=64):
    """What a window shows: bright sky, clouds, dark trees below."""
    y = np.mgrid[:side, :side][0] / side
    cloud = np.clip(0.5 + 0.4 * grain(rng, side, 1.5, highest=6), 0, 1)[..., None]
    sky = cloud * np.array([9.0, 9.0, 9.0]) + (1 - cloud) * np.array([4.0, 6.0, 10.0])
    trees = (y < 0.3 + 0.07 * grain(rng, side, 0.8, highest=8)[0])[..., None]
    return np.where(trees, np.array([0.4, 0.7, 0.3]), sky)


def daylight(rows=128):
    """An environment [rows][2 rows]: a sky, brighter low down, a sun of a few degrees, ground."""
    theta, phi = np.meshgrid((np.arange(rows) + 0.5) * np.pi / rows,
                             (np.arange(2 * rows) + 0.5) * np.pi / rows, indexing="ij")
    up = np.cos(theta)[..., None]
    sky = 0.5 * np.array([0.5, 0.7, 1.1]) + (1 - up) * np.array([0.45, 0.45, 0.4])
    made = np.where(up > 0, sky, np.array([0.12, 0.1, 0.07]))
    toward = (np.sin(theta) * np.sin(0.7) * np.cos(phi - 1.1) + np.cos(theta) * np.cos(0.7))
    return made + (toward > np.cos(0.06))[..., None] * np.array([150.0, 125.0, 90.0])


# ---- scenes: dicts for mi.load_dict

def box(side):
    """Mitsuba's own Cornell box."""
    scene = mi.cornell_box()
    scene["sensor"]["film"] = sensor(side, (0, 0, 0), (0, 1, 0), 40)["film"]
    return scene


def metal(name, rough):
    return {"type": "roughconductor", "material": name, "alpha": rough}


def glass(side):
    """Glass, gold, copper, steel and lacquer on checks, under one wide lamp."""
    T = mi.ScalarTransform4f
    checks = {"type": "checkerboard", "color0": rgb(0.7, 0.68, 0.62),
              "color1": rgb(0.12, 0.14, 0.2), "to_uv": T().scale([10, 10, 1])}
    clear = {"type": "dielectric", "int_ior": 1.5}
    lacquer = {"type": "roughplastic", "alpha": 0.05, "diffuse_reflectance": rgb(0.5, 0.05, 0.04)}
    scene = {"type": "scene", "sensor": sensor(side, (0.3, -5.2, 2.4), (0, 0, 0.55), 36),
             "sky": {"type": "constant", "radiance": rgb(0.12, 0.14, 0.18)},
             "floor": wall({"type": "diffuse", "reflectance": checks}, (0, 0, 0), (0, 0, 1), (4, 4),
                           up=(0, 1, 0)),
             "back": wall(printed(painting(np.random.default_rng(1)), 2, 1), (0, 2.6, 1.5),
                          (0, -1, 0), (4, 2)),
             "lamp": wall(diffuse(0, 0, 0), (-1.4, -1, 3.8), (0.3, 0.3, -1), (1.3, 1.1),
                          emitter=lamp(9, 8.4, 7.4)),
             "ball": ball(clear, (-0.75, -0.6, 0.62), 0.6),
             "cube": block(clear, (1.15, -1.1, 0.36), (0.33, 0.33, 0.33), 28),
             "pane": block(clear, (1.35, 0.5, 0.75), (0.55, 0.02, 0.74), -20),
             "gold": ball(metal("Au", 0.12), (0.35, 0.25, 0.55), 0.55),
             "copper": ball(metal("Cu", 0.3), (-1.75, 0.9, 0.7), 0.7),
             "mirror": ball({"type": "conductor", "material": "Ag"}, (1.5, 1.4, 0.6), 0.6),
             "lacquer": ball(lacquer, (0.1, -1.5, 0.28), 0.28)}
    for k in range(5):
        scene[f"rod{k}"] = {"type": "cylinder", "p0": [-1.0 + 0.12 * k, -1.75 - 0.06 * k, 0],
                            "p1": [-0.9 + 0.16 * k, -1.6 - 0.06 * k, 0.5 + 0.1 * k], "radius": 0.02,
                            "bsdf": metal("Cr", 0.08)}
    return scene


def room(side):
    """Boards, bricks, wallpaper and a painting, lit by two windows that show the outside."""
    rng = np.random.default_rng(2)
    scene = {"type": "scene", "sensor": sensor(side, (1.7, -2.6, 1.6), (-0.6, 1, 1.05), 62)}
    for name, bsdf, centre, normal, half in (
            ("floor", printed(planks(rng), 2, 2), (0, 0, 0), (0, 0, 1), (2.5, 3)),
            ("ceiling", diffuse(0.75, 0.74, 0.7), (0, 0, 2.7), (0, 0, -1), (2.5, 3)),
            ("left", printed(bricks(rng), 2, 1), (-2.5, 0, 1.35), (1, 0, 0), (3, 1.35)),
            ("back", printed(wallpaper(), 2, 1), (0, 3, 1.35), (0, -1, 0), (2.5, 1.35)),
            ("right", diffuse(0.6, 0.58, 0.5), (2.5, 0, 1.35), (-1, 0, 0), (3, 1.35)),
            ("front", diffuse(0.5, 0.5, 0.55), (0, -3, 1.35), (0, 1, 0), (2.5, 1.35))):
        up = (0, 1, 0) if normal[2] else (0, 0, 1)
        scene[name] = wall(bsdf, centre, normal, half, up)
    for name, centre, normal in (("west", (-2.48, 1.3, 1.6), (1, 0, 0)),
                                 ("east", (2.48, 0.6, 1.6), (-1, 0, 0))):
        scene[name] = wall(diffuse(0, 0, 0), centre, normal, (0.6, 0.65), emitter={
            "type": "area", "radiance": bitmap(outside(rng))})
    glaze = {"type": "roughplastic", "alpha": 0.1, "diffuse_reflectance": rgb(0.1, 0.2, 0.5)}
    scene |= {
        "painting": wall(printed(painting(rng)), (-0.3, 2.97, 1.7), (0, -1, 0), (0.6, 0.45)),
        "table": block(printed(planks(rng, rows=4)), (-0.5, 1, 0.72), (0.75, 0.5, 0.03), 8),
        "chest": block(printed(painting(rng), 1, 2), (1.7, 2.4, 0.45), (0.5, 0.4, 0.45)),
        "box": block(printed(bricks(rng, rows=6)), (-0.75, 1, 0.9), (0.16, 0.16, 0.15), 30),
        "vase": ball(glaze, (-0.2, 0.9, 0.91), 0.16)}
    for k, (x, y) in enumerate(((-1.15, 0.6), (0.1, 0.75), (-1.2, 1.3), (0.05, 1.4))):
        scene[f"leg{k}"] = block(diffuse(0.25, 0.15, 0.08), (x, y, 0.35), (0.035, 0.035, 0.35), 8)
    return scene


def leaf(rng):
    """What a leaf looks like: two colours and veins."""
    y, x = np.mgrid[:48, :48] / 47
    vein = (np.abs(y - 0.5) < 0.04) | (np.abs((x - np.abs(y - 0.5)) * 6 % 1 - 0.5) < 0.06)
    green = np.array([rng.uniform(0.1, 0.4), rng.uniform(0.35, 0.55), rng.uniform(0.05, 0.15)])
    return {"type": "twosided", "bsdf": printed(np.where(vein[..., None], 1.5, 1) * green)}


def foliage(rng, name, bsdf, count):
    """Many thin leaves as one mesh: four triangles each, folded along the middle."""
    flat = np.array([[0, 0, 0], [0.35, 0.15, 0.04], [0.7, 0.11, 0.04], [1, 0, 0],
                     [0.7, -0.11, 0.04], [0.35, -0.15, 0.04]])
    faces = np.array([[0, 1, 5], [1, 2, 5], [2, 4, 5], [2, 3, 4]])
    turns = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    at = rng.normal(0, (1.1, 0.8, 0.6), (count, 1, 3)) + np.array([0, 0, 1.9])
    points = at + rng.uniform(0.25, 0.6, (count, 1, 1)) * (flat @ turns)
    properties = mi.Properties()
    properties["bsdf"] = mi.load_dict(bsdf)
    mesh = mi.Mesh(name, vertex_count=6 * count, face_count=4 * count, has_vertex_texcoords=True,
                   props=properties)
    values = mi.traverse(mesh)
    values["vertex_positions"] = points.astype(np.float32).ravel()
    values["vertex_texcoords"] = np.tile(flat[:, :2] * (1, 3) + (0, 0.5), (count, 1)).astype(
        np.float32).ravel()
    values["faces"] = (faces + 6 * np.arange(count)[:, None, None]).astype(np.uint32).ravel()
    values.update()
    return mesh


def leaves(side, count=700):
    """Hundreds of thin leaves and some stems under a sky with a sun."""
    T, rng = mi.ScalarTransform4f, np.random.default_rng(4)
    soil = 0.3 + 0.08 * grain(rng, 128)[..., None] * np.array([1, 0.9, 0.7])
    scene = {"type": "scene", "sensor": sensor(side, (0, -6.5, 1.5), (0, 0, 1.7), 38),
             "sky": {"type": "envmap", "bitmap": mi.Bitmap(daylight().astype(np.float32)),
                     "to_world": T().rotate([0, 0, 1], 200).rotate([1, 0, 0], 90)},
             "ground": wall(printed(soil), (0, 0, 0), (0, 0, 1), (8, 8), up=(0, 1, 0))}
    scene |= {f"leaf{k}": foliage(rng, f"leaf{k}", leaf(rng), count // 4) for k in range(4)}
    for k in range(14):
        foot, top = rng.normal(0, 0.25, 2), rng.normal(0, 0.9, 2)
        scene[f"stem{k}"] = {"type": "cylinder", "p0": [*foot, 0], "p1": [*top, 2.4],
                             "radius": rng.uniform(0.012, 0.05), "bsdf": diffuse(0.2, 0.13, 0.08)}
    return scene


def lit_windows(rng, down=10, across=6):
    """A front at night: windows, a third of them lit, each with a colour of its own."""
    lit = rng.random((down, across, 1)) < 0.35
    light = lit * rng.uniform(0.3, 1.5, (down, across, 1)) * rng.uniform((1, 0.7, 0.3), (1, 1, 0.9),
                                                                     (down, across, 3))
    made = np.zeros((8 * down, 8 * across, 3))
    for row, column in np.ndindex(down, across):
        made[8 * row + 2:8 * row + 7, 8 * column + 2:8 * column + 6] = light[row, column]
    return made


def night(side, lights=70):
    """A street at night: small coloured lamps by the dozen, lit windows, wet ground."""
    rng = np.random.default_rng(5)
    wet = {"type": "roughplastic", "alpha": 0.15,
           "diffuse_reflectance": bitmap(np.clip(0.22 + 0.05 * grain(rng, 192)[..., None]
                                                 * np.ones(3), 0.05, 0.6), 3, 3)}
    scene = {"type": "scene", "sensor": sensor(side, (0.2, -6, 1.7), (0, 2, 1.5), 50),
             "sky": {"type": "constant", "radiance": rgb(0.006, 0.008, 0.016)},
             "ground": wall(wet, (0, 4, 0), (0, 0, 1), (10, 12), up=(0, 1, 0))}
    for k in range(6):
        x, y, tall = (-1) ** k * rng.uniform(2.2, 2.8), 1.5 + 2.2 * (k // 2), rng.uniform(2, 4)
        scene[f"house{k}"] = block(printed(bricks(rng, 128, 16), 1, 2), (x, y, tall / 2),
                                   (1, 0.9, tall / 2))
        scene[f"front{k}"] = wall(diffuse(0.05, 0.05, 0.05), (x, y - 0.91, tall / 2), (0, -1, 0),
                                  (0.8, 0.9 * tall / 2), emitter={
                                      "type": "area", "radiance": bitmap(lit_windows(rng))})
    for k in range(lights):
        colour = rng.dirichlet((1, 1, 1)) * rng.uniform(20, 90)
        at = (rng.uniform(-2, 2), rng.uniform(-2.5, 8), rng.uniform(0.05, 2.6))
        scene[f"light{k}"] = ball(diffuse(0, 0, 0), at, 0.035, emitter=lamp(*colour))
    for k in range(8):
        at = (rng.uniform(-1.6, 1.6), rng.uniform(-2, 3))
        scene[f"thing{k}"] = ball(diffuse(*rng.uniform(0.2, 0.8, 3)), (*at, 0.2),
                                  rng.uniform(0.15, 0.3))
    return scene


SCENES = {"box": box, "glass": glass, "room": room, "leaves": leaves, "night": night}


# ---- rendering

def render(scene, depth, rays, seed):
    """Radiance [H][W][3] and AOVs [H][W][7]: albedo, normal, depth."""
    tracer = mi.load_dict({"type": "aov", "aovs": "a:albedo,n:sh_normal,d:depth",
                           "path": {"type": "path", "max_depth": depth}})
    made = np.array(mi.render(scene, integrator=tracer, spp=rays, seed=seed), np.float64)
    return made[..., :3], made[..., -7:]


def mean_of(scene, depth, rays, seed):
    """The mean of many rays, a batch at a time."""
    light, aovs = 0, 0
    batches = max(1, rays // BATCH)
    for k in range(batches):
        one, beside = render(scene, depth, min(rays, BATCH), seed + k)
        light, aovs = light + one / batches, aovs + beside / batches
    return light, aovs


def traced(name, side, rays, tell):
    """What renderer.py needs of one scene."""
    begun, depth = time.perf_counter(), 14 if name == "glass" else 8
    scene = mi.load_dict(SCENES[name](side))
    single = [render(scene, depth, 1, 1000 + k) for k in range(SINGLE)]
    since = time.process_time()
    halves = [mean_of(scene, depth, rays // HALVES, 10000 * (k + 2)) for k in range(HALVES)]
    seconds = (time.process_time() - since) / rays
    tell(f"rendered: {name}, {rays} rays a pixel, {mi.variant()}, "
         f"{time.perf_counter() - begun:.0f} s")
    own = np.mean((halves[0][0] - halves[1][0]) ** 2) / 4
    return {"ref": np.mean([h[0] for h in halves], 0), "clean": np.mean([h[1] for h in halves], 0),
            "half": halves[0][0], "rays": np.array([s[0] for s in single]),
            "beside": np.array([s[1] for s in single]), "seconds": seconds,
            "error": own, "reference_rays": rays}


def cached(folder, names, side, rays, tell=print):
    """The scenes by name, rendered where the folder does not have them."""
    folder, found = Path(folder), {}
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}-{side}-{rays}.npz"
        if not path.exists():
            if mi is None:
                start()
            made = traced(name, side, rays, tell)
            with open(f"{path}.part", "wb") as file:
                np.savez_compressed(file, **{k: np.asarray(v, np.float32) for k, v in made.items()})
            os.replace(f"{path}.part", path)
        with np.load(path) as file:
            found[name] = {key: file[key] for key in file}
    return found
