# SPDX-License-Identifier: BSD-3-Clause
"""The Processing script in QGIS itself, by qgis_process: values against the package, places as they
were."""
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import HERE, picture
from rasters import PLACE, rasterio, write


@pytest.fixture(scope="module")
def qgis(tmp_path_factory, tool):
    # Debian's qgis_process is a script that gives its program an option that it does not know.
    program = shutil.which("qgis_process.bin") or shutil.which("qgis_process")
    if not program:
        pytest.skip("no QGIS: apt-get install qgis python3-qgis qgis-providers")
    home = tmp_path_factory.mktemp("qgis")
    scripts = home / "profiles" / "default" / "processing" / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy(HERE / "qgis" / "csrecover_fill.py", scripts)
    own = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    own.update(QGIS_CUSTOM_CONFIG_PATH=str(home), QT_QPA_PLATFORM="offscreen")

    def run(**given):
        given = {"PROGRAM": tool, "QUALITY": 0, **given}
        words = [f"{name}={text}" for name, text in given.items()]
        done = subprocess.run([program, "run", "script:csrecover_fill", "--", *words], env=own,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
    return run


def test_nodata_and_profile(rng, tmp_path, qgis, package):
    known = rng.random((80, 96)) < 0.4
    y = np.where(known, picture(rng, (80, 96)) * 10, -9999).astype("i2")
    path = write(tmp_path / "in.tif", y, nodata=-9999, tiled=True, blockxsize=32, blockysize=16,
                 compress="deflate")
    code, said = qgis(INPUT=path, OUTPUT=tmp_path / "out.tif")
    assert code == 0, said
    with rasterio.open(path) as before, rasterio.open(tmp_path / "out.tif") as after:
        for name in ("crs", "transform", "dtypes", "shape", "block_shapes", "compression"):
            assert getattr(after, name) == getattr(before, name)
        made = after.read(1)
    wanted = package.recover(y, known, nodata=-9999, dtype="i2", quality="fast")
    np.testing.assert_array_equal(made[known], y[known])
    assert np.abs(made - wanted.astype(int)).max() <= 1  # rounded from float32 in the tool
    code, said = qgis(INPUT=path, OUTPUT=tmp_path / "near.img", WITHIN=1)
    assert code == 0, said
    with rasterio.open(tmp_path / "near.img") as near:
        left = near.read(1) == -9999
        assert near.driver == "HFA" and near.crs == PLACE["crs"] and near.nodata == -9999
    assert 0 < left.sum() < (~known).sum()
    np.testing.assert_array_equal(near_of(known)[~known], ~left[~known])


def near_of(known):
    """Whether a known pixel is beside it."""
    wide = np.pad(known, 1)
    return known | wide[2:, 1:-1] | wide[:-2, 1:-1] | wide[1:-1, 2:] | wide[1:-1, :-2]


def test_a_mask_of_another_grid(rng, tmp_path, qgis):
    values = picture(rng, (80, 96)).astype("f4")
    values[20:30, 40:60] = 999
    path = write(tmp_path / "in.tif", values)
    fine = np.ones((200, 240), "u1")  # 5 m, begins 50 m before the raster
    fine[10 + 2 * 20:10 + 2 * 30, 10 + 2 * 40:10 + 2 * 60] = 0
    place = rasterio.Affine(5, 0, 500000 - 50, 0, -5, 5000000 + 50)
    mask = write(tmp_path / "mask.tif", fine, transform=place)
    code, said = qgis(INPUT=path, MASK=mask, OUTPUT=tmp_path / "out.tif")
    assert code == 0, said
    with rasterio.open(tmp_path / "out.tif") as after:
        changed = after.read(1) != values
    inside = np.zeros_like(changed)
    inside[20:30, 40:60] = True
    np.testing.assert_array_equal(changed, inside)


def test_palettes_and_mistakes(rng, tmp_path, qgis):
    known = rng.random((40, 40)) < 0.5
    classes = (picture(rng, (40, 40)) // 60 + 1).astype("u1") * known
    path = write(tmp_path / "in.tif", classes, nodata=0)
    with rasterio.open(path, "r+") as file:
        file.write_colormap(1, {k: (9 * k, 0, 0, 255) for k in range(256)})
    code, said = qgis(INPUT=path, OUTPUT=tmp_path / "out.tif")
    assert code == 0, said
    with rasterio.open(tmp_path / "out.tif") as file:
        made = file.read()
        assert file.colormap(1)[3][0] == 27
        assert set(np.unique(made)) <= set(np.unique(classes)) - {0}
    empty = write(tmp_path / "empty.tif", np.full((9, 9), np.nan))
    for given, text in (({"INPUT": empty}, "no entry is known"),
                        ({"INPUT": path, "PROGRAM": "/none"}, "There is no program /none")):
        code, said = qgis(OUTPUT=tmp_path / "none.tif", **given)
        assert code != 0 and text in said and not (tmp_path / "none.tif").exists()
