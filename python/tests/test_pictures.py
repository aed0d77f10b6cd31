# SPDX-License-Identifier: BSD-3-Clause
"""PNG and JPEG beside Pillow: values, orientation, and what describes a picture, from file to file."""
import subprocess

import numpy as np
import pytest

import csrecover as cs
from conftest import picture

Image = pytest.importorskip("PIL.Image")
ImageCms = pytest.importorskip("PIL.ImageCms")
ImageOps = pytest.importorskip("PIL.ImageOps")
PngImagePlugin = pytest.importorskip("PIL.PngImagePlugin")
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def complete(tool, source, target, *options):
    done = subprocess.run([tool, source, "-o", target, "--quality", "fast", *options],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture
def jpeg(tool):
    listed = subprocess.run([tool, "--list"], capture_output=True, text=True, check=True).stdout
    if "needs libjpeg" in listed:
        pytest.skip("built without libjpeg-turbo")
    return tool


def drawn(rng, colour):
    values = picture(rng, 60)[:, :44].astype("uint8")
    values = np.stack([values, values[::-1], 255 - values], axis=-1) if colour else values
    return values, rng.random((60, 44)) < 0.4


def camera(turn):
    """EXIF of a camera, with the orientation and a thumbnail's directory."""
    exif = Image.Exif()
    exif.update({0x10F: "maker", 0x112: turn, 0x8769: {0x829A: 0.25}})
    return exif


def test_png_keeps_what_describes_it(rng, tool, tmp_path):
    values, known = drawn(rng, True)
    texts = PngImagePlugin.PngInfo()
    texts.add(b"cHRM", np.array([31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000],
                                ">u4").tobytes())
    texts.add(b"gAMA", np.array(45455, ">u4").tobytes())
    texts.add_text("Title", "of the sea")
    texts.add_text("Long", "again " * 99, zip=True)
    texts.add_itxt("XML:com.adobe.xmp", "<x:xmpmeta/>")
    Image.fromarray(np.dstack([values, np.uint8(255) * known])).save(
        tmp_path / "in.png", icc_profile=PROFILE, dpi=(300, 200), exif=camera(3), pnginfo=texts)
    told = complete(tool, tmp_path / "in.png", tmp_path / "out.png", "--verbose")
    assert f"{3 * known.sum()} of {values.size} values known" in told
    # The fingerprint of a file is not that of the next one.
    complete(tool, tmp_path / "out.png", tmp_path / "again.png", "--unknown", "7")
    source = Image.open(tmp_path / "in.png")
    for name in ("out.png", "again.png"):
        found = Image.open(tmp_path / name)
        found.load()
        comment = found.info.pop("Comment")
        assert comment.count("csrec-fingerprint") == 1
        assert ("--unknown=7" in comment) == (name == "again.png")
        assert found.info == source.info
        assert found.info["gamma"] == 0.45455 and len(found.info["chromaticity"]) == 8
        assert (tmp_path / name).read_bytes().count(b"csrec-fingerprint") == 1
    # False colours are no colours of the file.
    Image.fromarray(values[..., 0]).save(tmp_path / "gray.png", dpi=(300, 200), pnginfo=texts)
    complete(tool, tmp_path / "gray.png", tmp_path / "false.png", "--colormap", "viridis",
             "--unknown", str(values[0, 0, 0]))
    found = Image.open(tmp_path / "false.png")
    assert found.mode == "RGB" and "gamma" not in found.info and found.info["Title"]


@pytest.mark.parametrize("turn", range(1, 9))
def test_jpeg(rng, jpeg, tmp_path, turn):
    values, known = drawn(rng, turn % 4 > 1)
    options = {"subsampling": 2 * (turn % 2), "progressive": turn % 3 == 0,
               "icc_profile": PROFILE, "comment": b"of the sea"}
    Image.fromarray(values).save(tmp_path / "in.jpg", dpi=(300, 200), exif=camera(turn), **options)
    upright = np.array(ImageOps.exif_transpose(Image.open(tmp_path / "in.jpg")))
    known = known.T if turn > 4 else known
    np.save(tmp_path / "mask.npy", known)
    scan = cs.read(tmp_path / "in.jpg", tmp_path / "mask.npy")
    np.testing.assert_array_equal(scan.y, upright[known])
    for name in ("out.png", "out.jpg"):
        told = complete(jpeg, tmp_path / "in.jpg", tmp_path / name, "--mask", tmp_path / "mask.npy")
        assert ("known ones too" in told) == name.endswith("jpg")
    shown = np.array(Image.open(tmp_path / "out.png"))
    np.testing.assert_array_equal(shown[known], upright[known])
    # What Pillow writes of the same values.
    Image.fromarray(shown).save(tmp_path / "own.jpg", quality=95, subsampling=0)
    np.testing.assert_array_equal(np.array(Image.open(tmp_path / "out.jpg")),
                                  np.array(Image.open(tmp_path / "own.jpg")))
    # From JPEG to JPEG, to PNG, and back.
    complete(jpeg, tmp_path / "out.png", tmp_path / "back.jpg", "--mask", tmp_path / "mask.npy")
    for name in ("out.png", "out.jpg", "back.jpg"):
        found = Image.open(tmp_path / name)
        assert found.info["icc_profile"] == PROFILE
        assert np.allclose(found.info["dpi"], (200, 300) if turn > 4 else (300, 200), atol=1e-3)
        assert found.getexif()[0x10F] == "maker" and found.getexif()[0x112] == 1
        assert found.getexif().get_ifd(0x8769)[0x829A] == 0.25
        assert (tmp_path / name).read_bytes().count(b"csrec-fingerprint") == 1
    assert Image.open(tmp_path / "out.jpg").info["comment"] == b"of the sea"


@pytest.mark.parametrize("options, said", [
    (["--mask", "in.jpg"], "changes values"), (["--unknown", "0"], "changes values"),
    (["--mask", "mask.png", "--bits", "16"], "8 bits"), ([], "give a mask")])
def test_jpeg_is_no_place_for_exact_values(rng, jpeg, tmp_path, options, said):
    values, known = drawn(rng, True)
    Image.fromarray(values).save(tmp_path / "in.jpg")
    Image.fromarray(np.uint8(255) * known).save(tmp_path / "mask.png")
    done = subprocess.run([jpeg, "in.jpg", "-o", "out.jpg", *options], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and said in done.stderr
    assert not (tmp_path / "out.jpg").exists()


def test_paths_give_what_arrays_give(rng, tmp_path):
    """The same values and the same dtype, of each function that takes them."""
    for colour in (False, True):
        values, known = drawn(rng, colour)
        Image.fromarray(values).save(tmp_path / "in.png")
        Image.fromarray(np.uint8(255) * known).save(tmp_path / "known.png")
        Image.fromarray(np.uint8(255) * ~known).save(tmp_path / "holes.png")
        way = dict(quality="fast", backend="cpu")
        wanted = cs.recover(values, known, channel_axis=-1 if colour else None, **way)
        path, mask = str(tmp_path / "in.png"), tmp_path / "known.png"
        found = [cs.recover(path, mask, **way), cs.inpaint(path, str(tmp_path / "holes.png"), **way),
                 cs.inpaint(path, ~known, **way)]
        for one in found:
            assert one.dtype == np.uint8
            np.testing.assert_array_equal(one, wanted)
        with cs.Sequence(channel_axis=-1 if colour else None, **way) as live, cs.Sequence(**way) as other:
            wanted, = live.push(values, known) + live.finish()
            one, = other.push(path, mask) + other.finish()
        assert one.dtype == np.uint8
        np.testing.assert_array_equal(one, wanted)
        assert cs.tiles(path, mask, **way).shape == (60, 44)
    with pytest.raises(cs.ArgumentError, match="mask has shape"):
        cs.inpaint(path, known[1:])
    with pytest.warns(cs.RecoveryWarning, match="mask is true for 1.5 %.*give ~mask or use inpaint"):
        Image.fromarray(np.uint8(255) * (np.arange(2640).reshape(60, 44) % 67 == 0)).save(mask)
        cs.recover(path, mask, **way)
