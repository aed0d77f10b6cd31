# SPDX-License-Identifier: BSD-3-Clause
"""Samples of rays: what a file has of them, fireflies, and the noise of light."""
import numpy as np
import pytest

import csrecover


def light(seed, side=64, rays=2):
    """Radiance [side, side] of a smooth scene, far darker in places, and rays of every pixel."""
    random = np.random.default_rng(seed)
    u, v = np.mgrid[:side, :side] / side
    scene = (0.1 + u) ** 4 * (1.2 + np.sin(5 * v))
    return scene * random.gamma(2.0 * rays, 0.5 / rays, (side, side)), np.full((side, side), float(rays))


def test_lost_samples_are_told(rng, tmp_path):
    y, rays = light(int(rng.integers(1 << 30)), 12)
    y.flat[[3, 50, 90]] = np.nan, np.inf, -np.inf
    np.savez(tmp_path / "scan.npz", y=y.ravel(), rays=rays.ravel(), mask=np.ones(y.shape, bool))
    with pytest.warns(csrecover.RecoveryWarning, match="NaN or infinite are left out: 3"):
        scan = csrecover.read(tmp_path / "scan.npz")
    finite = np.isfinite(y)
    assert np.array_equal(np.sort(scan.index), np.flatnonzero(finite))
    assert np.array_equal(scan.y, y.ravel()[scan.index]) and (scan.rays == 2).all()


def test_fireflies_are_outliers(rng):
    seed = int(rng.integers(1 << 30))
    y, rays = light(seed)
    bad = np.zeros(y.shape, bool)
    bad[5::13, 7::17] = True
    y[bad] = 500.0
    scan = csrecover.Measurement(y.ravel(), np.arange(y.size), y.shape, rays=rays.ravel())
    found = csrecover.find_outliers(scan)
    assert found[bad.ravel()].all() and (found & ~bad.ravel()).sum() <= 4, seed
    robust = csrecover.recover(y, np.ones(y.shape, bool), rays=rays, robust=True, quality="fast")
    assert robust.max() < 50


def test_one_sigma_is_refused(rng):
    y, _ = light(int(rng.integers(1 << 30)))
    with pytest.raises(csrecover.DataError, match="give sigma of each sample, or rays"):
        csrecover.estimate_noise(y, np.ones(y.shape, bool))
