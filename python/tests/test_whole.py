# SPDX-License-Identifier: BSD-3-Clause
"""Whole arrays: NaN, masks with and without channels, inpaint, types of results."""
import warnings

import numpy as np
import pytest

import csrecover as cs
from conftest import picture

WAY = {"quality": "fast", "backend": "cpu"}


def colours(rng):
    v, u = np.mgrid[:40, :50] / 50
    picture = 100 + 60 * np.stack([np.sin(3 * u + v), np.cos(2 * v), u * v], 2)
    return picture, rng.random((40, 50)) < 0.4


def test_nan_is_unknown(rng):
    picture, mask = colours(rng)
    gray = picture[..., 0]
    wanted = cs.recover(gray[mask], mask=mask, **WAY)
    with_nan = np.where(mask, gray, np.nan)
    np.testing.assert_array_equal(cs.recover(with_nan, **WAY), wanted)
    np.testing.assert_array_equal(cs.recover(np.ma.masked_invalid(with_nan), **WAY), wanted)
    line = np.where(rng.random(300) < 0.5, np.arange(300.0), np.nan)
    known = ~np.isnan(line)
    np.testing.assert_array_equal(cs.recover(line), cs.recover(line[known], known))
    np.testing.assert_array_equal(cs.recover(line, known), cs.recover(line[known], known))
    with pytest.raises(cs.ArgumentError, match="what was sampled"):
        cs.recover(gray)
    with_inf = np.where(mask, gray, np.inf)
    np.testing.assert_array_equal(cs.recover(with_inf, **WAY), wanted)
    with pytest.raises(cs.DataError, match="no samples"):
        cs.recover(np.where(mask, np.inf, np.nan))


def test_channels_may_be_any_axis(rng):
    picture, mask = colours(rng)
    wanted = cs.recover(picture[mask], mask, **WAY)
    whole = np.where(mask[..., None], picture, np.nan)
    spotted = np.repeat(mask[..., None], 3, 2)
    for axis in (-1, 0, 1):
        there = np.moveaxis(whole, -1, axis)
        expected = np.moveaxis(wanted, -1, axis)
        np.testing.assert_array_equal(cs.recover(there, channel_axis=axis, **WAY), expected)
        np.testing.assert_array_equal(
            cs.recover(there, np.moveaxis(spotted, -1, axis), channel_axis=axis, **WAY), expected)
        np.testing.assert_array_equal(cs.recover(there, mask, channel_axis=axis, **WAY), expected)
        _, error = cs.recover(there, channel_axis=axis, return_uncertainty=True, **WAY)
        assert error.shape == there.shape
    one = spotted.copy()
    one[..., 1] &= rng.random(mask.shape) < 0.8  # known at fewer places
    found = cs.recover(whole, one, channel_axis=-1, **WAY)
    np.testing.assert_array_equal(found[..., 1],
                                  cs.recover(picture[one[..., 1]][:, 1], one[..., 1], **WAY))
    np.testing.assert_array_equal(found[..., [0, 2]],
                                  cs.recover(picture[..., [0, 2]][mask], mask, **WAY))


def test_two_meanings_are_refused(rng):
    picture, mask = colours(rng)
    spotted = np.repeat(mask[..., None], 3, 2)
    for y, given in ((picture, spotted), (np.where(spotted, picture, np.nan), None),
                     (np.ma.masked_array(picture, ~spotted), None), (picture[spotted], spotted)):
        with pytest.raises(cs.ArgumentError, match="colours or a volume"):
            cs.recover(y, given)
    volume = cs.recover(picture, spotted, channel_axis=None, method="grids", backend="cpu")
    np.testing.assert_array_equal(volume, cs.recover(picture[spotted], index=np.flatnonzero(spotted),
                                                     shape=picture.shape, method="grids",
                                                     backend="cpu"))
    with pytest.raises(cs.ArgumentError, match="mask has shape"):
        cs.recover(picture, mask[:-1], channel_axis=-1)
    with pytest.raises(cs.ArgumentError, match="Measurement says itself"):
        cs.recover(cs.sample(picture, 0.3, channel_axis=-1), channel_axis=-1)


def test_integers_are_rounded_and_clipped(rng):
    picture, mask = colours(rng)
    bright = np.rint(picture[..., 0] * 1.6).clip(0, 255).astype(np.uint8)
    floats = cs.recover(bright, mask, dtype=float, **WAY)
    assert cs.recover(bright, mask, **WAY).dtype == np.uint8
    assert cs.recover(bright[mask], mask, **WAY).dtype == np.float64
    for dtype in (np.uint8, "uint16", np.int8):
        found = cs.recover(bright, mask, dtype=dtype, **WAY)
        ends = np.iinfo(dtype)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.rint(floats).clip(ends.min, ends.max))
    assert cs.recover(bright, mask, dtype="float32", **WAY).dtype == np.float32
    with pytest.raises(cs.ArgumentError, match="dtype"):
        cs.recover(bright, mask, dtype=bool, **WAY)


def test_inpaint_fills_what_the_mask_marks(rng):
    picture, mask = colours(rng)
    wanted = cs.recover(picture[mask], mask, **WAY)
    found = cs.inpaint(picture, ~mask, channel_axis=-1, **WAY)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(
        cs.inpaint(picture, np.repeat(~mask[..., None], 3, 2), channel_axis=-1, **WAY), wanted)
    half = mask & (rng.random(mask.shape) < 0.5)
    np.testing.assert_array_equal(
        cs.inpaint(np.where(half, picture[..., 0], np.nan), ~mask, **WAY),
        cs.recover(picture[half][:, 0], half, **WAY))
    assert cs.inpaint(picture[..., 0].astype(np.uint8), ~mask, dtype=np.uint8, **WAY).dtype == np.uint8
    with pytest.raises(cs.ArgumentError, match="true where it is to be filled"):
        cs.inpaint(picture, ~mask)


def test_a_forgotten_tilde_is_noticed(rng):
    picture, _ = colours(rng)
    scratch = np.zeros((40, 50), bool)
    scratch[::7, 5] = True
    with pytest.warns(cs.RecoveryWarning, match="~mask"):
        cs.recover(picture[..., 0], scratch, **WAY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cs.recover(picture[..., 0], ~scratch, **WAY)


def test_wrong_types_are_named(rng):
    picture, mask = colours(rng)
    gray, known = picture[..., 0], mask
    for wrong, words in (({"seed": None}, "seed"), ({"seed": 0.5}, "seed"), ({"seed": -1}, "seed"),
                         ({"scale": 1}, "scale"), ({"scale": (1, 2, 3)}, "scale"),
                         ({"scale": ("a", 2)}, "scale"), ({"minutes": "x"}, "minutes"),
                         ({"epsilon": "x"}, "epsilon"), ({"atoms": 2.5}, "atoms"),
                         ({"model": "x.npz"}, "model"), ({"threads": 0.5}, "threads")):
        with pytest.raises(cs.ArgumentError, match=words):
            cs.recover(gray, known, **wrong)
    for call in (lambda: cs.sample(gray, "x"), lambda: cs.sample(gray, 0.3, seed=None),
                 lambda: cs.where_next(known, 3, seed="a"), lambda: cs.positions_of((8, 8), 2.5)):
        with pytest.raises(cs.ArgumentError):
            call()


def test_rng_draws_the_seed(rng):
    picture, mask = colours(rng)
    gray = picture[..., 0]
    seed = int(np.random.default_rng(5).integers(1 << 63))
    for call in (lambda **more: cs.positions_of((30, 30), 50, **more),
                 lambda **more: cs.sample(gray, 0.2, "uniform", **more).index,
                 lambda **more: cs.where_next(mask, 20, **more),
                 lambda **more: cs.recover(gray, mask, shifts=4, backend="cpu", **more)):
        drawn = call(rng=np.random.default_rng(5))
        np.testing.assert_array_equal(drawn, call(seed=seed))
        np.testing.assert_array_equal(drawn, call(rng=5))
        assert not np.array_equal(drawn, call(seed=1))


def test_a_file_is_read(rng, tmp_path):
    image, mask = colours(rng)[0][..., 0], rng.random((40, 50)) < 0.4
    np.save(tmp_path / "image.npy", image)
    np.save(tmp_path / "mask.npy", mask)
    cs.write(tmp_path / "scan.npz", cs.Measurement(image[mask], np.flatnonzero(mask), image.shape))
    wanted = cs.recover(image, mask, quality="fast")
    for given in ((str(tmp_path / "scan.npz"),), (tmp_path / "image.npy", tmp_path / "mask.npy")):
        assert np.array_equal(cs.recover(*given, quality="fast"), wanted)
    with pytest.raises(cs.ArgumentError, match="the mask of a file is a file"):
        cs.recover(str(tmp_path / "image.npy"), mask)
    with pytest.raises(cs.FileError, match="none.npz: cannot be opened"):
        cs.recover("none.npz")


def test_each_picture_of_a_stack(rng):
    stack = np.stack([picture(rng, 32) for _ in range(4)])[:, :, :24].reshape(2, 2, 32, 24)
    holes = rng.random(stack.shape) < 0.4
    holes[0, 1] = False
    for dtype in (np.uint8, np.float32, np.float64):
        y = stack.astype(dtype)
        made = cs.inpaint_each(y, holes, quality="fast")
        assert made.dtype == dtype
        np.testing.assert_array_equal(made[0, 1], y[0, 1])
        for at in ((0, 0), (1, 0), (1, 1)):
            np.testing.assert_array_equal(
                made[at], cs.inpaint(y[at], holes[at], quality="fast", dtype=dtype))
    one = cs.inpaint_each(stack, holes[0, 0], quality="fast")
    np.testing.assert_array_equal(
        one[1, 1], cs.inpaint(stack[1, 1], holes[0, 0], quality="fast"))
    volume = cs.inpaint_each(stack, holes, axes=3, quality="fast")
    np.testing.assert_array_equal(volume[1], cs.inpaint(stack[1], holes[1], quality="fast"))
    colours = np.moveaxis(stack, 1, -1)  # two of them
    for mask in (holes[:, 0], holes[0, 0], np.moveaxis(holes, 1, -1)):
        made = cs.inpaint_each(colours, mask, channels=True, quality="fast")
        own = mask[1] if mask.ndim > 2 else mask
        np.testing.assert_array_equal(made[1], cs.inpaint(
            colours[1], own, channel_axis=-1, quality="fast"))
    smooth = cs.inpaint_each(stack, holes, sigma=9.0, quality="fast")
    assert not np.array_equal(smooth[0, 1], stack[0, 1])  # noise is taken from whole ones, too


def test_each_picture_has_something_known(rng):
    stack = np.stack([picture(rng, 16)] * 2)
    gone = np.where([[[False]], [[True]]], np.nan, stack)
    np.testing.assert_array_equal(cs.inpaint_each(gone), gone)
    with pytest.raises(cs.ArgumentError, match="picture 1: nothing of it is known"):
        cs.inpaint_each(stack.astype(np.uint8), np.isnan(gone))
    for mask in (np.zeros((3, 16, 16)), np.zeros((16, 15)), np.zeros((2, 2, 16, 16))):
        with pytest.raises(cs.ArgumentError, match="mask has shape"):
            cs.inpaint_each(stack, mask)
    with pytest.raises(cs.ArgumentError, match="give one of 2 axes or more and one of chan"):
        cs.inpaint_each(stack[0], channels=True)


def test_what_stays_unknown_makes_floats(rng):
    """Where no dtype is given; integers have no number for it."""
    picture, mask = colours(rng)
    picture = np.rint(picture).astype(np.uint8)
    each = np.stack([mask, mask, np.zeros_like(mask)], -1)
    for found in (cs.recover(picture, each, channel_axis=-1, **WAY),
                  cs.recover(picture[..., 0], mask, within=1, **WAY),
                  cs.recover(picture[..., 0] // 64, mask, labels=True, within=1)):
        assert found.dtype == np.float64 and np.isnan(found).any()
    kept = cs.recover(picture[..., 0], nodata=0, within=1, **WAY)
    assert kept.dtype == np.uint8


def test_a_mask_of_nan_is_refused(rng):
    picture, mask = colours(rng)
    with pytest.raises(cs.DataError, match="mask: has NaN.*mask == 1"):
        cs.recover(picture[..., 0], np.where(mask, 1, np.nan))
    with pytest.raises(cs.DataError, match="mask: has NaN"):
        cs.inpaint(picture[..., 0], np.where(mask, 1, np.nan))
    assert np.isnan(cs.psnr(np.full(4, np.nan), np.zeros(4), peak=1))
