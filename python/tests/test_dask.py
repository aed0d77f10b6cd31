# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of dask are recovered lazily, block by block, from blocks that overlap."""
import pickle

import numpy as np
import pytest

import csrecover as cs
from conftest import picture

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

WAY = {"method": "smooth", "backend": "cpu"}


@pytest.fixture(autouse=True)
def no_threads():
    with dask.config.set(scheduler="synchronous"):
        yield


def tilted(rng, shape=(90, 120)):
    """(a plane, which the method completes exactly within a frame that is known; what is known). At
    the ends of blocks it is not, but its errors there decay within a few entries."""
    v, u = np.mgrid[:shape[0], :shape[1]]
    known = rng.random(shape) < 0.3
    known[:2] = known[-2:] = known[:, :2] = known[:, -2:] = True
    return 3 + 0.5 * v - 0.25 * u, known


def test_a_plane_comes_back_from_any_blocks(rng):
    plane, known = tilted(rng)
    scan = np.where(known, plane, np.nan)
    for chunks in ((30, 40), (90, 120), (17, 50), ((60, 30), (5, 100, 15))):
        lazy = cs.recover(da.from_array(scan, chunks=chunks), depth=12, **WAY)
        assert isinstance(lazy, da.Array) and lazy.shape == plane.shape and lazy.dtype == float
        found = lazy.compute()
        np.testing.assert_array_equal(found[known], plane[known])
        np.testing.assert_allclose(found, plane, atol=0.02)
    single = cs.recover(da.from_array(scan.astype("f4"), chunks=45), depth=16, **WAY)
    assert single.dtype == np.float32 == single.compute().dtype


def test_one_block_is_the_whole(rng):
    scan = picture(rng, 60)
    scan[rng.random(scan.shape) < 0.6] = np.nan
    for options in ({"quality": "fast"}, {"method": "smooth"}, {"quality": "fast", "within": 2}):
        low, high = np.nanmin(scan), np.nanmax(scan)
        wanted = cs.recover(scan, scale=(low, high), backend="cpu", **options)
        found = cs.recover(da.from_array(scan, chunks=60), backend="cpu", **options)
        np.testing.assert_array_equal(found.compute(), wanted)


def test_as_good_as_the_whole(rng):
    image = picture(rng, 128)
    known = rng.random(image.shape) < 0.4
    scan = np.where(known, image, np.nan)
    whole = cs.recover(scan, quality="fast", backend="cpu")
    parts = cs.recover(da.from_array(scan, chunks=64), depth=24, quality="fast", backend="cpu")
    errors = [np.sqrt(np.mean((one - image)[~known] ** 2)) for one in (whole, parts.compute())]
    assert errors[1] < 1.05 * errors[0], errors


def test_facts_are_those_of_all_blocks():
    """Each block gets the range of all samples; blocks without gaps cost no recovery."""
    seen = []
    values = np.arange(400.0).reshape(20, 20)
    values[15, 15] = np.nan

    def spy(block, known, scale=None, **options):
        seen.append((scale, block.shape, options))
        return np.where(known, block, 0)
    from csrecover import _dask
    lazy = _dask.lazily(spy, {**dict.fromkeys(_dask._WHOLE), "y": da.from_array(values, chunks=5),
                              "mask": None, "fill": None, "channel_axis": None, "dtype": None,
                              "depth": 1, "within": None, "sigma": None, "rng": None, "scale": None,
                              "params": {"seed": 4}})
    assert not seen
    lazy.compute()
    assert {scale for scale, *_ in seen} == {(0.0, 399.0)}
    assert len(seen) == 4 and all(options["seed"] == 4 for *_, options in seen)


def test_masks_channels_and_what_stays(rng):
    plane, known = tilted(rng)
    lazy = da.from_array(plane, chunks=(30, 40))
    wanted = cs.recover(da.from_array(np.where(known, plane, np.nan), chunks=(30, 40)), **WAY).compute()
    for found in (cs.inpaint(lazy, ~known, **WAY), cs.recover(lazy, known, **WAY),
                  cs.recover(lazy, da.from_array(known, chunks=(45, 17)), **WAY),
                  cs.recover(da.ma.masked_array(lazy, ~known), **WAY)):
        np.testing.assert_array_equal(found.compute(), wanted)
    fill = rng.random(plane.shape) < 0.5
    near = ~np.isnan(cs.recover(np.where(known, plane, np.nan), within=2, **WAY))
    found = cs.recover(lazy, known, within=2, fill=fill, depth=1, **WAY).compute()
    np.testing.assert_array_equal(~np.isnan(found), known | (near & fill))
    bands = da.from_array(np.stack([plane, 2 * plane]), chunks=(1, 30, 40))
    found = cs.recover(bands, known, channel_axis=0, **WAY).compute()
    np.testing.assert_allclose(found, [plane, 2 * plane], atol=0.04)
    whole = cs.recover(lazy, known, dtype=np.int16, **WAY)
    assert whole.dtype == np.int16
    np.testing.assert_array_equal(whole.compute()[known], np.rint(plane)[known])


def test_blocks_without_a_sample_stay_unknown():
    scan = np.full((60, 60), np.nan)
    scan[:10, :10] = np.where(np.eye(10) > 0, 5.0, np.nan)
    lazy = cs.recover(da.from_array(scan, chunks=20), depth=4, **WAY)
    with pytest.warns(cs.RecoveryWarning, match="no known entry"):
        found = lazy.compute()
    assert (found[:20, :20] == 5).all() and np.isnan(found[20:, 20:]).all()


def test_what_needs_all_is_refused(rng):
    plane, known = tilted(rng)
    lazy = da.from_array(np.where(known, plane, np.nan), chunks=40)
    for wrong, words in (({"return_info": True}, "return_info"), ({"sigma": "auto"}, "auto"),
                         ({"robust": True}, "robust"), ({"depth": (1, 2, 3)}, "depth"),
                         ({"depth": -1}, "depth"), ({"channel_axis": 2}, "channel_axis")):
        with pytest.raises(cs.ArgumentError, match=words):
            cs.recover(lazy, **wrong)
    with pytest.raises(cs.ArgumentError, match="fill has shape"):
        cs.recover(lazy, fill=known[1:])
    with pytest.raises(cs.ArgumentError, match="colours or a volume"):
        cs.recover(da.zeros((20, 20, 3), chunks=10))
    tasks = cs.recover(lazy, rng=np.random.default_rng(1), **WAY).__dask_graph__()
    pickle.dumps(dict(tasks))


def test_of_xarray(rng):
    xr = pytest.importorskip("xarray")
    plane, known = tilted(rng)
    depths = xr.DataArray(np.where(known, np.rint(plane), -99).astype("i2"), dims=("y", "x"),
                          coords={"y": np.arange(90) / 7}, attrs={"_FillValue": -99, "units": "m"})
    lazy = cs.recover(depths.chunk({"y": 30, "x": 40}), dtype="i2", **WAY)
    assert isinstance(lazy.data, da.Array) and lazy.attrs == depths.attrs
    found = lazy.compute()
    assert found.coords["y"].equals(depths.coords["y"]) and not (found == -99).any()
    np.testing.assert_array_equal(found.values[known], depths.values[known])
    left = cs.recover(depths.chunk({"y": 30, "x": 40}), dtype="i2", within=1, **WAY).compute()
    near = ~np.isnan(cs.recover(np.where(known, plane, np.nan), within=1, **WAY))
    np.testing.assert_array_equal(left.values != -99, near)
