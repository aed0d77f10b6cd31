#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""beside.py - what is known beside the samples: guides (bands of a photograph, a rendering's albedo,
normals and depth, with --side the disparity of a stereo pair) and frames (a slow pan and zoom, with
--side two films), beside what a Python user would write; one run, two threads. --side FILE: arrays
gd_NAME, gk_NAME, gg_NAME (target, where it is known, guides) and vid_NAME. Needs NumPy, SciPy,
Pillow; peers of OpenCV, scikit-image, rasterio and oidn are left out where these are not installed."""
import importlib.util
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import interpolate, ndimage

import common
from denoiser import denoise

RATES = (0.02, 0.05, 0.10, 0.25)
FILM_RATES = (0.03, 0.05, 0.10, 0.25, 0.6)  # the last under clouds


def known_at(shape, rate, seed=7):
    return np.random.default_rng(seed).random(shape) < rate


def photograph(folder):
    from PIL import Image
    return np.asarray(Image.open(Path(folder) / "astronaut-512-rgb.png").convert("RGB"), float)


def traced(build, side=256):
    """Gray light of the scene of samples/, and its guides."""
    from PIL import Image
    with tempfile.TemporaryDirectory() as folder:
        tracer = [str(Path(build).resolve() / "samples" / "raytrace"), "-W", str(side), "-H", str(side)]
        subprocess.run([*tracer, "--full", "-o", f"{folder}/truth.png"], check=True,
                       capture_output=True)
        subprocess.run([*tracer, "-g", "-r", "0.01", "-o", f"{folder}/scan.npz"], check=True,
                       capture_output=True)
        truth = np.asarray(Image.open(f"{folder}/truth.png").convert("L"), float)
        with np.load(f"{folder}/scan.npz") as scan:
            return truth, scan["guides"].transpose(1, 2, 0)


def guided_pairs(arguments):
    """name: target, whether it is known there at all, guides [H, W, K], peak."""
    rgb = photograph(arguments.images)[:256, 128:384]
    pairs = {"blue by red and green": (rgb[..., 2], None, rgb[..., :2], 255.0)}
    light, planes = traced(arguments.build)
    pairs["rendering by albedo, normal, depth"] = light, None, planes, 255.0
    if arguments.side:
        side = np.load(arguments.side)
        for name in (name[3:] for name in side if name.startswith("gd_")):
            truth = side[f"gd_{name}"].astype(float)
            pairs[name] = (truth, side[f"gk_{name}"], side[f"gg_{name}"].astype(float),
                           60.0 if truth.max() <= 60 else 255.0)
    return pairs


def pan(folder, frames=8, side=192):
    gray = photograph(folder).mean(2)
    y, x = np.mgrid[:side, :side] - side / 2 + 0.5
    zoom = 0.995 ** np.arange(frames)
    return np.stack([ndimage.map_coordinates(gray, [200 + z * y + 0.7 * (t - 4), 256 + z * x + 1.1 *
                                                    (t - 4)], order=3, mode="nearest").clip(0, 255)
                     for t, z in enumerate(zoom)])


def films(arguments):
    made = {"pan and zoom": pan(arguments.images)}
    if arguments.side:
        side = np.load(arguments.side)
        made |= {name[4:]: side[name].astype(float)[:8] for name in side if name.startswith("vid_")}
    return made


# ---- peers: whole = f(y with NaN, guides)

def spread(y, at=None):
    known = ~np.isnan(y)
    at, values = np.argwhere(known), y[known]
    near = interpolate.NearestNDInterpolator(at, values)
    if len(at) < 4:
        return near(*np.indices(y.shape))
    found = interpolate.LinearNDInterpolator(at, values)(*np.indices(y.shape))
    return np.where(np.isnan(found), near(*np.indices(y.shape)), found)


def regression(y, guides):
    """Least squares on the guides, and the rest spread."""
    planes = np.concatenate([guides, np.ones(y.shape + (1,))], -1)
    known = ~np.isnan(y)
    fit = planes @ np.linalg.lstsq(planes[known], y[known], rcond=None)[0]
    return fit + spread(y - fit)


def bilateral(y, guides, radius=10):
    """Means of samples near by, the more the nearer they are and the more alike their guides."""
    g = (guides - guides.mean((0, 1))) / guides.std((0, 1)).clip(1e-9)
    known = ~np.isnan(y)
    reach = max(radius, int(2.5 / np.sqrt(known.mean())))
    sums = np.zeros(y.shape + (2,))
    padded = [np.pad(a, [(reach, reach)] * 2 + [(0, 0)] * (a.ndim - 2))
              for a in (np.where(known, y, 0), known * 1.0, g)]
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            part = [a[reach + dy:reach + dy + y.shape[0], reach + dx:reach + dx + y.shape[1]]
                    for a in padded]
            near = np.exp(-2 * (dy * dy + dx * dx) / reach ** 2
                          - ((part[2] - g) ** 2).sum(-1) / (2 * 0.3 ** 2 * g.shape[-1])) + 1e-12
            sums += (near * part[1])[..., None] * np.stack([part[0], part[1]], -1)
    return np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1].clip(1e-30), spread(y))


def guided_filter(y, guides, radius=8, eps=1e-2):
    """He, Sun and Tang's filter of the spread samples, by all guides."""
    g = (guides - guides.mean((0, 1))) / guides.std((0, 1)).clip(1e-9)
    mean = lambda a: ndimage.uniform_filter(a, (2 * radius + 1,) * 2 + (0,) * (a.ndim - 2))  # noqa: E731
    f = spread(y)
    mg, mf = mean(g), mean(f)
    C = mean(g[..., None] * g[..., None, :]) - mg[..., None] * mg[..., None, :]
    a = np.linalg.solve(C + eps * np.eye(g.shape[-1]),
                        (mean(g * f[..., None]) - mg * mf[..., None])[..., None])[..., 0]
    b = mf - (a * mg).sum(-1)
    return (mean(a) * g).sum(-1) + mean(b)


def inpaintings():
    """What the libraries have for holes, without guides."""
    def telea(y, _):
        import cv2
        low, high = np.nanmin(y), np.nanmax(y)
        bytes_of = np.where(np.isnan(y), 0, 255 * (y - low) / (high - low)).round().astype(np.uint8)
        return low + (high - low) / 255 * cv2.inpaint(bytes_of, np.isnan(y).astype(np.uint8), 3,
                                                      cv2.INPAINT_TELEA)

    def biharmonic(y, _):
        from skimage.restoration import inpaint_biharmonic
        return inpaint_biharmonic(np.nan_to_num(y), np.isnan(y))

    def gdal(y, _):
        from rasterio.fill import fillnodata
        known = ~np.isnan(y)
        return fillnodata(np.where(known, y, 0).astype(np.float32), known, max_search_distance=200)

    ways = {"inpaint, OpenCV": ("cv2", telea), "biharmonic, scikit-image": ("skimage", biharmonic),
            "fillnodata, GDAL": ("rasterio", gdal)}
    return {name: way for name, (of, way) in ways.items() if importlib.util.find_spec(of)}


def denoised(y, guides):
    """The spread samples by Open Image Denoise, with albedo and normal. guides: these six first."""
    light = np.repeat(spread(y)[..., None] / 255, 3, 2)
    return 255 * denoise(light, guides[..., :3], guides[..., 3:6]).mean(2)


def along_time(y):
    """Linear in time, as interpolate_na; what no frame has is spread in its frame."""
    made, t = y.copy(), np.arange(len(y))
    for row, column in np.ndindex(y.shape[1:]):
        known = ~np.isnan(y[:, row, column])
        if known.any():
            made[:, row, column] = np.interp(t, t[known], y[known, row, column])
    return np.stack([spread(frame) for frame in made])


def orthogonal_functions(y, most=4, rounds=30):
    """DINEOF: the unknown values are those of the first few singular vectors, again and again."""
    known = ~np.isnan(y)
    x = np.where(known, y, np.nanmean(y)).reshape(len(y), -1)
    mask = known.reshape(x.shape)
    for k in range(1, most + 1):
        for _ in range(rounds):
            U, S, V = np.linalg.svd(x, full_matrices=False)
            x = np.where(mask, x, (U[:, :k] * S[:k]) @ V[:k])
    return x.reshape(y.shape)


def divided(csrecover, y, guides):
    """By hand: the light, of samples divided by the albedo, times it. guides: three of it first."""
    albedo = guides[..., :3].mean(-1).clip(0.02)
    return csrecover.recover(y / albedo, backend="cpu", threads=2) * albedo


def merged(csrecover, y, frames=3):
    """Samples of the frames around carried along Farneback's flow of the pictures frame by frame, and
    taken as noisy."""
    import cv2
    single = np.stack([csrecover.recover(f, backend="cpu", threads=2) for f in y])
    gray, rows_columns = single.clip(0, 255).astype(np.uint8), np.indices(y.shape[1:])
    made = []
    for t in range(len(y)):
        all_samples = y[t].copy()
        for k in sorted(range(max(0, t - frames), min(len(y), t + frames + 1)), key=lambda k: abs(k - t)):
            flow = cv2.calcOpticalFlowFarneback(gray[k], gray[t], None, 0.5, 4, 25, 5, 7, 1.5, 0)
            r, c = np.rint(rows_columns + flow[..., ::-1].transpose(2, 0, 1)).astype(int)
            at = ~np.isnan(y[k]) & (r >= 0) & (c >= 0) & (r < y.shape[1]) & (c < y.shape[2])
            r, c, values = r[at], c[at], y[k][at]
            free = np.isnan(all_samples[r, c])
            all_samples[r[free], c[free]] = values[free]
        made.append(csrecover.recover(all_samples, sigma=8.0, backend="cpu", threads=2))
    return np.stack(made)


def clouds(shape, share=0.4, size=12, seed=3):
    """True where none is: a field of clouds that passes, 3 and 5 pixels a frame, another one each."""
    rng = np.random.default_rng(seed)
    made = []
    for t in range(shape[0]):
        field = ndimage.gaussian_filter(rng.standard_normal(shape[1:]), size, mode="wrap")
        field = np.roll(field, (3 * t, 5 * t), (0, 1))
        made.append(field < np.quantile(field, 1 - share))
    return np.stack(made)


# ---- measured

def psnr(found, truth, where, peak):
    return 10 * np.log10(peak ** 2 / np.mean((found - truth)[where] ** 2))


def timed(way, *of):
    start = time.perf_counter()
    found = way(*of)
    return found, time.perf_counter() - start


def measure_guides(csrecover, arguments):
    ours = {q: lambda y, g, q=q: csrecover.recover(y, guide=g, quality=q, backend="cpu", threads=2)
            for q in ("fast", "balanced", "best")}
    ways = {"linear": lambda y, g: spread(y), "regression and linear": regression,
            "cross-bilateral": bilateral, "guided filter of linear": guided_filter,
            **inpaintings(),
            "balanced, no guides": lambda y, g: csrecover.recover(y, backend="cpu", threads=2)} | ours
    by_hand = {"divided by albedo, no guides": lambda y, g: divided(csrecover, y, g)}
    if importlib.util.find_spec("oidn"):
        by_hand["linear, then OIDN"] = denoised
    for case, (truth, there, guides, peak) in guided_pairs(arguments).items():
        for rate in RATES[1:2] if arguments.quick else RATES:
            known = known_at(truth.shape, rate) & (True if there is None else there)
            for name, way in (ways | (by_hand if "albedo" in case else {})).items():
                found, seconds = timed(way, np.where(known, truth, np.nan), guides)
                where = np.ones(truth.shape, bool) if there is None else there
                yield {"case": case, "rate": rate, "way": name, "seconds": seconds,
                       "psnr": psnr(np.where(known, truth, found), truth, where, peak)}


def measure_frames(csrecover, arguments):
    single = {"backend": "cpu", "threads": 2}
    ways = {"balanced, frame by frame": lambda y: np.stack([csrecover.recover(f, **single) for f in y]),
            "linear in time": along_time, "orthogonal functions": orthogonal_functions}
    ways |= {f"{q}, frames": lambda y, q=q: csrecover.recover(y, time_axis=0, quality=q, **single)
             for q in ("fast", "balanced", "best")}
    if importlib.util.find_spec("cv2"):
        ways["merged along Farneback's flow"] = lambda y: merged(csrecover, y)
    for case, truth in films(arguments).items():
        for rate in FILM_RATES[1:2] if arguments.quick else FILM_RATES:
            known = clouds(truth.shape) if rate == 0.6 else np.stack(
                [known_at(f.shape, rate, 100 + t) for t, f in enumerate(truth)])
            for name, way in ways.items():
                found, seconds = timed(way, np.where(known, truth, np.nan))
                middle = len(truth) // 2
                yield {"case": case + (" under clouds" if rate == 0.6 else ""), "rate": rate,
                       "way": name, "seconds": seconds / len(truth),
                       "psnr": psnr(np.where(known, truth, found)[middle], truth[middle],
                                    np.ones(truth.shape[1:], bool), 255.0)}


def main():
    arguments = common.on_pictures(__doc__, "beside.json", quick="5 % alone",
                                    side=(None, "FILE.npz with pairs and films"))
    csrecover = common.load(arguments.build)
    warnings.simplefilter("ignore", csrecover.RecoveryWarning)
    found = []
    for kind, made in (("guides", measure_guides(csrecover, arguments)),
                       ("frames", measure_frames(csrecover, arguments))):
        for row in made:
            found.append({"kind": kind} | row)
            print(f"{row['case']:36s} {100 * row['rate']:3.0f} %  {row['way']:26s} "
                  f"{row['psnr']:6.2f} dB {row['seconds']:8.3f} s", flush=True)
    common.save(arguments, rows=found, versions=common.versions("numpy", "scipy", "opencv-python-headless"))


if __name__ == "__main__":
    main()
