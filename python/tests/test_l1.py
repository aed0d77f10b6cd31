# SPDX-License-Identifier: BSD-3-Clause
"""Weights, x >= 0, ||x||_1 <= tau and joint sparsity beside linear programs and other solvers."""
import numpy as np
import pytest

import csrecover as cs

optimize = pytest.importorskip("scipy.optimize")


def drawn(rng, most=30):
    m = int(rng.integers(4, most))
    n = m + int(rng.integers(1, most))
    return rng.standard_normal((m, n)), np.exp(rng.standard_normal(n))


@pytest.mark.parametrize("nonnegative", [False, True])
def test_exact_problems_are_linear_programs(rng, nonnegative):
    for _ in range(5):
        A, weights = drawn(rng)
        x = rng.standard_normal(A.shape[1]) * (rng.random(A.shape[1]) < 0.3)
        y = A @ (np.abs(x) if nonnegative else x)
        if not y.any():
            continue
        found = cs.solve(A, y, "bpdn", weights=weights, nonnegative=nonnegative)
        both = (A, weights) if nonnegative else (np.hstack([A, -A]), np.hstack([weights, weights]))
        best = optimize.linprog(both[1], A_eq=both[0], b_eq=y, method="highs")
        assert np.linalg.norm(A @ found.x - y) <= 1e-7 * np.linalg.norm(y)
        assert np.sum(weights * np.abs(found.x)) == pytest.approx(best.fun, rel=1e-6)
        assert not nonnegative or found.x.min() >= 0


def test_without_weight_it_is_nonnegative_least_squares(rng):
    A = rng.standard_normal((40, 15))
    y = rng.standard_normal(40)
    for options in ({"solver": "fista", "lambda_": 1e-9}, {"solver": "bpdn", "tau": 1e6}):
        found = cs.solve(A, y, nonnegative=True, **options)
        assert np.allclose(found.x, optimize.nnls(A, y)[0], atol=1e-6)


def test_a_bound_of_the_norm_leaves_the_least_residual(rng):
    """Of all points of the norm tau none is better: the gradient at x against each corner. A point
    of less that leaves nothing is one, too."""
    A, weights = drawn(rng)
    y = rng.standard_normal(A.shape[0])
    for tau in (0.1, 1.0):
        found = cs.solve(A, y, "bpdn", tau=tau, weights=weights)
        c = A.T @ (y - A @ found.x)
        norm = np.sum(weights * np.abs(found.x))
        if norm < tau * (1 - 1e-6):
            np.testing.assert_allclose(A @ found.x, y, atol=1e-6)
            continue
        assert norm == pytest.approx(tau, rel=1e-6)
        assert tau * np.max(np.abs(c) / weights) == pytest.approx(c @ found.x, rel=1e-5)


def test_joint_rows_are_used_by_all_or_none(rng):
    A = rng.standard_normal((20, 60))
    rows = rng.choice(60, 3, replace=False)
    X = np.zeros((60, 5))
    X[rows] = rng.standard_normal((3, 5))
    for Y, truth in ((A @ X, X), (A @ (X + 1j * X[:, ::-1]), X + 1j * X[:, ::-1])):
        found = cs.solve(A, Y, "bpdn", joint=True)
        assert np.allclose(found.x, truth, atol=1e-6)
        noisy = Y + 0.1 * rng.standard_normal(Y.shape)
        found = cs.solve(A, noisy, "fista", lambda_=0.3, joint=True)
        used = found.x != 0
        assert np.array_equal(used.any(1), used.all(1)) and used.any()
        assert found.residual == pytest.approx(
            np.linalg.norm(noisy - A @ found.x, axis=0) / np.linalg.norm(noisy, axis=0))


def test_one_right_hand_side_is_joint_alone(rng):
    A, _ = drawn(rng)
    y = rng.standard_normal(A.shape[0])
    alone = cs.solve(A, y, "bpdn", epsilon=0.2)
    assert np.allclose(cs.solve(A, y[:, None], "bpdn", epsilon=0.2, joint=True).x[:, 0], alone.x,
                       atol=1e-7)


def test_refusals_are_one_line(rng):
    A, weights = drawn(rng)
    y = rng.standard_normal(A.shape[0])
    for wrong in ({"weights": weights[1:]}, {"weights": -weights}, {"weights": 1j * weights},
                  {"tau": 1.0, "epsilon": 0.1}, {"tau": -1.0},
                  {"weights": weights, "solver": "omp"}, {"nonnegative": True, "solver": "iht"}):
        with pytest.raises(cs.CsrecError) as caught:
            cs.solve(A, y, **{"solver": "bpdn", **wrong})
        assert "\n" not in str(caught.value)
