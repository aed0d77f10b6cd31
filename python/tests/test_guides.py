# SPDX-License-Identifier: BSD-3-Clause
"""Guides: arrays that are known beside the samples, in measurements, files and calls."""
import subprocess
import warnings

import numpy as np
import pytest

import csrecover as cs


def drawn(rng, *shape):
    values = rng.standard_normal(shape).astype(np.float32)
    values[rng.random(shape) < 0.2] = np.nan
    values.flat[0] = 1
    return values


def test_guides_of_a_measurement(rng, tmp_path):
    image = rng.random((30, 20))
    photo, depth = drawn(rng, 30, 20, 3), drawn(rng, 30, 20)
    scan = cs.sample(image, 0.3, guide={"albedo": photo, "depth": depth})
    assert scan.guide_names == ("albedo",) * 3 + ("depth",)
    wanted = np.concatenate([np.moveaxis(photo, -1, 0), depth[None]])
    np.testing.assert_array_equal(scan.guides, wanted)
    cs.write(tmp_path / "scan.npz", scan)
    with np.load(tmp_path / "scan.npz") as file:
        assert file["guides"].dtype == np.float32
        np.testing.assert_array_equal(file["guides"], wanted)
        assert file["guide_names"].tolist() == list(scan.guide_names)
    for scan in (cs.read(tmp_path / "scan.npz"), cs.merge([scan])):
        np.testing.assert_array_equal(scan.guides, wanted)
        assert scan.guide_names == ("albedo",) * 3 + ("depth",) and not scan.sequence
    assert cs.read(tmp_path / "scan.npz", guides=False).guides is None
    assert "albedo, depth" in scan._repr_html_()


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", ">f8", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_files_of_numpy(rng, tmp_path, dtype, order):
    mask = rng.random((9, 7)) < 0.5
    guides = np.asarray(rng.integers(0, 2 if dtype == "bool" else 100, (2, 9, 7)), dtype, order=order)
    mask[0, 0] = True
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", y=rng.random(mask.sum()), mask=mask, guides=guides,
             guide_names=np.array(["N", "étage"]))
        scan = cs.read(tmp_path / "a.npz")
        np.testing.assert_array_equal(scan.guides, guides.astype(np.float32))
        assert scan.guide_names == ("N", "?tage")


def test_sequences(rng, tmp_path):
    scan = cs.sample(rng.random((4, 9, 7)), 0.5)
    scan.sequence = True
    frame, each = drawn(rng, 9, 7, 2), drawn(rng, 4, 9, 7)
    cs.write(tmp_path / "s.npz", scan)
    with np.load(tmp_path / "s.npz") as file:
        assert file["sequence"].dtype == bool and file["sequence"].shape == ()
    found = cs.read(tmp_path / "s.npz")
    assert found.sequence and found.guides is None
    from csrecover._guides import guided
    found = guided(found, {"a": frame, "b": each})
    np.testing.assert_array_equal(found.guides[:2], np.broadcast_to(np.moveaxis(frame, -1, 0)[:, None],
                                                                    (2, 4, 9, 7)))
    np.testing.assert_array_equal(found.guides[2], each)
    found.shape = (36, 7)
    found.guides = None
    with pytest.raises(cs.Error, match="three axes"):
        cs.write(tmp_path / "s.npz", found)


def test_guides_of_calls(rng):
    image, known = rng.random((16, 18, 3)), rng.random((16, 18)) < 0.4
    photo = drawn(rng, 16, 18)
    hidden = np.ma.MaskedArray(np.nan_to_num(photo, nan=7.0), np.isnan(photo))
    options = {"channel_axis": -1, "quality": "fast"}
    wanted = cs.recover(image, known, guide=photo, **options)
    for guide in (photo[..., None], {"": photo}, hidden):
        np.testing.assert_array_equal(cs.recover(image, known, guide=guide, **options), wanted)
    np.testing.assert_array_equal(cs.inpaint(image, ~known, guide=photo, **options), wanted)
    scan = cs.Measurement(image[known], np.flatnonzero(known), known.shape, guides=photo[None])
    np.testing.assert_array_equal(cs.recover(scan, quality="fast"), wanted)


def test_what_does_not_fit(rng, tmp_path):
    image, known = rng.random((16, 18)), rng.random((16, 18)) < 0.4
    for guide in (image.T, image[..., None, None], image[:, :0], 3.0):
        with pytest.raises(ValueError, match=r"guide has shape .* and the signal \(16, 18\)"):
            cs.recover(image, known, guide=guide)
    with pytest.raises(ValueError, match=r"guide 'N' has shape \(18, 16\)"):
        cs.sample(image, 0.3, guide={"N": image.T})
    with pytest.raises(ValueError, match="too long"):
        cs.recover(image, known, guide={"N" * 32: image})
    scan = cs.sample(image, 0.3, guide=image)
    with pytest.raises(cs.Error, match="guides are not|do not know of guides"):
        cs.tiles(scan)
    scan.guide_names = ("a", "b")
    with pytest.raises(ValueError, match="2 for 1 planes"):
        cs.write(tmp_path / "a.npz", scan)
    scan.guides = image
    with pytest.raises(ValueError, match=r"guides have shape \(16, 18\)"):
        cs.write(tmp_path / "a.npz", scan)
    scan.guides, scan.guide_names = np.full((1, 16, 18), np.inf), None
    with pytest.raises(cs.Error, match="infinite"):
        cs.write(tmp_path / "a.npz", scan)
    with pytest.raises(cs.Error, match="operator"):
        through = cs.measure(image, "hadamard", rate=0.5)
        through.guides = image[None]
        cs.recover(through, quality="fast")


def test_labelled_guides(rng):
    xarray = pytest.importorskip("xarray")
    image = xarray.DataArray(np.where(rng.random((12, 15)) < 0.5, rng.random((12, 15)), np.nan),
                             dims=("y", "x"))
    guide = xarray.DataArray(drawn(rng, 15, 12), dims=("x", "y"))
    np.testing.assert_array_equal(cs.recover(image, guide=guide, quality="fast"),
                                  cs.recover(image, guide=guide.values.T, quality="fast"))


def test_layers_of_a_rendering(rng, tool, tmp_path):
    exr = pytest.importorskip("OpenEXR")
    known = rng.random((40, 50)) < 0.4
    plane = {name: drawn(rng, 40, 50) for name in ("albedo.R", "albedo.G", "albedo.B", "Normal.X",
                                                   "Normal.Y", "Normal.Z", "dd.y", "emission.R")}
    rgb = rng.random((40, 50, 3)).astype(np.float32)
    rgba = np.ascontiguousarray(np.dstack([rgb, known]), np.float32)
    part = exr.Part({"compression": exr.ZIP_COMPRESSION, "type": exr.scanlineimage},
                    {"RGBA": rgba, **plane}, "main")
    side = exr.Part({"compression": exr.ZIPS_COMPRESSION, "type": exr.scanlineimage},
                    {"X": plane["dd.y"], "Y": plane["Normal.X"], "Z": plane["albedo.R"]}, "position")
    exr.File([part, side]).write(str(tmp_path / "a.exr"))
    with pytest.warns(UserWarning, match="guides are its layers normal, albedo, depth, position"):
        scan = cs.read(tmp_path / "a.exr")
    names = ("normal",) * 3 + ("albedo",) * 3 + ("depth",) + ("position",) * 3
    assert scan.guide_names == names
    for k, name in enumerate(("Normal.X", "Normal.Y", "Normal.Z", "albedo.R", "albedo.G", "albedo.B",
                              "dd.y", "dd.y", "Normal.X", "albedo.R")):
        np.testing.assert_array_equal(scan.guides[k], plane[name])
    np.testing.assert_array_equal(scan.index, np.flatnonzero(known))
    done = subprocess.run([tool, tmp_path / "a.exr", "--info", "--json"], capture_output=True, text=True)
    assert '"guides": ["normal", "normal", "normal", "albedo"' in done.stdout
    assert "emission" in done.stderr and "guides are its layers" in done.stderr


@pytest.mark.parametrize("noise, warns", [(0.0, True), (0.1, False)])
def test_a_guide_made_of_the_samples_is_told(rng, noise, warns):
    image, mask = cs.datasets.picture("discs", 48) / 255.0, rng.random((48, 48)) < 0.4
    filling = np.where(mask, image, image[mask].mean()) + noise * rng.standard_normal(image.shape)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cs.recover(np.where(mask, image, np.nan), guide=3.0 - 2.0 * filling, backend="cpu")
    assert any("equals the samples" in str(one.message) for one in told) == warns
