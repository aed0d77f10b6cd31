#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""conv.py - pictures recovered with convolutional dictionaries beside the thresholding of block
cosines, in the same run, one thread each: PSNR and seconds at 10 % and 25 %. Dictionaries: plain
cosines, filters learned from other pictures (generated ones unless --train names some), filters
learned from the samples themselves. Needs NumPy and Pillow."""
import json
import tempfile
import time
from pathlib import Path

from pictures import RATES, load, psnr, sample, synthetic

import numpy as np

import common
from table_text import table


def cosines(side, count):
    """The start of `cslearn conv`: cosines by rising frequency f, amplitudes 1 / (1 + f)."""
    k, i = np.mgrid[:side, :side]
    waves = np.cos(np.pi * k * (i + 0.5) / side)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    filters = np.einsum("ai,bj->abij", waves, waves).reshape(-1, side, side)
    f = np.hypot(*np.mgrid[:side, :side]).ravel()
    order = np.argsort(f, kind="stable")[:count]
    return {"filters": filters[order], "amplitudes": 1 / (1 + f[order])}


class Bench(common.Tools):
    def __init__(self, options, folder):
        super().__init__(options.build, folder)
        self.o, self.learning = options, {}

    def learn(self, name, inputs):
        path = self.folder / f"{name}.npz"
        start = time.monotonic()
        report = json.loads(self.run("cslearn", "conv", *inputs, "-o", path, "-k", self.o.filters, "-p",
                                     self.o.size, "-i", self.o.rounds, "-c",
                                     128 if self.o.quick else 256, "-t", 1, "--json"))
        seconds = time.monotonic() - start
        self.learning[name] = {"seconds": seconds, "rounds_a_second": report["rounds"] / seconds,
                               "objective": report["objective"]}
        print(f"learned {name}: {seconds:.1f} s, objective {report['objective'][0]:.4g} to "
              f"{report['objective'][-1]:.4g}", flush=True)
        return path

    def recover(self, scan, truth, *options):
        out = self.folder / "out.npy"
        report = json.loads(self.run("csrecover", scan, "-o", out, "-t", 1, "--json", *options))
        picture = np.load(out).reshape(truth.shape)
        return picture, psnr(picture, truth), report["seconds"]["total"]


def measure(bench, models, name, truth, rate):
    scan = bench.folder / f"{name}-{round(100 * rate)}.npz"
    mask = sample(truth, rate)
    np.savez(scan, y=truth[mask].astype(np.float32), mask=mask, scale=np.array([0.0, 255.0]))
    own = bench.learn(f"own-{name}-{round(100 * rate)}", [scan])
    ways = {"quality fast": ["--quality", "fast"], "quality balanced": ["--quality", "balanced"]}
    for label, path in {**models, "conv, own samples": own}.items():
        ways[label] = ["--basis", "conv", "--model", path]
    pictures, row = {}, {}
    for label, arguments in ways.items():
        pictures[label], decibels, seconds = bench.recover(scan, truth, *arguments)
        row[label] = {"psnr": decibels, "seconds": seconds}
        print(f"{name} {100 * rate:.0f} %: {label}: {decibels:.2f} dB, {seconds:.2f} s", flush=True)
    for label in ("conv, cosines", "conv, other pictures"):
        for weight in (0.25, 0.5):
            both = (1 - weight) * pictures["quality balanced"] + weight * pictures[label]
            row[f"{weight:g} of {label}, rest balanced"] = {
                "psnr": psnr(both, truth),
                "seconds": row["quality balanced"]["seconds"] + row[label]["seconds"]}
    return row


def show(results):
    rows = [{"way": way, "rate": r["rate"], **found} for r in results for way, found in r["ways"].items()]
    mean = {(m["way"], m["rate"]): m for m in common.means(rows, ("way", "rate"), ("psnr", "seconds"))}
    print(table(("method", *(f"dB at {100 * rate:.0f} %" for rate in RATES), "s"),
                [(way, *(f"{mean[way, rate]['psnr']:.2f}" for rate in RATES),
                  f"{mean[way, RATES[-1]]['seconds']:.2f}") for way in results[0]["ways"]]))
    for r in results:
        print(f"{r['picture']} {100 * r['rate']:.0f} %: " +
              ", ".join(f"{k} {v['psnr']:.2f}" for k, v in r["ways"].items()))


def main():
    options = common.arguments(
        __doc__, "conv_pictures.json", images=(None, "folder of *-256.png, as for pictures.py"),
        train=([], "other pictures to learn from"), filters=64, size=12, rounds=30,
        quick=(False, "128 x 128 parts, 10 rounds"))
    if options.quick:
        options.rounds = min(options.rounds, 10)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        pictures = dict(load(options.images)[0])
        if options.quick:
            pictures = {n: p[64:192, 64:192] for n, p in pictures.items()}
        train = [str(Path(name).resolve()) for name in options.train]
        if not train:
            from PIL import Image
            for seed in range(11, 16):
                train.append(str(bench.folder / f"train-{seed}.png"))
                Image.fromarray(synthetic(seed, 128).astype(np.uint8)).save(train[-1])
        plain = bench.folder / "cosines.npz"
        np.savez(plain, kind="conv", **cosines(options.size, options.filters))
        models = {"conv, cosines": plain, "conv, other pictures": bench.learn("other", train)}
        results = [{"picture": n, "rate": r, "ways": measure(bench, models, n, p, r)}
                   for n, p in pictures.items() for r in RATES]
        show(results)
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        common.save(options, quick=options.quick, learning=bench.learning, results=results)


if __name__ == "__main__":
    main()
