#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mitsuba_progressive.py - a scene of Mitsuba 3, traced in rounds: half of the rays are spread
evenly, then a csrecover session says where to send the next, by the errors that it expects. It is
told what rays found, with their own deviations, and albedo, normals and depth, which cost few
short rays.

  python3 mitsuba_progressive.py OUT [--scene box|room|FILE.xml] [--side 128] [--rays 2]

Writes OUT-1.png ... after each round and OUT.npy, the radiance. --reference N compares, at the
same number of rays, with N rays a pixel: all pixels with --rays each; these by Open Image Denoise
(package oidn, if it is there) with the same albedo and normals; these recovered by csrecover; and
the rounds.
Needs mitsuba, numpy, csrecover."""
import argparse
import importlib.util
import sys
import time
from pathlib import Path

import csrecover
import mitsuba as mi
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # denoiser.py: OIDN by ctypes


# ---- scenes

def box(side):
    """Mitsuba's Cornell box; a pixel's light is that of its own rays: filter box."""
    scene = mi.cornell_box()
    scene["sensor"]["film"].update(width=side, height=side, rfilter={"type": "box"})
    return scene


def printed(pixels):
    bitmap = mi.Bitmap(np.ascontiguousarray(pixels, np.float32))
    return {"type": "diffuse", "reflectance": {"type": "bitmap", "bitmap": bitmap, "raw": True}}


def room(side):
    """The same with checks on the floor, a painting on the wall behind, and a ball of glass."""
    scene, rng = box(side), np.random.default_rng(2)
    y, x = np.mgrid[:192, :192] / 192
    checks = np.where(((8 * x).astype(int) + (8 * y).astype(int)) % 2, 0.75, 0.15)
    painting = np.full((192, 192, 3), 0.7)
    for _ in range(60):
        at, wide = rng.random(2), rng.uniform(0.02, 0.12, 2)
        inside = ((x - at[0]) / wide[0]) ** 2 + ((y - at[1]) / wide[1]) ** 2 < 1
        painting[inside] = rng.uniform(0.05, 0.9, 3)
    scene["floor"]["bsdf"] = printed(np.repeat(checks[..., None], 3, 2))
    scene["back"]["bsdf"] = printed(painting)
    scene["ball"] = {"type": "sphere", "center": [0.0, -0.25, 0.55], "radius": 0.25,
                     "bsdf": {"type": "dielectric"}}
    return scene


def load(name, side):
    made = {"box": box, "room": room}.get(name)
    return mi.load_dict(made(side)) if made else mi.load_file(name)


# ---- the renderer

class Tracer:
    """Single rays of single pixels (variant scalar_rgb)."""

    def __init__(self, scene, seed):
        self.scene, self.sensor, self.integrator = scene, scene.sensors()[0], scene.integrator()
        width, height = self.sensor.film().size()
        self.shape, self.sampler = (int(height), int(width)), self.sensor.sampler().clone()
        self.sampler.seed(seed)

    def ray(self, row, column):
        place = self.sampler.next_2d()
        at = mi.Point2f((column + place[0]) / self.shape[1], (row + place[1]) / self.shape[0])
        ray, weight = self.sensor.sample_ray_differential(0, self.sampler.next_1d(), at,
                                                          self.sampler.next_2d())
        return np.array(weight * self.integrator.sample(self.scene, self.sampler, ray)[0])

    def trace(self, index, rays):
        """Mean [n][3] of so many rays of each pixel, and the standard deviation of that mean, NaN
        where it is not known: of one ray, and of rays that are all the same, as in a shadow."""
        mean, error = np.empty((len(index), 3)), np.full((len(index), 3), np.nan)
        for k, (at, number) in enumerate(zip(index, rays)):
            found = np.array([self.ray(*divmod(int(at), self.shape[1])) for _ in range(number)])
            mean[k] = found.mean(0)
            if number > 1:
                error[k] = found.std(0, ddof=1) / number ** 0.5
        return mean, np.where(error > 0, error, np.nan)

    def beside(self, rays=16):
        tracer = mi.load_dict({"type": "aov", "aovs": "a:albedo,n:sh_normal,d:depth"})
        planes = np.array(mi.render(self.scene, integrator=tracer, spp=rays), float)[..., -7:]
        return {"albedo": planes[..., :3].clip(0, 1), "normal": planes[..., 3:6],
                "depth": planes[..., 6]}


def progressive(tracer, guide, total, rounds, show=lambda turn, light: None):
    """The radiance from so many rays: half of them evenly, the others where errors are expected."""
    with csrecover.Session(tracer.shape, channels=3, rays=True, guide=guide) as session:
        sent = 0
        for turn in range(1, rounds + 1):
            share = total // 2 if turn == 1 < rounds else (total - sent) // (rounds - turn + 1)
            at, rays = session.next(share, seed=turn)
            mean, error = tracer.trace(at, rays)
            session.add(at, mean, sigma=error, rays=rays)
            sent += int(rays.sum())
            show(turn, session.picture())
        return session.picture()


# ---- beside it

def display(light):
    return np.clip(light, 0, 1) ** (1 / 2.2)


def errors(found, truth):
    """PSNR of what a display shows, and the relative squared error of radiance."""
    return (csrecover.psnr(display(found), display(truth), peak=1.0),
            np.mean((found - truth) ** 2 / (truth ** 2 + 0.01)))


def compare(tracer, guide, rays, rounds, show=lambda turn, light: None):
    """(name, radiance, seconds of the processor) of each way with the same number of rays."""
    def timed(name, way, *given):
        since = time.process_time()
        return name, np.asarray(way(*given), float), time.process_time() - since

    everywhere = np.arange(np.prod(tracer.shape))
    mean, error = (a.reshape(*tracer.shape, 3)
                   for a in tracer.trace(everywhere, np.full(len(everywhere), rays)))
    yield "all pixels", mean, 0.0
    if importlib.util.find_spec("oidn") and importlib.util.find_spec("denoiser"):
        from denoiser import denoise
        yield timed("all pixels, OIDN", denoise, mean, guide["albedo"], guide["normal"], True, True)
    even = dict(rays=np.full(tracer.shape, float(rays)), guide=guide, channel_axis=-1)
    if rays > 1:
        even["sigma"] = error
    yield timed("all pixels, csrecover", lambda: csrecover.recover(mean, **even))
    yield timed("session", progressive, tracer, guide, rays * len(everywhere), rounds, show)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--scene", metavar="box|room|FILE.xml", default="box")
    parser.add_argument("--side", type=int, default=128, help="pixels of box and room")
    parser.add_argument("--rays", type=float, default=2, help="of all rounds together, a pixel")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference", type=int, default=0, metavar="N", help="rays a pixel")
    o = parser.parse_args(words)
    if o.rays <= 0 or o.rounds < 1 or (o.reference and o.rays != int(o.rays)):
        parser.error("--rays is above 0, and whole with --reference; --rounds is 1 or more")
    mi.set_variant("scalar_rgb")  # which traces ray by ray
    tracer = Tracer(load(o.scene, o.side), o.seed)
    guide = tracer.beside()

    def show(turn, light):
        mi.util.write_bitmap(f"{o.out}-{turn}.png", light.astype(np.float32), write_async=False)
        print(f"round {turn}", flush=True)

    if o.reference:
        truth = np.array(mi.render(tracer.scene, spp=o.reference, seed=9999), float)[..., :3]
        for name, light, seconds in compare(tracer, guide, int(o.rays), o.rounds, show):
            decibels, relative = errors(light, truth)
            print(f"{name:22s} PSNR {decibels:6.2f} dB, relMSE {relative:7.4f}, {seconds:6.2f} s",
                  flush=True)
    else:
        light = progressive(tracer, guide, round(o.rays * np.prod(tracer.shape)), o.rounds, show)
    np.save(f"{o.out}.npy", light)


if __name__ == "__main__":
    main()
