# SPDX-License-Identifier: BSD-3-Clause
"""Which axis has channels is said or asked; arrays in the archives of others."""
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import csrecover as cs
from conftest import picture


def run(tool, *words):
    return subprocess.run([tool, *map(str, words)], capture_output=True, text=True)


def recovered(tool, folder, source, *words, target="o.npy"):
    done = run(tool, folder / source, "-o", folder / target, "-Q", "fast", "--backend", "cpu", *words)
    assert done.returncode == 0, done.stderr
    return np.load(folder / target), done.stderr


@pytest.fixture
def colours(rng, tmp_path):
    """[3, H, W] as c.npy and [H, W, 3] as l.npy, with unknown entries."""
    planes = np.stack([picture(rng, 40)[:30] * gain for gain in (1, 0.5, 0.7)])
    planes[:, rng.random((30, 40)) < 0.6] = np.nan
    np.save(tmp_path / "c.npy", planes)
    np.save(tmp_path / "l.npy", np.moveaxis(planes, 0, -1))
    return planes


def test_channels_first(tool, tmp_path, colours):
    last = recovered(tool, tmp_path, "l.npy", "-c")[0]
    first = recovered(tool, tmp_path, "c.npy", "--channels-first")[0]
    np.testing.assert_array_equal(np.moveaxis(first, 0, -1), last)
    mask = np.isfinite(colours) & (np.arange(3) != 1)[:, None, None] | (np.arange(40) % 2 == 0)
    filled = np.where(np.isfinite(colours), colours, 7.0)
    np.save(tmp_path / "f.npy", filled)
    np.save(tmp_path / "m.npy", mask)
    found = recovered(tool, tmp_path, "f.npy", "--channels-first", "--mask", tmp_path / "m.npy")[0]
    np.testing.assert_array_equal(found[mask], filled[mask])
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(found[~mask], filled[~mask])
    read = cs.read(tmp_path / "c.npy", channels_first=True)
    known = np.isfinite(colours[0])
    assert read.shape == (30, 40)
    np.testing.assert_array_equal(read.y, colours[:, known].T)
    np.save(tmp_path / "big.npy", np.ones((3, 600, 700)))  # 10 MB
    for words, told in (((), "moveaxis"), (("--quiet",), "")):
        done = run(tool, tmp_path / "big.npy", "--channels-first", "-o", tmp_path / "o.npy", "--memory", 9, *words)
        assert done.returncode == 1 and told in done.stderr and ("moveaxis" in done.stderr) == bool(told)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file["sea"] = colours
        file["sea"].attrs["units"] = "K"
    assert run(tool, tmp_path / "c.h5", "--channels-first", "-o", tmp_path / "o.h5", "-Q", "fast",
               "--backend", "cpu").returncode == 0
    with h5py.File(tmp_path / "o.h5") as file:
        np.testing.assert_array_equal(file["sea"][:], first)
        assert file["sea"].attrs["units"] == "K"


def test_colours_are_asked_about(rng, tool, tmp_path, colours):
    sampler = Path(tool).with_name("cssample")
    for program, options in ((tool, ["-o", tmp_path / "o.npy"]),
                             (sampler, ["-o", tmp_path / "o.npz", "-r", 0.3])):
        done = run(program, tmp_path / "l.npy", *options)
        assert done.returncode == 1 and "--channels-last or --volume" in done.stderr
        done = run(program, tmp_path / "l.npy", *options, "-c", "--volume")
        assert done.returncode == 2 and "one of them" in done.stderr
    with pytest.raises(cs.ArgumentError, match="colours or a volume"):
        cs.read(tmp_path / "l.npy")
    volume = recovered(tool, tmp_path, "l.npy", "--volume")[0]
    measured = cs.read(tmp_path / "l.npy", volume=True)
    assert measured.shape == (30, 40, 3) == volume.shape
    _, told = recovered(tool, tmp_path, "c.npy")
    assert "3 slices; --channels-first" in told
    with pytest.warns(UserWarning, match="channels_first"):
        assert cs.read(tmp_path / "c.npy").shape == (3, 30, 40)
    with pytest.warns(cs.RecoveryWarning, match="channel_axis=0"):
        cs.recover(colours, quality="fast", backend="cpu")
    for shape in ((4, 9, 3), (9, 9, 5), (9, 9, 1)):  # too few rows, or channels that nobody has
        one = np.where(rng.random(shape) < 0.5, 1.0, np.nan)
        one.flat[0] = 1.0
        np.save(tmp_path / "one.npy", one)
        assert cs.read(tmp_path / "one.npy").shape == shape
    whole = np.abs(np.nan_to_num(colours))
    np.save(tmp_path / "w.npy", whole)
    assert run(sampler, tmp_path / "w.npy", "-o", tmp_path / "s.npz", "-r", 0.3,
               "--channels-first").returncode == 0
    scan = cs.read(tmp_path / "s.npz")
    np.testing.assert_array_equal(scan.y, whole.reshape(3, -1)[:, scan.index].T)


def test_archives_of_others(tool, tmp_path, colours):
    field, known = colours[0], np.isfinite(colours[0])
    np.save(tmp_path / "p.npy", field)
    wanted = recovered(tool, tmp_path, "p.npy")[0]
    np.savez(tmp_path / "one.npz", height=field, who=np.array("us"), year=2026)
    np.savez_compressed(tmp_path / "two.npz", mask=known, data=np.where(known, field, 5), lat=[1.0, 2])
    masked = ["--mask", f"{tmp_path}/two.npz:/mask"]
    for source, words in (("one.npz", []), ("one.npz:/height", []), ("one.npz:height", []),
                          ("two.npz:/data", masked)):
        np.testing.assert_array_equal(recovered(tool, tmp_path, source, *words)[0], wanted)
    for source, words in (("two.npz", "which array? mask [30 x 40], data [30 x 40], lat [2]; name one"),
                          ("one.npz:/depth", "has no array of that name but height [30 x 40]"),
                          ("p.npy:/x", "leave out :/x")):
        done = run(tool, tmp_path / source, "-o", tmp_path / "no.npy")
        assert done.returncode == 1 and words in done.stderr, done.stderr
    np.savez(tmp_path / "none.npz", who=np.array("us"))
    with pytest.raises(cs.FormatError, match="neither a measurement"):
        cs.read(tmp_path / "none.npz")
    assert cs.read(f"{tmp_path}/one.npz:/height").rate == known.mean()


def test_masks_beside_belong_to_the_fingerprint(rng, tool, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    values, known = picture(rng, 40).astype(np.uint8), rng.random((40, 40)) < 0.5
    tifffile.imwrite(tmp_path / "a.tif", values)
    words = [tool, tmp_path / "a.tif", "-o", tmp_path / "o.npy", "-Q", "fast", "--resume", "-v"]
    for mask, again in ((known, False), (known, True), (known.T, False)):
        tifffile.imwrite(tmp_path / "a.tif.msk", np.where(mask, 255, 0).astype(np.uint8))
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        assert done.returncode == 0 and ("already done" in done.stderr) == again, done.stderr
    assert os.path.exists(tmp_path / "o.npy")
