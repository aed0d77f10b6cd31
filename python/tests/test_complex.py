# SPDX-License-Identifier: BSD-3-Clause
"""Complex A, x and y, against NumPy and SciPy."""
import pickle

import numpy as np
import pytest

import csrecover as cs

scipy = pytest.importorskip("scipy")
linalg = pytest.importorskip("scipy.sparse.linalg")

EXACT = (("omp", {"atoms": 4}), ("romp", {"k": 4}), ("cosamp", {"k": 4}), ("iht", {"k": 4}),
         ("htp", {"k": 4}), ("fista", {"lambda_": 1e-3, "debias": 1}), ("bpdn", {}))
PRODUCTS = ("cosamp", "iht", "htp", "fista", "bpdn")


def drawn(rng, *shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def problem(rng, m=80, n=120, k=4, real=False):
    """A with columns of any length, x with k entries of size 1 to 2 and any phase."""
    A = rng.standard_normal((m, n)) if real else drawn(rng, m, n)
    A /= np.linalg.norm(A, axis=0)
    x = np.zeros(n, complex)
    x[rng.choice(n, k, replace=False)] = (1 + rng.random(k)) * np.exp(2j * np.pi * rng.random(k))
    return A, x, A @ x


def plain_omp(A, y, atoms):
    chosen, r = [], y
    for _ in range(atoms):
        chosen.append(int(np.argmax(np.abs(A.conj().T @ r) / np.linalg.norm(A, axis=0))))
        fit = np.linalg.lstsq(A[:, chosen], y, rcond=None)[0]
        r = y - A[:, chosen] @ fit
    x = np.zeros(A.shape[1], complex)
    x[chosen] = fit
    return x


@pytest.mark.parametrize("real", (False, True))
def test_omp_is_the_textbooks(rng, real):
    for _ in range(10):
        A, _, y = problem(rng, 40, 90, 5, real)
        A *= rng.uniform(0.5, 2, 90)
        y += 0.05 * drawn(rng, 40)
        found = cs.solve(A, y, "omp", atoms=8)
        np.testing.assert_allclose(found.x, plain_omp(A, y, 8), rtol=0, atol=1e-9)
        np.testing.assert_array_equal(found.atoms.column, np.flatnonzero(found.x))
        np.testing.assert_array_equal(found.atoms.coefficient, found.x[np.flatnonzero(found.x)])
        assert found.iterations == len(found.history) == 8


@pytest.mark.parametrize("solver,params", EXACT)
def test_sparse_signals_come_back(rng, solver, params):
    A, x, y = problem(rng)
    operators = [A, cs.Dense(A)] + [linalg.aslinearoperator(A)] * (solver in PRODUCTS)
    for given in operators:
        found = cs.solve(given, y, solver, epsilon=1e-9, **params)
        np.testing.assert_allclose(found.x, x, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.r, y - A @ found.x, rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver,params", EXACT)
def test_real_operators_take_complex_samples(rng, solver, params):
    A, x, y = problem(rng, real=True)
    operators = [A, cs.Dense(A)] + [linalg.aslinearoperator(A)] * (solver in PRODUCTS)
    for given in operators:
        found = cs.solve(given, y, solver, epsilon=1e-9, **params)
        np.testing.assert_allclose(found.x, x, rtol=0, atol=1e-6)


def test_frequencies_as_a_linear_operator(rng):
    """NumPy's transform of a spike train of complex heights, from some of its frequencies."""
    n, kept = 128, np.sort(rng.choice(128, 60, replace=False))
    x = np.zeros(n, complex)
    x[[5, 40, 77]] = 2j, -1.5 + 1j, 1 - 2j

    def back(y):
        grid = np.zeros(n, complex)
        grid[kept] = y
        return n * np.fft.ifft(grid)
    A = linalg.LinearOperator((60, n), lambda v: np.fft.fft(v)[kept], back, dtype=complex)
    for solver, params in (("cosamp", {"k": 3}), ("htp", {"k": 3}), ("bpdn", {"epsilon": 1e-9})):
        found = cs.solve(A, np.fft.fft(x)[kept], solver, **params)
        np.testing.assert_allclose(found.x, x, rtol=0, atol=1e-6)


def test_types_and_starts(rng):
    A, x, y = problem(rng)
    for dtype, wanted in ((np.complex64, np.complex64), (np.complex128, np.complex128)):
        found = cs.solve(A, y.astype(dtype), atoms=4)
        assert found.x.dtype == found.r.dtype == wanted
    assert cs.solve(A, y.real.astype(np.float32), atoms=4).x.dtype == np.complex64
    assert cs.solve(A, y.real, atoms=4).x.dtype == np.complex128
    start = cs.solve(A, y, "iht", k=4, epsilon=1e-6)
    warm = cs.solve(A, y, "iht", k=4, epsilon=1e-5, x0=start.x)
    assert warm.iterations < start.iterations
    many = cs.solve(A, np.stack((y, 1j * y, y + 0.1 * drawn(rng, 80)), axis=1), "omp", atoms=4)
    assert many.x.shape == (120, 3) and many.r.shape == (80, 3)
    np.testing.assert_allclose(many.x[:, 0], x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(many.x[:, 1], 1j * x, rtol=0, atol=1e-9)
    with pytest.raises(cs.ArgumentError, match="y has shape"):
        cs.solve(A, y[1:], atoms=4)
    with pytest.raises(cs.DataError, match="finite"):
        cs.solve(A, np.where(np.arange(80) == 3, complex(0, np.inf), y), atoms=4)
    with pytest.raises(cs.DataError, match=r"\(1, 0\)"):
        cs.Dense([[1j], [np.nan * 1j]])


@pytest.mark.parametrize("dtype", (np.complex64, np.complex128))
def test_operators_are_their_matrices(rng, dtype):
    matrix = drawn(rng, 7, 5).astype(dtype)
    real = rng.standard_normal((5, 6))
    D, P = cs.Dense(matrix), cs.Pairs(cs.Dense(real))
    chain = D @ cs.Dense(real)
    for A, M in ((D, matrix), (P, real), (chain, matrix @ real), (pickle.loads(pickle.dumps(D)),
                                                                  matrix)):
        M = M.astype(complex)
        x, y = drawn(rng, M.shape[1]), drawn(rng, M.shape[0])
        assert A.shape == M.shape
        # Sums of at most 7 products of order 1, of matrices rounded to double.
        np.testing.assert_allclose(A @ x, M @ x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(A.H @ y, M.conj().T @ y, rtol=0, atol=1e-12)
        np.testing.assert_allclose(A.T @ y, M.T @ y, rtol=0, atol=1e-12)
        np.testing.assert_allclose(A.H.T @ x, M.conj() @ x, rtol=0, atol=1e-12)
        np.testing.assert_allclose((2j * A) @ x, 2j * (M @ x), rtol=0, atol=1e-12)
        np.testing.assert_allclose(A @ np.stack((x, 1j * x), 1), M @ np.stack((x, 1j * x), 1),
                                   rtol=0, atol=1e-12)
        np.testing.assert_allclose(A.rmatmat(np.stack((y, y), 1)),
                                   M.conj().T @ np.stack((y, y), 1), rtol=0, atol=1e-12)
        norms = np.linalg.norm(M, axis=0)
        np.testing.assert_allclose(A.column_norms(), norms, rtol=1e-6)
        np.testing.assert_allclose(A.correlate(y), M.conj().T @ y / norms, rtol=0, atol=1e-12)
        np.testing.assert_allclose(A.column(2), M[:, 2], rtol=0, atol=1e-6)
        np.testing.assert_allclose(A.toarray(), M, rtol=0, atol=1e-6)
    assert D.dtype == dtype and (D @ np.ones(5, np.complex64)).dtype == np.complex64
    assert (D @ np.ones(5)).dtype == np.complex128


def every_kind(rng, shape, dtype):
    """One operator of each kind, all samples or some, of a signal of this shape."""
    n = int(np.prod(shape))
    index = rng.permutation(n)[:int(rng.integers(1, n + 1))]
    where = {"shape": shape} if rng.random() < 0.3 else {"shape": shape, "index": index}
    matrix = rng.standard_normal((int(rng.integers(1, 8)), n))
    if np.dtype(dtype).kind == "c":
        matrix = matrix + 1j * rng.standard_normal(matrix.shape)
    dense = cs.Dense(matrix.astype(dtype))
    sparse = cs.Sparse(scipy.sparse.csr_array(np.where(rng.random(matrix.shape) < 0.4, dense._matrix, 0)))
    return [dense, sparse, cs.Mask(**where, dtype=dtype), cs.Dct(**where, dtype=dtype),
            *(cs.Wavelet(**where, kind=kind, dtype=dtype) for kind in ("haar", "cdf53", "cdf97")),
            cs.Haar(np.sort(index), dtype=dtype), dense @ cs.Wavelet(shape, dtype=dtype),
            cs.Pairs(cs.Dct(**where))]


@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.complex64, np.complex128))
@pytest.mark.parametrize("shape", ((1,), (2,), (31,), (1, 1), (1, 7), (13, 1), (5, 7), (1, 1, 1),
                                   (3, 1, 5)))
def test_every_kind_maps_real_and_complex_vectors(rng, shape, dtype):
    """As its matrix, in all the ways to write a product; the matrix is that of the real kind."""
    for A in every_kind(rng, shape, dtype):
        m, n = A.shape
        M = A.matmat(np.eye(n))
        if isinstance(A, (cs.Mask, cs.Dct, cs.Wavelet, cs.Haar)):
            real = type(A)(*A._made[0], **{**A._made[1], "dtype": np.float64})
            np.testing.assert_array_equal(M, real.matmat(np.eye(n)))
        size = 1 + np.abs(M).sum()
        # Sums of products in double; norms and columns have the operator's precision.
        close = {"rtol": 0, "atol": (n + m) * 2.0 ** -45 * size}
        rough = close if A.dtype in (np.float64, np.complex128) else {"rtol": 0, "atol": 1e-6 * size}
        np.testing.assert_allclose(A.toarray(), M, **rough)
        np.testing.assert_allclose(A.column(n - 1), M[:, -1], **rough)
        for x, y in ((rng.standard_normal(n), rng.standard_normal(m)), (drawn(rng, n), drawn(rng, m))):
            X, Y = np.stack((x, -1j * x), 1), np.stack((y, 1j * y), 1)
            for made, want in ((A.matvec(x), M @ x), (A.rmatvec(y), M.conj().T @ y),
                               (A @ x, M @ x), (A.dot(x), M @ x), (A * x, M @ x), (A(x), M @ x),
                               (A.H @ y, M.conj().T @ y), (A.T @ y, M.T @ y),
                               (A.T.rmatvec(x), M.conj() @ x), (A.matmat(X), M @ X),
                               (A @ X, M @ X), (A.rmatmat(Y), M.conj().T @ Y),
                               (A.T.matmat(Y), M.T @ Y), (A.matvec(x[:, None]), (M @ x)[:, None]),
                               (y @ A, y @ M), ((2j * A) @ x, 2j * (M @ x))):
                assert made.shape == want.shape
                np.testing.assert_allclose(made, want, **close)
            norms = np.linalg.norm(M, axis=0)
            some = norms > 1e-9 * norms.max()  # others are rounding
            np.testing.assert_allclose((A.correlate(y) * norms)[some], (M.conj().T @ y)[some],
                                       **close)
            assert abs(np.vdot(y, A @ x) - np.vdot(A.H @ y, x)) <= close["atol"] * (
                1 + np.abs(x).sum() + np.abs(y).sum())
            assert (A @ x).dtype == (A @ (0 * x)).dtype == (M @ x).dtype
        assert A.matvec(drawn(rng, n).astype(np.complex64)).dtype == np.complex64


def test_complex_kinds_are_solved(rng):
    """Of a signal of 1,001 entries, an odd number, that is a few wavelets of complex heights."""
    x = np.zeros(1001, complex)
    x[[3, 17, 200]] = 2j, -1.5 + 1j, 1 - 2j
    mask = rng.random(1001) < 0.7
    A = cs.Wavelet(mask=mask, dtype=complex)
    assert A.shape == (mask.sum(), 1001)
    for solver, params in (("omp", {"atoms": 3}), ("cosamp", {"k": 3}), ("bpdn", {"epsilon": 1e-9})):
        np.testing.assert_allclose(cs.solve(A, A @ x, solver, **params).x, x, rtol=0, atol=1e-6)
    haar = cs.Haar(np.flatnonzero(mask), dtype=complex)
    want = cs.solve(cs.Dense(haar.toarray()), haar @ x[:haar.shape[1]], "mp", atoms=5)
    found = cs.solve(haar, haar @ x[:haar.shape[1]], "mp", atoms=5)
    np.testing.assert_allclose(found.x, want.x, rtol=0, atol=1e-9)


def test_an_exception_of_a_real_factor_is_raised(rng):
    def broken(_):
        raise ZeroDivisionError("mine")
    with pytest.raises(ZeroDivisionError, match="mine"):
        cs.solve(linalg.LinearOperator((6, 10), broken, broken, dtype=float), drawn(rng, 6), "iht",
                 k=2)
