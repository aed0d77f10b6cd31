#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""renderer_film.py - an animation of a path tracer from few rays a frame: csrecover with the frames
around each beside itself and Open Image Denoise, frame by frame.

  bench/run.sh renderer_film --cache FOLDER

Two scenes of renderer_scenes.py in which the camera and one thing move. Albedo, normal and depth are
of as many rays as the reference has; motion is told exactly, or found. Beside PSNR the temporal error:
that of the change from a frame to the next."""
import onethread  # noqa: F401, first
import os
import time
import warnings
from pathlib import Path

import numpy as np

import common
import renderer_scenes as scenes
from renderer import Rays, denoised, display, errors, even

FRAMES, SINGLE, BUDGETS = 10, 4, (1 / 4, 1, 4)
# Origin, target, field of view, their steps a frame; what moves, its step.
PATHS = {"room": ((1.7, -2.6, 1.6), (-0.6, 1, 1.05), 62, (-0.05, 0.03, 0), (0.03, 0, 0), "vase",
                  (0.04, -0.02, 0)),
         "night": ((0.2, -6, 1.7), (0, 2, 1.5), 50, (0.03, 0.06, 0), (0.02, 0, 0), "thing0",
                   (0.05, 0, 0))}
AOVS = "a:albedo,n:sh_normal,d:depth,p:position"


def camera(name, t):
    origin, target, fov, step, turn = (np.array(v, float) for v in PATHS[name][:5])
    return origin + t * step, target + t * turn, float(fov)


def seen(points, side, origin, target, fov):
    """Rows and columns [..., 2] of points in a picture, whose middle looks at the target."""
    ahead = (target - origin) / np.linalg.norm(target - origin)
    right = np.cross(ahead, (0, 0, 1))
    right /= np.linalg.norm(right)
    along = (points - origin) @ np.stack([np.cross(right, ahead), -right, ahead], -1)
    scale = side / 2 / np.tan(np.radians(fov) / 2) / along[..., 2:]
    return side / 2 - 0.5 - along[..., :2] * scale


def traced(name, side, rays, t):
    """A frame: its reference, AOVs, single rays, motion to the frame before."""
    mi, thing, step = scenes.mi, *PATHS[name][5:]
    made = scenes.SCENES[name](side)
    origin, target, fov = camera(name, t)
    centre = np.array(made[thing]["center"], float) + t * np.array(step)
    made["sensor"] = scenes.sensor(side, origin, target, fov)
    made[thing]["center"] = [float(v) for v in centre]
    scene = mi.load_dict(made)
    tracer = mi.load_dict({"type": "aov", "aovs": AOVS, "path": {"type": "path", "max_depth": 8}})
    def render(count, seed):
        return np.array(mi.render(scene, integrator=tracer, spp=count, seed=seed), np.float64)
    single = [render(1, 100 * t + k) for k in range(SINGLE)]
    many = sum(render(scenes.BATCH, 10000 * (t + 1) + k) for k in range(rays // scenes.BATCH))
    many /= rays // scenes.BATCH
    place = many[..., -3:]
    inside = np.linalg.norm(place - centre, axis=-1) < 1.02 * made[thing]["radius"]
    before = np.where(inside[..., None], place - step, place)
    motion = seen(before, side, *camera(name, t - 1)) - seen(place, side, origin, target, fov)
    return {"ref": many[..., :3], "clean": many[..., -10:-3], "motion": motion,
            "rays": np.array([s[..., :3] for s in single])}


def film(folder, name, side, rays):
    path = Path(folder) / f"film-{name}-{side}-{rays}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        if scenes.mi is None:
            scenes.start()
        frames = [traced(name, side, rays, t) for t in range(FRAMES)]
        with open(f"{path}.part", "wb") as file:
            np.savez_compressed(file, **{key: np.array([f[key] for f in frames], np.float32)
                                         for key in frames[0]})
        os.replace(f"{path}.part", path)
    with np.load(path) as file:
        return {key: file[key].astype(float) for key in file}


def temporal(found, truth):
    """PSNR of what changes from a frame to the next."""
    off = np.diff(display(found), axis=0) - np.diff(display(truth), axis=0)
    return -10 * np.log10(np.mean(off ** 2))


def ways_of(csrecover, rays, motion):
    """Pictures [frame][H][W][3] by their names."""
    whole = {"backend": "cpu", "threads": 1, "channel_axis": -1}
    y, count = np.array([r.y for r in rays]), np.array([r.rays for r in rays])
    guide = {"albedo": np.array([r.albedo() for r in rays]),
             "normal": np.array([r.aovs[..., 3:6] for r in rays]),
             "depth": np.array([r.aovs[..., 6] for r in rays])}
    def alone(quality):
        return [csrecover.recover(y[t], rays=count[t], quality=quality,
                                  guide={key: v[t] for key, v in guide.items()}, **whole)
                for t in range(len(rays))]
    def together(quality, more):
        return csrecover.recover(y, rays=count, quality=quality, guide=guide | more, time_axis=0,
                                 **whole)
    yield "OIDN, frame by frame", lambda: [denoised(r) for r in rays]
    for quality in ("fast", "balanced", "best"):
        yield f"{quality}, frame by frame", lambda q=quality: alone(q)
        yield f"{quality}, motion told", lambda q=quality: together(q, {"motion": motion})
    yield "balanced, motion found", lambda: together("balanced", {})


def measure(csrecover, name, scene):
    truth = scene["ref"]
    for budget in BUDGETS:
        rays = []
        for t in range(FRAMES):
            frame = {key: scene[key][t] for key in ("ref", "clean", "rays")}
            rays.append(Rays(frame, even(csrecover, frame, budget, t + 1), True))
        for way, made in ways_of(csrecover, rays, scene["motion"]):
            start = time.process_time()
            found = np.array(made())
            seconds = (time.process_time() - start) / FRAMES
            each = [errors(csrecover, f, r)["psnr"] for f, r in zip(found, truth)]
            row = {"psnr": np.mean(each), "least": min(each), "temporal": temporal(found, truth),
                   "seconds": seconds}
            yield {"scene": name, "budget": budget, "way": way} | {
                key: round(float(value), 4) for key, value in row.items()}


def main():
    arguments = common.arguments(
        __doc__, "renderer_film.json", cache=("renderer-cache", "folder of what is rendered"),
        side=(128, "pixels along either axis"), rays=(1024, "a pixel of the reference"))
    csrecover = common.load(arguments.build)
    warnings.simplefilter("ignore", csrecover.RecoveryWarning)
    rows = []
    for name in PATHS:
        for row in measure(csrecover, name, film(arguments.cache, name, arguments.side, arguments.rays)):
            rows.append(row)
            print(f"{name:6s} {row['budget']:5g} {row['way']:26s} {row['psnr']:6.2f} dB, temporal "
                  f"{row['temporal']:6.2f}, {row['seconds']:.3f} s", flush=True)
    common.save(arguments, side=arguments.side, frames=FRAMES, rays=arguments.rays, rows=rows,
                versions=common.versions("mitsuba", "oidn", "numpy", "scipy"))


if __name__ == "__main__":
    main()
