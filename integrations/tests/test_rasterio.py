# SPDX-License-Identifier: BSD-3-Clause
"""rio csrecover, against csrecover.recover of the same arrays; GDAL reads what it wrote."""
import subprocess
import sys

import numpy as np
import pytest
from conftest import environment, picture, place
from rasters import PLACE, rasterio, write


@pytest.fixture(scope="module")
def plugin(tmp_path_factory, package):
    folder = tmp_path_factory.mktemp("plugin")
    place("rasterio", folder, ["rio_csrecover.py"])
    return folder


@pytest.fixture(scope="module")
def rio(plugin):
    """The command in this process, which saves the seconds of starting."""
    sys.path.insert(0, str(plugin))
    from click.testing import CliRunner
    from rasterio.rio.main import main_group
    assert "csrecover" in main_group.commands

    def run(*words):
        words = ["csrecover", *map(str, words), "--quality", "fast"]
        done = CliRunner().invoke(main_group, words)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return subprocess.CompletedProcess(words, done.exit_code, "", done.output)
    yield run
    sys.path.remove(str(plugin))


def read(path):
    with rasterio.open(path) as file:
        return file.read()


def draw(rng, shape=(96, 80), rate=0.4):
    known = rng.random(shape) < rate
    known[0, 0] = True
    return picture(rng, shape), known


@pytest.mark.parametrize("dtype, nodata", [("uint8", 0), ("int16", -9999), ("uint16", None),
                                           ("float32", -1e30), ("float64", np.nan)])
def test_values_and_profile(rng, tmp_path, rio, package, dtype, nodata):
    values, known = draw(rng)
    y = np.where(known, values, 0 if nodata is None else nodata).astype(dtype)
    predictor = 3 if dtype.startswith("float") else 2
    path = write(tmp_path / "in.tif", y, nodata=nodata, tiled=True, blockxsize=32, blockysize=16,
                 compress="deflate", predictor=predictor)
    with rasterio.open(path, "r+") as file:
        file.update_tags(OWNER="someone")
        file.update_tags(1, SENSOR="a", STATISTICS_MEAN="3")
        file.descriptions, file.units, file.scales, file.offsets = ("height",), ("m",), (0.5,), (7,)
    mask = ["--mask", write(tmp_path / "mask.tif", known.astype("u1"))] if nodata is None else []
    done = rio(path, tmp_path / "out.tif", *mask)
    assert done.returncode == 0, done.stderr
    with rasterio.open(path) as before, rasterio.open(tmp_path / "out.tif") as after:
        np.testing.assert_equal(dict(after.profile), dict(before.profile))
        assert after.tags()["OWNER"] == "someone" and after.tags(1) == {"SENSOR": "a"}
        structure = [file.tags(ns="IMAGE_STRUCTURE") for file in (before, after)]
        assert structure[0] == structure[1]
        for name in ("descriptions", "units", "scales", "offsets", "colorinterp"):
            assert getattr(after, name) == getattr(before, name)
        wanted = package.recover(y, known, quality="fast", dtype=dtype, nodata=nodata)
        np.testing.assert_array_equal(after.read(1), wanted)
    assert sorted(one.suffix for one in tmp_path.iterdir()) == [".tif"] * (2 + len(mask) // 2)


def test_bands(rng, tmp_path, rio, package):
    bands, known = zip(*(draw(rng) for _ in range(3)))
    y, known = np.where(known, bands, 0).astype("u1"), np.array(known)
    path = write(tmp_path / "in.tif", y, nodata=0)
    for words, each in (([], [y]), (["--alone"], [one[None] for one in y])):
        assert rio(path, tmp_path / "out.tif", "--overwrite", *words).returncode == 0
        wanted = [package.recover(one, nodata=0, channel_axis=0, dtype="u1", quality="fast")
                  for one in each]
        np.testing.assert_array_equal(read(tmp_path / "out.tif"), np.concatenate(wanted))
    y[1] = 0
    assert rio(write(path, y, nodata=0), tmp_path / "out.tif", "--overwrite").returncode == 0
    assert read(tmp_path / "out.tif").any((1, 2)).tolist() == [True, False, True]


def test_transparent_pixels(rng, tmp_path, rio, package):
    values, known = draw(rng)
    y = np.stack([values, 251 - values, (values + 1) / 2]).astype("u1") * known
    path = write(tmp_path / "in.tif", [*y, 255 * known.astype("u1")], photometric="rgb",
                 alpha="yes")
    assert rio(path, tmp_path / "out.tif").returncode == 0
    made = read(tmp_path / "out.tif")
    wanted = package.recover(y, known, channel_axis=0, dtype="u1", quality="fast")
    np.testing.assert_array_equal(made, [*wanted, np.full_like(y[0], 255)])
    assert rio(path, tmp_path / "near.tif", "--within", 2, "--nodata", 0).returncode == 0
    made = read(tmp_path / "near.tif")
    np.testing.assert_array_equal(made[3] == 255, made[0] > 0)


def test_palettes_are_classes(rng, tmp_path, rio):
    values, known = draw(rng)
    path = write(tmp_path / "in.tif", (values // 50 + 1).astype("u1") * known, nodata=0)
    colours = {k: (10 * k, 99, 0, 255) for k in range(256)}
    with rasterio.open(path, "r+") as file:
        file.write_colormap(1, colours)
    assert rio(path, tmp_path / "out.tif").returncode == 0
    with rasterio.open(tmp_path / "out.tif") as file:
        assert {k: file.colormap(1)[k] for k in range(1, 6)} == {k: colours[k] for k in range(1, 6)}
        assert set(np.unique(file.read())) <= set(range(1, 7))


def test_windows(rng, tmp_path, rio, package):
    values, known = draw(rng, (300, 200))
    path = write(tmp_path / "in.tif", np.where(known, values, -1).astype("f4"), nodata=-1)
    done = rio(path, tmp_path / "out.tif", "--window", 128, "--sigma", "auto")
    assert done.returncode == 0 and "0 stay unknown" in done.stderr
    made = read(tmp_path / "out.tif")[0]
    whole = package.recover(read(path)[0], nodata=-1, quality="fast", sigma="auto")
    assert package.psnr(made, values, peak=250) > package.psnr(whole, values, peak=250) - 0.3
    one = package.recover(read(path)[0, 64:300, 64:200], nodata=-1, quality="fast", sigma="auto")
    np.testing.assert_array_equal(made[128:256, 128:], one[64:192, 64:])


@pytest.mark.parametrize("ending, driver", [(".png", "PNG"), (".img", "HFA")])
def test_other_drivers(rng, tmp_path, rio, package, ending, driver):
    values, known = draw(rng)
    y = (values * known).astype("u1")
    path = write(tmp_path / "in.tif", y, nodata=0, compress="deflate", tiled=True)
    assert rio(path, tmp_path / f"out{ending}").returncode == 0
    with rasterio.open(tmp_path / f"out{ending}") as file:
        assert file.driver == driver and file.crs == PLACE["crs"] and file.nodata == 0
        np.testing.assert_array_equal(file.read(1), package.recover(y, nodata=0, dtype="u1",
                                                                    quality="fast"))


def test_the_program(rng, tmp_path, plugin, package):
    values, known = draw(rng)
    path = write(tmp_path / "in.tif", np.where(known, values, np.nan), nodata=np.nan)
    code = "from rasterio.rio.main import main_group; main_group(prog_name='rio')"
    done = subprocess.run([sys.executable, "-c", code, "csrecover", path, tmp_path / "out.tif"],
                          capture_output=True, text=True, env=environment(plugin))
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"{tmp_path}/out.tif: {(~known).sum()} values filled, 0 stay unknown\n"
    np.testing.assert_array_equal(read(tmp_path / "out.tif")[0], package.recover(read(path)[0]))


def test_mistakes(rng, tmp_path, rio):
    values, known = draw(rng)
    path = write(tmp_path / "in.tif", values * known, nodata=0)
    (tmp_path / "text.tif").write_text("no raster")
    write(tmp_path / "empty.tif", np.full((9, 9), np.nan))
    write(tmp_path / "complex.tif", np.ones((9, 9), "c8"))
    write(tmp_path / "byte.tif", np.ones((9, 9), "u1"))
    write(tmp_path / "one.tif", [[7]], nodata=0, crs=None)
    before = sorted(tmp_path.iterdir())
    for words, code, said in (
            (["text.tif"], 1, "not recognized"), (["absent.tif"], 1, "No such file"),
            (["empty.tif"], 1, "no value is known"), (["complex.tif"], 1, "give reals"),
            (["byte.tif", "--within", 2], 1, "give --nodata"),
            (["in.tif", "--sigma", "x"], 2, "--sigma"),
            (["in.tif", "--mask", tmp_path / "one.tif"], 1, "must agree"),
            (["in.tif", "--sigma", "-1"], 1, "sigma")):
        done = rio(tmp_path / words[0], tmp_path / "out.tif", *words[1:])
        assert done.returncode == code, (words, done.stderr)
        assert said in done.stderr.splitlines()[-1], (words, done.stderr)
        assert sorted(tmp_path.iterdir()) == before
    for output in (path, tmp_path / "one.tif"):
        kept = output.read_bytes()
        words = [] if output != path else ["--overwrite"]
        assert rio(path, output, *words).returncode == 2 and output.read_bytes() == kept
    assert rio(tmp_path / "one.tif", tmp_path / "out.tif").returncode == 0
    np.testing.assert_array_equal(read(tmp_path / "out.tif"), [[[7]]])


def test_control_points(rng, tmp_path, rio):
    values, known = draw(rng)
    path = write(tmp_path / "in.tif", values * known, nodata=0, crs=None,
                 transform=rasterio.Affine.identity())
    points = [rasterio.control.GroundControlPoint(row, col, 15 + col, 45 - row)
              for row, col in ((0, 0), (0, 80), (96, 0), (96, 80))]
    with rasterio.open(path, "r+") as file:
        file.gcps = points, rasterio.CRS.from_epsg(4326)
    assert rio(path, tmp_path / "out.tif").returncode == 0
    with rasterio.open(tmp_path / "out.tif") as file:
        found, crs = file.gcps
    assert crs == rasterio.CRS.from_epsg(4326)
    assert [(one.row, one.col, one.x, one.y) for one in found] == [
        (one.row, one.col, one.x, one.y) for one in points]


def test_the_mask_is_no_output(rng, tmp_path, rio):
    values, known = draw(rng)
    path = write(tmp_path / "in.tif", values)
    mask = write(tmp_path / "mask.tif", known.astype("u1"))
    kept = mask.read_bytes()
    done = rio(path, mask, "--mask", mask, "--overwrite")
    assert done.returncode == 2 and mask.read_bytes() == kept


def test_what_a_driver_cannot_hold_is_one_line(rng, tmp_path, rio):
    values, known = draw(rng)
    path = write(tmp_path / "in.tif", np.where(known, values, -9).astype("float32"), nodata=-9)
    done = rio(path, tmp_path / "out.png")
    assert done.returncode == 1 and "out.png: PNG driver doesn't support data type" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "out.png").exists()
