# SPDX-License-Identifier: BSD-3-Clause
"""Noise and outliers, against the command-line tool and what was put there."""
import json
import subprocess

import numpy as np
import pytest

import csrecover as cs


def scan(rng, sigma=0.0, rate=0.4):
    v, u = np.mgrid[:90, :80] / 80
    truth = 120 + 60 * np.sin(3 * u + v) * np.cos(2 * v)
    noisy = truth + sigma * rng.standard_normal(truth.shape)
    return truth, noisy, rng.random(truth.shape) < rate


def test_the_estimate_is_that_of_the_tool(rng, tool, tmp_path):
    _, noisy, mask = scan(rng, 9.0)
    np.savez(tmp_path / "scan.npz", y=noisy[mask], mask=mask)
    found = cs.estimate_noise(noisy[mask], mask)
    assert 6.0 < found < 12.0
    out = tmp_path / "out.npy"
    said = json.loads(subprocess.run([tool, tmp_path / "scan.npz", "-o", out, "--sigma", "auto",
                                      "--json", "--backend", "cpu"], check=True,
                                     capture_output=True).stdout)
    assert said["sigma"] == pytest.approx(found, rel=1e-12)
    wanted = cs.recover(noisy[mask], mask=mask, sigma="auto", backend="cpu")
    np.testing.assert_array_equal(wanted, np.load(out))
    np.testing.assert_array_equal(wanted, cs.recover(noisy[mask], mask=mask, sigma=found,
                                                     backend="cpu"))


def test_outliers_are_found_and_dropped(rng):
    truth, spoilt, mask = scan(rng, 0.5)
    spoilt[5::12, 5::12] = 300  # not among each other's neighbours
    found = cs.find_outliers(spoilt, mask)
    np.testing.assert_array_equal(found, spoilt[mask] == 300)
    robust = cs.recover(spoilt[mask], mask=mask, robust=True, quality="fast", backend="cpu")
    plain = cs.recover(spoilt[mask], mask=mask, quality="fast", backend="cpu")
    assert np.abs(robust - truth).mean() < 0.3 * np.abs(plain - truth).mean()
    kept = mask & (spoilt != 300)
    np.testing.assert_array_equal(robust, cs.recover(spoilt[kept], mask=kept, quality="fast",
                                                     backend="cpu"))


def test_mistakes(rng):
    _, noisy, mask = scan(rng, 9.0)
    with pytest.raises(cs.ArgumentError, match="auto"):
        cs.recover(noisy[mask], mask=mask, sigma="automatic")
    with pytest.raises(cs.DataError, match="too few"):
        cs.estimate_noise(noisy[:5, :5].ravel(), index=np.arange(25), shape=(5, 5))
