# SPDX-License-Identifier: BSD-3-Clause
"""Recovery with priors."""
import warnings

import numpy as np
import pytest
from conftest import fresh_prior, picture

import csrecover as cs


def test_priors_recover(rng, tmp_path):
    truth = picture(rng, 48)
    mask = rng.random(truth.shape) < 0.4
    model = fresh_prior(rng)
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
