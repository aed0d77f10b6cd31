# SPDX-License-Identifier: BSD-3-Clause
"""Solvers against plain NumPy, scikit-learn and PyLops."""
import numpy as np
import pytest
from conftest import problem

import csrecover as cs


def plain_omp(A, y, atoms):
    chosen, r = [], y
    for _ in range(atoms):
        chosen.append(int(np.argmax(np.abs(A.T @ r) / np.linalg.norm(A, axis=0))))
        fit = np.linalg.lstsq(A[:, chosen], y, rcond=None)[0]
        r = y - A[:, chosen] @ fit
    x = np.zeros(A.shape[1])
    x[chosen] = fit
    return x


def test_omp_is_the_textbooks(rng):
    for _ in range(10):
        A, _, y = problem(rng, 40, 90, 5)
        A *= rng.uniform(0.5, 2, 90)  # columns of any length
        y += 0.05 * rng.standard_normal(40)
        np.testing.assert_allclose(cs.solve(A, y, "omp", atoms=8).x, plain_omp(A, y, 8),
                                   rtol=0, atol=1e-10)


def test_mp_is_the_textbooks(rng):
    A, _, y = problem(rng, 30, 60, 4)
    x, r, norms = np.zeros(60), y.copy(), []
    for _ in range(25):
        c = A.T @ r
        j = int(np.argmax(np.abs(c)))
        x[j] += c[j]
        r -= c[j] * A[:, j]
        norms.append(np.linalg.norm(r) / np.linalg.norm(y))
    found = cs.solve(A, y, "mp", atoms=25)
    np.testing.assert_allclose(found.x, x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.r, r, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.history, norms, rtol=0, atol=1e-12)
    assert found.iterations == 25 and found.outcome == "step limit"
    assert found.residual == found.history[-1]


@pytest.mark.parametrize("solver,params", (
    ("omp", {"atoms": 4}), ("romp", {"k": 4}), ("cosamp", {"k": 4}), ("iht", {"k": 4}),
    ("htp", {"k": 4}), ("fista", {"lambda_": 1e-3, "debias": 1})))
def test_sparse_signals_come_back(rng, solver, params):
    """Of 6 entries by 120 rows OMP picks a wrong one once in 10^5; of 4 by 160 once in 10^7."""
    A, x, y = problem(rng, 160, 200, 4)
    found = cs.solve(A, y, solver, epsilon=1e-10, **params)
    # iht converges linearly to its stopping rule, the others fit at the end.
    np.testing.assert_allclose(found.x, x, rtol=0, atol=1e-7)
    assert len(found.history) == found.iterations
    np.testing.assert_allclose(found.r, y - A @ found.x, rtol=0, atol=1e-10)


def test_haar_solutions_satisfy_their_operator(rng):
    """x by position among A's columns, for mp too, whose atoms carry the matrix's numbers."""
    rows = np.sort(rng.choice(1 << 10, 200, replace=False))
    for columns in ("paper", "two-sided"):
        A = cs.Haar(rows, 10, columns)
        y = rng.standard_normal(200)
        for solver in ("mp", "omp"):
            found = cs.solve(A, y, solver, atoms=40)
            np.testing.assert_allclose(found.r, y - A @ found.x, rtol=0, atol=1e-10)
        found = cs.solve(A, y, "mp", atoms=40)
        np.testing.assert_allclose(cs.synthesize(found.atoms, rows, 10), y - found.r,
                                   rtol=0, atol=1e-10)
        same = cs.solve(A, y, "mp", atoms=40, reference=True)
        np.testing.assert_array_equal(same.atoms.column, found.atoms.column)


def test_many_right_hand_sides_are_each_alone(rng):
    A, _, y = problem(rng, 60, 128, 5, count=9)
    D = cs.Dense(A)
    for solver, params in (("omp", {"atoms": 5}), ("htp", {"k": 5}), ("mp", {"atoms": 30})):
        found = cs.solve(D, y, solver, **params)
        assert found.x.shape == (128, 9) and found.r.shape == (60, 9) and found.history is None
        for k in range(9):
            alone = cs.solve(D, y[:, k], solver, **params)
            np.testing.assert_allclose(found.x[:, k], alone.x, rtol=0, atol=1e-9)
            assert found.iterations[k] == alone.iterations
        one = cs.solve(D, y, solver, threads=1, **params)
        np.testing.assert_array_equal(one.x, found.x)
        told = cs.solve(D, y, solver, history=True, **params)
        assert len(told.history) == 9
        for k in range(9):
            alone = cs.solve(D, y[:, k], solver, **params)
            np.testing.assert_allclose(told.history[k], alone.history, rtol=0, atol=1e-9)
    # Not x: some 1 in 300 of such problems mislead even the textbook's picks.
    wanted = np.stack([plain_omp(A, column, 5) for column in y.T], axis=1)
    np.testing.assert_allclose(cs.solve(D, y, atoms=5).x, wanted, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(cs.solve(D, np.asfortranarray(y), atoms=5).x,
                                  cs.solve(D, y, atoms=5).x)


def test_float32_stays(rng):
    A, _, y = problem(rng, 50, 90, 3)
    A, y = A.astype(np.float32), y.astype(np.float32)
    found = cs.solve(A, y, atoms=3)
    assert found.x.dtype == np.float32 and found.r.dtype == np.float32
    # The same numbers in double; then x, of size 1 to 4, is rounded to float32.
    np.testing.assert_allclose(found.x, plain_omp(A.astype(float), y.astype(float), 3), rtol=0,
                               atol=4 * 2.0 ** -24)
    whole = np.rint(10 * y).astype(np.int16)
    assert cs.solve(A.astype(float), whole, atoms=3).x.dtype == np.float64


def test_stops(rng):
    A, _, y = problem(rng, 80, 160, 10)
    noisy = y + 0.1 * rng.standard_normal(80)
    found = cs.solve(A, noisy, sigma=0.1)
    assert found.outcome == "converged" and np.linalg.norm(found.r) <= 0.1 * np.sqrt(80)
    assert cs.solve(A, noisy, epsilon=0.5).residual <= 0.5
    start = cs.solve(A, y, "iht", k=10, epsilon=1e-6)
    warm = cs.solve(A, y, "iht", k=10, epsilon=1e-5, x0=start.x)
    assert warm.iterations < start.iterations


def test_callback_stops_and_keeps_what_there_is(rng):
    rows = np.sort(rng.choice(1 << 16, 1 << 14, replace=False))
    A, y, told = cs.Haar(rows, 16), rng.standard_normal(1 << 14), []
    found = cs.solve(A, y, "mp", reference=True,
                     callback=lambda progress: told.append(progress) or len(told) == 3)
    assert found.outcome == "interrupted" and len(told) == 3
    assert told[0].stage and told[0].done < told[1].done <= told[1].total
    assert 0 < found.iterations and 0 < told[2].residual < 1
    np.testing.assert_allclose(found.r, y - A @ found.x, rtol=0, atol=1e-9)


def test_what_a_callback_raises_comes_out(rng):
    rows = np.sort(rng.choice(1 << 16, 1 << 14, replace=False))

    def raising(progress):
        raise ZeroDivisionError("from the callback")
    with pytest.raises(ZeroDivisionError, match="from the callback"):
        cs.solve(cs.Haar(rows, 16), rng.standard_normal(1 << 14), "mp", reference=True,
                 callback=raising)


def test_refusals_are_exceptions_of_one_line(rng):
    A, _, y = problem(rng, 20, 40, 2)
    for kind, pattern, call in (
            (cs.ArgumentError, "solver 'nix' is unknown", lambda: cs.solve(A, y, "nix")),
            (cs.ArgumentError, "no parameter 'soft'; use k", lambda: cs.solve(A, y, "romp", soft=1)),
            (TypeError, "unknown argument 'q'", lambda: cs.solve(A, y, "romp", q=3)),
            (cs.ArgumentError, "lambda = 7", lambda: cs.solve(A, y, "fista", lambda_=7)),
            (cs.ArgumentError, "must be a number", lambda: cs.solve(A, y, "romp", k="x")),
            (cs.ArgumentError, "epsilon", lambda: cs.solve(A, y, epsilon=2)),
            (cs.DataError, r"y\[0\] is not finite", lambda: cs.solve(A, y * np.nan)),
            (cs.DataError, r"y\[7\] is not finite", lambda: cs.solve(A + 0j, np.where(np.arange(20) == 7, np.nan, y))),
            (cs.ArgumentError, "needs", lambda: cs.solve(A, y[:-1])),
            (cs.ArgumentError, "x0", lambda: cs.solve(A, y, "iht", x0=y)),
            (cs.CsrecError, "atoms", lambda: cs.solve(A, y, atoms=21)),
            (cs.UnsupportedError, "min_coefficient",
             lambda: cs.solve(A, y, "iht", min_coefficient=0.1))):
        with pytest.raises(kind, match=pattern) as caught:
            call()
        assert "\n" not in str(caught.value)
        assert isinstance(caught.value, cs.CsrecError)
    assert issubclass(cs.DataError, ValueError) and issubclass(cs.FileError, OSError)


def test_tables():
    table = cs.solvers()
    assert {"mp", "omp", "romp", "cosamp", "iht", "htp", "fista"} <= set(table)
    assert table["fista"].parameters["lambda"].most == 1 and "Beck" in table["fista"].source
    assert set(cs.bases()) >= {"haar", "dct", "wavelet"}
    assert cs.backends()[0][0] == "cpu"


def test_omp_picks_what_scikit_learn_picks(rng):
    linear = pytest.importorskip("sklearn.linear_model")
    A, _, y = problem(rng, 100, 300, 10, count=4)
    y += 0.05 * rng.standard_normal(y.shape)
    theirs = linear.orthogonal_mp(A, y, n_nonzero_coefs=15)
    np.testing.assert_allclose(cs.solve(A, y, atoms=15).x, theirs, rtol=0, atol=1e-9)


def test_fista_finds_scikit_learns_lasso(rng):
    linear = pytest.importorskip("sklearn.linear_model")
    A, _, y = problem(rng, 60, 100, 5)
    share = 0.05
    weight = share * np.abs(A.T @ y).max()  # of ||x||_1 beside 1/2 ||A x - y||^2
    theirs = linear.Lasso(weight / 60, fit_intercept=False, tol=1e-14, max_iter=100000).fit(A, y)
    found = cs.solve(A, y, "fista", lambda_=share, atoms=5000)
    np.testing.assert_allclose(found.x, theirs.coef_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("solver", ("mp", "omp", "romp"))
def test_a_short_step_that_meets_the_bound_has_converged(rng, solver):
    y = rng.permutation(np.arange(1.0, 9.0))
    one = cs.solve(np.eye(8), y, solver, stagnation=0.9)
    assert one.outcome == "stagnation" and 0.1 < one.residual < 1.0
    for given in (y, np.stack([y, y], 1)):
        met = cs.solve(np.eye(8), given, solver, stagnation=0.9, epsilon=one.residual * 1.001)
        assert np.all(np.asarray(met.outcome) == "converged")
