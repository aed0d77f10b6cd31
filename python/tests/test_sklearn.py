# SPDX-License-Identifier: BSD-3-Clause
"""The estimator against scikit-learn's own, and scikit-learn's checks of estimators."""
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import problem

sklearn = pytest.importorskip("sklearn", minversion="1.6")

from sklearn.linear_model import OrthogonalMatchingPursuit as Theirs  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from csrecover import OrthogonalMatchingPursuit  # noqa: E402


@parametrize_with_checks([OrthogonalMatchingPursuit()])
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
