# SPDX-License-Identifier: BSD-3-Clause
"""OMP's functions against scikit-learn's, and scikit-learn's own tests with ours in their place."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import problem

import csrecover

ours = csrecover.orthogonal_mp, csrecover.orthogonal_mp_gram


def unit(rng, count=3):
    A, _, y = problem(rng, 60, 90, 6, count)
    norm = np.linalg.norm(A, axis=0)
    return A / norm, y + 0.05 * rng.standard_normal(y.shape)


def peers():
    linear = pytest.importorskip("sklearn.linear_model")
    return linear.orthogonal_mp, linear.orthogonal_mp_gram


@pytest.mark.parametrize("count", (None, 3))
@pytest.mark.parametrize("options", ({"n_nonzero_coefs": 10}, {"tol": 0.5}, {},
                                     {"n_nonzero_coefs": 5, "return_path": True},
                                     {"n_nonzero_coefs": 5, "return_n_iter": True}))
def test_agrees(rng, options, count):
    direct, gram = peers()
    for _ in range(5):
        A, y = unit(rng, count)
        norms = np.atleast_1d((y * y).sum(axis=0))  # scikit-learn may write to it
        norm, own = ({"norms_squared": norms.copy()} if "tol" in options else {} for _ in "ab")
        for theirs, found in (
                (direct(A, y, **options), ours[0](A, y, **options)),
                (gram(A.T @ A, A.T @ y, **options, **norm),
                 ours[1](A.T @ A, A.T @ y, **options, **own))):
            if "return_n_iter" in options:
                (theirs, their_count), (found, our_count) = theirs, found
                assert our_count == their_count
            assert found.shape == theirs.shape
            np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("options", ({"n_nonzero_coefs": 30}, {"tol": 4.0}, {},
                                     {"n_nonzero_coefs": 9, "return_path": True},
                                     {"tol": 4.0, "return_n_iter": True}))
def test_gram_of_many_features_agrees(rng, options):
    """Few targets are pursued on the Gram matrix itself."""
    A, _, y = problem(rng, 400, 300, 40, 2)
    y += 0.1 * rng.standard_normal(y.shape)
    norm = {"norms_squared": (y * y).sum(axis=0)} if "tol" in options else {}
    theirs = peers()[1](A.T @ A, A.T @ y, **options, **{key: n.copy() for key, n in norm.items()})
    found = ours[1](A.T @ A, A.T @ y, **options, **norm)
    if "return_n_iter" in options:
        (theirs, counts), (found, own) = theirs, found
        assert own == counts
    assert found.shape == theirs.shape
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-8)
    again = ours[0](A, y, **options)
    np.testing.assert_allclose(found, again[0] if "return_n_iter" in options else again, rtol=0,
                               atol=1e-8)


def test_gram_ends_at_dependent_columns(rng):
    A, _, _ = problem(rng, 400, 300, 5)
    A[:, 250:] = A[:, :50]
    A *= rng.uniform(0.1, 10, 300)
    y = A[:, 4] - A[:, 20]
    with pytest.warns(RuntimeWarning, match="ended prematurely due to linear dependence"):
        coef, count = ours[1](A.T @ A, A.T @ y, n_nonzero_coefs=60, return_n_iter=True)
    assert count == 2
    np.testing.assert_allclose(A @ coef, y, rtol=0, atol=1e-9 * np.linalg.norm(y))
    with pytest.warns(RuntimeWarning, match="ended prematurely"):
        coef, count = ours[1](A.T @ A, A.T @ rng.standard_normal(400), n_nonzero_coefs=260,
                              return_n_iter=True)
    assert count == 250 and np.isfinite(coef).all()


def test_path_against_dense(rng):
    A, y = unit(rng, 2)
    A *= rng.uniform(0.1, 10, A.shape[1])
    path = ours[0](A, y, n_nonzero_coefs=7, return_path=True)
    for target in range(2):
        for k in range(7):
            at = np.flatnonzero(path[:, target, k])
            assert len(at) == k + 1
            want = np.linalg.lstsq(A[:, at], y[:, target], rcond=None)[0]
            np.testing.assert_allclose(path[at, target, k], want, rtol=1e-8, atol=1e-10)


def test_a_target_that_ends_early_keeps_its_last_coefficients(rng):
    A, _ = unit(rng)
    y = np.stack([3 * A[:, 5], A[:, 1] - 2 * A[:, 8]], axis=1)
    path, counts = ours[0](A, y, tol=1e-9, return_path=True, return_n_iter=True)
    assert counts[0] == 1 < counts[1] == path.shape[2]
    np.testing.assert_allclose(path[5, 0, :], 3, rtol=1e-9)


def test_gram_of_more_features_than_samples_reaches_tol(rng):
    A, y = unit(rng, 2)
    coef = ours[1](A.T @ A, A.T @ y, tol=0.1, norms_squared=(y * y).sum(axis=0))
    assert (((y - A @ coef) ** 2).sum(axis=0) <= 0.1 * (1 + 1e-6)).all()
    np.testing.assert_allclose(coef, ours[0](A, y, tol=0.1), rtol=0, atol=1e-8)


def test_dependent_columns_warn(rng):
    A, _ = unit(rng)
    A[:, 1] = A[:, 0]
    for call in (lambda: ours[0](A, 2 * A[:, 0], n_nonzero_coefs=2),
                 lambda: ours[1](A.T @ A, 2 * A.T @ A[:, 0], n_nonzero_coefs=2)):
        with pytest.warns(RuntimeWarning, match="ended prematurely due to linear dependence"):
            coef = call()
        np.testing.assert_allclose(A @ coef, 2 * A[:, 0], rtol=0, atol=1e-7)


def test_float32_stays(rng):
    A, y = (part.astype(np.float32) for part in unit(rng))
    for found in (ours[0](A, y), ours[0](A, y, return_path=True), ours[1](A.T @ A, A.T @ y)):
        assert found.dtype == np.float32


@pytest.mark.parametrize("call, line", (
    (lambda A, y: ours[0](A, y, tol=-1), "tol = -1"),
    (lambda A, y: ours[0](A, y, n_nonzero_coefs=91), "n_nonzero_coefs = 91; must be 1 to"),
    (lambda A, y: ours[0](A, y, n_nonzero_coefs=0.5), "n_nonzero_coefs = 0.5"),
    (lambda A, y: ours[0](A, y[:-1]), r"y has shape \(59, 3\); give \(60,\)"),
    (lambda A, y: ours[0](A[0], y), r"X has shape \(90,\); give a matrix"),
    (lambda A, y: ours[1](A, A.T @ y), "which is square"),
    (lambda A, y: ours[1](A.T @ A * 0, A.T @ y), "no entry above 0"),
    (lambda A, y: ours[1](A.T @ A * np.nan, A.T @ y), "Gram: has entries that are not finite"),
    (lambda A, y: ours[1](A.T @ A, A.T @ y, tol=1), "tol needs norms_squared"),
    (lambda A, y: ours[1](A.T @ A, A.T @ y, tol=1, norms_squared=[1, 2]),
     "one for each target, 3"),
))
def test_wrong_input(rng, call, line):
    with pytest.raises((csrecover.ArgumentError, csrecover.DataError), match=line) as caught:
        call(*unit(rng))
    assert "\n" not in str(caught.value)


def test_scikit_learn_s_own_tests(tmp_path):
    sklearn = pytest.importorskip("sklearn", minversion="1.6")
    theirs = Path(sklearn.__file__).parent / "linear_model/tests/test_omp.py"
    if not theirs.exists():
        pytest.skip("scikit-learn is installed without its tests")
    own = ("\nfrom csrecover import (  # noqa: E402\n    OrthogonalMatchingPursuit, "
           "orthogonal_mp, orthogonal_mp_gram)\n")
    (tmp_path / "test_theirs.py").write_text(theirs.read_text(encoding="utf-8") + own,
                                             encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                           "test_theirs.py"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    assert done.returncode == 0, done.stdout[-4000:]
