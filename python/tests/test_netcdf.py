# SPDX-License-Identifier: BSD-3-Clause
"""NetCDF and HDF5 files as the programs of the field write them: the variable that is meant is
found, what it belongs to goes along, and netCDF4, xarray and h5py open the result."""
import subprocess
from pathlib import Path

import numpy as np
import pytest

import csrecover
from conftest import picture

nc = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")
h5py = pytest.importorskip("h5py")


def run(tool, source, target):
    return subprocess.run([tool, source, "-o", target, "--quality", "fast", "--backend", "cpu"],
                          capture_output=True, text=True)


def complete(tool, source, target):
    done = run(tool, source, target)
    assert done.returncode == 0, done.stderr
    return done.stderr


def gaps(rng, shape, share=0.3):
    """(smooth values, which are unknown)."""
    values = picture(rng, max(shape[-2:]))[:shape[-2], :shape[-1]] / 10 + 270
    return np.broadcast_to(values, shape).copy(), rng.random(shape) < share


def same_beside(source, target, name):
    """All variables of the result are as in the source, with their attributes and dimensions, but
    for the recovered one; which has no gap, and its known values (within `near`)."""
    with nc.Dataset(source) as a, nc.Dataset(target) as b:
        assert {k: a.getncattr(k) for k in a.ncattrs()} == {k: b.getncattr(k) for k in b.ncattrs()}
        for key, found in b.variables.items():
            given = a[key]
            assert given.dimensions == found.dimensions
            if key == name:
                continue
            assert given.dtype == found.dtype and given.ncattrs() == found.ncattrs()
            np.testing.assert_array_equal(given[:], found[:])
        given, found = a[name][:], np.ma.asarray(b[name][:])
        assert not np.ma.getmaskarray(found).any() and np.isfinite(found.data).all()
        known = ~np.ma.getmaskarray(given)
        np.testing.assert_allclose(found.data[known], given.data[known], rtol=1e-5)
        for key in ("coordinates", "cell_measures", "grid_mapping", "ancillary_variables"):
            named = b[name].getncattr(key) if key in b[name].ncattrs() else ""
            for word in named.split():
                assert word.endswith(":") or word in b.variables
    with xr.open_dataset(target, engine="netcdf4") as data:
        return data.load()


def test_cmip(rng, tool, tmp_path):
    """time, lat, lon with bounds; a scalar height; areas; nothing named on the command line."""
    source, target = tmp_path / "tas.nc", tmp_path / "out.nc"
    values, hole = gaps(rng, (5, 24, 36))
    with nc.Dataset(source, "w") as d:
        d.Conventions, d.title = "CF-1.8", "near the surface"
        for name, n in (("time", None), ("lat", 24), ("lon", 36), ("bnds", 2)):
            d.createDimension(name, n)
        for name, n, units in (("time", 5, "days since 1850-1-1"), ("lat", 24, "degrees_north"),
                               ("lon", 36, "degrees_east")):
            v = d.createVariable(name, "f8", name)
            v.units, v.bounds = units, name + "_bnds"
            v[:] = np.arange(n) * 1.5
            v = d.createVariable(name + "_bnds", "f8", (name, "bnds"))
            v[:] = np.arange(2 * n).reshape(n, 2)
        d.createVariable("height", "f8")[:] = 2
        d["height"].units = "m"
        d.createVariable("model", str, ())[0] = "of the sky"
        d.createVariable("areacella", "f4", ("lat", "lon"))[:] = 7
        v = d.createVariable("tas", "f4", ("time", "lat", "lon"), zlib=True, fill_value=1e20)
        v.units, v.coordinates, v.cell_measures = "K", "height model", "area: areacella"
        v.missing_value = np.float32(1e20)
        v[:] = np.ma.masked_array(values, hole)
    said = complete(tool, source, target)
    assert "note:" in said and "/tas [5 x 24 x 36] is read" in said
    data = same_beside(source, target, "tas")
    assert set(data.variables) >= {"time_bnds", "lat_bnds", "lon_bnds", "height", "areacella",
                                   "model"}
    assert data["model"].item() == "of the sky"
    assert data["tas"].dims == ("time", "lat", "lon") and data["tas"].attrs["units"] == "K"
    assert str(data["time"].dtype).startswith("datetime64")


def test_nemo(rng, tool, tmp_path):
    """Curvilinear: named coordinates of two axes, bounds of three."""
    source, target = tmp_path / "nemo.nc", tmp_path / "out.nc"
    values, hole = gaps(rng, (1, 40, 31))
    with nc.Dataset(source, "w") as d:
        for name, n in (("time_counter", None), ("y", 40), ("x", 31), ("nvertex", 4)):
            d.createDimension(name, n)
        d.createVariable("time_counter", "f8", "time_counter")[:] = [3.5]
        for name, axis in (("nav_lat", 0), ("nav_lon", 1)):
            v = d.createVariable(name, "f4", ("y", "x"))
            v[:] = np.indices((40, 31))[axis]
            v.bounds = "bounds_" + name[4:]
            d.createVariable(v.bounds, "f4", ("y", "x", "nvertex"))[:] = 1 + axis
        v = d.createVariable("sosstsst", "f4", ("time_counter", "y", "x"), fill_value=1e20)
        v.coordinates = "time_counter nav_lat nav_lon"
        v[:] = np.ma.masked_array(values, hole)
        d.createVariable("sossheig", "f4", ("time_counter", "y", "x"))[:] = values
    refused = run(tool, source, target)
    assert refused.returncode and not target.exists()
    assert "/sosstsst [1 x 40 x 31], /sossheig [1 x 40 x 31]; name one" in refused.stderr
    complete(tool, f"{source}:sosstsst", target)
    data = same_beside(source, target, "sosstsst")
    assert "sossheig" not in data and set(data["sosstsst"].coords) >= {"nav_lat", "nav_lon"}
    assert {"bounds_lat", "bounds_lon"} <= set(data.variables)
    complete(tool, f"{source}:/sosstsst", f"{tmp_path}/other.nc:filled")
    with nc.Dataset(tmp_path / "other.nc") as d:
        assert set(d.variables) == {"filled", "time_counter", "nav_lat", "nav_lon", "bounds_lat",
                                    "bounds_lon"}


@pytest.mark.parametrize("limits", ["valid_range", "valid_min", "unpacked"])
def test_swath(rng, tool, tmp_path, limits):
    """Packed int16 in a group, with fill, missing and invalid values, which are compared as stored;
    latitudes that nothing names, a projection, quality beside."""
    source, target = tmp_path / "swath.nc", tmp_path / "out.nc"
    stored = (gaps(rng, (50, 27))[0] * 600 - 162000).clip(0, 20000).astype("i2")
    raw, kind = stored.copy(), rng.integers(0, 6, stored.shape)
    for k, value in enumerate((-32768, -999, -5, 20001)):
        raw[kind == k] = value
    raw.flat[:2] = stored.flat[:2] = 0, 20000
    kind.flat[:2] = 5
    with nc.Dataset(source, "w") as d:
        d.platform = "a satellite"
        d.createDimension("rows", 50)
        g = d.createGroup("geophysical")
        g.createDimension("columns", 27)
        for name, units in (("latitude", "degrees_north"), ("longitude", "degrees_east")):
            v = g.createVariable(name, "f4", ("rows", "columns"), zlib=True)
            v.units = units
            v[:] = np.arange(50 * 27).reshape(50, 27)
        g.createVariable("crs", "i4").grid_mapping_name = "latitude_longitude"
        g.createVariable("quality", "i1", ("rows", "columns"))[:] = 1
        v = g.createVariable("sst", "i2", ("rows", "columns"), fill_value=-32768)
        v.set_auto_maskandscale(False)
        v.scale_factor, v.add_offset, v.missing_value = 0.01, 273.15, np.int16(-999)
        v.grid_mapping, v.ancillary_variables = "crs", "quality"
        if limits == "valid_range":
            v.valid_range = np.array([0, 20000], "i2")
        elif limits == "valid_min":
            v.valid_min, v.valid_max = np.int16(0), np.int16(20000)
        else:
            v.setncatts({"valid_min": 273.15, "valid_max": 473.15})
        v[:] = raw
    complete(tool, source, target)
    with nc.Dataset(target) as d:
        assert d.platform == "a satellite"
        g = d["geophysical"]
        assert set(g.variables) == {"latitude", "longitude", "crs", "quality", "sst"}
        assert g["sst"].dimensions == ("rows", "columns") == g["latitude"].dimensions
        found, unpacked = g["sst"][:], raw * 0.01 + 273.15
        same = np.isclose(found, unpacked, rtol=1e-6)
        assert same[kind >= 4].all() and found.max() < 500 and found.min() > 200
        assert same[kind < 4].mean() < 0.1
    with xr.open_dataset(target, group="geophysical", engine="netcdf4") as data:
        assert data["sst"].dtype == "float32"


def test_xarray_default(rng, tool, tmp_path):
    """What to_netcdf writes: coordinates of one and two axes, scalars, texts, a mapping."""
    source, target = tmp_path / "in.nc", tmp_path / "out.nc"
    values, hole = gaps(rng, (32, 45))
    data = xr.Dataset(
        {"precip": (("y", "x"), np.where(hole, np.nan, values), {"grid_mapping": "spatial_ref"})},
        coords={"y": np.arange(32.), "x": np.arange(45.), "time": np.datetime64("2020-02-03", "ns"),
                "lat": (("y", "x"), values), "station": ("y", [f"s{k}é" for k in range(32)]),
                "spatial_ref": ((), 0, {"crs_wkt": "GEOGCS[...]"})}, attrs={"source": "a model"})
    data.to_netcdf(source, engine="netcdf4")
    complete(tool, source, target)
    with xr.open_dataset(target, engine="netcdf4") as found:
        found.load()
        assert found.attrs == data.attrs
        for name in data.coords:
            assert found[name].variable.equals(data[name].variable), name
        assert found["precip"].notnull().all() and set(found["precip"].coords) == set(data.coords)
        np.testing.assert_array_equal(found["precip"].values[~hole], values[~hole])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_default_fill(rng, tool, tmp_path, dtype):
    """Where no _FillValue is told, NetCDF's default is unknown, but for bytes; with HDF5 it is a
    value."""
    source, target = tmp_path / "in.nc", tmp_path / "out.nc"
    values, hole = gaps(rng, (20, 30))
    values = (values - 260).astype(dtype)
    with nc.Dataset(source, "w") as d:
        d.createDimension("y", 20), d.createDimension("x", 30)
        v = d.createVariable("a", dtype, ("y", "x"))
        v[:] = np.where(hole, nc.default_fillvals[dtype], values).astype(dtype)
        assert (np.ma.getmaskarray(v[:]) == hole).all()
    done = run(tool, source, target)
    if np.dtype(dtype).itemsize == 1:
        assert done.returncode and "nothing tells which" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    with nc.Dataset(target) as d:
        found = d["a"][:]
        assert not np.ma.is_masked(found) and found.max() < 1000
        np.testing.assert_array_equal(found[~hole], values[~hole])
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["a"] = np.where(hole, nc.default_fillvals[dtype], values).astype(dtype)
    done = run(tool, tmp_path / "plain.h5", tmp_path / "plain-out.h5")
    assert "nothing tells which" in done.stderr or "No value is unknown" in done.stderr


def test_h5py_plain(rng, tool, tmp_path):
    """Datasets without conventions: lat and lon are known by their names."""
    source, target = tmp_path / "in.h5", tmp_path / "out.h5"
    values, hole = gaps(rng, (30, 22))
    with h5py.File(source, "w") as file:
        file["depth"] = np.where(hole, np.nan, values)
        file["Lat"], file["lon"] = np.arange(30.), values
    complete(tool, source, target)
    with h5py.File(target) as file:
        assert set(file) == {"depth", "Lat", "lon"}
        np.testing.assert_array_equal(file["depth"][:][~hole], values[~hole])
        np.testing.assert_array_equal(file["lon"][:], values)


def test_netcdf3(rng, tool, tmp_path):
    values, _ = gaps(rng, (9, 8))
    xr.Dataset({"a": (("y", "x"), values)}).to_netcdf(tmp_path / "in.nc", format="NETCDF3_CLASSIC")
    done = run(tool, tmp_path / "in.nc", tmp_path / "out.nc")
    assert done.returncode and "nccopy -k nc4" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["szip", "blosc_lz", "blosc_zstd", "zstd", "bzip2"])
def test_filters(rng, tool, tmp_path, monkeypatch, name):
    """Plug-ins are found by libhdf5's mechanism, and used again; without them one line names them.
    Constant parts are smaller than any filter of libhdf5 itself makes them."""
    source, target = tmp_path / "in.nc", tmp_path / "out.nc"
    folder = Path(nc.__file__).parent / "plugins"
    values, hole = gaps(rng, (64, 90))
    hole[30:], values[30:] = False, 270
    with nc.Dataset(source, "w") as d:
        if not getattr(d, f"has_{name.split('_')[0]}_filter")() or not folder.is_dir():
            pytest.skip(f"netCDF4 without {name}")
        d.createDimension("y", 64), d.createDimension("x", 90)
        v = d.createVariable("a", "f8", ("y", "x"), compression=name, chunksizes=(5, 90))
        v[:] = np.where(hole, np.nan, values)
    monkeypatch.delenv("HDF5_PLUGIN_PATH", raising=False)
    done = run(tool, source, target)
    if name != "szip":
        assert done.returncode and done.stderr.count("\n") == 1 and not target.exists()
        assert name.split("_")[0] in done.stderr and "HDF5_PLUGIN_PATH" in done.stderr
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(folder))
    complete(tool, source, target)
    with nc.Dataset(source) as a, nc.Dataset(target) as b:
        assert a["a"].filters() == b["a"].filters()
        np.testing.assert_array_equal(b["a"][:][~hole], values[~hole])


def test_channels(rng, tool, tmp_path):
    """Of an interlaced image a fill value is unknown in its channel alone."""
    source, target = tmp_path / "in.h5", tmp_path / "out.h5"
    values = np.stack([gaps(rng, (40, 32))[0] - 200] * 3, axis=-1).astype("u1")
    hole = rng.random(values.shape) < 0.3
    with h5py.File(source, "w") as file:
        file["a"] = np.where(hole, 255, values)
        file["a"].attrs.update(_FillValue=np.uint8(255), CLASS=np.bytes_("IMAGE"),
                               INTERLACE_MODE=np.bytes_("INTERLACE_PIXEL"))
    complete(tool, source, target)
    with h5py.File(target) as file:
        found = file["a"][:]
    np.testing.assert_array_equal(found[~hole], values[~hole])
    assert np.abs(found[hole].astype(float) - values[hole]).max() < 60


@pytest.mark.parametrize("axis", (0, 1, 2))
def test_time_is_seen(rng, tool, tmp_path, axis):
    """A cube with an axis of time is recovered as frames by itself, and as a volume with --volume."""
    values, hole = gaps(rng, (6, 24, 21), 0.7)
    dims = ["y", "x"]
    dims.insert(axis, "t")
    cube = np.moveaxis(np.where(hole, np.nan, values), 0, axis)
    times = np.datetime64("2020-01-01", "ns") + np.arange(6) * np.timedelta64(1, "D")
    xr.Dataset({"a": (dims, cube)}, {"t": times}).to_netcdf(tmp_path / "in.nc")
    np.save(tmp_path / "in.npy", cube)
    told = complete(tool, tmp_path / "in.nc", tmp_path / "out.nc")
    assert f"its axis {axis} is time" in told and "--volume" in told
    way = ["--quality", "fast", "--backend", "cpu", "-q"]
    subprocess.run([tool, tmp_path / "in.npy", "-o", tmp_path / "f.npy", *way, "--sequence",
                    "--time-axis", str(axis)], check=True)
    subprocess.run([tool, tmp_path / "in.nc", "-o", tmp_path / "v.nc", *way, "--volume"], check=True)
    subprocess.run([tool, tmp_path / "in.npy", "-o", tmp_path / "v.npy", *way], check=True)
    for found, wanted in (("out.nc", "f.npy"), ("v.nc", "v.npy")):
        with xr.open_dataset(tmp_path / found) as data:
            assert data["a"].dims == tuple(dims)
            np.testing.assert_array_equal(data["a"], np.load(tmp_path / wanted))
    with pytest.warns(UserWarning, match=f"axis {axis} is time"):
        scan = csrecover.read(tmp_path / "in.nc")
    assert scan.sequence == (axis == 0) and not csrecover.read(tmp_path / "in.nc", volume=True).sequence
    again = csrecover.recover(scan, time_axis=axis, quality="fast", backend="cpu")
    np.testing.assert_array_equal(again, np.load(tmp_path / "f.npy"))
