# SPDX-License-Identifier: BSD-3-Clause
"""Operators against matrices made from their definitions, SciPy and PyLops."""
import copy
import pickle

import numpy as np
import pytest
from conftest import problem

import csrecover as cs


def haar_matrix(levels):
    """M x M: column 0 all +1; column M/s + g is +1, -1 on the halves of block g of s rows."""
    M = 1 << levels
    H = np.zeros((M, M))
    H[:, 0] = 1
    for n in range(1, levels + 1):
        s = 1 << n
        for g in range(M // s):
            H[g * s:g * s + s // 2, M // s + g] = 1
            H[g * s + s // 2:(g + 1) * s, M // s + g] = -1
    return H


def unit(A):
    return A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)


def operators(rng):
    shape = (12, 17)
    mask = rng.random(shape) < 0.4
    index = rng.permutation(np.flatnonzero(mask))
    rows = np.sort(rng.choice(256, 60, replace=False))
    dense = rng.standard_normal((30, 50)) * rng.random(50)
    whole = cs.Wavelet((16, 16), kind="cdf53", levels=2)
    return [cs.Dense(dense), cs.Haar(rows, 8), cs.Haar(rows, 8, "paper"),
            cs.Dct(mask=mask), cs.Dct(shape, index, block=5, step=3), cs.Dct((40,)),
            cs.Wavelet((16, 16), index=rng.choice(256, 99, replace=False)), whole,
            cs.Mask(mask=mask), cs.Mask(shape, index),
            cs.Mask((16, 16), rng.choice(256, 31, replace=False)) @ whole]


def test_products_belong_to_one_matrix(rng):
    for A in operators(rng):
        m, n = A.shape
        matrix = A.toarray()
        x, y = rng.standard_normal(n), rng.standard_normal(m)
        size = np.abs(matrix).sum() + 1
        # Sums of n products, each rounded to 2^-53 of its size.
        close = {"rtol": 0, "atol": 8 * max(m, n) * 2.0 ** -53 * size}
        np.testing.assert_allclose(A.matvec(x), matrix @ x, **close)
        np.testing.assert_allclose(A.rmatvec(y), matrix.T @ y, **close)
        np.testing.assert_allclose(A @ np.eye(n), matrix, **close)
        np.testing.assert_allclose(A.T @ y, matrix.T @ y, **close)
        np.testing.assert_allclose(A.H.matmat(np.c_[y, y]), (matrix.T @ np.c_[y, y]), **close)
        norms = np.linalg.norm(matrix, axis=0)
        np.testing.assert_allclose(A.column_norms(), norms, **close)
        np.testing.assert_allclose(A.correlate(y) * norms, matrix.T @ y, **close)
        j = int(rng.integers(n))
        np.testing.assert_allclose(A.column(j), matrix[:, j], **close)


def test_dense_is_the_matrix(rng):
    matrix = rng.standard_normal((7, 11))
    np.testing.assert_array_equal(cs.Dense(matrix).toarray(), matrix)
    np.testing.assert_array_equal(cs.Dense(np.asfortranarray(matrix)).toarray(), matrix)


def test_mask_takes_samples_in_their_order(rng):
    image = rng.random((9, 8))
    index = rng.choice(72, 20, replace=False)
    np.testing.assert_array_equal(cs.Mask(image.shape, index) @ image.ravel(), image.ravel()[index])
    mask = rng.random(image.shape) < 0.5
    np.testing.assert_array_equal(cs.Mask(mask=mask) @ image.ravel(), image[mask])


@pytest.mark.parametrize("columns", ("paper", "two-sided"))
def test_haar_is_the_papers_matrix(rng, columns):
    for _ in range(20):
        levels = int(rng.integers(1, 9))
        M = 1 << levels
        rows = np.sort(rng.choice(M, rng.integers(1, M + 1), replace=False))
        A = cs.Haar(rows, levels, columns)
        wanted = unit(haar_matrix(levels)[rows])[:, A.column_numbers.astype(int)]
        np.testing.assert_allclose(A.toarray(), wanted, rtol=0, atol=1e-14)
        assert (np.diff(A.column_numbers.astype(int)) > 0).all()


def test_haar_transform_lists_all_inner_products(rng):
    """The worked example of Park 2015, and random rows against the matrix."""
    found = cs.haar_transform([1, 6, 10, 16, 23, 27], [7, 7, 7, 4, 4, 6], 5, "levels")
    assert found["column"][-6:].tolist() == [16, 19, 21, 24, 27, 29]
    assert found["value"][-6:].tolist() == [-7, 7, 7, 4, -4, -6]
    assert abs(found["value"][0] - 35 / 6 ** 0.5) < 1e-14 and found["count"][0] == 6
    for _ in range(20):
        levels = int(rng.integers(1, 9))
        M = 1 << levels
        rows = np.sort(rng.choice(M, rng.integers(1, M + 1), replace=False))
        r, matrix = rng.standard_normal(rows.size), haar_matrix(levels)[rows]
        count = np.abs(matrix).sum(axis=0)
        for method in ("levels", "tree"):
            found = cs.haar_transform(rows, r, levels, method)
            np.testing.assert_array_equal(found["column"], np.flatnonzero(count))
            np.testing.assert_array_equal(found["count"], count[found["column"].astype(int)])
            wanted = (unit(matrix).T @ r)[found["column"].astype(int)]
            np.testing.assert_allclose(found["value"], wanted, rtol=0, atol=1e-12)
        fewer = cs.haar_transform(rows, r, levels)
        assert np.isin(fewer["column"], found["column"]).all()
    with pytest.raises(cs.ArgumentError, match="ascending"):
        cs.haar_transform([3, 3], [1, 2])
    with pytest.raises(cs.ArgumentError, match="levels, tree, distinct"):
        cs.haar_transform([3, 4], [1, 2], method="all")
    with pytest.raises(cs.ArgumentError, match="'gpu' is unknown"):
        cs.haar_transform([3, 4], [1, 2], backend="gpu")
    with pytest.raises(cs.CsrecError, match="(?i)cuda"):  # there is none on a device
        cs.haar_transform([1, 6, 10], [7, 7, 4], 5, backend="cuda")


def test_haar_rows_are_a_bijection(rng):
    shape = (5, 9)
    for order in ("morton", "hilbert", "raster"):
        rows, levels = cs.haar_rows(np.arange(45), shape, order)
        assert len(set(rows.tolist())) == 45 and rows.max() < 1 << levels
    np.testing.assert_array_equal(cs.haar_rows(np.arange(45), shape, "raster")[0], np.arange(45))


def test_frames_rebuild_what_they_analyse(rng):
    """A block cosine frame with all samples is onto; an orthonormal basis is its own inverse."""
    signal = rng.standard_normal(400)
    frame = cs.Dct((20, 20), block=8, step=4)
    x = np.linalg.lstsq(frame.toarray(), signal, rcond=None)[0]
    np.testing.assert_allclose(frame @ x, signal, rtol=0, atol=1e-10)


def test_dtype_is_kept(rng):
    A = cs.Dense(rng.standard_normal((4, 6)).astype(np.float32))
    assert A.dtype == np.float32
    assert A.matvec(np.ones(6, np.float32)).dtype == np.float32
    assert A.rmatvec(np.ones(4, np.float32)).dtype == np.float32
    assert A.matvec(np.ones(6)).dtype == np.float64
    assert A.matvec(np.ones(6, int)).dtype == np.float32
    assert cs.Dct((8, 8), dtype=np.float32).column_norms().dtype == np.float32
    assert cs.Dct((8, 8)).matmat(np.ones((64, 2), np.float32)).dtype == np.float32


def test_scipy_takes_operators(rng):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    for A in operators(rng):
        L = linalg.aslinearoperator(A)
        x = rng.standard_normal(A.shape[1])
        assert L.dtype == A.dtype and L.shape == A.shape
        np.testing.assert_array_equal(L @ x, A @ x)
        np.testing.assert_array_equal(L.H @ (A @ x), A.T @ (A @ x))
        np.testing.assert_array_equal(L @ np.c_[x, x], A @ np.c_[x, x])
    matrix = rng.standard_normal((40, 12))
    y = rng.standard_normal(40)
    found = linalg.lsqr(cs.Dense(matrix), y, atol=1e-13, btol=1e-13)[0]
    np.testing.assert_allclose(found, np.linalg.lstsq(matrix, y, rcond=None)[0], atol=1e-9)


def test_pylops_takes_operators(rng):
    pylops = pytest.importorskip("pylops")
    for A in operators(rng):
        P = pylops.aslinearoperator(A)
        assert pylops.utils.dottest(P, *A.shape, rtol=1e-10)
        x = rng.standard_normal(A.shape[1])
        np.testing.assert_array_equal(P @ x, A @ x)
    matrix, x, y = problem(rng, 60, 100, 4)
    P = pylops.aslinearoperator(cs.Dense(matrix))
    found = pylops.optimization.sparsity.fista(P, y, niter=3000, eps=1e-3, tol=1e-12)[0]
    theirs = pylops.optimization.sparsity.fista(pylops.MatrixMult(matrix), y, niter=3000, eps=1e-3,
                                                tol=1e-12)[0]
    np.testing.assert_allclose(found, theirs, atol=1e-6)


def test_refusals(rng):
    with pytest.raises(cs.ArgumentError, match="needs"):
        cs.Dense(np.ones((2, 3))).matvec(np.ones(2))
    with pytest.raises(cs.CsrecError, match="finite"):
        cs.Dense(np.array([[1.0, np.nan]]))
    with pytest.raises(cs.DataError, match="sort the rows"):
        cs.Haar([3, 1], 4)
    with pytest.raises(cs.ArgumentError, match="block = 3"):
        cs.Dct((8, 8), block=3)
    with pytest.raises(cs.ArgumentError, match="cannot follow"):
        cs.Dense(np.ones((2, 3))) @ cs.Dense(np.ones((2, 3)))
    with pytest.raises(cs.CsrecError, match="nix"):
        cs.Dense(np.ones((2, 3)), backend="nix")
    with pytest.raises(cs.CsrecError, match="kind"):
        cs.Wavelet((8, 8), kind="db4")
    with pytest.raises(cs.ArgumentError, match="columns 0"):
        cs.Dense(np.ones((2, 3))).column(3)


# ---- as SciPy's LinearOperator

def test_algebra_is_scipys(rng):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    for A in operators(rng):
        assert isinstance(A, linalg.LinearOperator)
        assert linalg.aslinearoperator(A) is A
        M, (m, n) = A.toarray(), A.shape
        x, y = rng.standard_normal(n), rng.standard_normal(m)
        other = rng.standard_normal((m, n))
        for made, want in (((2.0 * A) @ x, 2.0 * M @ x), ((A + other_of(linalg, other)) @ x,
                                                         (M + other) @ x),
                           ((-A) @ x, -M @ x), (A.T @ y, M.T @ y), (A.H.H @ x, M @ x),
                           ((A.T @ other_of(linalg, other)) @ x, M.T @ (other @ x)),
                           ((other_of(linalg, other).T @ A) @ x, other.T @ (M @ x)),
                           (A.adjoint() @ y, M.T @ y), (A * x, M @ x), (A(x), M @ x)):
            np.testing.assert_allclose(made, want, atol=1e-10 * (1 + np.abs(want).max()))
        X = rng.standard_normal((n, 3))
        np.testing.assert_allclose(A.matmat(X), M @ X, atol=1e-12 * (1 + np.abs(M).sum()))
        np.testing.assert_allclose(A.rmatmat(rng.standard_normal((m, 2))).shape, (n, 2))


def other_of(linalg, matrix):
    return linalg.aslinearoperator(matrix)


def test_operators_are_copied_and_pickled(rng):
    for A in operators(rng):
        x = rng.standard_normal(A.shape[1])
        for B in (pickle.loads(pickle.dumps(A)), copy.deepcopy(A), copy.copy(A)):
            assert type(B) is type(A) and B.shape == A.shape and B.dtype == A.dtype
            np.testing.assert_array_equal(B @ x, A @ x)
        assert pickle.loads(pickle.dumps(A.T)).shape == A.T.shape


def test_haar_matrix_is_as_documented(rng):
    rows = np.sort(rng.choice(64, 20, replace=False)).astype(np.uint64)
    A = cs.Haar(rows, 6)
    M = A.toarray()
    for j, number in enumerate(A.column_numbers):
        number = int(number)
        if number == 0:
            want = np.full(20, 20 ** -0.5)
        else:
            span = 64 >> (number.bit_length() - 1)
            first = (number - (1 << (number.bit_length() - 1))) * span
            at = rows.astype(int) - first
            inside = (at >= 0) & (at < span)
            want = np.where(inside, np.where(at < span // 2, 1.0, -1.0), 0) / np.sqrt(inside.sum())
        np.testing.assert_allclose(M[:, j], want, atol=1e-15)


def sparse_problem(rng, m, n, complex_=False):
    """A matrix with a tenth of its entries, in COO form with repeats, and x with three."""
    linalg = pytest.importorskip("scipy.sparse")
    count = m * n // 10
    values = rng.standard_normal(count) + (1j * rng.standard_normal(count) if complex_ else 0)
    S = linalg.coo_array((values, (rng.integers(0, m, count), rng.integers(0, n, count))), (m, n))
    x = np.zeros(n, values.dtype)
    x[rng.choice(n, 3, replace=False)] = rng.choice(values[np.abs(values) > 1], 3)
    return S, x


@pytest.mark.parametrize("complex_", (False, True))
def test_sparse_matrices_are_dense_ones(rng, complex_):
    S, x = sparse_problem(rng, 60, 90, complex_)
    M, y = S.toarray(), S @ x
    cs_dense = cs.Dense(M)
    forms = [S.tocsc(), S.tocsr(), S, S.todok(), S.T.tocsr().T]
    kept = forms[0].copy()
    for form in forms:
        A = cs.Sparse(form)
        assert A.shape == M.shape and A.dtype == M.dtype
        np.testing.assert_allclose(A.toarray(), M, rtol=0, atol=1e-13 * np.abs(M).max())
        np.testing.assert_allclose(A.rmatvec(y), M.conj().T @ y, rtol=0, atol=1e-10)
        np.testing.assert_allclose(A.column_norms(), np.linalg.norm(M, axis=0), rtol=1e-13)
    assert (kept != forms[0]).nnz == 0
    assert cs.Sparse(S.astype(np.complex64 if complex_ else np.float32)).dtype.itemsize == (
        8 if complex_ else 4)
    for solver, params in (("mp", {"atoms": 9}), ("omp", {"atoms": 3}), ("romp", {"k": 3}),
                           ("cosamp", {"k": 3}), ("iht", {"k": 3}), ("htp", {"k": 3}),
                           ("fista", {"lambda_": 0.1}), ("bpdn", {"epsilon": 0.1})):
        found, want = cs.solve(S, y, solver, **params), cs.solve(cs_dense, y, solver, **params)
        np.testing.assert_allclose(found.x, want.x, rtol=0, atol=1e-5 * np.abs(x).max(),
                                   err_msg=solver)
    assert cs.solve(forms[0], y, "omp", atoms=3).residual < 1e-10
    assert isinstance(pickle.loads(pickle.dumps(cs.Sparse(S))), cs.Sparse)


def test_large_sparse_matrices_stay_sparse(rng):
    """Dense it would be 32 GB. A column with no others in its rows is found at once."""
    linalg = pytest.importorskip("scipy.sparse")
    S = linalg.csr_matrix((rng.standard_normal(400000), (rng.integers(0, 20000, 400000),
                                                         rng.integers(0, 200000, 400000))),
                          (20000, 200000))
    j = int(np.argmax(np.asarray(abs(S).sum(axis=0))))
    y = 2 * S[:, [j]].toarray().ravel()
    for solver, params in (("mp", {"atoms": 1}), ("omp", {"atoms": 1}), ("romp", {"k": 1}),
                           ("cosamp", {"k": 1}), ("iht", {"k": 1}), ("htp", {"k": 1})):
        found = cs.solve(S, y, solver, epsilon=1e-9, **params)
        assert np.flatnonzero(found.x).tolist() == [j] and abs(found.x[j] - 2) < 1e-9, solver
    found = cs.solve(S, y, "fista", lambda_=0.1)
    c = S.T @ (y - S @ found.x)
    limit = 0.1 * np.abs(S.T @ y).max()
    used = found.x != 0
    np.testing.assert_allclose(c[used], limit * np.sign(found.x[used]), rtol=1e-8)
    assert np.abs(c).max() <= limit * (1 + 1e-8)
    assert cs.solve(S, y, "bpdn", epsilon=0.01).residual <= 0.01 * (1 + 1e-8)


def test_sparse_refusals(rng):
    linalg = pytest.importorskip("scipy.sparse")
    S = linalg.eye_array(4, format="csr")
    for wrong in (np.eye(4), linalg.coo_array(np.ones(3))):
        with pytest.raises(cs.ArgumentError, match="give a sparse matrix"):
            cs.Sparse(wrong)
    with pytest.raises(cs.DataError, match="column 2: an entry is not finite"):
        cs.Sparse(linalg.diags_array([1.0, 1.0, np.inf, 1.0]))
    with pytest.raises(cs.CsrecError, match="cuda"):
        cs.Sparse(S, backend="cuda")
    assert cs.solve(S, np.ones(4), "iht", k=2).x.tolist() == [1, 1, 0, 0]  # dense and small
    assert cs.solve(linalg.csr_array(np.ones((3, 4))), np.ones(3), "omp", atoms=1).residual < 1e-12


def test_any_products_are_solved(rng):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    matrix, x, y = problem(rng, 60, 100, 4)
    for solver, params in (("fista", {"lambda_": 0.01}), ("iht", {"k": 4}), ("htp", {"k": 4}),
                           ("cosamp", {"k": 4}), ("romp", {"k": 4}), ("omp", {"atoms": 4}),
                           ("mp", {"atoms": 9})):
        want = cs.solve(matrix, y, solver, **params)
        for A in (linalg.aslinearoperator(matrix), 0.5 * cs.Dense(2.0 * matrix)):
            found = cs.solve(A, y, solver, **params)
            np.testing.assert_allclose(found.x, want.x, atol=1e-6)
    many = cs.solve(linalg.aslinearoperator(matrix), np.c_[y, 2 * y], "iht", k=4)
    np.testing.assert_allclose(many.x[:, 1], 2 * many.x[:, 0], rtol=1e-9)
    with pytest.raises(cs.CsrecError, match="is not a basis"):
        cs.solve(linalg.aslinearoperator(matrix), y, "threshold")

    def broken(_):
        raise ZeroDivisionError("mine")
    with pytest.raises(ZeroDivisionError, match="mine"):
        cs.solve(linalg.LinearOperator((60, 100), broken, broken), y, "iht", k=4)
