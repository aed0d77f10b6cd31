# SPDX-License-Identifier: BSD-3-Clause
"""Type checkers find the mistakes of calls_typed.py and no others; their names are the library's."""
import inspect
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import csrecover
from csrecover import _typing

CALLS = Path(__file__).with_name("calls_typed.py")
PACKAGE = Path(csrecover.__file__).parent


def expected():
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def checked(name, *arguments):
    if find_spec(name) is None:
        pytest.skip(f"no {name} to check with")
    return subprocess.run([sys.executable, "-m", name, *arguments], capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent)}, timeout=280)


def test_mypy(tmp_path):
    done = checked("mypy", "--ignore-missing-imports", "--no-error-summary",
                   f"--cache-dir={tmp_path}", str(CALLS))
    found = re.findall(r"^(.*?):(\d+): error: (.*)$", done.stdout, re.M)
    assert {int(line) for path, line, _ in found if path.endswith(CALLS.name)} == expected(), \
        done.stdout + done.stderr
    others = [line for line in found if not line[0].endswith(CALLS.name)]
    assert not others, others


def test_pyright():
    done = checked("pyright", "--outputjson", "--pythonpath", sys.executable, str(CALLS))
    try:
        told = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        pytest.skip(f"pyright does not run: {(done.stderr or done.stdout).strip()[-200:]}")
    found = {each["range"]["start"]["line"] + 1 for each in told if each["severity"] == "error"}
    assert found == expected(), told


def options():
    return {**_typing.CommonOptions.__annotations__, **_typing.RecoverOptions.__annotations__}


def test_parameters_are_those_of_the_tables():
    tables = csrecover.methods(), csrecover.solvers(), csrecover.bases()
    wanted = {name + "_" * (name == "lambda")
              for table in tables for row in table.values() for name in row.parameters}

    own = set(inspect.signature(csrecover.recover).parameters)
    own -= {"y", "mask", "return_info", "return_uncertainty", "params"}
    assert set(options()) == own | wanted


@pytest.mark.parametrize("name", ("quality", "order", "columns", "backend"))
def test_names_are_those_that_the_library_takes(rng, name):
    shown = options()[name]
    words = re.findall(r"'([a-z-]+)'", getattr(shown, "__forward_arg__", str(shown)))
    image = csrecover.datasets.picture("discs", 24)
    mask = rng.random(image.shape) < 0.5
    with pytest.raises(csrecover.CsrecError) as refused:
        csrecover.recover(image[mask], mask, **{name: "none-of-them"})
    listed = str(refused.value).split("use ")[-1].removeprefix("one of ")
    assert words and all(re.search(rf"\b{word}\b", listed) for word in words), refused.value
    if name == "quality":
        assert ", ".join(words) == listed
