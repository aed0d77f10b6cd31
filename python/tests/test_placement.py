# SPDX-License-Identifier: BSD-3-Clause
"""Samples at real coordinates of a .csv: cells as NumPy finds them."""
import numpy as np
import pytest

import csrecover


def written(path, rows):
    path.write_text("x,y,value\n" + "\n".join(",".join(map(repr, map(float, row))) for row in rows))
    return path


def test_cells_of_a_given_grid(rng, tmp_path):
    shape = (int(rng.integers(2, 9)), int(rng.integers(2, 9)))
    at, values = rng.uniform(-5, 7, (60, 2)), rng.random(60)
    found = csrecover.read(written(tmp_path / "scan.csv", np.c_[at, values]), grid=shape, cell_means=True)
    low, high = at.min(axis=0), at.max(axis=0)
    step = (high - low) / (np.array(shape)[::-1] - 1)
    exact = (at - low) / step
    cell = np.rint(exact).astype(int)
    flat = cell[:, 1] * shape[1] + cell[:, 0]
    known, which, count = np.unique(flat, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(np.sort(found.index), known)
    means = np.bincount(which, values) / count
    np.testing.assert_allclose(found.y[np.argsort(found.index)], means, rtol=1e-12)
    placement = found.placement
    np.testing.assert_allclose(placement.origin, low[::-1], rtol=1e-12)
    np.testing.assert_allclose(placement.step, step[::-1], rtol=1e-12)
    np.testing.assert_allclose(placement.farthest, abs(exact - cell).max(), rtol=1e-9)
    assert found.shape == shape and placement.shared == count[count > 1].sum()


def test_whole_numbers_have_no_placement(tmp_path):
    (tmp_path / "scan.csv").write_text("0,0,1.5\n3,2,2.5\n")
    assert csrecover.read(tmp_path / "scan.csv").placement is None


def test_a_grid_that_does_not_fit(rng, tmp_path):
    path = written(tmp_path / "scan.csv", rng.random((9, 3)))
    for grid in (0.5, "4,4", (4, True), (4, 4, 4), (0, 4), (-1, 4)):
        with pytest.raises(csrecover.ArgumentError, match="grid|extent|shape"):
            csrecover.read(path, grid=grid)
    np.save(tmp_path / "whole.npy", np.eye(3))
    with pytest.raises(csrecover.ArgumentError, match="leave the grid out"):
        csrecover.read(tmp_path / "whole.npy", grid=(3, 3))
    with pytest.raises(csrecover.ArgumentError, match="leave the choice of columns out"):
        csrecover.read(tmp_path / "whole.npy", values="1")
