# SPDX-License-Identifier: BSD-3-Clause
"""Where to measure next, against the tool and by brute force; merged measurements."""
import subprocess

import numpy as np
import pytest
from conftest import picture

import csrecover as cs


def test_places_are_new_and_apart(rng):
    mask = rng.random((40, 50)) < 0.1
    density = np.exp(rng.standard_normal(mask.shape))
    allowed = rng.random(mask.shape) < 0.8
    found = cs.where_next(mask, 60, density, allowed=allowed, seed=3)
    assert found.dtype == np.int64 and len(np.unique(found)) == 60
    assert not mask.ravel()[found].any() and allowed.ravel()[found].all()
    even = cs.where_next(mask, 60)
    at = np.stack(np.unravel_index(np.concatenate((even, np.flatnonzero(mask))), mask.shape), 1)
    apart = np.linalg.norm(at[:60, None] - at[None], axis=2)
    assert apart[apart > 0].min() > 2


def test_same_as_the_tool(rng, tool, tmp_path):
    truth = picture(rng, 48)
    scan = cs.sample(truth, rate=0.1, seed=4)
    density = rng.random(truth.shape)
    cs.write(tmp_path / "scan.npz", scan)
    np.save(tmp_path / "density.npy", density)
    subprocess.run([tool.replace("csrecover", "cssample"), tmp_path / "scan.npz", "--next", "70",
                    "-o", tmp_path / "next.npz", "--density", tmp_path / "density.npy", "--seed",
                    "5", "--path", "-q"], check=True)
    wanted = np.load(tmp_path / "next.npz")
    found = cs.where_next(scan, 70, density, seed=5)
    np.testing.assert_array_equal(np.sort(wanted["index"]), found)
    np.testing.assert_array_equal(cs.path_order(found, truth.shape), wanted["index"])
    assert tuple(wanted["shape"]) == truth.shape


@pytest.mark.parametrize("shape", ((300,), (20, 30), (8, 9, 10)))
def test_from_nothing(shape):
    found = cs.where_next(np.zeros(shape, bool), 20)
    assert len(found) == 20


def test_a_scan_in_two_steps(rng):
    truth = picture(rng, 64)
    scan = cs.sample(truth, rate=0.1)
    index = cs.where_next(scan, 400, np.abs(np.gradient(cs.recover(scan, quality="fast"))[0]) + 1)
    more = cs.Measurement(truth.ravel()[index], index, truth.shape)
    both = cs.merge([scan, more])
    assert len(both.index) == len(scan.index) + 400
    np.testing.assert_array_equal(both.y, truth.ravel()[both.index])


def test_means_of_repeats():
    a = cs.Measurement(np.array([1.0, 5.0]), np.array([3, 1]), (4,), sigma=1.0)
    b = cs.Measurement(np.array([2.0]), np.array([3]), (4,), sigma=0.5)
    both = cs.merge([a, b])
    np.testing.assert_array_equal(both.index, [1, 3])
    np.testing.assert_allclose(both.y, [5.0, (1 + 4 * 2) / 5], rtol=1e-15)
    assert both.sigma == pytest.approx(np.sqrt((1 + 1 / 5) / 2))
    b.y[0] = 9.0
    with pytest.warns(UserWarning, match=r"at 1 positions, first at \(3,\)"):
        cs.merge([a, b])


def test_swapped_arguments_of_a_path(rng):
    for shape in ((40,), (6, 9), (4, 5, 6)):
        found = rng.permutation(int(np.prod(shape)))[:rng.integers(1, 30)]
        for index in (found, [int(i) for i in found]):
            assert sorted(cs.path_order(index, shape)) == sorted(found)
            with pytest.raises(cs.ArgumentError, match=r"shape: .* give path_order\(index, shape\)"):
                cs.path_order(shape, index)
    with pytest.raises(cs.DataError, match="element 0 is 54"):
        cs.path_order([54], (6, 9))


def test_mistakes(rng):
    mask = rng.random((10, 10)) < 0.5
    with pytest.raises(cs.ArgumentError, match="count 101"):
        cs.where_next(mask, 101)
    with pytest.raises(cs.DataError, match="density"):
        cs.where_next(mask, 3, np.ones(10))
    with pytest.raises(cs.DataError, match="density: entry 0"):
        cs.where_next(mask, 3, np.full((10, 10), -1.0))
    with pytest.raises(cs.UnsupportedError):
        cs.where_next(np.zeros((2, 2, 2, 2), bool), 3)
    with pytest.raises(cs.Stopped):
        cs.where_next(np.zeros((300, 300), bool), 3000, callback=lambda progress: True)
    one = cs.Measurement(np.zeros(2), np.array([0, 1]), (4,))
    with pytest.raises(cs.DataError, match="part 2: has another shape"):
        cs.merge([one, cs.Measurement(np.zeros(2), np.array([0, 1]), (5,))])
    with pytest.raises(cs.ArgumentError):
        cs.merge([])
