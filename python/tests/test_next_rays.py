# SPDX-License-Identifier: BSD-3-Clause
"""Where to send the next rays, and the loop of tracing, merging and recovering."""
import subprocess

import numpy as np
import pytest

import csrecover as cs

SIDE = 64


def trace(rng, light, index, rays):
    """Means of so many rays each, of light with the relative variance 1 of a ray."""
    rays = np.broadcast_to(np.asarray(rays, float), len(index))
    true = light.ravel()[index]
    return cs.Measurement(true * rng.gamma(rays, 1 / rays), index, light.shape,
                          sigma=true / rays ** 0.5, rays=rays)


def half_rough():
    """Light without detail, and on a quarter of the width with some that no neighbour tells."""
    light = np.full((SIDE, SIDE), 1.0)
    light[:, :SIDE // 4] = np.where(np.indices((SIDE, SIDE // 4)).sum(0) // 2 % 2, 4.0, 0.5)
    return light


def test_numbers(rng):
    scan = trace(rng, half_rough(), np.flatnonzero(rng.random(SIDE * SIDE) < 0.4), 2)
    known, allowed = np.zeros(SIDE * SIDE), rng.random((SIDE, SIDE)) < 0.8
    known[scan.index] = 2
    index, rays = cs.where_next(scan, 3000, "expected", allowed=allowed, most=5, seed=3)
    assert rays.sum() == 3000 and rays.min() >= 1 and (np.diff(index) > 0).all()
    assert allowed.ravel()[index].all() and (known[index] + rays).max() <= 5
    assert (known[index] > 0).any() and (known[index] == 0).any()
    again = cs.where_next(scan, 3000, "expected", allowed=allowed, most=5, seed=3)
    np.testing.assert_array_equal(again, (index, rays))


def test_same_as_the_tool(rng, tool, tmp_path):
    """Of two scans that are joined, as arrays and as a table."""
    light = half_rough()
    scans = [trace(rng, light, np.flatnonzero(rng.random(SIDE * SIDE) < 0.2), 2) for _ in range(2)]
    for k, scan in enumerate(scans):
        cs.write(tmp_path / f"{k}.npz", scan)
    for out in ("n.npz", "n.csv"):
        subprocess.run([tool.replace("csrecover", "cssample"), tmp_path / "0.npz",
                        tmp_path / "1.npz", "--next", "5000", "--seed", "7", "--even", "-q", "-o",
                        tmp_path / out], check=True)
    index, rays = cs.where_next(cs.merge(scans), 5000, seed=7)
    told = np.load(tmp_path / "n.npz")
    table = np.loadtxt(tmp_path / "n.csv", delimiter=",", skiprows=2)
    np.testing.assert_array_equal(told["index"], index)
    np.testing.assert_array_equal(told["rays"], rays)
    np.testing.assert_array_equal(table, np.stack([index // SIDE, index % SIDE, rays], 1))


def test_rays_follow_the_error(rng):
    """Errors in a quarter of the width are 16 times as large. So are numbers of rays, within the
    bounds of q."""
    scan = trace(rng, half_rough(), np.arange(SIDE * SIDE), 1)
    density = np.ones((SIDE, SIDE))
    density[:, :SIDE // 4] = 16
    found = np.zeros(SIDE * SIDE)
    index, rays = cs.where_next(scan, 4 * SIDE * SIDE, density)
    found[index] = rays
    found = 1 + found.reshape(SIDE, SIDE)
    mean = density.mean()  # of q, as all have the same number around
    right = min(16 / mean, 4) / max(1 / mean, 0.25)
    assert (found[:, :SIDE // 4 - 4].mean() / found[:, SIDE // 4 + 4:].mean()
            == pytest.approx(right, rel=0.1))


def test_the_loop_beats_even_rays(rng):
    """Rays at equal numbers, placed in rounds against evenly, by plain means of what is found; the
    errors of both are sums over thousands of rays of 64 x 64 pixels, so that the placed ones are
    above the even ones by chance less than once in 10^6."""
    light = half_rough() ** 2
    error = []
    for placed in (True, False):
        scan = trace(rng, light, np.arange(light.size), 4)
        for _ in range(3):
            known = np.zeros(light.size)
            known[scan.index] = scan.rays
            error_now = light / known.reshape(light.shape) ** 0.5
            index, rays = cs.where_next(scan, 4 * light.size, error_now if placed else None)
            scan = cs.merge([scan, trace(rng, light, index, rays)])
        assert scan.rays.sum() == 16 * light.size
        error.append(np.mean((scan.y[np.argsort(scan.index)] - light.ravel()) ** 2))
    assert error[0] < 0.8 * error[1]


def test_mistakes(rng):
    scan = trace(rng, np.ones((8, 8)), np.arange(32), 1)
    with pytest.raises(cs.ArgumentError, match=r"count 97 is not in 1 \.\. 96, the rays that"):
        cs.where_next(scan, 97, most=2)
    assert cs.where_next(scan, 96, most=2)[1].sum() == 96
    with pytest.raises(cs.ArgumentError, match="count 0 is not in 1"):
        cs.where_next(scan, 0)
    with pytest.raises(cs.ArgumentError, match="density is 'guessed'"):
        cs.where_next(scan, 3, "guessed")
    with pytest.raises(cs.ArgumentError, match="all positions are excluded"):
        cs.where_next(scan, 3, allowed=np.zeros((8, 8)))
    with pytest.raises(cs.DataError, match="array 'rays': sample 0 has 0"):
        scan.rays = np.zeros(32)
        cs.where_next(scan, 3)
