#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""path_traced.py - renders the scenes that check_rendered.py measures on, with Mitsuba 3 (PyPI),
which nothing else here needs.

  python3 path_traced.py box.npz --scene box
  python3 path_traced.py things.npz --scene things --side 192 --rays 2048

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


def box(side):
    scene = mi.cornell_box()
    scene["sensor"]["film"] = film(side)
    return scene


def planes(image):
    """ref [H][W][3] and AOVs [H][W][7] of what Mitsuba gives."""
    a = np.array(image)
    return a[..., :3], a[..., -7:]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", metavar="FILE.npz")
    parser.add_argument("--scene", choices=("box", "things"), default="things")
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--rays", type=int, default=2048)
    o = parser.parse_args()
    scene = mi.load_dict({"box": box, "things": things}[o.scene](o.side))
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
