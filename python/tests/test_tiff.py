# SPDX-License-Identifier: BSD-3-Clause
"""What a TIFF says of unknown values is what GDAL and tifffile say: nodata of bands, masks, indices
of a palette. Known values come back as they are; unknown ones are recovered."""
import struct
import subprocess

import numpy as np
import pytest

from conftest import picture

PLACE = {"driver": "GTiff", "height": 60, "width": 44, "crs": "EPSG:32633"}


def run(tool, *options):
    return subprocess.run([tool, *map(str, options), "--quality", "fast", "--backend", "cpu"],
                          capture_output=True, text=True)


def complete(tool, source, target, *options):
    done = run(tool, source, "-o", target, *options)
    assert done.returncode == 0, done.stderr


def bands(rng, dtype, count=3):
    """[count, H, W] of positive values, and what is known of each."""
    values = np.stack([picture(rng, 60)[:, :44] * (b + 1) / 2 + 1 for b in range(count)])
    return values.astype(dtype), rng.random(values.shape) < 0.6


def assert_filled(found, values, known, nodata):
    """Known values stay; of the unknown none is nodata, and most are near."""
    np.testing.assert_array_equal(found[known], values[known])
    assert np.isfinite(found).all() and not (found == nodata).any()
    near = np.sqrt(np.mean((found.astype(float) - values)[~known] ** 2))
    assert near < values.astype(float).std() / 2


@pytest.mark.parametrize("interleave", ["pixel", "band"])
@pytest.mark.parametrize("dtype, nodata", [("float32", -9999), ("float64", np.nan),
                                           ("int16", -32768), ("float32", -3.4028234663852886e38)])
def test_nodata_of_each_band(rng, tool, tmp_path, dtype, nodata, interleave):
    rasterio = pytest.importorskip("rasterio")
    values, known = bands(rng, dtype)
    with rasterio.open(tmp_path / "in.tif", "w", count=3, dtype=dtype, nodata=nodata,
                       interleave=interleave, photometric="MINISBLACK", **PLACE) as file:
        file.write(np.where(known, values, nodata).astype(dtype))
    with rasterio.open(tmp_path / "in.tif") as file:
        np.testing.assert_array_equal(file.read_masks() > 0, known)
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as file:
        assert_filled(file.read(), values, known, nodata)


def test_missing_blocks_are_of_their_band(rng, tool, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    values, _ = bands(rng, "float32")
    known = np.ones(values.shape, bool)
    known[1, 16:32, 16:32] = False
    with rasterio.open(tmp_path / "in.tif", "w", count=3, dtype="float32", nodata=-9999,
                       interleave="band", tiled=True, blockxsize=16, blockysize=16,
                       sparse_ok=True, **PLACE) as file:
        file.write(np.where(known, values, -9999).astype("float32"))
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as file:
        found = file.read()
        np.testing.assert_array_equal(found[known], values[known])
        assert found.min() > 0


def test_dark_colours_are_known(rng, tool, tmp_path):
    """As in GDAL's unified nodata, a colour is unknown where all of its channels are."""
    rasterio = pytest.importorskip("rasterio")
    values, known = bands(rng, "uint8")
    known[:] = known[0]
    values[1][rng.random((60, 44)) < 0.2] = 0
    with rasterio.open(tmp_path / "in.tif", "w", count=3, dtype="uint8", nodata=0,
                       photometric="RGB", **PLACE) as file:
        file.write(np.where(known, values, 0).astype("uint8"))
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as file:
        np.testing.assert_array_equal(file.read()[known], values[known])


def test_nodata_beside_the_least_float(rng, tool, tmp_path):
    """Nodata that is nearly the value of unknown entries is refused; both remedies work."""
    tifffile = pytest.importorskip("tifffile")
    values, known = bands(rng, "float32", 1)
    values, known = values[0], known[0]
    stored = np.where(known, values, np.finfo("float32").min)
    tifffile.imwrite(tmp_path / "in.tif", stored, photometric="minisblack",
                     extratags=[(42113, "s", 0, "-3.39999999999999996e+38", True)])
    done = run(tool, tmp_path / "in.tif", "-o", tmp_path / "out.tif")
    assert done.returncode and "gdal_edit.py -a_nodata" in done.stderr
    assert not (tmp_path / "out.tif").exists()
    right = done.stderr.split("-a_nodata ")[1].split(")")[0]
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif", "--unknown", right)
    assert_filled(tifffile.imread(tmp_path / "out.tif"), values, known, stored.min())
    tifffile.imwrite(tmp_path / "right.tif", stored, photometric="minisblack",
                     extratags=[(42113, "s", 0, right, True)])
    complete(tool, tmp_path / "right.tif", tmp_path / "out.tif")
    assert_filled(tifffile.imread(tmp_path / "out.tif"), values, known, stored.min())


@pytest.mark.parametrize("internal", [True, False])
@pytest.mark.parametrize("layout", [{}, {"tiled": True, "blockxsize": 16, "blockysize": 16}])
def test_masks_of_gdal(rng, tool, tmp_path, internal, layout):
    rasterio = pytest.importorskip("rasterio")
    values, known = bands(rng, "float32", 2)
    known[:] = known[0]
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=internal):
        with rasterio.open(tmp_path / "in.tif", "w", count=2, dtype="float32", **PLACE,
                           **layout) as file:
            file.write(np.where(known, values, 12345).astype("float32"))
            file.write_mask(known[0])
        with rasterio.open(tmp_path / "in.tif", "r+") as file:
            file.build_overviews([2], rasterio.enums.Resampling.nearest)
    assert (tmp_path / "in.tif.msk").exists() != internal
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as file:
        assert_filled(file.read(), values, known, 12345)
        assert (file.read_masks() == 255).all()


def test_mask_of_each_page(rng, tool, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    values, known = bands(rng, "uint16")
    with tifffile.TiffWriter(tmp_path / "in.tif") as file:
        for v, k in zip(np.where(known, values, 60000).astype("uint16"), known):
            file.write(v, photometric="minisblack", metadata=None)
            file.write(k, photometric="mask", subfiletype=4, metadata=None)
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif")
    assert_filled(tifffile.imread(tmp_path / "out.tif"), values, known, 60000)


def test_mask_of_another_size(rng, tool, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "in.tif", rng.random((60, 44)).astype("float32"))
    tifffile.imwrite(tmp_path / "in.tif.msk", np.ones((59, 44), "uint8"))
    done = run(tool, tmp_path / "in.tif", "-o", tmp_path / "out.tif")
    assert done.returncode and "in.tif.msk: its mask has another size" in done.stderr


@pytest.mark.parametrize("tagged", [True, False])
def test_unknown_index_of_a_palette(rng, tool, tmp_path, tagged):
    """A colour that is that of the unknown index is known; (n, n, n) is no index."""
    tifffile = pytest.importorskip("tifffile")
    known = rng.random((60, 44)) < 0.6
    colours = rng.integers(0, 256, (3, 256))
    colours[:, 9] = colours[:, 7]
    colours[:, 5] = 7
    index = np.where(known, rng.choice([1, 5, 9], (60, 44)), 7).astype("uint8")
    tifffile.imwrite(tmp_path / "in.tif", index, photometric="palette",
                     colormap=(257 * colours).astype("uint16"),
                     extratags=[(42113, "s", 0, "7", True)] if tagged else [])
    complete(tool, tmp_path / "in.tif", tmp_path / "out.npy", *([] if tagged else ["--unknown", 7]))
    found = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(found[known], colours[:, index].transpose(1, 2, 0)[known])
    assert (np.abs(found - colours[:, 7])[~known].max(axis=-1) > 2).mean() > 0.9


@pytest.mark.parametrize("count, dtype", [(1, "float32"), (3, "uint8"), (4, "int16")])
def test_tiles_are_kept(rng, tool, tmp_path, count, dtype):
    rasterio = pytest.importorskip("rasterio")
    values, known = bands(rng, dtype, count)
    known[:] = known[0]
    with rasterio.open(tmp_path / "in.tif", "w", count=count, dtype=dtype, nodata=0, tiled=True,
                       blockxsize=32, blockysize=16, compress="lzw", **PLACE) as file:
        file.write(np.where(known, values, 0).astype(dtype))
    with rasterio.open(tmp_path / "in.tif", "r+") as file:
        place = file.profile
        file.build_overviews([2], rasterio.enums.Resampling.nearest)
    done = run(tool, tmp_path / "in.tif", "-o", tmp_path / "out.tif")
    assert done.returncode == 0 and "gdaladdo" in done.stderr
    with rasterio.open(tmp_path / "out.tif") as file:
        assert_filled(file.read(), values, known, -32768)
        for key in ("tiled", "blockxsize", "blockysize", "compress", "crs", "count", "dtype"):
            assert file.profile[key] == place[key]


@pytest.mark.parametrize("slices", [1, 2])
def test_channels_of_imagej(rng, tool, tmp_path, slices):
    """Pages that ImageJ says are channels are those of a picture, and are written as such: packed,
    as ImageJ ignores all pages but the first where they are not."""
    tifffile = pytest.importorskip("tifffile")
    values, known = bands(rng, "float32", 2 * slices)
    shape = (slices, 2, 60, 44) if slices > 1 else (2, 60, 44)
    axes = "ZCYX"[-len(shape):]
    values, known = values.reshape(shape), known.reshape(shape)
    tifffile.imwrite(tmp_path / "in.tif", np.where(known, values, np.nan).astype("float32"),
                     imagej=True, metadata={"axes": axes})
    complete(tool, tmp_path / "in.tif", tmp_path / "out.tif")
    complete(tool, tmp_path / "in.tif", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").shape == (*shape[:-3], 60, 44, 2)
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        assert file.series[0].axes == axes and file.pages[0].compression != 1
        found = file.asarray()
    assert_filled(found, values, known, np.nan)
    np.testing.assert_array_equal(found, np.moveaxis(np.load(tmp_path / "out.npy"), -1, -3))


@pytest.mark.parametrize("axes", ["CZYX", "TCYX", "CYX", "ZCYX"])
def test_channels_of_ome(rng, tool, tmp_path, axes):
    tifffile = pytest.importorskip("tifffile")
    extents = {"C": 2, "Z": 3, "T": 3, "Y": 60, "X": 44}
    shape = [extents[a] for a in axes]
    values, known = bands(rng, "uint16", int(np.prod(shape[:-2])))
    values, known = values.reshape(shape), known.reshape(shape)
    with tifffile.TiffWriter(tmp_path / "in.ome.tif") as file:
        for v, k in zip(np.where(known, values, 0).reshape(-1, 60, 44), known.reshape(-1, 60, 44)):
            file.write(v.astype("uint16"), photometric="minisblack", metadata=None,
                       description=ome(axes, extents))
            file.write(k, photometric="mask", subfiletype=4, metadata=None)
    complete(tool, tmp_path / "in.ome.tif", tmp_path / "out.ome.tif")
    complete(tool, tmp_path / "in.ome.tif", tmp_path / "out.npy")
    whole = np.load(tmp_path / "out.npy")
    assert whole.shape == (*(extents[a] for a in axes if a in "ZT"), 60, 44, 2)
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as file:
        assert file.series[0].axes == axes
        found = file.asarray()
    np.testing.assert_array_equal(found[known], values[known])
    near = np.moveaxis(whole, -1, axes.index("C"))
    np.testing.assert_allclose(found, near.clip(0, 65535), atol=0.5)


def ome(axes, extents):
    order = "XY" + axes[:-2][::-1] + "".join(a for a in "ZCT" if a not in axes)
    sizes = " ".join(f'Size{a}="{extents[a] if a in axes else 1}"' for a in "XYZCT")
    channels = "".join(f'<Channel ID="Channel:0:{c}" SamplesPerPixel="1"/>' for c in range(2))
    return ('<?xml version="1.0" encoding="UTF-8"?>'
            '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
            f'<Pixels ID="Pixels:0" DimensionOrder="{order}" Type="uint16" {sizes}>{channels}'
            "<TiffData/></Pixels></Image></OME>")


def test_channels_that_are_not_there(rng, tool, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    values = bands(rng, "float32", 3)[0]
    tifffile.imwrite(tmp_path / "in.tif", values, photometric="minisblack", metadata=None,
                     description="ImageJ=1.54f\nimages=6\nchannels=2\nslices=3\n")
    done = run(tool, tmp_path / "in.tif", "--unknown", "0", "-o", tmp_path / "out.tif")
    assert done.returncode and "a page for each channel" in done.stderr


def _plain_tiff(path, values, nodata):
    """8 bits in one strip, with GDAL's tag, by struct alone."""
    text, (height, width) = nodata.encode() + b"\0", values.shape
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1),
            (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, values.size),
            (42113, 2, len(text), int.from_bytes(text, "little"))]
    start = 8 + values.size + values.size % 2
    path.write_bytes(struct.pack("<2sHI", b"II", 42, start) + values.tobytes()
                     + b"\0" * (values.size % 2) + struct.pack("<H", len(tags))
                     + b"".join(struct.pack("<HHII", *tag) for tag in tags) + b"\0" * 4)


def test_a_mask_may_say_that_nodata_is_known(rng, tool, tmp_path):
    values = rng.integers(0, 3, (30, 41), np.uint8) * 60
    known = rng.random(values.shape) < 0.6
    _plain_tiff(tmp_path / "in.tif", values, "0")
    np.save(tmp_path / "mask.npy", known)
    for output, more in (("out.npy", ["--mask", tmp_path / "mask.npy"]), ("own.npy", [])):
        subprocess.run([tool, tmp_path / "in.tif", "-o", tmp_path / output, "--dtype", "uint8", "-q",
                        *more], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy")[known], values[known])
    own = np.load(tmp_path / "own.npy")
    assert (own != 0).all()
    np.testing.assert_array_equal(own[values != 0], values[values != 0])
