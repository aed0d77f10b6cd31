#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""draw.py BUILD [--count N] [--only I] - random commands of cssample and csrecover.

Options, choices, parameters and their ranges are read from --help, --list and from what the tools say
about wrong values, so that new ones are drawn too. Values are ends of the ranges, numbers just inside
and outside, and others; signals have 1 to 4 axes of 1 to 64 entries, one sample, all of them or some,
one value or many, channels, noise, complex values, and every operator. Each command must

  end by itself, or after the interrupt that it gets after SECONDS, with exit code 0, 1 or 2 (130 after
  the interrupt), and without a word from a sanitizer;
  exit 0: the output is there, finite, of the right shape; samples without noise are in it, where the
          method keeps them; --json is JSON; three threads give the same values as one;
  exit 1 or 2: one line of error, and no file.

Command I of a seed is the same whatever the count: --only I repeats it and keeps its folder.
"""

import argparse
import json
import math
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import harness

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from npy import npy, npz, read_npy  # noqa: E402

SECONDS, GRACE = 15, 300
KEEPS = ("frames", "gaussian", "net")
SANITIZER = re.compile(r"Sanitizer|runtime error:")
# Drawn by themselves below, ending the program, or for other machines.
NOT_DRAWN = {"output", "threads", "json", "quiet", "quality", "method", "solver", "basis", "set", "help",
             "version", "man", "completion", "list", "list-devices", "info", "resume", "devices", "backend",
             "model", "mask", "unknown", "merge", "grid", "history", "format", "reference",
             "next", "density", "even", "path", "operator", "matrix", "coils", "kernel", "count", "rate",
             "block", "factor", "mask-out", "channels-last", "channels-first", "volume",
             "within", "fill", "verbose", "scale"}


# ---------------------------------------------------------------------- what the tools say


class Tool:
    """The options of a tool: name to ("flag", "choice", names), ("number", low, high, whole) or text."""

    def __init__(self, build, name, probe):
        self.name, self.options = name, {}
        text = subprocess.run(build.words(f"{name} --help"), capture_output=True, text=True,
                              check=True).stdout
        for row in re.split(r"\n(?=  (?:-\w,|   ) --)", text)[1:]:
            row = row.split("\n\n")[0]
            option, argument = re.match(r"\s*(?:-\w,)?\s*--([\w-]+)(?: (\S+))?", row).groups()
            names = re.search(r"One\s+of:\s+([^.]*)\.", row)
            if names:
                self.options[option] = ("choice", re.split(r",\s+", " ".join(names[1].split())))
            elif not argument or argument.islower():
                self.options[option] = ("flag",)
            elif argument != "FILE" and option not in NOT_DRAWN:
                self.options[option] = self.ask(build, option, probe)

    def ask(self, build, option, probe):
        said = subprocess.run([*build.words(self.name), *probe, f"--{option}", "x"], capture_output=True,
                              text=True, check=False).stderr
        found = re.search(r"not a (whole )?number from (\S+) to (\S+)\s", said)
        return ("number", number(found[2]), number(found[3]), bool(found[1])) if found else ("text",)


def parameters(build, scan):
    """Of each row of --list: {(kind, name): [(parameter, low, high, whole)]}."""
    text = subprocess.run(build.words("csrecover --list"), capture_output=True, text=True,
                          check=True).stdout
    found, kind, row = {}, None, None
    for line in text.splitlines():
        head = re.match(r"(Methods|Solvers|Bases) ", line)
        if head:
            kind = {"Methods": "method", "Solvers": "solver", "Bases": "basis"}[head[1]]
        elif re.match(r"  \w", line):
            row = line.split()[0]
            found[kind, row] = []
        elif re.match(r" +--set \w+=", line):
            key = re.search(r"--set (\w+)=", line)[1]
            option = ["--basis", "dct"] if (kind, row) == ("solver", "threshold") else []
            said = subprocess.run([*build.words("csrecover"), str(scan), *option, f"--{kind}", row, "--set",
                                   f"{kind}.{key}=-1e301", "--json"], capture_output=True, text=True,
                                  check=False).stderr
            ends = re.search(r"must be (a whole number, )?(\S+) to (\S+)", said)
            low, high = (number(ends[2]), number(ends[3])) if ends else (0.0, 100.0)
            found[kind, row].append((key, low, high, bool(ends and ends[1])))
    return found


def number(text):
    """Of a message: 0.5, 1e+300 or 2^53."""
    base, _, power = text.rstrip(";,.").partition("^")
    return float(base) ** float(power or 1)


def draw_number(rng, low, high, whole):
    """Mostly small numbers of the range: others are slow or refused."""
    near = min(high, low + 8 if whole else low + 1)
    value = rng.choice([low, near, rng.uniform(low, near), rng.uniform(low, near), high,
                        low - 1, high + 1, math.nextafter(low, math.inf), math.nextafter(high, -math.inf),
                        rng.uniform(low, high), low + 1, low + 2])
    if whole and rng.random() < 0.95:
        value = round(value)
    return f"{value:d}" if isinstance(value, int) else f"{value:.17g}"


# ---------------------------------------------------------------------- signals


def draw_shape(rng):
    dims = rng.choice([1, 2, 2, 2, 3, 4])
    most = {1: 64, 2: 64, 3: 16, 4: 8}[dims]
    shape = [rng.choice([1, 8, 9, rng.randint(8, most), rng.randint(1, most)]) for _ in range(dims)]
    return [min(n, most) for n in shape]


def draw_values(rng, count):
    kind = rng.choice(["one", "wave", "wave", "bytes", "bytes", "noise", "wide", "zero"])
    scale = rng.choice([1.0, 1.0, 1.0, 1e-30, 1e30, 1e300, 1e-300])
    if kind in ("one", "zero"):
        return [rng.uniform(-9, 9) * scale if kind == "one" else 0.0] * count
    if kind == "bytes":
        return [float(round(127 + 100 * math.sin(i / 5.0))) for i in range(count)]
    if kind == "wide":
        return [rng.choice([-1, 1]) * 10.0 ** rng.randint(-12, 12) for _ in range(count)]
    noise = 1.0 if kind == "noise" else 0.01
    return [scale * (math.sin(i / 7.0) + noise * rng.gauss(0, 1)) for i in range(count)]


class Scan:
    """An input in the folder: its words, and what the output must be."""

    def __init__(self, rng, folder, build):
        self.rng, self.folder, self.build = rng, folder, build
        self.shape, self.channels, self.complex = draw_shape(rng), 1, False
        self.samples = {}  # flat entry to value, of samples without noise
        self.known = set()  # positions of which there are samples, where the test has placed them
        rng.choice([self.points, self.points, self.points, self.array, self.through, self.through])()

    @property
    def entries(self):
        return math.prod(self.shape)

    def points(self):
        rng, extra = self.rng, {}
        self.channels = rng.choice([1, 1, 1, 2, 3, 4])
        self.complex = rng.random() < 0.1
        n = rng.choice([1, 2, self.entries, max(1, self.entries // 4), rng.randint(1, self.entries)])
        n = min(n, self.entries)
        index = sorted(rng.sample(range(self.entries), n))
        self.known = set(index)
        y = draw_values(rng, n * self.channels)
        if rng.random() < 0.3:
            extra["sigma"] = npy([rng.choice([0.0, 0.01, 5.0, 1e300])], ())
        if rng.random() < 0.3:
            extra["scale"] = npy(rng.choice([[0.0, 255.0], [-1.0, 1.0], [5.0, -5.0]]), (2,))
        if not self.complex and "sigma" not in extra:
            self.samples = {i * self.channels + c: y[k * self.channels + c]
                            for k, i in enumerate(index) for c in range(self.channels)}
        if self.complex:
            y = [complex(v, w) for v, w in zip(y, reversed(y))]
        extents = (n, self.channels) if self.channels > 1 else (n,)
        npz(self.folder / "in.npz", y=npy(y, extents, "<c16" if self.complex else "<f8"),
            shape=npy(self.shape, (len(self.shape),), "<i8"), index=npy(index, (n,), "<i8"), **extra)
        self.words = ["in.npz"]

    def array(self):
        """A whole array with NaN or a mask."""
        values = draw_values(self.rng, self.entries)
        known = [self.rng.random() < 0.5 for _ in values]
        self.words = ["in.npy"]
        if self.rng.random() < 0.5:
            (self.folder / "mask.npy").write_bytes(npy(known, self.shape, "|b1"))
            self.words += ["--mask", "mask.npy"]
        else:
            values = [v if k else math.nan for v, k in zip(values, known)]
        self.samples = {i: v for i, (v, k) in enumerate(zip(values, known)) if k}
        self.known = set(self.samples)
        (self.folder / "in.npy").write_bytes(npy(values, self.shape))

    def through(self):
        """By cssample, through an operator; what it refuses is sampled by points."""
        rng = self.rng
        values = draw_values(rng, self.entries)
        name = rng.choice(SAMPLE.options["operator"][1])
        complex_in = name == "fourier" and rng.random() < 0.4
        (self.folder / "in.npy").write_bytes(
            npy([complex(v, -v) for v in values] if complex_in else values, self.shape,
                "<c16" if complex_in else "<f8"))
        words = ["in.npy", "-o", "in.npz", "--operator", name, "-q"]
        if name == "matrix" and rng.random() < 0.5:
            words += ["--block", ",".join(str(rng.choice([1, 2, n])) for n in self.shape)]
        if name == "downsample":
            words += ["--factor", ",".join(str(rng.choice([1, 2, 3])) for _ in self.shape)]
        elif rng.random() < 0.8:
            words += ["--rate", rng.choice(["1", "0.5", "0.25", "1e-9"])]
        else:
            words += ["--count", rng.choice(["1", "2", str(self.entries), str(self.entries + 1)])]
        if name == "blur":
            extents = [rng.choice([1, 2, 3]) for _ in self.shape]
            (self.folder / "kernel.npy").write_bytes(
                npy([rng.random() for _ in range(math.prod(extents))], extents))
            words += ["--kernel", "kernel.npy"]
        words += drawn_options(rng, SAMPLE, 0.15)
        outcome = run(self.build, ["cssample", *words], self.folder)
        complaints = list(judge_end(outcome, self.folder, {"in.npz"} if outcome.code == 0 else set(),
                                    {p.name for p in self.folder.iterdir()} - {"in.npz"}))
        if complaints:
            raise Wrong(["cssample", *words], complaints)
        if outcome.code != 0:
            self.points()
            return
        self.complex = complex_in
        self.words = ["in.npz"]


class Wrong(Exception):
    """words, and what is wrong with their run"""


def drawn_options(rng, tool, share):
    words = []
    for name, (kind, *more) in sorted(tool.options.items()):
        if name in NOT_DRAWN or rng.random() > share or kind == "text":
            continue
        if kind == "flag":
            words.append(f"--{name}")
        elif kind == "choice":
            words += [f"--{name}", rng.choice(more[0])]
        else:
            words += [f"--{name}", draw_number(rng, *more)]
    return words


def drawn_method(rng):
    """A preset, a method, a solver with or without a basis, or nothing, with parameters of theirs."""
    options, words, rows = RECOVER.options, [], []
    kind = rng.choice(["quality", "method", "method", "solver", "solver", "solver", ""])
    if kind == "quality":
        words += ["--quality", rng.choice(options["quality"][1][:2])]  # the others take minutes
    elif kind:
        rows = [(kind, rng.choice(options[kind][1]))]
        if kind == "solver" and rng.random() < 0.7:
            rows.append(("basis", rng.choice(options["basis"][1])))
        for row in rows:
            words += [f"--{row[0]}", row[1]]
    for row in rows:
        for key, low, high, whole in PARAMETERS.get(row, []):
            if rng.random() < 0.4:
                words += ["--set", f"{rng.choice(['', row[0] + '.'])}{key}={draw_number(rng, low, high, whole)}"]
    return words


# ---------------------------------------------------------------------- runs


def run(build, words, folder, threads=1):
    """An outcome; what takes long is interrupted, and code is None if it does not end then."""
    process = subprocess.Popen([str(build.folder / words[0]), *words[1:]], cwd=folder,
                               env=harness.environment(threads), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    code = 0
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            code = None
    if code == 0:
        code = process.returncode
    return harness.Outcome(code, out, err.decode(errors="replace"), {}, 0)


def judge_end(outcome, folder, wanted, before):
    """Complaints that any command may give; wanted: files of a success."""
    if outcome.code is None:
        yield f"did not end within {GRACE} s after an interrupt"
    elif outcome.code not in (0, 1, 2, 130):
        yield f"ended with {harness.signal_name(outcome.code)}: {outcome.err[-2000:]}"
    if SANITIZER.search(outcome.err):
        yield outcome.err[-4000:]
    left = {p.name for p in folder.iterdir() if not harness.LOCK.fullmatch(p.name)} - before
    if outcome.code in (1, 2):
        lines = [line for line in outcome.err.splitlines() if ": warning: " not in line]
        if len(lines) != 1 or not re.match(r"cs\w+: \S", lines[0]):
            yield f"exit {outcome.code} with {len(lines)} lines: {outcome.err[:600]!r}"
        if left and "; written: " not in outcome.err:
            yield f"exit {outcome.code} and left {sorted(left)}"
        if outcome.out and "; written: " not in outcome.err:
            yield f"exit {outcome.code} and standard output {outcome.out[:100]!r}"
    elif outcome.code == 0 and wanted - left:
        yield f"exit 0 without {sorted(wanted - left)}"


def all_finite(scan, words, values):
    """Frames stay unknown, all of them NaN, where they and the frames around have no samples."""
    frames = scan.shape[0] if "--sequence" in words else 1
    size, entries = len(values) // frames, scan.entries // frames
    known = {i // entries for i in scan.known}
    for t in range(frames):
        frame = values[t * size:(t + 1) * size]
        unknown = frames > 1 and t not in known and all(map(math.isnan, frame))
        if not unknown and not all(map(math.isfinite, frame)):
            return False
    return True


def judge_output(scan, words, outcome, folder):
    """Complaints about a result."""
    try:
        told = json.loads(outcome.out)
    except ValueError:
        yield f"no JSON: {outcome.out[:300]!r}"
        return
    shape, kind, values = read_npy(folder / "out.npy")
    wanted = (*scan.shape, *((scan.channels,) if scan.channels > 1 else ()))
    if shape != wanted:
        yield f"shape {shape}, not {wanted}"
    if not all_finite(scan, words, values):
        yield "values are not finite"
    if told["method"] not in KEEPS or outcome.code != 0 or kind[0] != "f" or kind[0] == "c" or told["sigma"]:
        return
    if {"--sigma", "--robust", "--channels-last"} & set(words):
        return
    most = max((abs(v) for v in scan.samples.values()), default=0.0)
    for place, value in scan.samples.items():
        if abs(values[place] - value) > 1e-6 * most:
            yield f"method {told['method']}: sample {place} is {value:g}, and {values[place]:g} in the result"
            return


def try_command(rng, build, folder):
    """Raises Wrong; else returns the exit code."""
    scan = Scan(rng, folder, build)
    before = {p.name for p in folder.iterdir()}
    wanted, words = {"out.npy"}, ["csrecover", *scan.words, "-o", "out.npy", "--json", "-q"]
    for option, name in (("--report", "page.html"), ("--plot", "plot.svg"), ("--plot", "plot.png"),
                         ("--uncertainty", "map.npy"), ("--coefficients", "atoms.npz")):
        if rng.random() < 0.08 and option not in words:
            words += [option, name]
            wanted.add(name)
    if rng.random() < 0.1:
        words.append("--history")
    words += drawn_method(rng) + drawn_options(rng, RECOVER, 0.04)
    outcome = run(build, [*words, "--threads", "1"], folder)
    complaints = list(judge_end(outcome, folder, wanted, before))
    if not complaints and (folder / "out.npy").exists():
        complaints = list(judge_output(scan, words, outcome, folder))
    if not complaints and outcome.code == 0 and "--minutes" not in words:
        first = (folder / "out.npy").read_bytes()
        again = run(build, [*words, "--threads", "3"], folder, threads=3)
        complaints = list(judge_end(again, folder, set(), before | wanted))
        if not complaints and again.code == 0 and (folder / "out.npy").read_bytes() != first:
            complaints = ["three threads give other values"]
    if complaints:
        raise Wrong(words, complaints)
    return outcome.code


def main():
    global RECOVER, SAMPLE, PARAMETERS
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--only", type=int, help="the number of one command, whose folder is kept")
    arguments = parser.parse_args()
    build = harness.Build.of(arguments.build)
    seed, codes, wrong = harness.seed(), {}, 0
    with tempfile.TemporaryDirectory(prefix="csrec-draw-") as name:
        root = pathlib.Path(name)
        probe = root / "probe.npz"
        npz(probe, y=npy([float(i % 7) for i in range(64)], (64,)),
            shape=npy([8, 16], (2,), "<i8"), index=npy(range(0, 128, 2), (64,), "<i8"))
        RECOVER = Tool(build, "csrecover", [str(probe), "--json"])
        SAMPLE = Tool(build, "cssample", [str(probe), "-o", "none.npz", "--rate", "1"])
        PARAMETERS = parameters(build, probe)
        numbers = range(arguments.count) if arguments.only is None else [arguments.only]
        for number in numbers:
            folder = root / str(number)
            folder.mkdir()
            try:
                code = try_command(random.Random(f"{seed} {number}"), build, folder)
                codes[code] = codes.get(code, 0) + 1
            except Wrong as found:
                wrong += 1
                words, complaints = found.args
                print(f"WRONG command {number} (--only {number}): {' '.join(words)}\n      "
                      + "\n      ".join(complaints), flush=True)
            if arguments.only is not None:
                kept = pathlib.Path(tempfile.mkdtemp(prefix="csrec-drawn-"))
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                print(f"its files are in {kept}")
            shutil.rmtree(folder)
    ends = ", ".join(f"exit {code}: {n}" for code, n in sorted(codes.items()))
    print(f"{len(numbers)} commands; {ends}; {wrong} wrong", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
