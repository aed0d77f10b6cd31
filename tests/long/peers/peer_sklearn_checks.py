# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's checks of estimators, of its newest release, on ours, and both side by side."""
from pathlib import Path

NEEDS = ["scikit-learn>=1.6"]


def tests():
    return [str(Path(__file__).resolve().parents[3] / "python" / "tests" / "test_sklearn.py")]
