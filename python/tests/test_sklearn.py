# SPDX-License-Identifier: BSD-3-Clause
"""The estimator against scikit-learn's own, and scikit-learn's checks of estimators."""
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import picture, problem

import csrecover

sklearn = pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import clone  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.linear_model import OrthogonalMatchingPursuit as Theirs  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from csrecover import OrthogonalMatchingPursuit, PictureImputer  # noqa: E402


@parametrize_with_checks([OrthogonalMatchingPursuit(), PictureImputer(quality="fast")])
def test_estimator(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def centred(rng, count=None):
    """Unit columns of mean 0, as scikit-learn wants them."""
    A, x, _ = problem(rng, 80, 150, 8, count)
    A -= A.mean(axis=0)
    A /= np.linalg.norm(A, axis=0)
    y = A @ x + 3
    return A, y + 0.05 * rng.standard_normal(y.shape)


@pytest.mark.parametrize("count", (None, 3))
@pytest.mark.parametrize("options", ({"n_nonzero_coefs": 10}, {"tol": 0.5}, {},
                                     {"n_nonzero_coefs": 5, "fit_intercept": False}))
def test_agrees(rng, options, count):
    for _ in range(5):
        A, y = centred(rng, count)
        ours, theirs = (kind(**options).fit(A, y) for kind in (OrthogonalMatchingPursuit, Theirs))
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.predict(A), theirs.predict(A), rtol=0, atol=1e-9)
        assert ours.coef_.shape == theirs.coef_.shape
        assert ours.n_nonzero_coefs_ == theirs.n_nonzero_coefs_
        np.testing.assert_array_equal(ours.n_iter_, theirs.n_iter_)


def test_features_of_any_scale_are_picked_fairly(rng):
    A, y = centred(rng)
    scale = rng.uniform(0.01, 100, 150)
    plain, scaled = (OrthogonalMatchingPursuit(n_nonzero_coefs=8).fit(X, y) for X in (A, A * scale))
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=0, atol=1e-8)


def test_float32_stays(rng):
    A, y = centred(rng)
    ours = OrthogonalMatchingPursuit().fit(A.astype(np.float32), y.astype(np.float32))
    assert ours.coef_.dtype == np.float32 and ours.predict(A.astype(np.float32)).dtype == np.float32


def test_the_package_is_whole_without_scikit_learn():
    code = ("import sys; sys.modules['sklearn'] = None; from csrecover import *; import csrecover; "
            "assert not hasattr(csrecover, 'PictureImputer'); "
            "assert not hasattr(csrecover, 'OrthogonalMatchingPursuit'); "
            "assert 'OrthogonalMatchingPursuit' not in csrecover.__all__")
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})


def test_an_old_scikit_learn_is_none():
    code = ("import importlib.metadata as m; own = m.version; "
            "m.version = lambda name: '1.5.2' if name == 'scikit-learn' else own(name); "
            "from csrecover import *; import csrecover; "
            "assert 'OrthogonalMatchingPursuit' not in csrecover.__all__")
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})


def pictures(rng, count=4, shape=(24, 20)):
    return np.stack([picture(rng, 24)[:shape[0], :shape[1]] for _ in range(count)])


def test_pictures_are_filled_one_by_one(rng):
    X = pictures(rng)
    y = np.where(rng.random(X.shape) < 0.5, X, np.nan)
    y[1], y[2] = X[1], np.nan
    wanted = np.stack([csrecover.recover(y[0], quality="fast"), X[1], np.nanmean(y, axis=0),
                       csrecover.recover(y[3], quality="fast")])
    made = PictureImputer(quality="fast").fit_transform(y)
    np.testing.assert_allclose(made, wanted, rtol=1e-12)
    rows = PictureImputer((24, 20), quality="fast").set_output(transform="default")
    np.testing.assert_array_equal(rows.fit_transform(y.reshape(4, -1)), made.reshape(4, -1))
    single = clone(rows).fit(X.reshape(4, -1)).transform(y[:1].reshape(1, -1).astype("f4"))
    assert single.dtype == np.float32 and single.shape == (1, 480)
    np.testing.assert_array_equal(y[1], X[1])  # what was given is as it was


def test_colours_noise_and_options(rng):
    X = np.stack([pictures(rng, 2), pictures(rng, 2), pictures(rng, 2)], axis=-1)
    y = np.where(rng.random(X.shape[:3])[..., None] < 0.5, X, np.nan)
    y[1] = X[1] + rng.normal(0, 5, X[1].shape)
    given = {"quality": "fast", "sigma": 5.0, "channel_axis": -1}
    made = PictureImputer(**given, options={"seed": 3}).fit_transform(y)
    for one, found in zip(y, made):
        np.testing.assert_array_equal(
            found, csrecover.recover(one, np.isfinite(one), seed=3, **given))


def test_pictures_of_another_shape_are_refused(rng):
    X = pictures(rng)
    with pytest.raises(ValueError, match="give the shape of one picture"):
        PictureImputer((24, 21)).fit(X.reshape(4, -1))
    with pytest.raises(ValueError, match="give the shape of one picture"):
        PictureImputer().fit(X).transform(X[:, :, :10])
    with pytest.raises(ValueError, match="no value of any picture is known"):
        PictureImputer().fit(np.full((3, 4, 4), np.nan))
    with pytest.raises(TypeError, match="qualitty"):
        PictureImputer(qualitty="fast")


def test_a_pipeline(rng):
    X = pictures(rng, 8).reshape(8, -1)
    y = np.where(rng.random(X.shape) < 0.6, X, np.nan)
    pipe = make_pipeline(PictureImputer((24, 20), quality="fast"), PCA(2)).fit(y)
    assert pipe.transform(y[:3]).shape == (3, 2)
    searched = GridSearchCV(pipe, {"pictureimputer__quality": ["fast", "balanced"]}, cv=2,
                            scoring=lambda model, X: model.transform(X).var()).fit(y)
    assert searched.best_params_["pictureimputer__quality"] in ("fast", "balanced")
    columns = make_column_transformer((PictureImputer((24, 20), quality="fast"), slice(0, 480)),
                                      remainder="passthrough")
    with_age = columns.fit_transform(np.c_[y, np.arange(8)])
    np.testing.assert_array_equal(with_age, np.c_[pipe[0].transform(y), np.arange(8)])
