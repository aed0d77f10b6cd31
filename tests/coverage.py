#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""coverage.py BUILD SOURCES - branch coverage by file from gcov's counts, the error branches that were
never taken, and their share. An error branch is a line that reports or passes on a failure."""

import collections
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ERROR = re.compile(r"\b(csrec_fail|csrec_output_failed|cli_failure|cli_job_fail|cli_usage|refuse|"
                   r"no_memory)\(|return CSREC_(MEMORY|FILE|DATA|ARGUMENT|UNSUPPORTED|DEVICE)\b")
PASSED_ON = re.compile(r"^\s*if \((status|code|!?\w+)\) return (status|code|false|NULL)\b")


def reports(build):
    """gcov's report of every object of the build."""
    for counts in sorted(pathlib.Path(build).resolve().rglob("*.gcda")):
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["gcov", "--json-format", "--branch-probabilities", str(counts)],
                           cwd=place, capture_output=True, check=False)
            for report in pathlib.Path(place).glob("*.gcov.json.gz"):
                yield json.loads(gzip.decompress(report.read_bytes()))


def collect(build, sources):
    """{file: {line: [count, [count of each branch]]}}, summed over the objects that hold the line."""
    files = collections.defaultdict(dict)
    root = pathlib.Path.cwd()
    for report in reports(build):
        for entry in report["files"]:
            path = pathlib.Path(report["current_working_directory"], entry["file"]).resolve()
            if not path.is_relative_to(root / sources):
                continue
            lines = files[str(path.relative_to(root))]
            for line in entry["lines"]:
                seen = lines.setdefault(line["line_number"], [0, []])
                seen[0] += line["count"]
                taken = [branch["count"] for branch in line["branches"] if not branch["throw"]]
                pairs = zip(taken, seen[1]) if len(taken) == len(seen[1]) else ((t, 0) for t in taken)
                seen[1] = [a + b for a, b in pairs] or seen[1]
    return files


def never_taken(path, lines):
    """(number of error branches, [(line, text) of those never taken])."""
    text = pathlib.Path(path).read_text().splitlines()
    total, missed = 0, []
    for number, (count, branches) in sorted(lines.items()):
        line = text[number - 1]
        if PASSED_ON.search(line) and branches:
            total += 1
            taken = 0 not in branches
        elif ERROR.search(line) and not line.startswith(("static", "csrec_status", "int")):
            total += 1
            taken = count > 0 and not (line.lstrip().startswith("if ") and 0 in branches)
        else:
            continue
        if not taken:
            missed.append((number, line.strip()))
    return total, missed


def main():
    files = collect(sys.argv[1], sys.argv[2])
    branches = taken = errors = 0
    lists = []
    for path, lines in sorted(files.items()):
        counts = [count for _, each in lines.values() for count in each]
        total, missed = never_taken(path, lines)
        share = 100 * sum(c > 0 for c in counts) / len(counts) if counts else 100
        print(f"{share:5.1f} % of {len(counts):5} branches, {total - len(missed):3} of {total:3} "
              f"error branches  {path}")
        branches, taken = branches + len(counts), taken + sum(c > 0 for c in counts)
        errors += total
        lists += [f"{path}:{number}: {line}" for number, line in missed]
    print("\nError branches never taken:", *lists, sep="\n")
    print(f"\nbranches taken: {taken} of {branches} ({100 * taken / max(branches, 1):.1f} %); "
          f"error branches taken: {errors - len(lists)} of {errors} "
          f"({100 * (errors - len(lists)) / max(errors, 1):.1f} %)")


if __name__ == "__main__":
    main()
