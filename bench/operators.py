#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""operators.py - PSNR and seconds of pictures that are measured through an operator: Hadamard's rows
in several orders, and lines of frequencies, at 25 % and 10 % (of lines 12.5 %) of the measurements;
by total variation and by plug-and-play recovery. Pictures: those of bench/pictures.py, the phantom of
Shepp and Logan (1974, with the contrast of Toft 1996), and a synthetic head with phase and four coils.
Needs NumPy; Pillow for the folder of --images. Where BART is installed (Debian's package bart), its
total variation recovers the phantom beside ours."""
import json
import os
import shutil
import subprocess
import tempfile

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import net_kinds
import pictures

# tv; pnp of at most 20 and 40 denoisings; and tv to its end, for signals that it recovers exactly
METHODS = {"fast": ("-Q", "fast"), "balanced": ("-Q", "balanced"), "best": ("-Q", "best")}
EXACT = {"exact": ("--method", "tv", "--set", "iterations=5000", "--set", "digits=8")}

# BART's best of those tried from a quarter of the lines: basis pursuit beside -R alone of any weight,
# -u from 0.001 to 30.
BART = ("-S", "-P", "0.0001", "-R", "T:3:0:1", "-i", "350", "-u", "20")

# Greedy solvers in a wavelet basis, of which a product each way is nearly all the work.
GREEDY = {"omp, 1 atom": ("omp", "--atoms", 1), "omp, 100 atoms": ("omp", "--atoms", 100),
          "omp, 1,000 atoms": ("omp", "--atoms", 1000), "iht": ("iht",), "htp": ("htp",),
          "cosamp": ("cosamp",), "romp": ("romp",)}

def grid(side):
    at = (np.arange(side) + 0.5) * 2 / side - 1
    return np.meshgrid(at, -at)


def phantom(side=256):
    return 255 * net_kinds.ellipses(*grid(side), net_kinds.HEAD)


def head(side=256):
    """Ellipses with texture and folds, and a smooth phase."""
    x, y = grid(side)
    inside = (x / .66) ** 2 + (y / .88) ** 2 <= 1
    folds = np.sin(18 * np.hypot(x, y) + 4 * np.sin(5 * np.arctan2(y, x)))
    picture = 90 * net_kinds.ellipses(x, y, net_kinds.HEAD[:1]) + inside * (30 * folds + 15 * np.cos(40 * x * y))
    picture += 70 * net_kinds.ellipses(x, y, net_kinds.HEAD[2:])
    return np.maximum(picture, 0) * np.exp(1j * (1.2 * x + 0.8 * y ** 2))


def coils(side=256, count=4):
    x, y = grid(side)
    angles = 2 * np.pi * np.arange(count) / count
    made = [np.exp(-((x - np.cos(a)) ** 2 + (y - np.sin(a)) ** 2) / 1.5 + 1j * (a + x * np.sin(a)))
            for a in angles]
    return np.array(made)


def write_cfl(path, values):
    path.with_suffix(".hdr").write_text("# Dimensions\n" + " ".join(
        str(n) for n in (*values.shape, *[1] * (16 - values.ndim))) + "\n")
    values.astype(np.complex64).T.tofile(path.with_suffix(".cfl"))


def find(found, key):
    """The first number under that key."""
    values = found.values() if isinstance(found, dict) else found
    if isinstance(found, dict) and isinstance(found.get(key), (int, float)):
        return found[key]
    inner = (find(v, key) for v in values if isinstance(v, (dict, list)))
    return next((v for v in inner if v is not None), None)


class Bench(common.Tools):
    def __init__(self, build, folder):
        super().__init__(build, folder)
        self.rows = []

    def measure(self, name, signal, what, words, rate, methods=METHODS):
        np.save(self.folder / "truth.npy", signal)
        self.run("cssample", "truth.npy", "-o", "scan.npz", "--rate", rate, *words)
        for method, chosen in methods.items():
            before = self.seconds()
            text = self.run("csrecover", "scan.npz", "-o", "out.npy", *chosen, "-r", "truth.npy",
                            "--scale", "0,255", "--json")
            error = np.linalg.norm(np.load(self.folder / "out.npy") - signal) / np.linalg.norm(signal)
            self.rows.append({"picture": name, "what": what, "rate": rate, "method": method,
                              "psnr": find(json.loads(text), "psnr"), "error": float(error),
                              "seconds": self.seconds() - before})
            print(self.rows[-1], flush=True)

    def bart(self, signal, rate):
        """The scan of the last measure by BART's pics, real parts; its k-space is centred and unitary."""
        scan, size = np.load(self.folder / "scan.npz"), signal.size
        space = np.zeros(size, complex)
        space[scan["index"]] = scan["y"]
        turned = np.fft.fftshift(np.fft.fft2(np.fft.fftshift(
            np.fft.ifft2(space.reshape(signal.shape)))))
        measured = np.fft.fftshift(np.isin(np.arange(size), scan["index"]).reshape(signal.shape))
        write_cfl(self.folder / "space", turned * measured / size ** 0.5)
        write_cfl(self.folder / "coil", np.ones(signal.shape))
        before = self.seconds()
        subprocess.run(["bart", "pics", *BART, "space", "coil", "found"], cwd=self.folder, check=True,
                       capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        spent = self.seconds() - before
        found = np.fromfile(self.folder / "found.cfl", np.complex64).reshape(signal.shape, order="F")
        error = float(np.linalg.norm(found.real - signal) / np.linalg.norm(signal))
        self.rows.append({"picture": "phantom", "what": "Fourier, lines", "rate": rate, "method": "bart",
                          "psnr": float(pictures.psnr(found.real, signal)), "error": error,
                          "seconds": spent, "options": " ".join(BART)})
        print(self.rows[-1], flush=True)

    def greedy(self, picture):
        """Processor seconds of the recovery alone, each solver with its defaults."""
        np.save(self.folder / "truth.npy", picture)
        self.run("cssample", "truth.npy", "-o", "scan.npz", "--rate", 0.25, "--operator", "hadamard",
                 "--scramble")
        found = []
        for name, words in GREEDY.items():
            before = self.seconds()
            self.run("csrecover", "scan.npz", "-o", "out.npy", "--basis", "wavelet", "--solver", *words)
            found.append({"solver": name, "seconds": self.seconds() - before})
            print(found[-1], flush=True)
        return found


def main():
    arguments = common.arguments(
        __doc__, "operators.json", images=None,
        only=("", "kinds of measurements whose name has this text"))
    chosen, source = pictures.load(arguments.images)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.build, folder)
        np.save(bench.folder / "coils.npy", coils().astype(np.complex64))
        kinds = [("Hadamard, scrambled", ["--operator", "hadamard", "--scramble"], (0.25, 0.1)),
                 ("Hadamard, sequency", ["--operator", "hadamard", "--ordering", "sequency"],
                  (0.25, 0.1)),
                 ("Hadamard, cake-cutting",
                  ["--operator", "hadamard", "--ordering", "cake-cutting"], (0.25, 0.1)),
                 ("Fourier, lines", ["--operator", "fourier"], (0.25, 0.125))]
        for what, words, rates in kinds:
            for rate in rates if arguments.only in what else ():
                for name, picture in chosen:
                    bench.measure(name, picture.astype(np.float32), what, words, rate)
        for rate in (0.25, 0.125) if arguments.only in "phantoms" else ():
            lines = ["--operator", "fourier"]
            bench.measure("phantom", phantom().astype(np.float32), "Fourier, lines", lines, rate,
                          METHODS | EXACT)
            if rate == 0.25 and shutil.which("bart"):
                bench.bart(phantom(), rate)
            bench.measure("head", head().astype(np.complex64), "Fourier, lines, 4 coils",
                          [*lines, "--coils", "coils.npy"], rate)
        found = {"machine": common.describe(arguments.build), "source": source, "rows": bench.rows}
        if arguments.only in "greedy":
            found["greedy"] = {"machine": found["machine"],
                               "rows": bench.greedy(chosen[0][1].astype(np.float32))}
    common.write(arguments.json, found)


if __name__ == "__main__":
    main()
