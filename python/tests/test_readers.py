# SPDX-License-Identifier: BSD-3-Clause
"""Files that the field's own programs write are completed by the tool, and they read the result:
the values that the package recovers, the type, and what describes them. A reader that is not
installed is skipped."""
import subprocess

import numpy as np
import pytest

import csrecover as cs
from conftest import picture

WAY = {"quality": "fast", "backend": "cpu"}


def draw(rng, dtype, *, colour=False):
    """(picture, what is known of it), less wide than high."""
    values = picture(rng, 60)[:, :44].astype(dtype)
    if colour:
        values = np.stack([values, values[::-1], 255 - values], axis=-1)
    return values, rng.random((60, 44)) < 0.4


def complete(tool, source, target, *options):
    subprocess.run([tool, source, "-o", target, "--quiet", "--quality", "fast", "--backend", "cpu",
                    *options], check=True)


def expected(values, known):
    """What the package recovers; pictures of 8 and 16 bits have the scale of their bits."""
    scale = (0, np.iinfo(values.dtype).max) if values.dtype.kind == "u" else None
    found = cs.recover(values[known], mask=known, scale=scale, **WAY)
    if values.dtype.kind in "iu":
        limits = np.iinfo(values.dtype)
        found = np.trunc(found + np.copysign(0.5, found)).clip(limits.min, limits.max)
    return found.astype(values.dtype)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_tifffile(rng, tool, tmp_path, dtype):
    tifffile = pytest.importorskip("tifffile")
    values, known = draw(rng, dtype)
    values[known & (values == 0)] = 1
    unknown = np.nan if values.dtype.kind == "f" else 0
    options = [] if values.dtype.kind == "f" else ["--unknown", "0"]
    tifffile.imwrite(tmp_path / "in.tif", np.where(known, values, unknown).astype(dtype),
                     resolution=(300, 200), resolutionunit="CENTIMETER", description="of the sea",
                     metadata=None)
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif", *options)
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        page = file.pages[0]
        assert page.dtype == dtype and page.description == "of the sea"
        assert page.tags["XResolution"].value == (300, 1)
        assert page.tags["ResolutionUnit"].value == 3
        wanted = expected(values, known)
        if unknown == 0:  # 0 says unknown; where it is far below, values are not between the two
            least, most = values[known].min(), values[known].max()
            wanted = np.maximum(wanted, least if 16 * int(least) <= most else 1)
        np.testing.assert_array_equal(page.asarray(), wanted)


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_rasterio(rng, tool, tmp_path, dtype):
    rasterio = pytest.importorskip("rasterio")
    values, known = draw(rng, dtype)
    place = {"crs": "EPSG:32633", "transform": rasterio.Affine(20, 0, 5e5, 0, -20, 4.6e6)}
    with rasterio.open(tmp_path / "in.tif", "w", driver="GTiff", height=60, width=44, count=1,
                       dtype=dtype, nodata=-9999, compress="deflate", **place) as file:
        file.write(np.where(known, values, -9999).astype(dtype), 1)
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as file:
        assert file.crs == place["crs"] and file.transform == place["transform"]
        assert file.nodata is None and file.compression.name == "deflate"
        assert file.dtypes == (dtype,)
        np.testing.assert_array_equal(file.read(1), expected(values, known))


def test_h5py(rng, tool, tmp_path):
    h5py = pytest.importorskip("h5py")
    values, known = draw(rng, "float32")
    heights = np.linspace(3, 4, 60)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        data = file.create_dataset("entry/data", data=np.where(known, values, np.nan),
                                   chunks=(16, 16), compression="gzip", shuffle=True,
                                   dtype="float32")
        data.attrs["units"] = "nm"
        file["entry/height"] = heights
        file["entry/height"].make_scale("height")
        data.dims[0].attach_scale(file["entry/height"])
        file["other"] = np.arange(5)
    complete(tool, f"{tmp_path}/in.h5:/entry/data", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        data = file["entry/data"]
        assert data.dtype == "float32" and data.chunks == (16, 16)
        assert data.compression == "gzip" and data.shuffle
        assert data.attrs["units"] in ("nm", b"nm")
        np.testing.assert_array_equal(data.dims[0][0][:], heights)
        np.testing.assert_array_equal(data[:], expected(values, known))


def test_netcdf(rng, tool, tmp_path):
    pytest.importorskip("netCDF4")
    xr = pytest.importorskip("xarray")
    values, known = draw(rng, "float32")
    field = xr.Dataset({"depth": (("lat", "lon"), np.where(known, values, np.nan),
                                  {"units": "m", "long_name": "depth of water"})},
                       coords={"lat": np.linspace(50, 51, 60), "lon": np.linspace(3, 4, 44)})
    field.to_netcdf(tmp_path / "in.nc", engine="netcdf4",
                    encoding={"depth": {"_FillValue": -9999.0, "dtype": "float32", "zlib": True}})
    complete(tool, f"{tmp_path}/in.nc:/depth", tmp_path / "out.nc")
    with xr.open_dataset(tmp_path / "out.nc", engine="netcdf4") as file:
        depth = file["depth"].load()
    assert depth.dims == ("lat", "lon") and depth.attrs == field["depth"].attrs
    assert depth["lat"].equals(field["lat"]) and depth["lon"].equals(field["lon"])
    np.testing.assert_array_equal(depth.values, expected(values, known))


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_astropy(rng, tool, tmp_path, dtype):
    fits = pytest.importorskip("astropy.io.fits")
    values, known = draw(rng, dtype)
    unknown = np.nan if dtype == "float32" else -32768
    image = fits.PrimaryHDU(np.where(known, values, unknown).astype(dtype))
    image.header.update({"CTYPE1": "RA---TAN", "CRVAL1": 83.6, "OBJECT": "M1", "BUNIT": "Jy"})
    if dtype == "int16":
        image.header["BLANK"] = -32768
    image.writeto(tmp_path / "in.fits")
    complete(tool, tmp_path / "in.fits", tmp_path / "out.fits")
    with fits.open(tmp_path / "out.fits", do_not_scale_image_data=True) as file:
        header, found = file[0].header, file[0].data
        for name in ("CTYPE1", "CRVAL1", "OBJECT", "BUNIT"):
            assert header[name] == image.header[name]
        assert "BLANK" not in header and found.dtype.newbyteorder("=") == dtype
        np.testing.assert_array_equal(found, expected(values, known))


def test_openexr(rng, tool, tmp_path):
    exr = pytest.importorskip("OpenEXR")
    values, known = draw(rng, "float32", colour=True)
    header = {"compression": exr.ZIP_COMPRESSION, "type": exr.scanlineimage, "owner": "a renderer"}
    shown = np.ascontiguousarray(np.dstack([values, known.astype("float32")]))
    with exr.File(header, {"RGBA": shown}) as file:
        file.write(str(tmp_path / "in.exr"))
    complete(tool, tmp_path / "in.exr", tmp_path / "out.exr")
    with exr.File(str(tmp_path / "out.exr")) as file:
        assert file.header()["owner"] == "a renderer"
        assert set(file.channels()) == {"RGB"}
        np.testing.assert_array_equal(file.channels()["RGB"].pixels, expected(values, known))
