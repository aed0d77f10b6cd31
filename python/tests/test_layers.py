# SPDX-License-Identifier: BSD-3-Clause
"""Images and channels of a file that holds several, as the field's programs write them: extensions,
tiles and quality planes of FITS by astropy, layers and parts of OpenEXR; light that becomes a
picture. A library that is not installed is skipped."""
import gzip
import subprocess

import numpy as np
import pytest

import csrecover as cs
from conftest import picture


@pytest.fixture
def values(rng):
    return picture(rng, 60)[:, :44].astype("float32")


@pytest.fixture
def known(rng):
    return rng.random((60, 44)) < 0.5


def complete(tool, source, target, *options):
    """What the tool says."""
    done = subprocess.run([tool, source, "-o", target, "--quality", "fast", "--backend", "cpu",
                           *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def holds(file, values, known):
    """Whether the file's samples are these."""
    found = cs.read(str(file))
    assert found.shape == values.shape[:2]
    np.testing.assert_array_equal(found.index, np.flatnonzero(known))
    np.testing.assert_array_equal(found.y.reshape(-1, *values.shape[2:]), values[known])


# ------------------------------------------------------------------ FITS

KINDS = [("RICE_1", "int16"), ("RICE_1", "uint16"), ("RICE_1", "float32"), ("RICE_1", "float64"),
         ("GZIP_1", "float32"), ("GZIP_2", "float64"), ("HCOMPRESS_1", "int32"),
         ("PLIO_1", "int16")]


@pytest.mark.parametrize("packing, dtype", KINDS)
def test_tiles(tool, tmp_path, values, known, packing, dtype):
    fits = pytest.importorskip("astropy.io.fits")
    unknown = np.nan if "float" in dtype else 999
    way = {"quantize_level": 0} if packing[:4] == "GZIP" else {}
    image = fits.CompImageHDU(np.where(known, values, unknown).astype(dtype), name="SCI",
                              compression_type=packing, **way)
    image.header["OBJECT"] = "M1"
    if dtype == "uint16":
        unknown = 999
    elif "int" in dtype:
        image.header["BLANK"] = unknown
    fits.HDUList([fits.PrimaryHDU(), image]).writeto(tmp_path / "in.fits", checksum=True)
    with fits.open(tmp_path / "in.fits", do_not_scale_image_data=dtype != "uint16") as file:
        seen = np.array(file["SCI"].data)
    if dtype == "uint16":
        assert (cs.read(str(tmp_path / "in.fits"), unknown=999).y == seen[known]).all()
    else:
        holds(tmp_path / "in.fits", seen, known)
        complete(tool, tmp_path / "in.fits", tmp_path / "out.fits")
        with fits.open(tmp_path / "out.fits") as file:
            file.verify("exception")
            assert file[0].header["OBJECT"] == "M1" and "ZIMAGE" not in file[0].header
            assert file[0].data.dtype.newbyteorder("=") == dtype
            np.testing.assert_array_equal(file[0].data[known], seen[known].astype(dtype))


def write_exposure(path, values, known):
    """As of Hubble: two exposures with a plane of flags each; the second has no holes."""
    fits = pytest.importorskip("astropy.io.fits")
    primary = fits.PrimaryHDU()
    primary.header.update({"TELESCOP": "HST", "OBJECT": "field", "NEXTEND": 4})
    units = [primary]
    for version, good in ((1, known), (2, np.ones_like(known))):
        units += [fits.ImageHDU(version * values, name="SCI", ver=version),
                  fits.ImageHDU(np.where(good, 0, 64).astype("int16"), name="DQ", ver=version)]
        units[-2].header.update({"INHERIT": True, "OBJECT": f"chip {version}"})
    fits.HDUList(units).writeto(path)
    return fits


def test_extensions(tool, tmp_path, values, known):
    path = tmp_path / "in.fits"
    fits = write_exposure(path, values, known)
    said = complete(tool, f"{path}[SCI,2]", tmp_path / "out.fits", "--mask", f"{path}[DQ,1]")
    assert "first image" not in said
    with fits.open(tmp_path / "out.fits") as file:
        header = file[0].header
        assert (header["TELESCOP"], header["OBJECT"]) == ("HST", "chip 2")
        assert "NEXTEND" not in header and "INHERIT" not in header
        np.testing.assert_array_equal(file[0].data[known], 2 * values[known])
        assert (file[0].data[~known] != 2 * values[~known]).any()
    said = complete(tool, path, tmp_path / "out.fits", "--mask", f"{path}[2]")
    assert "[1] SCI,1, [2] DQ,1, [3] SCI,2, [4] DQ,2" in said
    with fits.open(tmp_path / "out.fits") as file:
        np.testing.assert_array_equal(file[0].data[known], values[known])


def test_gzip(tool, tmp_path, values, known):
    fits = pytest.importorskip("astropy.io.fits")
    fits.writeto(tmp_path / "in.fits.gz", np.where(known, values, np.nan))
    (tmp_path / "out").mkdir()
    complete(tool, tmp_path / "in.fits.gz", f"{tmp_path}/out/")
    np.testing.assert_array_equal(fits.getdata(tmp_path / "out" / "in.fits")[known], values[known])
    np.save(tmp_path / "in.npy", np.where(known, values, np.nan))
    whole = gzip.compress((tmp_path / "in.npy").read_bytes())
    half = len(whole) // 2
    two = gzip.compress((tmp_path / "in.npy").read_bytes()[:100])
    two += gzip.compress((tmp_path / "in.npy").read_bytes()[100:]) + b"\0" * 9
    (tmp_path / "two.gz").write_bytes(two)
    holds(tmp_path / "two.gz", values, known)
    (tmp_path / "cut.gz").write_bytes(whole[:half])
    with pytest.raises(cs.Error, match="gzip data are damaged or end early"):
        cs.read(str(tmp_path / "cut.gz"))


# ------------------------------------------------------------------ OpenEXR

def write_parts(path, values, known):
    exr = pytest.importorskip("OpenEXR")
    rgb = np.ascontiguousarray(np.dstack([values, values[::-1], 255 - values]) / 255)
    alpha = known.astype("float32")
    planes = {"RGBA": np.ascontiguousarray(np.dstack([rgb, alpha])), "Z": values,
              "albedo.R": values, "albedo.G": 2 * values, "albedo.B": 3 * values,
              "normal.X": values, "normal.Y": -values, "normal.Z": 1 - values}
    way = {"compression": exr.ZIP_COMPRESSION, "type": exr.scanlineimage}
    parts = [exr.Part({**way}, planes, "main"),
             exr.Part({**way}, {"RGB": 2 * rgb, "A": alpha}, "left"),
             exr.Part({**way}, {"A": alpha, "depth.V": values}, "depth")]
    exr.File(parts).write(str(path))
    return exr, rgb


@pytest.mark.parametrize("name, names", [
    ("", "RGB"), ("left", "RGB"), ("main", "RGB"), ("albedo", "albedo"), ("main/albedo", "albedo"),
    ("normal", "normal"), ("Z", "Z"), ("normal.Y", "normal.Y"), ("depth", "depth.V")])
def test_layers(tool, tmp_path, values, known, name, names):
    exr, rgb = write_parts(tmp_path / "in.exr", values, known)
    expected = {"RGB": 2 * rgb if name == "left" else rgb,
                "albedo": np.dstack([values, 2 * values, 3 * values]),
                "normal": np.dstack([values, -values, 1 - values]),
                "Z": values, "normal.Y": -values, "depth.V": values}[names]
    source = f"{tmp_path}/in.exr" + (f":/{name}" if name else "")
    holds(source, expected, known)
    said = complete(tool, source, tmp_path / "out.exr")
    rest = said.split("not read are ")[1].splitlines()[0]
    assert ("left" in rest) == (name != "left")
    with exr.File(str(tmp_path / "out.exr")) as file:
        found = file.channels()
        assert all(one.startswith(names) for one in found)
        found = np.dstack([one.pixels for one in found.values()]).squeeze()
    np.testing.assert_array_equal(found[known], expected[known])


def test_unknown_layer(tmp_path, values, known):
    write_parts(tmp_path / "in.exr", values, known)
    with pytest.raises(cs.Error, match="it has A, B, G, R, Z, albedo, normal, left, depth; name"):
        cs.read(f"{tmp_path}/in.exr:/diffuse")


def test_lossy_is_said(tool, tmp_path, values, known):
    exr = pytest.importorskip("OpenEXR")
    planes = {"Y": values, "A": known.astype("float32")}
    with exr.File({"compression": exr.DWAA_COMPRESSION, "type": exr.scanlineimage}, planes) as file:
        file.write(str(tmp_path / "in.exr"))
    done = subprocess.run([tool, tmp_path / "in.exr", "-o", tmp_path / "out.exr"], text=True,
                          capture_output=True)
    assert "DWAA, is lossy" in done.stderr  # OpenEXR before 3.4 refuses to unpack it in C
    assert (done.returncode == 0) == (tmp_path / "out.exr").exists()


def srgb(light):
    light = np.clip(light, 0, 1).astype("float64")
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def test_light_becomes_srgb(tool, tmp_path, values, known):
    image = pytest.importorskip("PIL.Image")
    exr, _ = write_parts(tmp_path / "in.exr", values, known)
    light = values / 200
    planes = {"RGBA": np.ascontiguousarray(np.dstack([light, light, light, known]), "float32")}
    with exr.File({"compression": exr.ZIP_COMPRESSION, "type": exr.scanlineimage}, planes) as file:
        file.write(str(tmp_path / "light.exr"))
    said = complete(tool, tmp_path / "light.exr", tmp_path / "out.png")
    assert "encoding of sRGB" in said
    found = np.asarray(image.open(tmp_path / "out.png"))
    np.testing.assert_array_equal(found[known][:, 0], np.round(255 * srgb(light))[known])
    complete(tool, tmp_path / "light.exr", tmp_path / "out.png", "--scale", "0,2", "--bits", "16")
    found = np.asarray(image.open(tmp_path / "out.png"))
    np.testing.assert_array_less(np.abs(found[known][:, 0] / 255 - srgb(light / 2)[known]), 1 / 255)
    assert "sRGB" not in complete(tool, f"{tmp_path}/in.exr:/Z", tmp_path / "out.png")
    found = np.asarray(image.open(tmp_path / "out.png"))[known].astype(float)
    low, high = values[known].min(), values[known].max()
    np.testing.assert_allclose(found, 255 * (values[known] - low) / (high - low), atol=0.51)
