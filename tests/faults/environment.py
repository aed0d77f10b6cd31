#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""environment.py BUILD - the same command in other surroundings gives the same files.

  threads    OMP_NUM_THREADS and --threads of 1, 2, 3 and 7
  locale     LC_ALL of a language with a decimal comma, made for the test by localedef
  umask      000, 027, 077: new results have the modes that are left of 0666
  folder     the working folder is another one, and all names are relative to it
  variables  TMPDIR unset and of a missing folder, HOME unset, none but OpenBLAS's
  streams    stdin, stdout and stderr closed, each and all: no file gets what was printed
  limits     a folder that cannot be written, a full disk, RLIMIT_FSIZE, RLIMIT_AS: exit 1, one line,
             and files as they were

What this system cannot do (no localedef, no mount) is named, and left out.
"""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import commands
import harness

NAMES = ("sample", "sample-array", "png", "best", "balanced", "coefficients", "omp", "fista", "dct",
         "csv", "model-pca", "pca")
THREADS = (1, 2, 3, 7)
CLOSED = ((0,), (1,), (2,), (0, 1, 2))


class Matrix:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.before = harness.snapshot(folder)
        self.findings = harness.Findings()
        self.runs = 0
        self.good = {}

    def run(self, command, words=None, cwd=None, env=None, **options):
        """(exit code, standard output, standard error, the files afterwards)"""
        self.runs += 1
        harness.restore(self.folder, self.before)
        options.setdefault("stdin", subprocess.DEVNULL)
        try:
            done = subprocess.run(words or self.build.words(command.line), cwd=cwd or self.folder,
                                  env=harness.environment() if env is None else env,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                  timeout=harness.HANG_SECONDS, **options)
        except subprocess.TimeoutExpired:
            return None, b"", "did not end", harness.snapshot(self.folder)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace"), (
            harness.snapshot(self.folder))

    def learn(self, command):
        code, _, err, after = self.run(command)
        if code != 0:
            sys.exit(f"{command.line}: exit code {code}: {err}")
        self.good[command.name] = after

    def same(self, command, what, result, modes=None):
        """The files are those of the usual surroundings; modes: of new ones."""
        code, _, err, after = result
        if code != 0:
            self.findings.add(command, what, f"exit code {code}: {err[:200]!r}")
        for name, value in self.good[command.name].items():
            if value and (name not in after or after[name][0] != value[0]):
                self.findings.add(command, what, f"another {name}")
            elif value and modes is not None and name in command.results and (
                    after[name][1] & 0o7777 != modes):
                self.findings.add(command, what, f"{name} has mode {after[name][1] & 0o7777:o}")
        for name in sorted(set(after) - set(self.good[command.name])):
            self.findings.add(command, what, f"left {name}")

    def refused(self, command, what, result, lines=1):
        """Exit 1, a line, and every file as it was."""
        code, _, err, after = result
        if code != 1 or not re.fullmatch(rf"(cs\w+[^\n]*\n){{{lines}}}", err):
            self.findings.add(command, what, f"exit code {code}: {err[:300]!r}")
        if after != self.before:
            self.findings.add(command, what, "files have changed")


def chosen(names=NAMES):
    return [c for c in commands.COMMANDS if c.name in names]


# ---------------------------------------------------------------------- the same bytes


def try_threads(matrix, command):
    for n in THREADS:
        env = harness.environment(n)
        env.pop("OPENBLAS_NUM_THREADS")
        matrix.same(command, f"OMP_NUM_THREADS={n}", matrix.run(command, env=env))
        if not command.line.startswith("cssample"):
            env.pop("OMP_NUM_THREADS")
            words = [*matrix.build.words(command.line), "--threads", str(n)]
            matrix.same(command, f"--threads {n}", matrix.run(command, words, env=env))


def decimal_comma(folder):
    """(LC_ALL, LOCPATH) of a locale with a decimal comma, or None."""
    made = pathlib.Path(folder) / "de_DE.UTF-8"
    try:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(made)], check=False,
                       capture_output=True)
        env = {**os.environ, "LC_ALL": "de_DE.UTF-8", "LOCPATH": str(folder)}
        seen = subprocess.run(["locale", "decimal_point"], env=env, capture_output=True, check=False)
    except OSError:
        return None
    return env if seen.stdout.strip() == b"," else None


def try_variables(matrix, command, comma):
    usual = harness.environment()
    if comma:
        env = harness.environment(LOCPATH=comma["LOCPATH"])
        env["LC_ALL"] = comma["LC_ALL"]
        matrix.same(command, "decimal comma", matrix.run(command, env=env))
    without = {k: v for k, v in usual.items() if k not in ("TMPDIR", "HOME")}
    matrix.same(command, "no TMPDIR, no HOME", matrix.run(command, env=without))
    missing = {**usual, "TMPDIR": "/no/such/folder", "HOME": "/no/such/folder"}
    matrix.same(command, "TMPDIR and HOME missing", matrix.run(command, env=missing))
    # OPENBLAS_CORETYPE chooses the code of the products, as another processor does.
    few = {k: v for k, v in usual.items() if k.startswith("OPENBLAS_")}
    matrix.same(command, "no variables", matrix.run(command, env=few))


def try_umask(matrix, command):
    for mask in (0o000, 0o027, 0o077):
        matrix.same(command, f"umask {mask:03o}", matrix.run(command, umask=mask), 0o666 & ~mask)


def try_folder(matrix, command):
    """A model names its inputs as they were given, so only the other tools' files are compared."""
    if command.line.startswith("cslearn"):
        return
    known = {name.split("/")[0] for name in (*matrix.before, *command.results)}
    tool, *rest = matrix.build.words(command.line)
    words = [tool, *(f"../{w}" if w.split("/")[0] in known else w for w in rest)]
    matrix.same(command, "another folder", matrix.run(command, words, matrix.folder / "faces"))


def closing(numbers):
    def close():
        for number in numbers:
            os.close(number)
    return close


def try_streams(matrix, command):
    for numbers in CLOSED:
        result = matrix.run(command, preexec_fn=closing(numbers))
        matrix.same(command, f"closed {numbers}", result)
    loud = command.line.replace(" -q", " --verbose")
    if "pca" not in loud:
        result = matrix.run(command, matrix.build.words(loud), preexec_fn=closing((0, 1, 2)))
        matrix.same(command, "verbose, all closed", result)


def try_printing(matrix):
    """What is printed on a closed standard output is lost, and that is a failure."""
    for name in ("json", "sample-json"):
        command = next(chosen((name,)).__iter__())
        matrix.learn(command)
        for numbers in ((1,), (0, 1), (0, 1, 2)):
            what = f"closed {numbers}"
            code, out, err, after = matrix.run(command, preexec_fn=closing(numbers))
            if code != 1 or (2 not in numbers and "stdout" not in err):
                matrix.findings.add(command, what, f"exit code {code}: {err!r}")
            matrix.same(command, what, (0, out, err, after))
    for line in ("cssample - -o new.npz --rate 0.2", "csrecover - -o new.png"):
        command = commands.Command("stdin", line, ("new.npz",))
        result = matrix.run(command, preexec_fn=closing((0,)))
        matrix.refused(command, "closed (0,)", result)


# ---------------------------------------------------------------------- limits


def limiting(kind, most):
    def limit():
        resource.setrlimit(kind, (most, most))
    return limit


def try_file_size(matrix, command):
    """Files may grow to what no result fits in."""
    for most in (0, 40):
        result = matrix.run(command, preexec_fn=limiting(resource.RLIMIT_FSIZE, most))
        matrix.refused(command, f"RLIMIT_FSIZE {most}", result)


def starts(matrix, most):
    """Whether the libraries themselves load under RLIMIT_AS, without a word."""
    done = subprocess.run(matrix.build.words("csrecover --version"), capture_output=True,
                          env=harness.environment(), check=False,
                          preexec_fn=limiting(resource.RLIMIT_AS, most))
    return done.returncode == 0 and not done.stderr


def try_address_space(matrix, command):
    """From the least under which the libraries load up to where the command succeeds."""
    least, step = 1 << 24, 1 << 18
    while not starts(matrix, least):
        least += 1 << 20
    for k in range(24):
        most = least + k * (1 + k // 4) * step
        what = f"RLIMIT_AS {most}"
        result = matrix.run(command, preexec_fn=limiting(resource.RLIMIT_AS, most))
        if result[0] == 0:
            matrix.same(command, what, result)
        elif re.fullmatch(r"\nlibgomp: .*\n", result[2]) and result[3] == matrix.before:
            continue  # the OpenMP runtime ends the process by itself
        else:
            matrix.refused(command, what, result)


def mounted(folder, options):
    """A small file system of memory, or False."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "csrec-test", str(folder)],
                          capture_output=True, check=False)
    return done.returncode == 0


def try_disk(matrix, scratch):
    """Results on a disk of 8 KiB, and on one that cannot be written."""
    for options, what in (("size=8k", "full disk"), ("ro", "read-only disk")):
        place = pathlib.Path(scratch) / what.replace(" ", "-")
        place.mkdir()
        try:
            there = mounted(place, options)
        except OSError:
            there = False
        if not there:
            print(f"left out: {what}: no file system can be mounted here")
            continue
        try:
            try_place(matrix, place, what)
        finally:
            subprocess.run(["umount", str(place)], check=False)


def try_place(matrix, place, what):
    for command in chosen(("sample-array", "npy", "coefficients", "report", "pca")):
        if what == "full disk":
            (place / "filler").write_bytes(bytes(4096))
        line = re.sub(r"\bnew\.", f"{place}/new.", command.line)
        result = matrix.run(command, matrix.build.words(line))
        matrix.refused(command, what, result)
        left = [p.name for p in place.iterdir() if p.name != "filler"]
        if [name for name in left if not name.endswith(".state")]:
            matrix.findings.add(command, what, f"left {left}")


def try_full_device(matrix):
    for line in ("csrecover scan.npz -o /dev/full --format npy", "cssample photo.png -o - -r 0.3"):
        command = commands.Command("device", line)
        words = matrix.build.words(line)
        if " - " in line:
            words = ["sh", "-c", 'exec "$@" >/dev/full', "sh", *words]
        elif not pathlib.Path("/dev/full").exists():
            continue
        result = matrix.run(command, words)
        if result[0] == 2:  # a device has no ending that names a format
            continue
        matrix.refused(command, "/dev/full", result)


def try_folder_mode(matrix):
    if os.geteuid() == 0:
        print("left out: a folder without write permission: the superuser may write there")
        return
    for command in chosen(("sample", "png", "report", "pca")):
        harness.restore(matrix.folder, matrix.before)
        matrix.folder.chmod(0o555)
        try:
            result = matrix.run(command)
        finally:
            matrix.folder.chmod(0o755)
        matrix.refused(command, "folder without write permission", result)


def main():
    build = harness.Build.of(sys.argv[1])
    with harness.inputs(build) as folder, tempfile.TemporaryDirectory() as scratch:
        matrix = Matrix(build, folder)
        comma = decimal_comma(scratch) if shutil.which("localedef") else None
        if not comma:
            print("left out: a decimal comma: localedef or the source of its locale is missing")
        for command in chosen():
            matrix.learn(command)
            try_threads(matrix, command)
            try_variables(matrix, command, comma)
            try_umask(matrix, command)
            try_folder(matrix, command)
            try_streams(matrix, command)
            try_file_size(matrix, command)
        for command in chosen(("sample", "png", "balanced", "model-pca", "pca")):
            try_address_space(matrix, command)
        try_printing(matrix)
        try_disk(matrix, scratch)
        try_full_device(matrix)
        try_folder_mode(matrix)
        matrix.findings.finish(f"{matrix.runs} runs in other surroundings")


if __name__ == "__main__":
    main()
