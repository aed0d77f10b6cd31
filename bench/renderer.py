#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""renderer.py - pictures of a path tracer from few rays, 1/8 to 16 a pixel: csrecover beside Open
Image Denoise, interpolation and a cross-bilateral filter, with the same albedo, normals and depth.

  bench/run.sh renderer --cache FOLDER --pictures FOLDER

Five scenes (renderer_scenes.py) are rendered by Mitsuba 3 into --cache, once. Needs NumPy, SciPy,
mitsuba, oidn, and Pillow for --pictures. Albedo, normal and depth are of as many rays as the
reference has ("clean"), or of the rays that are traced, at least one first hit a pixel ("noisy").
Seconds are the processor's. A ray a pixel takes the reference's time by its rays."""
import onethread  # noqa: F401, first
import importlib.util
import inspect
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import ndimage

import common
import renderer_scenes
from beside import bilateral, spread
from denoiser import denoise
from tables_renderer import name_of

BUDGETS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 16)
PLACED = (1 / 4, 1 / 2, 1, 2, 4)
QUALITIES = ("fast", "balanced", "best")
DARK = 0.2  # added to the albedo where light is divided by it: of 0.04, 0.2, none the best mean


class Rays:
    """What is traced of a scene with numbers of rays [H][W]: y [H][W][3], NaN where nothing is;
    deviation of the mean, NaN where it is not known: of one ray, and of rays that are all the same,
    as in a shadow; AOVs [H][W][7]; the scene with its single rays; the budget, rays a pixel."""

    def __init__(self, scene, rays, clean):
        self.budget, self.clean, self.scene = rays.mean(), clean, scene
        of, self.rays = np.maximum(rays, 1)[..., None], rays.astype(float)
        taken = np.arange(rays.max())[:, None, None, None] < of
        single = scene["rays"][:rays.max()].astype(float)
        mean = lambda v: np.where(taken, v, 0).sum(0) / of  # noqa: E731
        self.y = mean(single)
        deviation = np.sqrt(mean((single - self.y) ** 2) / np.maximum(of - 1, 1))  # 0 of one ray
        self.deviation = np.where((rays[..., None] > 0) & (deviation > 0), deviation, np.nan)
        self.aovs = (scene["clean"].astype(float) if clean else
                     mean(scene["beside"][:rays.max()].astype(float)))
        self.y[rays == 0] = np.nan

    def albedo(self):
        return self.aovs[..., :3].clip(0, 1)

    def measurement(self, csrecover):
        known = self.rays > 0
        planes = np.moveaxis(np.concatenate([self.albedo(), self.aovs[..., 3:]], -1), -1, 0)
        return csrecover.Measurement(
            self.y[known], np.flatnonzero(known), known.shape, sigma=self.deviation[known],
            rays=self.rays[known], guides=planes.astype(np.float32),
            guide_names=("albedo",) * 3 + ("normal",) * 3 + ("depth",))


def even(csrecover, scene, budget, seed=1):
    """Numbers of rays [H][W]: a whole one in each pixel, or single rays."""
    rays = np.full(scene["ref"].shape[:2], int(budget))
    if budget < 1:
        pixels = round(budget * rays.size)
        rays.flat[csrecover.positions_of(rays.shape, pixels, "poisson", seed)] = 1
    return rays


def placed(csrecover, scene, budget, seed=1, rounds=4):
    """Half of the rays evenly, then in rounds where csrecover.where_next says; clean AOVs."""
    rays = even(csrecover, scene, budget / 2, seed)
    left = round(budget * rays.size) - rays.sum()
    for turn in range(1, rounds):
        scan = Rays(scene, rays, True).measurement(csrecover)
        index, more = csrecover.where_next(scan, int(left) // (rounds - turn), "expected",
                                           most=len(scene["rays"]))
        rays.flat[index] += more
        left -= more.sum()
    return rays


# ---- ways: light [H][W][3] of Rays

def delaunay(rays):
    """Linear between the samples; where every pixel has one, the samples."""
    return np.stack([spread(rays.y[..., c]) for c in range(3)], -1) if rays.budget < 1 else rays.y


def bilateral_light(rays):
    """log(1 + light), light without the albedo, from samples near by that look alike."""
    by = rays.albedo() + DARK
    planes, light = np.concatenate([rays.albedo(), rays.aovs[..., 3:]], -1), np.log1p(rays.y / by)
    return by * np.expm1(np.stack([bilateral(light[..., c], planes) for c in range(3)], -1))


def averaging(fine, coarse):
    """[coarse][fine]: means over equal parts of a line."""
    edges, at = np.arange(coarse + 1) * fine / coarse, np.arange(fine)
    inside = np.minimum(edges[1:, None], at + 1) - np.maximum(edges[:-1, None], at)
    return inside.clip(0) * coarse / fine


def low_resolution(rays, seed=1):
    """Every pixel of a coarser picture traced by one ray and denoised, and enlarged through the
    albedo: the light divided by the coarse one, linearly, times the fine one."""
    fine = rays.y.shape[0]
    coarse = round(fine * rays.budget ** 0.5)
    part, rng = averaging(fine, coarse), np.random.default_rng(seed)
    row, column = ((cell + rng.random((coarse, coarse))) * fine / coarse
                   for cell in np.indices((coarse, coarse)))
    row, column = row.astype(int), column.astype(int)
    aovs = np.einsum("ij,jkc,lk->ilc", part, rays.aovs, part, optimize=True)
    albedo = aovs[..., :3].clip(0, 1)
    made = denoise(rays.scene["rays"][0][row, column], albedo, aovs[..., 3:6], True, rays.clean)
    large = ndimage.zoom(made / (albedo + DARK), (fine / coarse, fine / coarse, 1), order=1,
                         grid_mode=True, mode="nearest")
    return large.clip(0) * (rays.albedo() + DARK)


def denoised(rays):
    if rays.budget < 1:
        return low_resolution(rays)
    return denoise(rays.y, rays.albedo(), rays.aovs[..., 3:6], True, rays.clean)


def spread_denoised(rays):
    """The samples spread as Delaunay has them, then denoised."""
    return denoise(delaunay(rays), rays.albedo(), rays.aovs[..., 3:6], True, rays.clean)


def recovered(csrecover, quality):
    """csrecover.recover, told of rays and deviations where it takes them."""
    takes = inspect.signature(csrecover.recover).parameters
    def way(rays):
        more = {}
        if "rays" in takes:
            more = {"rays": rays.rays}
            if np.isfinite(rays.deviation).any():
                more["sigma"] = rays.deviation
        guide = {"albedo": rays.albedo(), "normal": rays.aovs[..., 3:6], "depth": rays.aovs[..., 6]}
        return csrecover.recover(rays.y, rays.rays > 0, guide=guide, quality=quality,
                                 channel_axis=-1, backend="cpu", threads=1, **more)
    return way


def ways_of(csrecover):
    ways = {"Delaunay": delaunay, "cross-bilateral": bilateral_light}
    if importlib.util.find_spec("oidn"):
        ways |= {"Delaunay, then OIDN": spread_denoised, "OIDN": denoised}
    return ways | {quality: recovered(csrecover, quality) for quality in QUALITIES}


# ---- errors

def display(light):
    return np.clip(light, 0, 1) ** (1 / 2.2)


def errors(csrecover, found, truth):
    """Of what a display shows: PSNR and SSIM; of radiance: relMSE and SMAPE."""
    shown, right = display(found), display(truth)
    return {"psnr": -10 * np.log10(np.mean((shown - right) ** 2)),
            "ssim": csrecover.ssim(shown, right, peak=1.0, channel_axis=-1),
            "relmse": np.mean((found - truth) ** 2 / (truth ** 2 + 0.01)),
            "smape": np.mean(np.abs(found - truth) / (np.abs(found) + truth + 0.01))}


def limit(scene):
    """PSNR of the reference itself: half of it differs from it as it differs from the truth."""
    return -10 * np.log10(np.mean((display(scene["half"]) - display(scene["ref"])) ** 2))


def at_equal_seconds(rows, scenes, budgets=(1, 4)):
    """The best PSNR of each way, of its budgets, in no more seconds than OIDN takes of so many rays,
    those of the rays included; None if it takes more with any. Of clean AOVs."""
    found = []
    for name, scene in scenes.items():
        total = lambda r: r["budget"] * float(scene["seconds"]) + r["seconds"]  # noqa: E731
        own = [r for r in rows if r["scene"] == name and r["aovs"] == "clean"]
        for r in [r for r in own if r["way"] == "OIDN" and r["budget"] in budgets]:
            for way in dict.fromkeys(r["way"] for r in own):
                best = max((o["psnr"] for o in own if o["way"] == way and total(o) <= total(r)),
                           default=None)
                found.append({"scene": name, "of": r["budget"], "total": round(total(r), 4),
                              "way": way, "psnr": best})
    return found


# ---- pictures

def crop_of(truth, size=48):
    """Where the truth has most detail."""
    gray = display(truth).mean(-1)
    detail = ndimage.uniform_filter(np.abs(gray - ndimage.gaussian_filter(gray, 2)), size)
    half = size // 2
    inner = detail[half:-half, half:-half]
    row, column = np.unravel_index(inner.argmax(), inner.shape)
    return np.s_[row:row + size, column:column + size]


def save_strip(path, named, crop, zoom=3):
    """The crop of each picture by its name, in a row."""
    from PIL import Image, ImageDraw
    side = zoom * (crop[0].stop - crop[0].start)
    sheet = Image.new("RGB", (len(named) * (side + 4) - 4, side + 16), "white")
    for k, (name, light) in enumerate(named.items()):
        pixels = (255 * display(np.nan_to_num(light[crop])) + 0.5).astype(np.uint8)
        sheet.paste(Image.fromarray(pixels).resize((side, side), 0), (k * (side + 4), 16))
        ImageDraw.Draw(sheet).text((k * (side + 4) + 2, 2), name, fill="black")
    sheet.save(path)


# ---- measured

def measure(csrecover, scenes, arguments):
    ways = ways_of(csrecover)
    budgets = (1 / 4, 1) if arguments.quick else BUDGETS
    for name, scene in scenes.items():
        truth = scene["ref"].astype(float)
        for budget, clean in [(b, c) for c in (True, False) for b in budgets]:
            rays = Rays(scene, even(csrecover, scene, budget), clean)
            pictures = {"truth": truth, "samples": rays.y}
            for way, made in ways.items():
                if way == "Delaunay, then OIDN" and budget >= 1:
                    continue  # nothing to spread
                start = time.process_time()
                pictures[way] = np.asarray(made(rays), float)
                seconds = time.process_time() - start
                row = {"scene": name, "budget": budget, "aovs": "clean" if clean else "noisy",
                       "way": way}
                of = errors(csrecover, pictures[way], truth) | {"seconds": seconds}
                yield row | {key: round(float(value), 4) for key, value in of.items()}
            if arguments.pictures and clean:
                file = f"{name}-{name_of(budget).replace('/', '_')}.png"
                save_strip(Path(arguments.pictures) / file, pictures, crop_of(truth))


def compare_placed(csrecover, scenes, budgets, repeats=3):
    """PSNR of `balanced` by placed rays and by even ones, of clean AOVs; other rays each time."""
    way = recovered(csrecover, "balanced")
    for name, scene in scenes.items():
        truth, many = scene["ref"].astype(float), len(scene["rays"])
        for budget in budgets:
            row = {"scene": name, "budget": budget}
            turned = [scene | {"rays": np.roll(scene["rays"], k * many // repeats, 0)}
                      for k in range(repeats)]
            for key, choose in (("even", even), ("placed", placed)):
                made = [way(Rays(s, choose(csrecover, s, budget, k + 1), True))
                        for k, s in enumerate(turned)]
                row[key] = round(float(np.mean([errors(csrecover, m, truth)["psnr"]
                                                for m in made])), 4)
            yield row


def main():
    arguments = common.arguments(
        __doc__, "renderer.json", cache=("renderer-cache", "folder of what is rendered"),
        side=(128, "pixels along either axis"), rays=(2048, "a pixel of the reference"),
        scenes=(list(renderer_scenes.SCENES), "some of these"), quick=(False, "two budgets"),
        pictures=(None, "folder for crops side by side"))
    csrecover = common.load(arguments.build)
    warnings.simplefilter("ignore", csrecover.RecoveryWarning)
    scenes = renderer_scenes.cached(arguments.cache, arguments.scenes, arguments.side,
                                    arguments.rays)
    if arguments.pictures:
        Path(arguments.pictures).mkdir(parents=True, exist_ok=True)
    rows = []
    for row in measure(csrecover, scenes, arguments):
        rows.append(row)
        print(f"{row['scene']:8s} {name_of(row['budget']):4s} {row['aovs']:6s} {row['way']:20s} "
              f"{row['psnr']:6.2f} dB {row['ssim']:.3f} {row['relmse']:9.3f} {row['smape']:.3f} "
              f"{row['seconds']:7.3f} s", flush=True)
    beside = []
    for row in compare_placed(csrecover, scenes, (1 / 4, 1) if arguments.quick else PLACED):
        beside.append(row)
        print(f"{row['scene']:8s} {name_of(row['budget']):4s} even {row['even']:6.2f} dB, placed "
              f"{row['placed']:6.2f} dB", flush=True)
    told = "rays" in inspect.signature(csrecover.recover).parameters
    common.save(arguments, side=arguments.side, told=told, rows=rows, placed=beside,
                scenes={name: {"limit": round(float(limit(s)), 2),
                               "seconds": round(float(s["seconds"]), 4),
                               "rays": int(s["reference_rays"])} for name, s in scenes.items()},
                equal_seconds=at_equal_seconds(rows, scenes),
                versions=common.versions("mitsuba", "oidn", "numpy", "scipy"))


if __name__ == "__main__":
    main()
