#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tables.py - puts the measured tables into README.md and docs, between <!-- bench:NAME --> and
<!-- /bench -->. NAME is a function of tables_*.py; the figures come from
bench/results/*.json, so that no table is typed by hand. --check changes nothing and fails if a table
is out of date; --only NAME leaves the other tables alone."""
import argparse
import json
import re
import sys
from pathlib import Path

import tables_benchmarks  # noqa: F401, fills TABLES
import tables_cuda  # noqa: F401, fills TABLES
import tables_pictures  # noqa: F401, fills TABLES
import tables_pursuit  # noqa: F401, fills TABLES
import tables_renderer  # noqa: F401, fills TABLES
import tables_solvers  # noqa: F401, fills TABLES
import tables_web  # noqa: F401, fills TABLES
from table_text import TABLES

ROOT = Path(__file__).resolve().parent.parent
# The closing comment may be missing, or lie beyond the next opening one: then it is put in.
MARKER = re.compile(r"<!-- bench:(\w+) -->\n?(?:(?:(?!<!-- bench:).)*?<!-- /bench -->)?", re.S)


def reader(folder):
    def read(name):
        try:
            data = json.loads((folder / f"{name}.json").read_text())
        except FileNotFoundError:
            sys.exit(f"tables.py: {folder / name}.json is missing; run bench/run.sh")
        if data.get("source") == "made by bench/pictures.py":
            sys.exit(f"tables.py: {folder / name}.json is of pictures made by code, the tables are of "
                     "photographs; measure with --images FOLDER")
        return data
    return read


def fill(text, results, only):
    def put(match):
        name = match.group(1)
        if only and name != only:
            return match.group(0)
        if name not in TABLES:
            sys.exit(f"tables.py: no table '{name}'; there are {', '.join(TABLES)}")
        return f"<!-- bench:{name} -->\n{TABLES[name](results)}\n<!-- /bench -->" + (
            "" if match.group(0).endswith("<!-- /bench -->") else "\n")
    return MARKER.sub(put, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="*", help="default: README.md and docs/*.md")
    parser.add_argument("--results", default=str(ROOT / "bench" / "results"))
    parser.add_argument("--only", metavar="NAME", help="leave the other tables as they are")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    results = reader(Path(arguments.results))
    pages = [Path(name) for name in arguments.file] or [ROOT / "README.md",
                                                        *sorted(ROOT.glob("docs/*.md"))]
    old = []
    for path in pages:
        before = path.read_text(encoding="utf-8")
        after = fill(before, results, arguments.only)
        if after != before:
            old.append(str(path))
        if after != before and not arguments.check:
            part = path.with_name(path.name + ".part")
            part.write_text(after, encoding="utf-8")
            part.replace(path)
        if MARKER.search(before) and not arguments.check:
            print(f"{path}: {len(MARKER.findall(before))} tables")
    if arguments.check and old:
        sys.exit(f"tables.py: tables are out of date: {', '.join(old)}")


if __name__ == "__main__":
    main()
