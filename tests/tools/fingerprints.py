#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fingerprints.py FOLDER - every option of csrecover's --help that changes a result changes the
fingerprint of the result, so that --resume recovers it again, and no other option does; so do other
bytes of each file that is read, and of the prior that is installed. A new option is to be added to
`changes` or to `keeps`."""
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from npy import npy  # noqa: E402

tools = os.path.abspath(sys.argv[1])
seed = int(os.environ.get("CSREC_TEST_SEED", time.time_ns() // 1000))
print(f"CSREC_TEST_SEED={seed}", flush=True)
draw = random.Random(seed)
environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI", "SLURM_"))}
environment["OMP_NUM_THREADS"] = "1"

# What an option is added to, and how it is given; each line differs in that option alone.
PICTURE = "a.npy -o o.npy"
FAST = PICTURE + " -Q fast"
changes = {
    "bits": ("a.npy -o o.png -Q fast --scale 0,1", "--bits 16"),
    "dtype": (FAST, "--dtype float64"),
    "scale": ("a.npy -o o.png -Q fast", "--scale 0,1"),
    "colormap": ("a.npy -o o.png -Q fast", "--colormap viridis"),
    "coefficients": (PICTURE, "-C atoms.npz"),
    "mask": ("full.npy -o o.npy -m mask.npy -Q fast", "-m mask2.npy"),
    "unknown": (FAST, "-U 0.5"),
    "grid": ("p.csv -o o.npy -Q fast", "--grid 5,6"),
    "coordinates": ("p.csv -o o.npy -Q fast --coordinates 1,2 --values 3", "--coordinates 2,1"),
    "values": ("p.csv -o o.npy -Q fast --coordinates 1 --values 3", "--values 2"),
    "cell-means": ("p.csv -o o.npy -Q fast --grid 5,6", "--cell-means"),
    "labels": ("p.csv -o o.npy -Q fast", "--labels"),
    "range": (FAST, "--range 0,1"),
    "curve": (FAST, "--curve log"),
    "channels-last": ("c.npy -o o.npy -Q fast", "-c"),
    "channels-first": ("c.npy -o o.npy -Q fast", "--channels-first"),
    "volume": ("c.npy -o o.npy -Q fast", "--volume"),
    "within": (FAST, "-w 3"),
    "fill": (FAST + " --fill mask.npy", "-F mask2.npy"),
    "guide": (FAST, "-G full.npy"),
    "no-guide": (FAST, "--no-guide"),
    "coils": ("k.cfl -o o.npy -Q fast --coils none", "--coils maps.npy"),
    "noise": ("k.cfl -o o.npy -Q fast --coils maps.npy", "--noise noise.npy"),
    "sequence": ("c.npy --volume -o o.npy", "--sequence"),
    "time-axis": ("c.npy --volume --sequence -o o.npy", "--time-axis 1"),
    "sigma": (FAST, "--sigma 0.01"),
    "robust": (FAST, "--robust"),
    "quality": (PICTURE, "-Q fast"),
    "method": (PICTURE, "--method grids"),
    "solver": (PICTURE, "-S iht"),
    "basis": (PICTURE, "-B dct"),
    "model": (PICTURE + " -M m.npz", "-M m2.npz"),
    "set": (FAST, "--set steps=3"),
    "reference-pursuit": (PICTURE + " -s 1 -k 9", "--reference-pursuit"),
    "epsilon": (PICTURE + " -s 1", "-e 0.1"),
    "atoms": (PICTURE + " -s 1", "-k 9"),
    "min-coefficient": (PICTURE + " -s 1", "--min-coefficient 0.5"),
    "columns": (PICTURE + " -s 1", "--columns paper"),
    "order": (PICTURE + " -s 1", "--order raster"),
    "shifts": (PICTURE + " -s 1", "-s 3"),
    "minutes": (PICTURE + " --method net --set steps=1", "-T 0.001"),
    "seed": (PICTURE + " -s 2", "--seed 9"),
    "memory": (FAST, "--memory 900"),
    "tile": (FAST, "--tile 1000000"),
    "backend": (FAST, "-b cpu"),
    "merge": (FAST, "b.npy --merge"),
    "reference": (FAST + " --report r.html", "-r full.npy"),
}
# What concerns the process, or adds something; None: not tried (slice: no file here has several).
keeps = {
    "output": "-o other.npy", "format": None, "report": "--report r.html", "plot": "--plot p.svg",
    "uncertainty": "-u u.npy", "history": "--history --json", "resume": "--resume",
    "no-sync": "--no-sync", "json": "--json", "verbose": "-v", "quiet": "-q", "threads": "-t 1",
    "devices": None, "slice": None, "follow": None, "info": None, "list": None, "list-devices": None, "help": None,
    "version": None, "man": None, "completion": None,
}  # fmt: skip


def run(words, tool=f"{tools}/csrecover"):
    done = subprocess.run([tool, *words.split()], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (tool, words, done.stderr)
    return done.stdout


def line_of(words, tool=f"{tools}/csrecover"):
    """The fingerprint that the output has."""
    run(words, tool)
    name = re.findall(r"-o (\S+)", words)[-1]
    with open(name, "rb") as file:
        found = re.findall(rb"csrec-fingerprint: (whole=1;[ -~]*)", file.read())
    assert found, (words, name)
    return found[-1].decode().rstrip()


def is_done(words, tool=f"{tools}/csrecover"):
    return '"skipped"' in run(words + " --resume --json", tool)


def write_npy(name, shape, known, descr="<f4"):
    """Random values, of which that share of the pixels is known; channels are the last of three axes.
    descr |u1: a mask of those that are known."""
    channels = shape[2] if len(shape) > 2 else 1
    values = []
    for _ in range(shape[0] * shape[1]):
        is_known = draw.random() < known
        one = is_known if descr == "|u1" else draw.random() if is_known else float("nan")
        values.extend([one] * channels)
    with open(name, "wb") as file:
        file.write(npy(values, shape, descr))


def write_files():
    for name in ("a.npy", "b.npy"):
        write_npy(name, (24, 28), 0.4)
    for name in ("full.npy", "full2.npy"):
        write_npy(name, (24, 28), 1.0)
    for name in ("mask.npy", "mask2.npy"):
        write_npy(name, (24, 28), 0.5, "|u1")
    write_npy("c.npy", (12, 14, 5), 0.5)
    numbers = [draw.gauss(0, 1) for _ in range(2 * 2 * 24 * 28)]  # of two coils
    with open("k.cfl", "wb") as file:
        file.write(struct.pack(f"<{len(numbers)}f", *numbers))
    with open("k.hdr", "w", encoding="ascii") as file:
        file.write("# Dimensions\n28 24 1 2\n")
    maps = [complex(1 + k % 3, k % 5) for k in range(2 * 24 * 28)]
    for name, values, shape in (("maps.npy", maps, (2, 24, 28)), ("noise.npy", [2, 0, 0, 1], (2, 2))):
        with open(name, "wb") as file:
            file.write(npy(values, shape, "<c16"))
    with open("p.csv", "w", encoding="ascii") as file:
        file.writelines(f"{x / 7},{x * x % 11},{x % 5}\n" for x in range(40))
    for model in ("m.npz", "m2.npz"):
        write_npy("stack.npy", (3, 24, 28), 1.0)
        run(f"pca stack.npy -o {model} -q", f"{tools}/cslearn")


def options_are_in_the_fingerprint():
    listed = set(re.findall(r"^  (?:-\w, |    )--([a-z-]+)", run("--help"), re.MULTILINE))
    assert len(listed) > 40 and listed == set(changes) | set(keeps), listed ^ (set(changes) | set(keeps))
    for option, (base, given) in changes.items():
        first, second = line_of(base), line_of(f"{base} {given}")
        assert first != second, (option, first)
        assert not is_done(base) and is_done(base), option
    first = line_of(FAST)
    for option, given in keeps.items():
        if given:
            assert line_of(f"{FAST} {given}") == first, option


def inputs_are_in_the_fingerprint():
    for words, name in (
        ("full.npy -o o.npy -m mask.npy -Q fast", "mask.npy"),
        (PICTURE + " -M m.npz", "m.npz"),
        (FAST + " -G mask.npy -G depth=full.npy", "full.npy"),
    ):
        first = line_of(words)
        shutil.copy(name, "kept")
        shutil.copy(name[:-4] + "2" + name[-4:], name)
        assert not is_done(words), name
        assert line_of(words) != first
        shutil.copy("kept", name)


def the_prior_is_in_the_fingerprint():
    """Of tools with a prior of their own, or none."""
    os.mkdir("own")
    for name in os.listdir(tools):
        if name == "csrecover" or (name.startswith("libcsrec") and ".so" in name):
            shutil.copy(f"{tools}/{name}", "own", follow_symlinks=False)
    environment["LD_LIBRARY_PATH"] = os.path.abspath("own")
    own = os.path.abspath("own/csrecover")
    paths = [f"{tools}/share", f"{tools}/../share/csrecover"]
    prior = next((path for path in paths if os.path.exists(path + "/prior-gray.npz")), None)
    if not prior:
        print("no prior to try")
        return
    used = [PICTURE, PICTURE + " -Q best", PICTURE + " --method net"]
    unused = [FAST, PICTURE + " -s 1", PICTURE + " -B dct", PICTURE + " -M m.npz"]
    seen = {words: [line_of(words, own)] for words in used[:2] + unused}
    for change in ("installed", "other"):
        line_of(PICTURE, own)
        os.makedirs("own/share", exist_ok=True)
        with zipfile.ZipFile(f"{prior}/prior-gray.npz") as old:
            with zipfile.ZipFile("own/share/prior-gray.npz", "w") as new:
                for name in old.namelist():  # the same weights; another date is other bytes
                    date = (2001 if change == "other" else 2000, 1, 1, 0, 0, 0)
                    new.writestr(zipfile.ZipInfo(name, date), old.read(name))
        assert not is_done(PICTURE, own), change
        assert is_done(PICTURE, own), change
        for words in used + unused:
            seen.setdefault(words, []).append(line_of(words, own))
    for words, lines in seen.items():
        assert len(set(lines)) == (len(lines) if words in used else 1), (words, lines)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    write_files()
    for test in (
        options_are_in_the_fingerprint,
        inputs_are_in_the_fingerprint,
        the_prior_is_in_the_fingerprint,
    ):
        begin = time.time()
        test()
        print(f"{test.__name__}: {time.time() - begin:.1f} s", flush=True)
    os.chdir("/")
