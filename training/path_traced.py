#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""path_traced.py - renders the scenes that check_rendered.py measures on, with Mitsuba 3 (PyPI),
which nothing else here needs.

  python3 path_traced.py box.npz --scene box
  python3 path_traced.py things.npz --scene things --side 192 --rays 2048
  python3 path_traced.py night.npz --scene night --side 160 --rays 1024

night, leaves and room are blind: nothing of the training was chosen by them.

Arrays: ref [H][W][3], linear radiance of many rays; clean [H][W][7], albedo, normal and depth of
the same rays; rays [16][H][W][3], single ones; beside [16][H][W][7], what they hit; more [H][W][3],
the mean of 48 more."""
import argparse

import mitsuba as mi
import numpy as np

mi.set_variant("scalar_rgb")
T = mi.ScalarTransform4f  # noqa: E402


def rgb(*values):
    return {"type": "rgb", "value": list(values)}


def diffuse(*values):
    return {"type": "diffuse", "reflectance": rgb(*values)}


def checks(a, b, across, wide=None):
    return {"type": "diffuse", "reflectance": {
        "type": "checkerboard", "color0": rgb(*a), "color1": rgb(*b),
        "to_uv": T().scale([across, wide or across, 1])}}


def film(side):
    return {"type": "hdrfilm", "width": side, "height": side, "rfilter": {"type": "box"},
            "pixel_format": "rgb", "component_format": "float32"}


def picture(seed, side=128):
    """A texture: soft blotches and fine grain, by sums of waves."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side
    made = np.full((side, side, 3), 0.45)
    for k in range(60):
        i, j = rng.integers(-24, 25, 2)
        wave = np.cos(2 * np.pi * (i * x + j * y + rng.random()))
        made += wave[..., None] * rng.normal(0, 0.1, 3) / (1 + 0.35 * np.hypot(i, j))
    return {"type": "diffuse", "reflectance": {
        "type": "bitmap", "bitmap": mi.Bitmap(made.clip(0.03, 0.95).astype(np.float32)),
        "raw": True}}


def things(side):
    """Glass, rough and smooth metal, plastic, textures, a small bright lamp, a wide dim one, a sky,
    thin bars."""
    scene = {
        "type": "scene",
        "sensor": {"type": "perspective", "fov": 42, "film": film(side),
                   "to_world": T().look_at([3.6, -4.4, 2.3], [0, 0, 0.75], [0, 0, 1])},
        "sky": {"type": "constant", "radiance": rgb(0.3, 0.42, 0.66)},
        "lamp": {"type": "sphere", "center": [-1.2, -1.6, 3.4], "radius": 0.4,
                 "emitter": {"type": "area", "radiance": rgb(32, 27, 20)}},
        "panel": {"type": "rectangle", "emitter": {"type": "area", "radiance": rgb(6.5, 7, 8)},
                  "to_world": T().look_at([2.5, 2.5, 2.6], [0, 0, 0.6],
                                                 [0, 0, 1]).scale([0.8, 0.8, 1])},
        "floor": {"type": "rectangle", "to_world": T().scale([6, 6, 1]),
                  "bsdf": checks((0.72, 0.62, 0.5), (0.24, 0.2, 0.17), 14)},
        "wall": {"type": "rectangle", "bsdf": picture(3),
                 "to_world": T().translate([-1.5, 2.4, 1]).rotate([1, 0, 0], 90)
                 .scale([3.5, 2, 1])},
        "side": {"type": "rectangle", "bsdf": checks((0.55, 0.15, 0.1), (0.6, 0.55, 0.5), 8, 20),
                 "to_world": T().translate([-2.6, 0, 1]).rotate([0, 1, 0], 90).scale([2, 3, 1])},
        "glass": {"type": "sphere", "center": [1.1, -1.0, 0.5], "radius": 0.5,
                  "bsdf": {"type": "dielectric", "int_ior": 1.5}},
        "mirror": {"type": "sphere", "center": [-0.4, 0.3, 0.75], "radius": 0.75,
                   "bsdf": {"type": "conductor", "material": "Ag"}},
        "rough": {"type": "sphere", "center": [1.0, 0.9, 0.45], "radius": 0.45,
                  "bsdf": {"type": "roughconductor", "material": "Au", "alpha": 0.15}},
        "plastic": {"type": "sphere", "center": [-0.9, -1.4, 0.4], "radius": 0.4,
                    "bsdf": {"type": "roughplastic", "alpha": 0.08,
                             "diffuse_reflectance": rgb(0.1, 0.25, 0.6)}},
        "block": {"type": "cube", "bsdf": picture(5),
                  "to_world": T().translate([0.4, -1.9, 0.22]).rotate([0, 0, 1], 25).scale(0.22)},
    }
    for k in range(9):
        foot = [2.2 - 0.13 * k, -0.3 + 0.16 * k, 0]
        scene[f"bar{k}"] = {"type": "cylinder", "p0": foot, "radius": 0.012,
                            "p1": [foot[0] + 0.08 * (k % 3), foot[1], 1.1 + 0.1 * (k % 2)],
                            "bsdf": diffuse(0.15, 0.4, 0.12)}
    return scene


def lamp(*values):
    return {"type": "area", "radiance": rgb(*values)}


def camera(side, eye, at, fov, aperture=0.0):
    """Of an aperture, that is in focus at what it looks at."""
    lens = {"type": "thinlens", "aperture_radius": aperture,
            "focus_distance": float(np.hypot.reduce(np.subtract(eye, at)))}
    return {**(lens if aperture else {"type": "perspective"}), "fov": fov, "film": film(side),
            "to_world": T().look_at(list(eye), list(at), [0, 0, 1])}


def street(scene, rng):
    """Two rows of houses, of whose windows some are lit, and lanterns between them."""
    for row in (-1, 1):
        for k in range(5):
            y, high, wide = 2.2 * k, rng.uniform(2.2, 4.2), 1.0
            scene[f"house{row}{k}"] = {
                "type": "cube", "bsdf": picture(100 + 10 * k + row, 96),
                "to_world": T().translate([row * 2.9, y, high / 2]).scale([wide, wide, high / 2])}
            for j in range(int(high / 0.6) * 3):
                up, along = 0.45 + 0.6 * (j // 3), y - 0.62 + 0.62 * (j % 3)
                lit = rng.random() < 0.4
                colour = rng.uniform(0.6, 4) * np.array(((1, 0.75, 0.45), (0.8, 0.9, 1))[k % 2])
                pane = {"emitter": lamp(*colour)} if lit else {
                    "bsdf": {"type": "conductor", "material": "Al"}}
                scene[f"pane{row}{k}{j}"] = {
                    "type": "rectangle", **pane,
                    "to_world": T().translate([row * 1.89, along, up])
                    .rotate([0, 1, 0], -90 * row).scale([0.2, 0.17, 1])}
        for k in range(6):
            foot = [row * 1.35, 1.7 * k - 0.6, 0]
            scene[f"pole{row}{k}"] = {"type": "cylinder", "p0": foot, "radius": 0.025,
                                      "p1": [*foot[:2], 1.5], "bsdf": diffuse(0.1, 0.1, 0.1)}
            scene[f"bulb{row}{k}"] = {"type": "sphere", "center": [*foot[:2], 1.56], "radius": 0.06,
                                      "emitter": lamp(60, 44, 24)}


def night(side):
    """Some eighty small lights, no other: windows, lanterns, tubes of colour; wet asphalt."""
    rng = np.random.default_rng(11)
    scene = {
        "type": "scene", "sensor": camera(side, (0.25, -4.2, 1.5), (0, 2.5, 1.1), 55),
        "sky": {"type": "constant", "radiance": rgb(0.002, 0.003, 0.006)},
        "road": {"type": "rectangle", "to_world": T().scale([12, 14, 1]),
                 "bsdf": {"type": "roughplastic", "alpha": 0.12,
                          "diffuse_reflectance": rgb(0.09, 0.09, 0.1)}},
        "car": {"type": "cube", "to_world": T().translate([-0.6, 0.6, 0.28]).scale([0.3, 0.6, 0.2]),
                "bsdf": {"type": "roughconductor", "material": "Cr", "alpha": 0.06}},
        "globe": {"type": "sphere", "center": [0.65, -0.9, 0.33], "radius": 0.33,
                  "bsdf": {"type": "dielectric", "int_ior": 1.5}},
        "crate": {"type": "cube", "bsdf": checks((0.6, 0.3, 0.12), (0.25, 0.13, 0.06), 4),
                  "to_world": T().translate([0.9, 0.9, 0.25]).rotate([0, 0, 1], 20).scale(0.25)},
    }
    for k, colour in enumerate(((14, 1, 3), (1, 10, 5), (2, 4, 16))):
        scene[f"tube{k}"] = {"type": "cylinder", "radius": 0.022, "emitter": lamp(*colour),
                             "p0": [1.8 * (-1) ** k, 0.4 + 1.5 * k, 1.9 + 0.2 * k],
                             "p1": [1.8 * (-1) ** k, 1.4 + 1.5 * k, 2.1 + 0.1 * k]}
    street(scene, rng)
    return scene


def leaves(side):
    """A bush of 1,500 leaves that let a little light through, grass, sun and sky, out of focus in
    front and behind."""
    rng = np.random.default_rng(12)
    scene = {
        "type": "scene", "sensor": camera(side, (2.4, -3.2, 1.5), (0, 0, 0.95), 38, 0.05),
        "sky": {"type": "constant", "radiance": rgb(0.5, 0.66, 0.95)},
        "sun": {"type": "sphere", "center": [9, -7, 13], "radius": 0.7,
                "emitter": lamp(900, 820, 680)},
        "ground": {"type": "rectangle", "to_world": T().scale([8, 8, 1]), "bsdf": picture(21)},
        "wall": {"type": "rectangle", "bsdf": checks((0.7, 0.68, 0.6), (0.35, 0.2, 0.15), 9, 18),
                 "to_world": T().translate([-1.5, 2.6, 0.9]).rotate([1, 0, 0], 90)
                 .scale([3, 0.9, 1])},
    }
    for g in range(3):
        colour = np.array(((0.12, 0.35, 0.06), (0.3, 0.42, 0.08), (0.5, 0.25, 0.06))[g])
        scene[f"kind{g}"] = {"type": "shapegroup", "leaf": {
            "type": "disk", "to_world": T().scale([0.035, 0.085, 1]),
            "bsdf": {"type": "twosided", "leaf": {
                "type": "roughplastic", "alpha": 0.25, "diffuse_reflectance": rgb(*colour)}}}}
    for k in range(1500):
        v = rng.normal(0, 1, 3)
        at = np.array([0, 0, 1.05]) + 0.8 * v / np.linalg.norm(v) * rng.random() ** (1 / 2.2)
        scene[f"leaf{k}"] = {"type": "instance", "group": {"type": "ref", "id": f"kind{k % 3}"},
                             "to_world": T().translate(list(at)).rotate(
                                 list(rng.normal(0, 1, 3)), rng.uniform(0, 360))}
    for k in range(350):
        foot = np.array([*rng.uniform(-2.2, 2.2, 2), 0])
        tip = foot + [*rng.normal(0, 0.08, 2), rng.uniform(0.15, 0.45)]
        scene[f"blade{k}"] = {"type": "cylinder", "p0": list(foot), "p1": list(tip),
                              "radius": 0.006, "bsdf": diffuse(*(rng.uniform(0.6, 1.4)
                                                                 * np.array((0.2, 0.38, 0.08))))}
    for k in range(9):
        tip = [*rng.normal(0, 0.35, 2), rng.uniform(0.8, 1.7)]
        scene[f"stem{k}"] = {"type": "cylinder", "p0": [0, 0, 0], "p1": tip, "radius": 0.018,
                             "bsdf": diffuse(0.25, 0.16, 0.09)}
    return scene


def room(side):
    """Textured everywhere, lit through a window and by a shaded lamp; glass, brass, a mirror."""
    rng = np.random.default_rng(13)
    upright = lambda turn, *at: T().translate(list(at)).rotate([0, 0, 1], turn)  # noqa: E731
    scene = {
        "type": "scene", "sensor": camera(side, (1.5, -2.6, 1.45), (-0.15, 1, 0.8), 62),
        "floor": {"type": "rectangle", "to_world": T().scale([2, 3, 1]),
                  "bsdf": checks((0.5, 0.32, 0.18), (0.38, 0.22, 0.11), 6, 40)},
        "ceiling": {"type": "rectangle", "bsdf": diffuse(0.8, 0.79, 0.75),
                    "to_world": T().translate([0, 0, 2.5]).rotate([1, 0, 0], 180).scale([2, 3, 1])},
        "back": {"type": "rectangle", "bsdf": picture(31),
                 "to_world": upright(0, 0, 2.2, 1.25).rotate([1, 0, 0], 90).scale([2, 1.25, 1])},
        "left": {"type": "rectangle", "bsdf": checks((0.62, 0.3, 0.22), (0.5, 0.45, 0.4), 14, 30),
                 "to_world": upright(0, -2, 0, 1.25).rotate([0, 1, 0], 90).scale([1.25, 3, 1])},
        "right": {"type": "rectangle", "bsdf": picture(32),
                  "to_world": upright(0, 2, 0, 1.25).rotate([0, 1, 0], -90).scale([1.25, 3, 1])},
        "behind": {"type": "rectangle", "bsdf": diffuse(0.6, 0.6, 0.55),
                   "to_world": upright(180, 0, -3, 1.25).rotate([1, 0, 0], 90).scale([2, 1.25, 1])},
        "window": {"type": "rectangle", "emitter": lamp(11, 12, 14),
                   "to_world": upright(0, -1.98, 0.4, 1.5).rotate([0, 1, 0], 90)
                   .scale([0.5, 0.4, 1])},
        "bulb": {"type": "sphere", "center": [1.2, 1.6, 1.25], "radius": 0.07,
                 "emitter": lamp(70, 48, 25)},
        "shade": {"type": "cylinder", "p0": [1.2, 1.6, 1.1], "p1": [1.2, 1.6, 1.45], "radius": 0.2,
                  "bsdf": {"type": "twosided", "of": diffuse(0.75, 0.6, 0.4)}},
        "stand": {"type": "cylinder", "p0": [1.2, 1.6, 0], "p1": [1.2, 1.6, 1.2], "radius": 0.02,
                  "bsdf": {"type": "roughconductor", "material": "Au", "alpha": 0.1}},
        "table": {"type": "cube", "bsdf": picture(33),
                  "to_world": upright(12, -0.1, 0.6, 0.62).scale([0.7, 0.45, 0.03])},
        "vase": {"type": "sphere", "center": [-0.3, 0.5, 0.83], "radius": 0.18,
                 "bsdf": {"type": "dielectric", "int_ior": 1.5}},
        "bowl": {"type": "sphere", "center": [0.25, 0.65, 0.78], "radius": 0.13,
                 "bsdf": {"type": "roughconductor", "material": "Cu", "alpha": 0.08}},
        "mirror": {"type": "rectangle", "bsdf": {"type": "conductor", "material": "Ag"},
                   "to_world": upright(0, 0.5, 2.18, 1.5).rotate([1, 0, 0], 90)
                   .scale([0.35, 0.5, 1])},
    }
    for k in range(4):
        x, y = 0.62 * (-1) ** k, 0.35 * (-1) ** (k // 2)
        scene[f"leg{k}"] = {"type": "cylinder", "p0": [x - 0.1, y + 0.6, 0], "radius": 0.025,
                            "p1": [x - 0.1, y + 0.6, 0.6], "bsdf": diffuse(0.2, 0.12, 0.07)}
    for k in range(26):
        high = rng.uniform(0.12, 0.24)
        scene[f"book{k}"] = {"type": "cube", "bsdf": diffuse(*rng.uniform(0.04, 0.8, 3)),
                             "to_world": T().translate([-1.35 + 0.05 * k, 2.0, 0.9 + high])
                             .scale([0.02, 0.12, high])}
    return scene


def box(side):
    scene = mi.cornell_box()
    scene["sensor"]["film"] = film(side)
    return scene


def planes(image):
    """ref [H][W][3] and AOVs [H][W][7] of what Mitsuba gives."""
    a = np.array(image)
    return a[..., :3], a[..., -7:]


SCENES = {"box": box, "things": things, "night": night, "leaves": leaves, "room": room}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", metavar="FILE.npz")
    parser.add_argument("--scene", choices=tuple(SCENES), default="things")
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--rays", type=int, default=2048)
    o = parser.parse_args()
    scene = mi.load_dict(SCENES[o.scene](o.side))
    tracer = mi.load_dict({"type": "aov", "aovs": "a:albedo,n:sh_normal,d:depth",
                           "path": {"type": "path", "max_depth": 8}})

    def render(rays, seed):
        return planes(mi.render(scene, integrator=tracer, spp=rays, seed=seed))

    single = [render(1, 1000 + k) for k in range(16)]
    more, ref = render(48, 2000), render(o.rays, 3000)
    np.savez_compressed(o.output, ref=ref[0].astype(np.float32), clean=ref[1].astype(np.float32),
                        rays=np.array([s[0] for s in single], np.float32),
                        beside=np.array([s[1] for s in single], np.float32),
                        more=more[0].astype(np.float32))


if __name__ == "__main__":
    main()
