# SPDX-License-Identifier: BSD-3-Clause
"""Learned models against NumPy and scikit-learn; convolution against sums and SciPy."""
import copy
import pickle

import numpy as np
import pytest
from conftest import picture

import csrecover as cs


def rows(rng, m=200, n=24):
    return rng.standard_normal((m, 5)) @ rng.standard_normal((5, n)) + 0.1 * rng.standard_normal(
        (m, n)) + 3


def test_pca_is_the_covariances_eigenvectors(rng):
    data = rows(rng)
    model = cs.learn_pca(data, components=5)
    assert model.kind == "pca" and set(model) >= {"mean", "components", "variances", "noise"}
    value, vector = np.linalg.eigh(np.cov(data.T, bias=True))
    # Rows are read as float32: relative 2^-24 of values of size 10, against variances of size 10.
    np.testing.assert_allclose(model["variances"], value[::-1][:5], rtol=1e-5)
    np.testing.assert_allclose(np.abs(model["components"] @ vector[:, ::-1][:, :5]), np.eye(5),
                               atol=1e-4)
    np.testing.assert_allclose(model["mean"], data.mean(axis=0), rtol=1e-6)
    with pytest.raises(ValueError):
        model["mean"][0] = 1


def test_pca_agrees_with_scikit_learn(rng):
    decomposition = pytest.importorskip("sklearn.decomposition")
    data = rows(rng).astype(np.float32)
    theirs = decomposition.PCA(3).fit(data.astype(float))
    ours = cs.learn_pca(data, components=3)
    np.testing.assert_allclose(np.abs(ours["components"] @ theirs.components_.T), np.eye(3),
                               atol=1e-5)
    np.testing.assert_allclose(ours["variances"], theirs.explained_variance_ * 199 / 200, rtol=1e-5)


def test_learning_stops(rng):
    with pytest.raises(cs.Stopped):
        cs.learn_pca(rng.standard_normal((20000, 16)), callback=lambda progress: True)
    assert issubclass(cs.Stopped, cs.CsrecError)


def test_data_may_be_a_memory_map(rng, tmp_path):
    data = rows(rng).astype(np.float32).reshape(200, 4, 6)
    np.save(tmp_path / "rows.npy", data)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    one, other = cs.learn_pca(data, energy=0.9), cs.learn_pca(mapped, energy=0.9)
    np.testing.assert_array_equal(one["components"], other["components"])
    assert list(one["shape"]) == [4, 6]


def test_the_backend_is_named(rng):
    model = cs.learn_pca(rows(rng), components=2, backend="cpu")
    assert model.text("backend") == "cpu"
    with pytest.raises(cs.ArgumentError, match="use auto, cpu, cuda"):
        cs.learn_pca(rows(rng), backend="gpu")


def test_models_go_to_files_and_back(rng, tmp_path):
    model = cs.learn_pca(rows(rng), components=2)
    model.set_text("note", "made by a test")
    model.write(tmp_path / "model.npz")
    again = cs.read_model(tmp_path / "model.npz")
    assert again.kind == "pca" and again.text("note") == "made by a test"
    for name in model:
        np.testing.assert_array_equal(again[name], model[name])
    with np.load(tmp_path / "model.npz") as file:
        np.testing.assert_array_equal(file["components"], model["components"])
    same = cs.Model("pca", dict(model))
    np.testing.assert_array_equal(same["components"], model["components"])


def test_models_are_checked(rng, tmp_path):
    with pytest.raises(cs.CsrecError):
        cs.Model("nix", {})
    with pytest.raises(cs.DataError):
        cs.Model("pca", {"mean": np.zeros(3)})
    with pytest.raises(cs.FileError, match="missing"):
        cs.read_model(tmp_path / "missing.npz")
    with pytest.raises(cs.DataError):
        cs.learn_pca(np.ones((5, 3)))
    with pytest.raises(cs.ArgumentError, match="row an example"):
        cs.learn_pca(np.ones(5))
    with pytest.raises(ZeroDivisionError):
        class Broken:
            ndim, shape = 2, (10, 3)

            def __getitem__(self, rows):
                raise ZeroDivisionError
        cs.learn_pca(Broken())


def plain_conv2d(x, w, b, stride, padding, dilation):
    """The definition, sample for sample."""
    (sh, sw), (ph, pw), (dh, dw) = stride, padding, dilation
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    ho = (padded.shape[2] - dh * (w.shape[2] - 1) - 1) // sh + 1
    wo = (padded.shape[3] - dw * (w.shape[3] - 1) - 1) // sw + 1
    y = np.empty((x.shape[0], w.shape[0], ho, wo))
    for i in range(ho):
        for j in range(wo):
            part = padded[:, :, i * sh:i * sh + dh * (w.shape[2] - 1) + 1:dh,
                          j * sw:j * sw + dw * (w.shape[3] - 1) + 1:dw]
            y[:, :, i, j] = np.einsum("nckl,ockl->no", part, w)
    return y + b[:, None, None]


def test_conv2d_is_its_definition(rng):
    for _ in range(12):
        stride, dilation = (tuple(int(k) for k in rng.integers(1, 4, 2)) for _ in range(2))
        padding = tuple(int(k) for k in rng.integers(0, 4, 2))
        options = {"stride": stride, "padding": padding, "dilation": dilation}
        x, w = rng.standard_normal((2, 3, 13, 15)), rng.standard_normal((4, 3, 3, 2))
        b = rng.standard_normal(4)
        y = plain_conv2d(x, w, b, *options.values())
        found = cs.conv2d(x, w, b, **options)
        # Sums of 18 float32 products of size 1 to 10: 1e-7 of the sum of magnitudes, about 20.
        np.testing.assert_allclose(found, y, rtol=0, atol=1e-5)
        assert found.dtype == np.float64
        grad = rng.standard_normal(y.shape)
        dx, dw, db = cs.conv2d_backward(x, w, grad, **options)
        # y is linear in x, in w and in b: <grad, conv(x', w)> = <dx, x'> and so on.
        other, kernel = rng.standard_normal(x.shape), rng.standard_normal(w.shape)
        zero = np.zeros(4)
        assert (grad * plain_conv2d(other, w, zero, *options.values())).sum() == pytest.approx(
            (dx * other).sum(), abs=1e-3)
        assert (grad * plain_conv2d(x, kernel, zero, *options.values())).sum() == pytest.approx(
            (dw * kernel).sum(), abs=1e-3)
        np.testing.assert_allclose(db, grad.sum(axis=(0, 2, 3)), rtol=0, atol=1e-4)


def test_conv2d_agrees_with_scipy(rng):
    correlate = pytest.importorskip("scipy.signal").correlate
    x, w = rng.standard_normal((20, 30)), rng.standard_normal((5, 4))
    found = cs.conv2d(x[None, None].astype(np.float32), w[None, None].astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0, 0], correlate(x, w, "valid"), rtol=0, atol=1e-4)


def test_conv2d_refusals(rng):
    x, w = np.ones((1, 2, 8, 8)), np.ones((3, 2, 3, 3))
    for pattern, call in (("channels", lambda: cs.conv2d(x[:, :1], w)),
                          ("axes", lambda: cs.conv2d(x[0], w)),
                          ("bias", lambda: cs.conv2d(x, w, np.ones(2))),
                          ("stride", lambda: cs.conv2d(x, w, stride=0)),
                          ("padding", lambda: cs.conv2d(x, w, padding=(1, 2, 3))),
                          ("kernel", lambda: cs.conv2d(x[..., :2], w)),
                          ("finite", lambda: cs.conv2d(x * np.nan, w)),
                          ("grad", lambda: cs.conv2d_backward(x, w, x))):
        with pytest.raises((cs.ArgumentError, cs.DataError), match=pattern):
            call()


def test_models_are_copied_and_pickled(rng):
    model = cs.learn_pca(rng.standard_normal((30, 6)), components=2)
    model.set_text("note", "of a test")
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.kind == "pca" and again.text("note") == "of a test"
        assert again.text("source") == model.text("source") and set(again) == set(model)
        for name in model:
            np.testing.assert_array_equal(again[name], model[name])
