# SPDX-License-Identifier: BSD-3-Clause
"""The example for scikit-learn; python/tests/test_sklearn.py has scikit-learn's own checks of the
estimator."""
import re
import subprocess
import sys

import pytest
from conftest import HERE, environment, page_block

pytest.importorskip("sklearn", minversion="1.6")


def test_the_example(package):
    done = subprocess.run([sys.executable, "-W", "ignore", HERE / "sklearn" / "pictures.py", "0.3"],
                          capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    said = re.findall(r"(\w+): .*error ([0-9.]+)", done.stdout)
    error = {name: float(text) for name, text in said}
    assert error["PictureImputer"] < 0.8 * error["KNNImputer"] < error["SimpleImputer"]


def test_the_page(rng, package):
    assert page_block("PictureImputer", rng)["weights"].shape == (4, 2)


def test_the_page_of_xarray(rng, package):
    pytest.importorskip("xarray")
    names = page_block("csrecover.xarray", rng)
    assert names["full"].attrs == {"units": "K"} and bool(names["full"].notnull().all())
