#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""presets.py - mean PSNR of csrecover's presets at four rates, uniform and Poisson-disc samples, and
under noise, on the five pictures of pictures.py and on other data pictures of scikit-image, and
which means and single pictures are not in the order fast, balanced, best. Beside them Gaussian
groups without the learned prior, which best is where none is installed. Of the others settings of
Gaussian groups were tried on parts of coffee, rocket, coins and gravel (docs/notebook/gaussian.md);
page, grass and text are in no trial. Needs NumPy, cffi, Pillow and
scikit-image."""
import sys
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import pictures
from common import means as rows_means

PRESETS = ("fast", "balanced", "best")
BESIDE = {"gaussian": ["--method", "gaussian"]}
# pattern, rate, noise
CASES = tuple((pattern, rate, 0.0) for rate in (0.05, 0.10, 0.25, 0.50)
              for pattern in ("uniform", "poisson")) + (
    ("uniform", 0.25, 10.0), ("uniform", 0.25, 25.0))
OTHERS = ("coffee", "rocket", "page", "coins", "gravel", "grass", "text")
SIDE = 256


def gray_square(image):
    """The middle square of an image, gray, SIDE pixels wide, in 256 levels."""
    from PIL import Image
    found = Image.fromarray(np.asarray(image)).convert("L")
    edge = min(found.size)
    left, top = ((size - edge) // 2 for size in found.size)
    square = found.crop((left, top, left + edge, top + edge))
    return np.asarray(square.resize((SIDE, SIDE), Image.LANCZOS), np.float64)


def others():
    """Those of OTHERS that are installed: scikit-image would download the others."""
    import skimage.data
    folder = Path(skimage.data.__file__).parent
    found = []
    for name in OTHERS:
        if any((folder / f"{name}.{end}").is_file() for end in ("png", "jpg", "tif", "tiff")):
            found.append((name, gray_square(getattr(skimage.data, name)())))
    return found


def measure(build, name, picture):
    import csrecover

    ways = {preset: ["--quality", preset] for preset in PRESETS} | BESIDE
    for pattern, rate, sigma in CASES:
        mask = csrecover.sample(picture, rate, pattern, 1).mask
        y = picture[mask] + sigma * np.random.default_rng(1).standard_normal(mask.sum())
        for way, options in ways.items():
            found, _ = pictures.recover(str(build / "csrecover"), options, y, mask, sigma)
            yield {"picture": name, "rate": rate, "pattern": pattern, "sigma": sigma, "preset": way,
                   "psnr": pictures.psnr(found, picture)}


def means(rows):
    """A row for each set, pattern, rate and noise."""
    keys, table = ("set", "pattern", "rate", "sigma"), {}
    for row in rows_means(rows, (*keys, "preset"), ("psnr",)):
        case = {key: row[key] for key in keys}
        table.setdefault(tuple(case.values()), case)[row["preset"]] = row["psnr"]
    return list(table.values())


def misordered(rows):
    """Each picture at which a preset is worse than the one before it."""
    at = {(r["set"], r["picture"], r["pattern"], r["rate"], r["sigma"], r["preset"]): r["psnr"]
          for r in rows}
    found = []
    for key in dict.fromkeys(k[:5] for k in at):
        for low, high in zip(PRESETS, PRESETS[1:]):
            if at[(*key, high)] < at[(*key, low)]:
                found.append({"set": key[0], "picture": key[1], "pattern": key[2], "rate": key[3],
                              "sigma": key[4], "presets": [low, high],
                              "lost": at[(*key, low)] - at[(*key, high)]})
    return found


def show(table, wrong):
    for row in table:
        values = [row[preset] for preset in PRESETS]
        print(f"{row['set']:10s} {row['pattern']:8s} {100 * row['rate']:3.0f} %, {row['sigma']:2.0f} "
              f"{' '.join(f'{v:7.2f}' for v in values)}, {row['gaussian']:7.2f}"
              f"{'' if values == sorted(values) else '  NOT MONOTONE'}")
    for row in wrong:
        print(f"{row['picture']}, {row['pattern']}, {100 * row['rate']:.0f} %, {row['sigma']:.0f}: "
              f"{row['presets'][1]} {row['lost']:.2f} dB below {row['presets'][0]}")


def main():
    arguments = common.arguments(__doc__, "presets.json", images=None)
    common.load(arguments.build)
    five, source = pictures.load(arguments.images)
    rows = []
    for group, found in (("five", five), ("others", others())):
        for name, picture in found:
            rows += [{"set": group, **row} for row in measure(Path(arguments.build), name, picture)]
            print(f"{group}: {name}", file=sys.stderr, flush=True)
    table, wrong = means(rows), misordered(rows)
    show(table, wrong)
    common.save(arguments, source=source, mean=table, misordered=wrong, pictures=rows)


if __name__ == "__main__":
    main()
