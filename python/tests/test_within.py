# SPDX-License-Identifier: BSD-3-Clause
"""A part only is filled, --within and --fill: the same values as where all are, and elsewhere what
each kind of file has for unknown ones, to its own readers."""
import json
import subprocess

import numpy as np
import pytest

import csrecover as cs
from conftest import picture

WAY = {"quality": "fast", "backend": "cpu"}


def far(known):
    """Distances to the nearest known entry, from all pairs."""
    at = np.stack(np.meshgrid(*map(np.arange, known.shape), indexing="ij"), -1).astype(float)
    squares = [((at - place) ** 2).sum(-1) for place in at[known]]
    return np.sqrt(np.min(squares, axis=0))


def draw(rng, shape=(40, 52)):
    """(values 1 to 200, what is known: a few at random, and a hole)."""
    values = 1 + 199 * picture(rng, 52)[:shape[0], :shape[1]] / 255
    known = rng.random(values.shape) < 0.15
    known[10:28, 12:40] = False
    known[0, 0] = True
    return values, known


def run(tool, *words):
    return subprocess.run([tool, *map(str, words), "-Q", "fast", "--backend", "cpu", "-q"],
                          capture_output=True, text=True)


@pytest.mark.parametrize("shape, within", [((40, 52), 1), ((40, 52), 3.7), ((11, 9, 13), 2.3),
                                           ((300,), 4), ((40, 1, 52), 2)])
def test_within_is_a_distance(rng, shape, within):
    values = np.cumsum(rng.random(shape), axis=-1)
    known = rng.random(shape) < 0.05
    known.flat[0] = True
    near = far(known) <= within
    y = np.where(known, values, np.nan)
    found = cs.recover(y, within=within, **WAY)
    np.testing.assert_array_equal(found, np.where(near, cs.recover(y, **WAY), np.nan))


def test_channels_and_masks(rng):
    values = np.stack([draw(rng)[0] for _ in range(3)])
    known = np.stack([draw(rng)[1] for _ in range(3)])
    near = np.stack([far(one) <= 2 for one in known])
    y = np.where(known, values, np.nan)
    whole = cs.recover(y, channel_axis=0, **WAY)
    found = cs.recover(y, channel_axis=0, within=2, **WAY)
    np.testing.assert_array_equal(found, np.where(near, whole, np.nan))
    fill = rng.random(values.shape) < 0.5
    for given, each in ((fill, fill), (fill[0], np.broadcast_to(fill[0], fill.shape))):
        found = cs.recover(y, channel_axis=0, within=2, fill=given, **WAY)
        np.testing.assert_array_equal(found, np.where(known | (near & each), whole, np.nan))
    found = cs.inpaint(values[0], ~known[0], fill=fill[0], **WAY)
    np.testing.assert_array_equal(np.isnan(found), ~known[0] & ~fill[0])


def test_mistakes(rng):
    values, known = draw(rng)
    for wrong, words in (({"within": 0.5}, "at least 1"), ({"within": np.nan}, "at least 1"),
                         ({"fill": known[1:]}, "fill has shape"), ({"depth": 3}, "dask"),
                         ({"within": 2, "dtype": np.uint8}, "no number")):
        with pytest.raises(cs.ArgumentError, match=words):
            cs.recover(np.where(known, values, np.nan), **wrong, **WAY)
    with pytest.raises(cs.UnsupportedError, match="real samples"):
        cs.recover(cs.measure(values, "fourier", 0.5), within=2)


@pytest.mark.parametrize("dtype, nodata", [("int16", -9999), ("uint16", 0), ("float32", -9999.5),
                                           ("float64", np.nan), ("float32", None)])
def test_tiff(rng, tool, tmp_path, dtype, nodata):
    rasterio = pytest.importorskip("rasterio")
    values, known = draw(rng)
    second = rng.random(known.shape) < 0.2
    both, each = np.stack([values, values / 2 + 1]).astype(dtype), np.stack([known, second])
    unknown = np.nan if nodata is None else nodata
    with rasterio.open(tmp_path / "in.tif", "w", driver="GTiff", height=40, width=52, count=2,
                       dtype=dtype, nodata=nodata, crs="EPSG:32633") as file:
        file.write(np.where(each, both, unknown).astype(dtype))
    done = run(tool, tmp_path / "in.tif", "-o", tmp_path / "out.tif", "--within", 3, "--json")
    assert done.returncode == 0, done.stderr
    near = np.stack([far(one) <= 3 for one in each])
    told = json.loads(done.stdout)
    assert told["unknown"] == (~each).sum() and told["left_unknown"] == (~near).sum()
    with rasterio.open(tmp_path / "out.tif") as file:
        assert file.nodata == nodata or (np.isnan(file.nodata) and unknown != unknown)
        np.testing.assert_array_equal(file.read_masks() > 0, near)
        np.testing.assert_array_equal(file.read()[each], both[each])
        assert file.crs == "EPSG:32633"


def test_other_files(rng, tool, tmp_path):
    values, known = draw(rng)
    near = far(known) <= 3
    np.save(tmp_path / "a.npy", np.where(known, values, np.nan))
    fill = np.zeros(known.shape, np.uint8)
    fill[5:30, 10:30] = 1
    np.save(tmp_path / "fill.npy", fill)

    def made(name, *words, source="a.npy"):
        done = run(tool, tmp_path / source, "-o", tmp_path / name, *words)
        assert done.returncode == 0, done.stderr
        return tmp_path / name
    whole = np.load(made("whole.npy"))
    for options, left in ((("--within", 3), ~near), (("--fill", tmp_path / "fill.npy"),
                                                     ~known & (fill == 0))):
        wanted = np.where(left, np.nan, whole)
        np.testing.assert_array_equal(np.load(made("o.npy", *options)), wanted)
        table = np.genfromtxt(made("o.csv", *options), delimiter=",")
        np.testing.assert_array_equal(table, wanted)
    pillow = pytest.importorskip("PIL.Image")
    for extra in ((), ("--colormap", "viridis")):
        with pillow.open(made("o.png", "--within", 3, "--scale", "0,255", *extra)) as image:
            np.testing.assert_array_equal(np.asarray(image)[..., -1] > 0, near)
    colours = np.dstack([values, values / 2, 255 - values, known * 255]).astype(np.uint8)
    pillow.fromarray(colours).save(tmp_path / "c.png")
    with pillow.open(made("o.png", "--within", 3, source="c.png")) as image:
        found = np.asarray(image)
    np.testing.assert_array_equal(found[..., 3] > 0, near)
    np.testing.assert_array_equal(found[known], colours[known])
    for name, words in (("o.jpg", "write a .png"), ("o.tif", "give --unknown")):
        np.save(tmp_path / "i.npy", values.astype(np.uint8))
        np.save(tmp_path / "k.npy", known)
        done = run(tool, tmp_path / "i.npy", "--mask", tmp_path / "k.npy", "-o", tmp_path / name,
                   "--within", 3)
        assert done.returncode == 1 and words in done.stderr and not (tmp_path / name).exists()


@pytest.mark.parametrize("dtype, blank, offset", [("int16", -32768, 0), ("uint8", 255, 0),
                                                  ("uint16", 65535, 32768), ("int32", 2**31 - 1, 0)])
def test_fits(rng, tool, tmp_path, dtype, blank, offset):
    fits = pytest.importorskip("astropy.io.fits")
    values, known = draw(rng)
    image = fits.PrimaryHDU(np.where(known, values, blank).astype(dtype))
    image.header["BLANK"] = blank - offset
    image.writeto(tmp_path / "in.fits")
    assert run(tool, tmp_path / "in.fits", "-o", tmp_path / "o.fits", "--within", 2).returncode == 0
    with fits.open(tmp_path / "o.fits", do_not_scale_image_data=True) as file:
        assert file[0].header["BLANK"] == blank - offset
        np.testing.assert_array_equal(file[0].data != blank - offset, far(known) <= 2)


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_netcdf(rng, tool, tmp_path, dtype):
    netcdf = pytest.importorskip("netCDF4")
    values, known = draw(rng)
    with netcdf.Dataset(tmp_path / "in.nc", "w") as file:
        for name, extent in zip("yx", known.shape):
            file.createDimension(name, extent)
        one = file.createVariable("v", dtype, ("y", "x"), fill_value=-999)
        one[:] = np.ma.MaskedArray(values.astype(dtype), ~known)
    assert run(tool, tmp_path / "in.nc", "-o", tmp_path / "o.nc", "--within", 2).returncode == 0
    with netcdf.Dataset(tmp_path / "o.nc") as file:
        found = file["v"][:]
    np.testing.assert_array_equal(np.ma.getmaskarray(found), far(known) > 2)
    np.testing.assert_array_equal(found.data[known], values.astype(dtype)[known])


@pytest.mark.parametrize("dtype, nodata", [(np.uint8, 0), (np.uint8, 255), (np.int16, -9999),
                                           (np.float32, 1e30)])
def test_a_number_that_is_unknown(rng, dtype, nodata):
    values, known = draw(rng)
    values = np.where(values < 100, 1, 254) if dtype is np.uint8 else values
    y = np.where(known, values, nodata).astype(dtype)
    made = cs.recover(y, nodata=nodata, dtype=dtype, **WAY)
    assert made.dtype == dtype and not (made == nodata).any()
    wanted = cs.recover(np.ma.MaskedArray(y, ~known), dtype=dtype, **WAY)
    beside = {0: 1, 255: 254}.get(nodata, nodata)
    np.testing.assert_array_equal(made, np.where(wanted == nodata, beside, wanted))
    near = cs.recover(y, nodata=nodata, dtype=dtype, within=3, **WAY)
    np.testing.assert_array_equal(near, np.where(far(known) <= 3, made, dtype(nodata)))
    np.testing.assert_array_equal(near, cs.inpaint(y, np.zeros(y.shape, bool), nodata=nodata,
                                                   dtype=dtype, within=3, **WAY))
    with pytest.raises(cs.ArgumentError, match="nodata is for whole arrays"):
        cs.recover(cs.Measurement([1.0], [0], (4,)), nodata=0)
    with pytest.raises(cs.ArgumentError, match="nodata = 'none'; must be a number"):
        cs.recover(y, nodata="none")
