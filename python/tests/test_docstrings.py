# SPDX-License-Identifier: BSD-3-Clause
"""The examples of docstrings run, and docstrings have what numpydoc wants of every argument."""
import doctest
import inspect
import pydoc

import numpy as np
import pytest

import csrecover
from csrecover import datasets

# Missing or unknown parameters and sections of results; sections out of order, without a period.
WANTED = ("GL07", "GL08", "PR01", "PR02", "PR05", "PR10", "RT01", "RT03", "SS01", "SS03", "SS04")
WITHOUT = ("Atoms", "Progress", "Placement", "Measurement", "Model", "Operator", "RecoverInfo",
           "Solution", "Tiles", "Track")  # what functions return


def public():
    found = {name: getattr(csrecover, name) for name in csrecover.__all__ if name != "datasets"}
    found.update({f"datasets.{name}": getattr(datasets, name) for name in datasets.__all__})
    return {name: thing for name, thing in found.items() if callable(thing) and not (
        inspect.isclass(thing) and issubclass(thing, (BaseException, Warning)))}


@pytest.mark.parametrize("name", sorted(set(public()) - set(WITHOUT)))
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(public()[name])
    test = doctest.DocTestParser().get_doctest(text, {"csrecover": csrecover, "np": np}, name, None,
                                               None)
    assert test.examples, f"{name} has no example"
    told = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("name", sorted(set(public()) - set(WITHOUT)))
def test_every_argument_is_told(name):
    validate = pytest.importorskip("numpydoc.validate")
    thing = public()[name]
    found = validate.validate(f"{thing.__module__}.{thing.__qualname__}")["errors"]
    assert not [error for error in found if error[0] in WANTED]


def test_what_is_public_is_listed():
    assert dir(csrecover) == sorted([*csrecover.__all__, "__version__"])
    shown = pydoc.plain(pydoc.render_doc(csrecover.recover)).splitlines()
    assert len(shown) < 90 and any(">>>" in line for line in shown[:8])  # examples are on its first screen
