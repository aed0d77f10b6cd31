# SPDX-License-Identifier: BSD-3-Clause
"""Label maps in Python and in files: types, palettes and nodata stay, results are classes."""
import json
import subprocess

import numpy as np
import pytest

import csrecover

Image = pytest.importorskip("PIL.Image")


def _map(rng, classes, shape=(40, 50)):
    y, x = np.mgrid[:shape[0], :shape[1]]
    points = rng.random((9, 2)) * shape
    far = (y[..., None] - points[:, 0]) ** 2 + (x[..., None] - points[:, 1]) ** 2
    return np.array(classes)[rng.integers(0, len(classes), 9)][far.argmin(-1)]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float32"])
def test_classes_and_type_stay(dtype, rng):
    whole = _map(rng, [0, 11, 95]).astype(dtype)
    known = rng.random(whole.shape) < 0.3
    found, info = csrecover.recover(whole, known, labels=True, quality="fast", return_info=True)
    assert found.dtype == whole.dtype and info.classes == len(np.unique(whole[known]))
    assert np.array_equal(found[known], whole[known])
    assert set(np.unique(found)) <= set(np.unique(whole[known]))
    assert np.array_equal(found, csrecover.inpaint(whole, ~known, labels=True, quality="fast"))
    with pytest.raises(csrecover.DataError, match=r"is [0-9.]*\.5, and classes"):
        csrecover.recover(whole + 0.5, known, labels=True)
    with pytest.raises(csrecover.ArgumentError, match="labels"):
        csrecover.recover(whole, known, labels=True, return_uncertainty=True)


@pytest.mark.parametrize("out", ["out.png", "out.tif", "out.npy"])
@pytest.mark.parametrize("kind", ["png", "tif"])
def test_palettes(kind, out, rng, tool, tmp_path):
    whole = _map(rng, [1, 2, 200]).astype(np.uint8)
    known = rng.random(whole.shape) < 0.3
    palette = rng.integers(0, 256, (256, 3), dtype=np.uint8)
    stored = np.where(known, whole, 7).astype(np.uint8)
    if kind == "png":
        picture = Image.fromarray(stored, "P")
        picture.putpalette(palette.tobytes())
        picture.save(tmp_path / "in.png", transparency=7)
    else:
        tifffile = pytest.importorskip("tifffile")
        tifffile.imwrite(tmp_path / "in.tif", stored, photometric="palette",
                         colormap=palette.T.astype(np.uint16) * 257,
                         extratags=[(42113, "s", 2, "7", True)])
    done = subprocess.run([tool, f"in.{kind}", "--labels", "-o", out, "--json", "-Q", "fast"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["classes"] == len(np.unique(whole[known])) and not done.stderr
    wanted = csrecover.recover(whole, known, labels=True, quality="fast")
    if out.endswith("npy"):
        found = np.load(tmp_path / out)
    else:
        picture = Image.open(tmp_path / out)
        found = np.array(picture)
        assert np.array_equal(np.reshape(picture.getpalette(), (-1, 3)), palette)
    assert found.dtype == np.uint8 and np.array_equal(found, wanted)
    scan = csrecover.read(tmp_path / f"in.{kind}", labels=True)
    assert np.array_equal(scan.y, whole[known])
    done = subprocess.run([tool, f"in.{kind}", "-o", "rgb.npy", "-Q", "fast"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    assert "classes" in done.stderr and np.load(tmp_path / "rgb.npy").shape[2] == 3
    bad = subprocess.run([tool, f"in.{kind}", "--labels", "--dtype", "bool", "-o", "x.npy"],
                         cwd=tmp_path, capture_output=True, text=True)
    assert bad.returncode == 1 and "class 2" in bad.stderr and not (tmp_path / "x.npy").exists()


def test_flags_and_points(rng, tool, tmp_path):
    h5py = pytest.importorskip("h5py")
    whole = _map(rng, [10, 20, -5]).astype(np.int16)
    known = rng.random(whole.shape) < 0.4
    with h5py.File(tmp_path / "in.nc", "w") as file:
        file["cover"] = np.where(known, whole, -999).astype(np.int16)
        file["cover"].attrs["_FillValue"] = np.int16(-999)
        file["cover"].attrs["flag_values"] = np.array([-5, 10, 20], np.int16)
    told = subprocess.run([tool, "in.nc", "-o", "out.nc", "-Q", "fast"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    assert "flag_values" in told.stderr
    told = subprocess.run([tool, "in.nc", "-o", "out.nc", "--labels", "--verbose", "-Q", "fast"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "classes in the samples: " in told.stderr and "flag_values" not in told.stderr
    with h5py.File(tmp_path / "out.nc") as file:
        found = file["cover"][()]
        assert list(file["cover"].attrs["flag_values"]) == [-5, 10, 20]
    assert found.dtype == np.int16 and set(np.unique(found)) <= set(np.unique(whole[known]))
    np.savetxt(tmp_path / "points.csv", [[0.5, 0.5, 2], [0.6, 0.5, 4], [9.5, 9.5, 2]], delimiter=",")
    bad = subprocess.run([tool, "points.csv", "--grid", "3,3", "--labels", "-o", "x.npy"],
                         cwd=tmp_path, capture_output=True, text=True)
    assert bad.returncode == 1 and "share cells" in bad.stderr
    bad = subprocess.run([tool, "in.nc", "--labels", "--robust", "-o", "x.nc"], cwd=tmp_path,
                         capture_output=True, text=True)
    assert bad.returncode == 2 and "omit them, or --labels" in bad.stderr


def test_channels_are_maps_of_their_own(rng):
    whole = np.stack([_map(rng, [0, 3, 9]), _map(rng, [9, 4, -5]), _map(rng, [1, 2])], -1)
    known = rng.random(whole.shape) < 0.3
    known[..., 2] = False
    y = np.where(known, whole, np.nan)
    found = csrecover.recover(y, labels=True, quality="fast", channel_axis=-1)
    for c in range(2):
        alone = csrecover.recover(y[..., c], labels=True, quality="fast")
        assert np.array_equal(found[..., c], alone)
    assert np.isnan(found[..., 2]).all()


def test_ties_and_stops():
    y = np.array([5.0, np.nan, np.nan, np.nan, 2.0, np.nan, 7.0])
    assert csrecover.recover(y, labels=True).tolist() == [5, 5, 2, 2, 2, 2, 7]
    seen = []
    csrecover.recover(y, labels=True, callback=lambda now: seen.append(now.done) and False)
    assert seen == sorted(seen)
