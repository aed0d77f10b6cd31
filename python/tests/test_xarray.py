# SPDX-License-Identifier: BSD-3-Clause
"""An array of xarray comes back as one."""
import os
import subprocess
import sys

import numpy as np
import pytest

import csrecover as cs
from conftest import picture

WAY = {"quality": "fast", "backend": "cpu"}


@pytest.fixture
def field(rng):
    xr = pytest.importorskip("xarray")
    values = np.where(rng.random((40, 50)) < 0.4, picture(rng, 50)[:40], np.nan)
    return xr.DataArray(values, dims=("lat", "lon"), name="height", attrs={"units": "m"},
                        coords={"lat": np.linspace(3, 4, 40), "lon": np.arange(50),
                                "day": 7, "zone": ("lon", np.arange(50) // 10)})


def same_labels(found, field):
    assert type(found) is type(field) and found.dims == field.dims
    assert found.name == field.name and found.attrs == field.attrs
    assert set(found.coords) == set(field.coords)
    assert all(found.coords[name].equals(field.coords[name]) for name in field.coords)


def test_labels_stay(field):
    before = field.copy(deep=True)
    found = cs.recover(field, **WAY)
    same_labels(found, field)
    np.testing.assert_array_equal(found.values, cs.recover(field.values, **WAY))
    assert before.identical(field)
    single = cs.recover(field.astype(np.float32), **WAY)
    assert single.dtype == np.float32


def test_uncertainty_and_info(field):
    signal, error, info = cs.recover(field, return_uncertainty=True, return_info=True, **WAY)
    wanted = cs.recover(field.values, return_uncertainty=True, **WAY)
    for found, values in zip((signal, error), wanted):
        same_labels(found, field)
        np.testing.assert_array_equal(found.values, values)
    assert isinstance(info, cs.RecoverInfo)


def test_masks_go_by_name(field, rng):
    whole = field.fillna(0.0)
    mask = field.notnull()
    wanted = cs.recover(field.values, **WAY)
    for given in (mask, mask.T, mask.values):
        np.testing.assert_array_equal(cs.recover(whole, given, **WAY).values, wanted)
    filled = cs.inpaint(whole, ~mask.T, **WAY)
    same_labels(filled, field)
    np.testing.assert_array_equal(filled.values, wanted)
    with pytest.raises(cs.ArgumentError, match="dims"):
        cs.recover(whole, mask.rename(lat="row"), **WAY)


def test_channels_by_name(field):
    bands = field.expand_dims(band=["r", "g", "b"], axis=1) * [[[1]], [[0.5]], [[0.2]]][0]
    found = cs.recover(bands, channel_axis="band", **WAY)
    same_labels(found, bands)
    np.testing.assert_array_equal(found.values, cs.recover(bands.values, channel_axis=1, **WAY))
    with pytest.raises(cs.ArgumentError, match="name"):
        cs.recover(bands, channel_axis="colour", **WAY)
    with pytest.raises(cs.ArgumentError, match="name"):
        cs.recover(bands.values, channel_axis="band", **WAY)


def test_samples_alone_have_no_labels_to_keep(field):
    mask = field.notnull().values
    xr = sys.modules["xarray"]
    with pytest.raises(cs.ArgumentError, match="whole array"):
        cs.recover(xr.DataArray(field.values[mask]), mask, **WAY)


def test_numbers_for_unknown(field):
    """An attribute, or the encoding of integers, names the number for unknown entries."""
    wanted = cs.recover(np.rint(field.values), **WAY)
    whole = field.round().fillna(-7)
    for named in (whole.assign_attrs(_FillValue=-7), whole.assign_attrs(missing_value=[-7]),
                  whole.astype("i2").assign_attrs(_FillValue=np.int16(-7))):
        found = cs.recover(named, **WAY)
        np.testing.assert_array_equal(found.values, wanted)
        assert found.attrs == named.attrs
    encoded = whole.astype("i2")
    encoded.encoding["_FillValue"] = -7
    np.testing.assert_array_equal(cs.recover(encoded, **WAY).values, wanted)
    left = cs.recover(encoded.assign_attrs(_FillValue=-7), within=1, dtype="i2", **WAY)
    plain = cs.recover(np.rint(field.values), within=1, **WAY)
    np.testing.assert_array_equal(left.values == -7, np.isnan(plain))


def test_accessors(field):
    import csrecover.xarray  # noqa: F401
    xr = sys.modules["xarray"]
    assert field.csrecover.recover(**WAY).identical(cs.recover(field, **WAY))
    filled = field.fillna(0.0).csrecover.inpaint(field.isnull(), **WAY)
    assert filled.identical(cs.inpaint(field.fillna(0.0), field.isnull(), **WAY))
    depth = field.round().fillna(-7).astype("i2").assign_attrs(_FillValue=-7)
    assert depth.csrecover.recover(**WAY).dtype == np.int16
    both = xr.Dataset({"height": field, "depth": depth, "flag": field.isnull(),
                       "level": field.fillna(1.0), "names": ("lon", list("abcde") * 10)})
    found = both.csrecover.recover(**WAY)
    for name in ("flag", "level", "names"):
        assert found[name].identical(both[name])
    assert found["height"].identical(field.csrecover.recover(**WAY))
    assert found["depth"].dtype == np.int16 and not (found["depth"] == -7).any()


def test_never_imported():
    code = ("import sys, numpy as np, csrecover as cs; "
            "cs.recover(np.where(np.arange(64) % 3, np.nan, 1.0).reshape(8, 8)); "
            "from csrecover import *; dir(cs); hasattr(cs, 'deepinv'); "
            "late = {'xarray', 'dask', 'matplotlib', 'torch', 'tqdm'} & set(sys.modules); "
            "assert not late, late")
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})


@pytest.mark.parametrize("dates", [False, True])
def test_times_are_those_of_the_index(rng, dates):
    """Of a line at unequal distances linear interpolation is the line."""
    xr = pytest.importorskip("xarray")
    times = np.cumsum(rng.uniform(0.1, 9, 40))
    line = 3 + 2 * times
    gaps = line.copy()
    gaps[rng.permutation(np.arange(1, 39))[:20]] = np.nan
    index = np.datetime64("2020-01-01") + (times * 1e9).astype("timedelta64[ns]") if dates else times
    field = xr.DataArray(gaps, dims="time", coords={"time": index})
    full = cs.recover(field, method="smooth", kind=1)
    np.testing.assert_allclose(full.values, line, rtol=1e-6)
    np.testing.assert_allclose(cs.recover(gaps, times=times, method="smooth", kind=1), line,
                               rtol=1e-9)
    assert np.abs(cs.recover(gaps, method="smooth", kind=1) - line).max() > 0.1
    assert np.abs(cs.recover(field).values - line).max() < 1e-3 * np.ptp(line)
    for wrong in (times[::-1], times[:-1], np.where(times > 20, np.nan, times)):
        with pytest.raises(cs.ArgumentError, match="times"):
            cs.recover(gaps, times=wrong)
    with pytest.raises(cs.ArgumentError, match="times"):
        cs.recover(np.where(rng.random((40, 1)) < 0.5, np.nan, gaps.reshape(40, 1)), times=times)
