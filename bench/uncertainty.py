#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""uncertainty.py - how right csrecover's expected errors are: the number of the summary beside the
true error, the share of the unknown pixels whose error is below 1 and 2 times what the map of
--uncertainty says, and the area under the sparsification curve (the mean squared error that is left
when the most uncertain pixels are taken away, over all shares; random: 0.5 at most) beside that of
the true errors' own order. On the five pictures of pictures.py and those of net_kinds.py, by which
no constant was chosen. Needs NumPy and Pillow."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import net_kinds
import pictures
from common import means

RATES = (0.05, 0.10, 0.25, 0.50)
SIGMAS = (0.0, 15.0)
PRESETS = ("fast", "balanced", "best", "max")


def area(order, squares):
    """Mean over k of the sum of squares without the first k of the order, over the sum of all."""
    left = np.cumsum(squares[order][::-1])[::-1]
    return float(left.mean() / left[0]) if left[0] > 0 else 0.0


def measure(tool, preset, picture, rate, sigma):
    mask = np.random.default_rng(1).random(picture.shape) < rate
    y = picture[mask] + sigma * np.random.default_rng(2).standard_normal(mask.sum())
    with tempfile.TemporaryDirectory() as folder:
        scan, out, error = (str(Path(folder) / name) for name in ("s.npz", "o.npy", "u.npy"))
        np.savez(scan, y=y, mask=mask, scale=[0.0, 255.0], **({"sigma": sigma} if sigma else {}))
        kind = "--quality" if preset in PRESETS else "--method"
        done = subprocess.run([tool, scan, "-o", out, "-u", error, kind, preset, "--json",
                               "--backend", "cpu"], capture_output=True, text=True, check=True)
        found, expected = np.load(out), np.load(error)
    said = json.loads(done.stdout)["expected"]["error"]
    asked = np.ones_like(mask) if sigma else ~mask
    off, expected_there = np.abs(found - picture)[asked], expected[asked].astype(np.float64)
    true = float(np.sqrt(np.mean((found - picture) ** 2)))
    return {"said": said, "true": true, "off_db": float(20 * np.log10(true / said)),
            "within_1": float(np.mean(off <= expected_there)),
            "within_2": float(np.mean(off <= 2 * expected_there)),
            "area": area(np.argsort(-expected_there, kind="stable"), off ** 2),
            "area_ideal": area(np.argsort(-off, kind="stable"), off ** 2)}


def summary(rows):
    """A row for each preset, rate and noise."""
    keys = ("preset", "rate", "sigma")
    rows = [{**row, "within_1_db": abs(row["off_db"]) <= 1} for row in rows]
    table = means(rows, keys, ("within_1_db", "off_db", "within_1", "within_2", "area", "area_ideal"))
    for row in table:
        row["pictures"] = sum(all(r[key] == row[key] for key in keys) for r in rows)
    return table


def kept(path, presets):
    """Rows of an earlier run, but for these presets."""
    if not Path(path).is_file():
        return []
    return [row for row in json.loads(Path(path).read_text())["rows"]
            if row["preset"] not in presets]


def main():
    arguments = common.arguments(
        __doc__, "uncertainty.json", images=None, presets=([*PRESETS], "presets or methods"),
        rates=[*RATES], pictures=[*pictures.FIVE, *net_kinds.ALL],
        more=(False, "keep the rows of other presets in the file"))
    found, source = pictures.load(arguments.images, arguments.pictures)
    rows = kept(arguments.json, arguments.presets) if arguments.more else []
    for name, picture in found:
        for preset in arguments.presets:
            rows += [{"picture": name, "preset": preset, "rate": rate, "sigma": sigma,
                      **measure(str(Path(arguments.build) / "csrecover"), preset,
                                np.asarray(picture, np.float64), rate, sigma)}
                     for rate in arguments.rates for sigma in SIGMAS]
        print(name, file=sys.stderr, flush=True)
    table = summary(rows)
    for row in table:
        print(f"{row['preset']:9s} {100 * row['rate']:3.0f} % {row['sigma']:3.0f}: within 1 dB "
              f"{100 * row['within_1_db']:3.0f} %, mean {row['off_db']:5.2f} dB, coverage "
              f"{100 * row['within_1']:3.0f} {100 * row['within_2']:3.0f} %, area {row['area']:.3f} "
              f"({row['area_ideal']:.3f})")
    common.save(arguments, source=source, summary=table, rows=rows)


if __name__ == "__main__":
    main()
