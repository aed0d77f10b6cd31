# SPDX-License-Identifier: BSD-3-Clause
"""The example for scikit-learn, as its page says; python/tests/test_sklearn.py has scikit-learn's own
checks of the estimator."""
import re
import subprocess
import sys

import pytest
from conftest import HERE, environment

pytest.importorskip("sklearn", minversion="1.6")


def test_the_example(package):
    done = subprocess.run([sys.executable, "-W", "ignore", HERE / "sklearn" / "pictures.py", "0.3"],
                          capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    error = {name: float(text) for name, text in re.findall(r"(\w+): .*error ([0-9.]+)", done.stdout)}
    assert error["PictureImputer"] < 0.8 * error["KNNImputer"] < error["SimpleImputer"]
