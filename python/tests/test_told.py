# SPDX-License-Identifier: BSD-3-Clause
"""What a Solution says of itself: the residual, r and the history's end are those of its x."""
import warnings

import numpy as np
import pytest

import csrecover as cs

aslinearoperator = pytest.importorskip("scipy.sparse.linalg").aslinearoperator

GREEDY = {"iht", "htp", "cosamp"}
SOLVERS = list(cs.solvers())


def operators(rng):
    """Name, what solve takes, and the product by a dense matrix."""
    A = rng.standard_normal((24, 40)) * rng.uniform(0.2, 5, 40)
    Z = A + 1j * rng.standard_normal((24, 40))
    mask = rng.random((9, 8)) < 0.5
    rows = np.sort(rng.choice(64, 30, replace=False)).astype(np.uint64)
    for name, B in (("real", A), ("complex", Z)):
        yield name, cs.Dense(B), B
        yield f"{name} products", aslinearoperator(B), B
    for name, B in (("dct", cs.Dct(mask=mask, block=4)), ("wavelet", cs.Wavelet(mask=mask)),
                    ("haar", cs.Haar(rows, 6))):
        yield name, B, np.stack([B @ row for row in np.eye(B.shape[1])], 1)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_residual_told_is_that_of_x(rng, solver):
    looked = 0
    for name, A, B in operators(rng):
        m, n = B.shape
        dense = rng.standard_normal(n) + (1j * rng.standard_normal(n) if np.iscomplexobj(B) else 0)
        for y, x0, more in ((B @ dense, None, {}), (rng.standard_normal(m), dense, {}),
                            (B @ dense, dense, {}), (B @ dense, None, {"epsilon": 0.2}),
                            (B @ dense, None, {"lambda_": 0.2, "debias": 1})):
            params = {"k": 4} if solver in GREEDY | {"romp"} else {}
            if ("debias" in more) != (solver == "fista") and "debias" in more:
                continue
            try:
                found = cs.solve(A, y, solver, x0=x0, atoms=8, **params, **more)
            except cs.CsrecError as error:  # no starts, no products alone, no frame
                assert "solver" in str(error) or "product" in str(error), error
                continue
            looked += 1
            r = y - B @ found.x
            size = np.linalg.norm(y)
            told = f"{name}, start {x0 is not None}, {more}"
            assert abs(found.residual - np.linalg.norm(r) / size) < 1e-9, told
            np.testing.assert_allclose(found.r, r, rtol=0, atol=1e-9 * size, err_msg=told)
            if len(found.history):
                assert found.history[-1] == found.residual, told
            if solver in GREEDY:
                assert np.count_nonzero(found.x) <= 4, told
    assert looked >= 2


def test_a_start_that_fits_y_is_made_sparse(rng):
    A = rng.standard_normal((30, 60))
    x = np.zeros(60)
    x[[3, 20, 41]] = 1, -2, 3
    y = A @ x
    x0 = np.linalg.pinv(A) @ y
    shares = np.abs(x0) * np.linalg.norm(A, axis=0)
    kept = np.where(shares >= np.sort(shares)[-4], x0, 0)
    for solver in GREEDY:
        found = cs.solve(A, y, solver, k=4, x0=x0)
        assert np.count_nonzero(found.x) <= 4
        assert found.residual <= np.linalg.norm(y - A @ kept) / np.linalg.norm(y) + 1e-12
        exact = cs.solve(A, y, solver, k=4, x0=x)
        np.testing.assert_allclose(exact.x, x, atol=1e-12)


def test_omp_stops_at_rounding_as_scikit_learn_does(rng):
    linear_model = pytest.importorskip("sklearn.linear_model")
    for _ in range(20):
        A = rng.standard_normal((40, 60)) / np.sqrt(40)
        x = np.zeros(60)
        x[rng.choice(60, 3, replace=False)] = rng.uniform(1, 2, 3)
        wanted = linear_model.orthogonal_mp(A / np.linalg.norm(A, axis=0), A @ x, tol=1e-25)
        found = cs.solve(A, A @ x)
        assert set(np.flatnonzero(found.x)) == set(np.flatnonzero(wanted))
        assert found.outcome == "converged"


def test_counts_are_whole_numbers(rng):
    A = rng.standard_normal((30, 60))
    for name, bad in (("iht", {"k": 0.5}), ("iht", {"k": 3.5}), ("romp", {"k": 1.25}),
                      ("fista", {"debias": 0.5}), ("htp", {"k": np.nan})):
        with pytest.raises((cs.CsrecError, ValueError), match="whole number|finite|nan"):
            cs.solve(A, A[:, 0], name, **bad)
    with pytest.raises((cs.CsrecError, TypeError), match="give a number, 1"):
        cs.solve(A, A[:, 0], "iht", k=True)
    picture = rng.random((24, 24))
    mask = rng.random((24, 24)) < 0.5
    for method in ({"method": "sparse", "solver": "iht", "k": 3.5}, {"method": "tv", "iterations": 1.5},
                   {"method": "sparse", "basis": "dct", "block": 8.5},
                   {"method": "sparse", "solver": "threshold", "steps": 2.5}):
        with pytest.raises(cs.CsrecError, match="whole number"):
            cs.recover(picture[mask], mask, **method)
    np.testing.assert_array_equal(cs.solve(A, A[:, 0], "iht", k=4.0).x,
                                  cs.solve(A, A[:, 0], "iht", k=4).x)
    cs.solve(A, A[:, 0], "fista", lambda_=0.015)  # not a count


@pytest.mark.parametrize("share", (0.1, 1e-2, 1e-3, 1e-4))
def test_fista_by_products_ends_at_the_minimum_of_scikit_learn(rng, share):
    linear_model = pytest.importorskip("sklearn.linear_model")
    A = rng.standard_normal((30, 60))
    x = np.zeros(60)
    x[[3, 20, 41]] = 1, -2, 3
    for y in (A @ x, A @ x + 0.3 * rng.standard_normal(30)):
        lam = share * np.abs(A.T @ y).max()

        def objective(v):
            return 0.5 * np.linalg.norm(y - A @ v) ** 2 + lam * np.abs(v).sum()
        found = cs.solve(aslinearoperator(A), y, "fista", lambda_=share)
        peer = linear_model.Lasso(lam / 30, fit_intercept=False, tol=1e-12, max_iter=1000000).fit(A, y)
        assert found.outcome == "converged" and len(found.history) == found.iterations
        assert objective(found.x) <= objective(peer.coef_) * (1 + 1e-9)
        np.testing.assert_allclose(found.x, cs.solve(A, y, "fista", lambda_=share).x, rtol=0, atol=1e-7)


def test_floats_are_known_to_their_rounding(rng):
    """What float32 y, or products in float32, leave of exactly sparse y is no signal."""
    for _ in range(5):
        A = rng.standard_normal((60, 90)).astype(np.float32)
        x = np.zeros(90, np.float32)
        x[rng.choice(90, 3, replace=False)] = rng.uniform(1, 2, 3)
        y = A @ x
        for given, measured in ((A, y), (aslinearoperator(A), y), (aslinearoperator(A), y.astype(float))):
            for solver in ("omp", "mp", "cosamp", "htp"):
                found = cs.solve(given, measured, solver, **({"k": 3} if solver in GREEDY else {}))
                assert set(np.flatnonzero(found.x)) == set(np.flatnonzero(x)) or solver == "mp"
                assert found.outcome == "converged" and found.residual < 1e-5


def test_a_perfect_solution_on_the_tree_converged(rng):
    for _ in range(10):
        rows = np.sort(rng.choice(256, 100, replace=False)).astype(np.uint64)
        haar = cs.Haar(rows, 8)
        x = np.zeros(haar.shape[1])
        x[rng.choice(x.size, 3, replace=False)] = rng.uniform(1, 2, 3)
        for solver in ("omp", "mp"):
            found = cs.solve(haar, haar @ x, solver, **({"atoms": 5000} if solver == "mp" else {}))
            assert found.outcome == "converged", (solver, found.outcome, found.residual)


@pytest.mark.parametrize("solver, params", (("fista", {"lambda_": 1e-3}), ("iht", {"k": 20}), ("htp", {"k": 20}),
                                            ("cosamp", {"k": 20})))
@pytest.mark.parametrize("basis", ("wavelet", "dct", "haar"))
@pytest.mark.parametrize("through", (False, True))
def test_a_default_epsilon_is_no_bound_that_was_missed(rng, solver, params, basis, through):
    """Only what was asked for is missed, whole or in tiles; a recovery that is none still warns."""
    if through and basis == "haar":
        pytest.skip("of entries alone")
    truth = np.cumsum(rng.standard_normal((32, 32)), 0)
    scan = cs.measure(truth, "hadamard", rate=0.5, scramble=1) if through else cs.sample(truth, 0.5)
    ways = [params | {"shifts": 1} if basis == "haar" else params]
    if not through and basis == "dct":
        ways.append(params | {"tile": 16})
    for way in ways:
        run = lambda **bound: cs.recover(scan, solver=solver, basis=basis, return_info=True, **way, **bound)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            signal, info = run()
        assert 2e-3 < info.residual and info.outcome == "converged"
        assert (info.residual > 0.25) == any("no recovery" in str(w.message) for w in caught)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again, missed = run(epsilon=1e-3)
            np.testing.assert_array_equal(again, signal)
            assert missed.outcome == "bound cannot be met"
            scan.sigma = 1e-9
            assert run()[1].outcome == "bound cannot be met"
            scan.sigma = 0.0


MODELLED = {"pca"}


@pytest.mark.parametrize("method", sorted(set(cs.methods()) - MODELLED))
@pytest.mark.parametrize("sigma", (0.0, 0.05))
def test_the_residual_told_is_that_of_the_signal(rng, method, sigma):
    """Of means over grids and frames, of samples that are put back, of channels, tiles and operators."""
    truth = np.cumsum(rng.standard_normal((24, 24, 2)), 0) * (1, 1e-3)
    truth = truth.reshape(4, 6, 24, 2) if method == "trial" else truth
    matrix = rng.standard_normal((300, 576))
    ways = [(cs.sample(truth, 0.5, channel_axis=-1), {}), (cs.sample(truth[..., 0], 0.5), {"tile": 256})]
    if method == "grids":
        ways.append((cs.sample(truth[..., 0], 0.5), {"shifts": 1}))
    if method == "sparse":
        ways += [(ways[0][0], {"solver": "iht", "basis": "dct", "k": 9})]
    if method in ("sparse", "tv", "pnp"):
        ways += [(cs.measure(truth, "matrix", matrix=matrix, channel_axis=-1), {})]
    for scan, way in ways:
        scan.sigma = sigma
        scan.guides = rng.standard_normal((1, 24, 24)) if method == "beside" else None
        scan.rays = rng.integers(1, 9, len(scan.index)) if method == "rendered" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal, info = cs.recover(scan, method=method, return_info=True, **way)
        y = np.asarray(scan.y)
        flat = signal.reshape(576, *y.shape[1:])
        off = np.linalg.norm((flat[scan.index] if scan.through is None else matrix @ flat) - y)
        assert abs(info.residual - off / np.linalg.norm(y)) <= 1e-9 * max(1, info.residual), (way, info)


@pytest.mark.parametrize("solver", ("iht", "htp", "romp", "cosamp"))
def test_a_start_is_fitted(rng, solver):
    """No start ends farther from y than x = 0, and x is a fit on the columns it uses."""
    for name, A, B in operators(rng):
        m, n = B.shape
        y = B @ rng.standard_normal(n) if rng.random() < 0.5 else B[:, 0] * 1.0
        start = rng.standard_normal(n) * 10 ** rng.uniform(-3, 9)
        found = cs.solve(A, y, solver, k=min(3, m), x0=start)
        if solver != "iht":  # which steps from its start
            assert found.residual <= 1 + 1e-9, name
        if solver in ("htp", "romp"):
            used = np.flatnonzero(found.x)
            fit = np.linalg.lstsq(B[:, used], y, rcond=None)[0]
            rest = np.linalg.norm(y - B[:, used] @ fit) / np.linalg.norm(y)
            assert found.residual <= rest + 1e-6, (name, found)


def test_fista_ends_at_the_minimum_from_any_start(rng):
    """Also where the start, or a step, meets y: an l1 norm may be less elsewhere."""
    for name, A, B in operators(rng):
        x = np.zeros(B.shape[1], B.dtype)
        x[rng.choice(x.size, 5, replace=False)] = rng.standard_normal(5)
        y = B @ x
        weight = 0.3 * np.abs(B.conj().T @ y).max()
        cost = lambda v: np.linalg.norm(y - B @ v) ** 2 / 2 + weight * np.abs(v).sum()
        wanted = cost(cs.solve(B, y, "fista", lambda_=0.3).x)
        for start in (x, x + 1e10 * rng.standard_normal(x.size)):
            found = cs.solve(A, y, "fista", lambda_=0.3, x0=start)
            assert found.outcome == "converged" and abs(cost(found.x) - wanted) <= 1e-7 * wanted, name


@pytest.mark.parametrize("by_products", (False, True))
def test_a_bound_of_the_norm_is_kept_however_a_run_ends(rng, by_products):
    for _ in range(5):
        A = (rng.standard_normal((30, 3)) @ rng.standard_normal((3, 7))).astype(np.float32).astype(float)
        y = A @ np.array([1, 0, 0, -1.0, 0, 0, 0.5]) + 0.3 * rng.standard_normal(30)
        w = 10 ** rng.uniform(-2, 2, 7)
        tau = 0.01 * (w * [1, 0, 0, 1, 0, 0, 0.5]).sum()
        found = cs.solve(aslinearoperator(A) if by_products else A, y, "bpdn", tau=tau, weights=w, atoms=2000)
        assert (w * np.abs(found.x)).sum() <= tau * (1 + 1e-5), found
        assert abs(found.residual - np.linalg.norm(y - A @ found.x) / np.linalg.norm(y)) < 1e-7


def test_what_float32_cannot_hold_stays_double():
    for column, sample in ((1e-30, 1e10), (1e30, 1e-20)):
        found = cs.solve(np.array([[column]]), np.float32([sample]), "omp")
        assert found.x[0] == pytest.approx(float(np.float32(sample)) / column)
    with pytest.raises(cs.DataError, match="x is beyond the range"):
        cs.solve(np.array([[2.0 ** -900]]), [2.0 ** 500], "fista", weights=[2.0 ** -500])


def test_an_offset_does_not_change_what_is_told():
    known, wave = np.arange(1000) % 200 == 70, np.sin(np.arange(1000) / 30)
    told = [cs.recover((wave + offset)[known], mask=known, return_uncertainty=True)[1][~known]
            for offset in (0, 1.7e9)]
    np.testing.assert_allclose(told[1], told[0], rtol=1e-3)
