# SPDX-License-Identifier: BSD-3-Clause
"""The notebooks of docs/examples run, and print what they show."""
import importlib.util
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples"
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def numbers(text):
    return [(float(one), 10.0 ** -len(one.partition(".")[2])) for one in NUMBER.findall(text)]


@pytest.mark.parametrize("name, needs", (("scikit-image", ("skimage", "matplotlib")),
                                         ("hyperspy", ("hyperspy",)),
                                         ("deepinverse", ("deepinv", "matplotlib"))))
def test_notebook(name, needs, monkeypatch):
    for package in ("nbclient", "ipykernel", *needs):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"no {package} to run the notebook with")
    monkeypatch.syspath_prepend(str(FOLDER))
    # The kernel is a new process: it finds this package where this one did.
    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    import nbformat
    from execute import executed, printed
    path = FOLDER / f"{name}.ipynb"
    kept, found = printed(nbformat.read(path, as_version=4)), printed(executed(path))
    assert NUMBER.sub("", found) == NUMBER.sub("", kept)
    # Other versions of the packages beside ours may change the last digits.
    for (new, unit), (old, _) in zip(numbers(found), numbers(kept)):
        assert abs(new - old) <= 0.05 * old + unit, f"{found}\nis not what the notebook shows:\n{kept}"
