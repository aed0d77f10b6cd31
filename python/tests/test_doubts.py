# SPDX-License-Identifier: BSD-3-Clause
"""Doubts about samples, against the command-line tool's, and as warnings of recover."""
import json
import subprocess
import warnings

import numpy as np
import pytest

import csrecover as cs

SHAPE = (60, 70)


def masks(rng):
    healthy = rng.random(SHAPE) < 0.3
    rows = np.zeros(SHAPE, bool)
    rows[::4] = True
    half = healthy.copy()
    half[:, 35:] = False
    one = np.zeros(SHAPE, bool)
    one[7, 9] = True
    return {"healthy": (healthy, 0), "rows": (rows, 1), "half": (half, 1), "one": (one, 1)}


def test_sentences_are_those_of_the_tool(rng, tool, tmp_path):
    v, u = np.mgrid[:60, :70] / 70
    truth = np.sin(3 * u + v)
    for name, (mask, count) in masks(rng).items():
        scan = tmp_path / f"{name}.npz"
        np.savez(scan, y=truth[mask], mask=mask)
        said = json.loads(subprocess.run([tool, scan, "-o", tmp_path / "out.npy", "--quality",
                                          "fast", "--json"], check=True,
                                         capture_output=True).stdout)
        found = cs.doubts(truth[mask], mask)
        assert said["warnings"] == found and len(found) == count
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cs.recover(truth[mask], mask=mask, quality="fast")
        assert [str(w.message) for w in caught] == found
        assert all(w.category is cs.RecoveryWarning for w in caught)


def test_a_pursuit_without_a_result_warns(rng):
    mask = rng.random(SHAPE) < 0.3
    y = rng.standard_normal(mask.sum())
    for bound, outcome in (({"epsilon": 1e-3}, "bound cannot be met"), ({}, "converged")):
        with pytest.warns(cs.RecoveryWarning, match=f"ended .{outcome}. with .* no recovery"):
            cs.recover(y, mask=mask, solver="cosamp", shifts=1, k=5, **bound)
