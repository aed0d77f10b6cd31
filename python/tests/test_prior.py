# SPDX-License-Identifier: BSD-3-Clause
"""Priors: networks adapted to pictures, and recovery with them."""
import warnings

import numpy as np
import pytest
from conftest import fresh_prior, picture

import csrecover as cs

TINY = {"batch": 2, "patch": 16, "rate": 6e-4, "backend": "cpu"}


def test_pictures_train(rng):
    seed, start, truth = int(rng.integers(1 << 40)), fresh_prior(rng), picture(rng, 40)
    model = cs.learn_net(truth, steps=3, seed=seed, start=start, **TINY)
    assert model.kind == "net" and model.text("backend") == "cpu"
    assert set(model) == {"layers", "weights", "channels", "loss", "psnr"}
    assert model["loss"].shape == model["psnr"].shape == (3,) and model["channels"] == 1
    # Weights are numbers of 16 bits.
    np.testing.assert_array_equal(model["weights"], model["weights"].astype(np.float16))
    again = cs.learn_net(truth, steps=3, seed=seed, start=start, threads=1, **TINY)
    for name in model:
        np.testing.assert_array_equal(model[name], again[name])


def test_zeros_stay_zeros(rng):
    """At the first call nothing is trained: the last layer, of 2 x 4 x 9 weights, is 0."""
    model = cs.learn_net(picture(rng, 32), steps=3, callback=lambda progress: True,
                         start=fresh_prior(rng), **TINY)
    assert "loss" not in model
    np.testing.assert_array_equal(model["weights"][-74:], [0] * 73 + [-2])


def test_own_pictures_and_going_on(rng):
    colour = np.stack([picture(rng, 40), picture(rng, 40), picture(rng, 40)], axis=-1)
    masks = [rng.random((40, 40)) < 0.5, rng.random((9, 12)) < 0.7]
    shown = [colour.copy(), colour[:9, :12].copy()]
    for each, mask in zip(shown, masks):
        each[~mask] = np.nan
    model = cs.learn_net(shown, masks, steps=2, start=fresh_prior(rng, 3), **TINY)
    assert model["channels"] == 3
    other = cs.learn_net(colour.astype(np.uint8), steps=1, start=model,
                         **{**TINY, "rate": 1e-9})
    np.testing.assert_array_equal(other["layers"], model["layers"])
    np.testing.assert_allclose(other["weights"], model["weights"], rtol=0, atol=1e-6)


def test_units_do_not_matter(rng):
    """Pictures in other units, black and white told: the same numbers, in powers of two exactly."""
    truth = np.round(picture(rng, 32)).astype(np.uint8)
    start = fresh_prior(rng)
    one = cs.learn_net(truth, steps=2, start=start, **TINY)
    other = cs.learn_net(truth * 4.0, scale=(0, 1020), steps=2, start=start, **TINY)
    np.testing.assert_array_equal(one["weights"], other["weights"])


def test_priors_recover(rng, tmp_path):
    truth = picture(rng, 48)
    mask = rng.random(truth.shape) < 0.4
    model = cs.learn_net(truth, mask, steps=4, start=fresh_prior(rng), **TINY)
    model.write(tmp_path / "prior.npz")
    again = cs.read_model(tmp_path / "prior.npz")
    same = cs.Model("net", dict(model))
    found, info = cs.recover(truth[mask], mask=mask, model=model, return_info=True)
    assert info.method == "net" and not info.interrupted
    np.testing.assert_array_equal(found[mask], truth[mask])
    assert np.mean((found - truth) ** 2) < 0.5 * truth.var()
    for each in (again, same):
        np.testing.assert_array_equal(cs.recover(truth[mask], mask=mask, model=each), found)
    # Fitted to these samples, for as many steps as there is time for.
    fitted, info = cs.recover(truth[mask], mask=mask, method="net", model=model, steps=2,
                              minutes=10, return_info=True)
    assert info.iterations == 2 and np.isfinite(fitted).all()
    short, info = cs.recover(truth[mask], mask=mask, method="net", model=model, steps=1000000,
                             minutes=1e-4, return_info=True)
    assert 0 < info.iterations < 1000000 and np.isfinite(short).all()
    with pytest.raises(cs.CsrecError, match="minutes"):
        cs.recover(truth[mask], mask=mask, method="frames", minutes=1)


def test_callbacks_stop_a_training(rng):
    told = []

    def stop(progress):
        told.append(progress)
        return len(told) > 3
    start = fresh_prior(rng)
    model = cs.learn_net(picture(rng, 32), steps=1000000, callback=stop, start=start, **TINY)
    assert model.kind == "net" and len(told) == 4
    assert all(progress.stage.startswith("training") for progress in told)
    with pytest.raises(ZeroDivisionError):
        cs.learn_net(picture(rng, 32), steps=1000000, callback=lambda progress: 1 // 0,
                     start=start, **TINY)


def test_refusals(rng):
    truth = picture(rng, 32)
    pca = cs.learn_pca(rng.standard_normal((30, 5)), components=2)
    colour = fresh_prior(rng, 3)
    broken = truth.copy()
    broken[3, 4] = np.nan
    for pattern, call in (
            ("patch = 20", lambda: cs.learn_net(truth, steps=1, patch=20)),
            ("pictures have 1", lambda: cs.learn_net(truth, steps=1, channels=3)),
            ("as many channels", lambda: cs.learn_net([truth, np.ones((5, 6, 3))], steps=1)),
            ("shape", lambda: cs.learn_net(np.ones(5), steps=1)),
            ("masks", lambda: cs.learn_net([truth, truth], [truth > 0], steps=1)),
            ("at least one", lambda: cs.learn_net([], steps=1)),
            ("scale", lambda: cs.learn_net(truth, steps=1, scale=(1, 1))),
            ("finite", lambda: cs.learn_net(broken, steps=1, scale=(0, 255))),
            ("kind pca", lambda: cs.learn_net(truth, steps=1, start=pca)),
            ("3 channels", lambda: cs.learn_net(truth, steps=1, start=colour)),
            ("auto, cpu", lambda: cs.learn_net(truth, steps=1, backend="gpu"))):
        with pytest.raises((cs.ArgumentError, cs.DataError), match=pattern):
            call()


def test_weights_of_8_bits(rng, tmp_path):
    """Codes times the scale of a block of 64, in 16 bits; where it is 0, values of their own."""
    model = fresh_prior(rng)
    count = len(model["weights"])
    codes = rng.integers(-127, 128, count).astype(np.int8)
    scale = rng.uniform(1e-3, 1e-2, -(-count // 64)).astype(np.float16)
    scale[rng.permutation(len(scale))[:2]] = 0
    rest = rng.standard_normal(128).astype(np.float16)
    want, own = [], iter(rest)
    for i, code in enumerate(codes):
        of = np.float32(scale[i // 64])
        want.append(np.float16(np.float32(code) * of) if of else next(own))
    arrays = {"kind": "net", "layers": model["layers"], "channels": 1, "weights": codes,
              "weights_scale": scale, "weights_rest": rest}
    np.savez(tmp_path / "packed.npz", **arrays)
    got = cs.read_model(tmp_path / "packed.npz")
    np.testing.assert_array_equal(got["weights"], np.array(want, np.float32))
    got.write(tmp_path / "again.npz")
    np.testing.assert_array_equal(cs.read_model(tmp_path / "again.npz")["weights"], got["weights"])
    for name, wrong in (("weights_scale", scale[1:]), ("weights_rest", rest[1:]),
                        ("weights_scale", scale * np.nan), ("weights_rest", None)):
        np.savez(tmp_path / "wrong.npz",
                 **{k: v for k, v in {**arrays, name: wrong}.items() if v is not None})
        with pytest.raises(cs.CsrecError, match="wrong.npz.*weights"):
            cs.read_model(tmp_path / "wrong.npz")


def test_a_missing_prior_is_told(rng, tmp_path, monkeypatch):
    y = rng.random((40, 40)).cumsum(0)
    y[::2, 1::2] = np.nan
    _, info = cs.recover(y, return_info=True)
    assert info.method == "net"
    monkeypatch.setenv("CSREC_PRIORS", str(tmp_path))  # an empty folder
    for arguments in ({}, {"quality": "best"}, {"labels": True}):
        with pytest.warns(cs.RecoveryWarning, match=f"No learned prior is in {str(tmp_path)[:60]}"):
            cs.recover(np.round(y) if "labels" in arguments else y, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cs.recover(y, quality="fast")
        cs.recover(y, method="gaussian")
    with pytest.raises(cs.CsrecError, match=f"prior-gray.npz.*{tmp_path}.*CSREC_PRIORS"):
        cs.recover(y, method="net")
