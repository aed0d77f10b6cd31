# SPDX-License-Identifier: BSD-3-Clause
"""The command lines that the tests of failures run: one row each.

Every file name is relative to a folder of inputs (harness.Inputs). `results` are the files that a
command writes; `keeps` those that an unfinished run may leave, because the same command goes on from
them. `inputs` above 1: each input has its results, and fails by itself. A preset is named once, by the
row of its name, and the others recover by the fastest: most of a row's runs are the recovery, and what
a row tries beside it is the same by any preset.
"""

import dataclasses
from typing import Optional, Sequence


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    line: str
    results: Sequence[str] = ()
    keeps: Sequence[str] = ()
    stdin: Optional[str] = None
    inputs: int = 1


COMMANDS = (
    Command("sample", "cssample photo.png -o new.npz --rate 0.3 --mask-out new.png -q",
            ("new.npz", "new.png")),
    Command("sample-array", "cssample volume.npy -o new.npz --count 400 --noise 0.01 --pattern jitter "
            "--procedural --mask-out new.npy -q", ("new.npz", "new.npy")),
    Command("sample-pipe", "cssample - -o - --rate 0.2 -q", stdin="photo.png"),
    Command("sample-json", "cssample photo.png -o new.npz --rate 0.3 --json -q", ("new.npz",)),
    Command("next", "cssample scan.npz --next 50 -o new.csv --density mask.png --path -q", ("new.csv",)),
    Command("next-json", "cssample scan.npz --next 50 -o new.npz --json -q", ("new.npz",)),
    Command("png", "csrecover scan.npz -o new.png --quality fast -q", ("new.png",)),
    Command("merge", "csrecover scan.npz scan.npz --merge -o new.npy --quality fast -q", ("new.npy",)),
    Command("npy", "csrecover scan.npz -o new.npy --quality fast -q", ("new.npy",)),
    Command("uncertainty", "csrecover scan.npz -u new.npy --quality fast -q", ("new.npy",)),
    Command("balanced", "csrecover scan.npz -o new.png --quality balanced -q", ("new.png",)),
    Command("best", "csrecover scan.npz -o new.png --quality best -q", ("new.png",)),
    Command("coefficients", "csrecover scan.npz -o new.npy -C new.npz --shifts 1 -q",
            ("new.npy", "new.npz")),
    Command("report", "csrecover scan.npz -o new.png --reference truth.png --report new.html "
            "--plot new.svg --quality fast -q", ("new.png", "new.html", "new.svg")),
    Command("plot", "csrecover scan.npz --plot new.png --shifts 2 -q", ("new.png",)),
    Command("folder", "csrecover scans/a.npz scans/b.npz -o out/ --report out/ --quality fast -q",
            ("out/a.png", "out/b.png", "out/a.html", "out/b.html"), inputs=2),
    Command("resume", "csrecover scans/a.npz scans/b.npz -o out/ --resume --quality fast -q",
            ("out/a.png", "out/b.png"), inputs=2),
    Command("mask", "csrecover truth.png --mask mask.png -o new.png --quality fast -q", ("new.png",)),
    Command("csv", "csrecover scan.csv -o new.npy --quality fast -q", ("new.npy",)),
    Command("pipe", "csrecover - -o - --format png --quality fast -q", stdin="scan.npz"),
    Command("json", "csrecover scan.npz -o new.npy --json --history --shifts 1 -q", ("new.npy",)),
    Command("info", "csrecover scan.npz --info --json"),
    Command("omp", "csrecover scan.npz -o new.npy --solver omp --atoms 20 -q", ("new.npy",)),
    Command("fista", "csrecover scan.npz -o new.npy --solver fista --basis wavelet -q",
            ("new.npy",)),
    Command("dct", "csrecover scan.npz -o new.npy --solver iht --basis dct --atoms 20 -q",
            ("new.npy",)),
    Command("model-pca", "csrecover face.npz -o new.png --model pca.npz -q", ("new.png",)),
    Command("pca", "cslearn pca faces -o new.npz --plot new.png --components 3 -q",
            ("new.npz", "new.png")),
    Command("bench-phase", "csbench phase -o new.npz --plot new.svg -s omp -s iht -n 16 -g 2 -T 2 "
            "--fresh -q", ("new.npz", "new.svg"), keeps=("new.npz",)),
    Command("bench-coherence", "csbench coherence -n 16 --plot new.svg --json", ("new.svg",)),
    Command("man", "csrecover --man"),
    Command("man-commands", "cslearn --man"),
    Command("help", "csrecover --help"),
    Command("list", "csrecover --list"),
    Command("completion", "cssample --completion bash"),
    Command("devices", "csrecover --list-devices"),
    Command("model-info", "cslearn info pca.npz --json"),
)

# What is learned and sampled once, for the commands above: run in this order in the folder of inputs.
PREPARATION = (
    "cslearn pca faces -o pca.npz --components 3 -q",
    "cssample faces/0.png -o face.npz --rate 0.3 -q",
)
