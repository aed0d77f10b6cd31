# SPDX-License-Identifier: BSD-3-Clause
"""Operators of users, SciPy's and PyLops': one call at a time, wrong adjoints and products told,
functions, algebra with ours."""
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import problem

import csrecover as cs

linalg = pytest.importorskip("scipy.sparse.linalg")
sparse = pytest.importorskip("scipy.sparse")


def in_buffers(A, seen):
    """Products that keep their results in buffers of their own, and see calls that overlap."""
    buffers, inside = (np.empty(A.shape[0]), np.empty(A.shape[1])), threading.Lock()

    def product(matrix, buffer):
        def run(v):
            if not inside.acquire(blocking=False):
                seen.append("overlap")
                inside.acquire()
            try:
                np.copyto(buffer, matrix @ v)
                time.sleep(1e-5)
                return buffer.copy()
            finally:
                inside.release()
        return run
    return linalg.LinearOperator(A.shape, product(A, buffers[0]), product(A.T, buffers[1]),
                                 dtype=float)


@pytest.mark.parametrize("solver,params", (("iht", {"k": 2}), ("fista", {"lambda_": 0.1}),
                                           ("omp", {"atoms": 2}), ("cosamp", {"k": 2})))
def test_calls_come_one_at_a_time(rng, solver, params):
    A, _, Y = problem(rng, 30, 60, 2, 12)
    seen = []
    L = in_buffers(A, seen)
    found = [cs.solve(L, Y, solver, threads=threads, **params).x for threads in (0, 1, 4)]
    assert not seen
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    np.testing.assert_allclose(found[0], cs.solve(A, Y, solver, **params).x, atol=1e-6)
    pure = linalg.aslinearoperator(A)  # says nothing of itself, so it may
    np.testing.assert_array_equal(cs.solve(pure, Y, solver, threads=4, parallel=True, **params).x,
                                  cs.solve(pure, Y, solver, threads=1, **params).x)


@pytest.mark.parametrize("engine", ("numpy", "fftw"))
def test_pylops_transforms_with_many_right_hand_sides(rng, engine):
    """FFTW's plans work in buffers of the operator."""
    pylops = pytest.importorskip("pylops")
    if engine == "fftw":
        pytest.importorskip("pyfftw")
    n, kept = 128, np.sort(rng.choice(128, 70, replace=False))
    A = pylops.Restriction(n, kept, dtype=complex) @ pylops.signalprocessing.FFT(
        n, engine=engine, dtype=complex)
    X = np.zeros((n, 8), complex)
    for column in X.T:
        column[rng.choice(n, 2, replace=False)] = 1 + 1j * rng.random(2)
    Y = np.fft.fft(X, axis=0)[kept] / np.sqrt(n) * (np.linalg.norm(A @ np.eye(n)[0]) /
                                                    np.sqrt(70 / n))
    np.testing.assert_allclose(cs.solve(A, Y, "cosamp", k=2).x, X, atol=1e-9)


WRONG = {"scaled": lambda A: 1.1 * A.T, "another": lambda A: np.roll(A, 1, 0).T,
         "not conjugated": lambda A: A.T, "nothing": lambda A: 0 * A.T}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_adjoint_is_told(rng, wrong):
    A, _, y = problem(rng, 30, 60, 2)
    if wrong == "not conjugated":
        A = A * np.exp(2j * np.pi * rng.random(A.shape))
    back = WRONG[wrong](A)
    L = linalg.LinearOperator(A.shape, lambda v: A @ v, lambda v: back @ v, dtype=A.dtype)
    for given in (L, 2 * L):
        for rhs in (y, np.c_[y, y], 1j * y):
            with pytest.raises(cs.ArgumentError, match=r"<A x, y> = .*check=False") as told:
                cs.solve(given, rhs, "iht", k=2)
            assert "\n" not in str(told.value)
    cs.solve(L, y, "iht", k=2, atoms=3, check=False)


def test_adjoints_in_single_precision_pass(rng):
    """Products that round to float32, of any size and scale."""
    for _ in range(25):
        m, n = rng.integers(1, 200, 2)
        A = (rng.standard_normal((m, n)) * 10.0 ** rng.integers(-18, 18)).astype(np.float32)
        if rng.random() < 0.5:
            A = A * np.exp(2j * np.pi * rng.random((m, n))).astype(np.complex64)
        L = linalg.LinearOperator((m, n), lambda v: A @ v.astype(A.dtype),
                                  lambda v: A.conj().T @ v.astype(A.dtype), dtype=A.dtype)
        cs.solve(L, np.zeros(m), "iht", k=1)


def test_pylops_operators_pass(rng):
    pylops = pytest.importorskip("pylops")
    n = 60
    for dtype in ("float32", "float64"):
        for A in (pylops.FirstDerivative(n, dtype=dtype), pylops.Diagonal(rng.random(n), dtype=dtype),
                  pylops.signalprocessing.DCT((n,), dtype=dtype),
                  pylops.signalprocessing.Convolve1D(n, rng.random(7), offset=3, dtype=dtype),
                  pylops.signalprocessing.DWT(n, wavelet="haar", dtype=dtype)
                  if _has("pywt") else pylops.Identity(n, dtype=dtype),
                  pylops.CausalIntegration(n, dtype=dtype), pylops.Smoothing1D(5, n, dtype=dtype),
                  pylops.Restriction(n, np.arange(0, n, 3), dtype=dtype)):
            cs.solve(A, rng.standard_normal(A.shape[0]), "fista", lambda_=0.1, atoms=2)


def _has(module):
    try:
        __import__(module)
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("name", ("matvec", "rmatvec"))
def test_wrong_products_name_the_function(rng, name):
    A, _, y = problem(rng, 30, 60, 2)

    def given(dtype=float, **change):
        functions = {"matvec": lambda v: A @ v, "rmatvec": lambda v: A.T @ v, **change}
        return linalg.LinearOperator(A.shape, dtype=dtype, **functions)
    right = {"matvec": lambda v: A @ v, "rmatvec": lambda v: A.T @ v}[name]
    field = {"matvec": "forward", "rmatvec": "adjoint"}[name]
    cases = ((lambda v: right(v)[1:], cs.ArgumentError, f"A.{name}"),
             (lambda v: np.where(np.arange(right(v).size) == 3, np.nan, right(v)), cs.DataError,
              rf"{field} gives [xy]\[3\] = nan"),
             (lambda v: 1j * right(v), cs.ArgumentError, f"A.{name} returned complex"))
    for function, kind, words in cases:
        for rhs in (y, np.c_[y, y]):
            with pytest.raises(kind, match=words) as told:
                cs.solve(given(**{name: function}), rhs, "iht", k=2)
            assert "\n" not in str(told.value)
    found = cs.solve(given(**{name: lambda v: right(v) + 0j}), y, "iht", k=2)
    np.testing.assert_allclose(found.x, cs.solve(A, y, "iht", k=2).x, atol=1e-9)


def test_functions_are_an_operator(rng):
    A, _, y = problem(rng, 30, 60, 2)
    C = A * np.exp(2j * np.pi * rng.random(A.shape))
    for M in (A, C):
        pair = (lambda v, M=M: M @ v, lambda v, M=M: M.conj().T @ v)
        for rhs in (y, np.c_[y, 2 * y], 1j * y):
            np.testing.assert_allclose(cs.solve(pair, rhs, "iht", k=2).x,
                                       cs.solve(M, rhs, "iht", k=2).x, atol=1e-9)
    for A in (lambda v: v, (np.sin, np.cos)):
        with pytest.raises(cs.ArgumentError, match=r"LinearOperator\(\(m, n\)"):
            cs.solve(A, 3.0, "iht", k=2)
    with pytest.raises(cs.ArgumentError, match="forward, adjoint"):
        cs.solve(np.sin, y, "iht", k=2)


def test_functions_may_write_into_their_arguments(rng):
    A, _, y = problem(rng, 30, 60, 2)
    for M, rhs in ((A, y), (A, np.c_[y, 2 * y]), (A * np.exp(2j * rng.random(A.shape)), y + 1j)):
        def forward(v, M=M):
            out = M @ v
            v[:] = 7
            return out

        def adjoint(v, M=M):
            out = M.conj().T @ v
            v[:] = 7
            return out
        kept = rhs.copy()
        for A_given in ((forward, adjoint),
                        linalg.LinearOperator(M.shape, forward, adjoint, dtype=M.dtype)):
            for solver, params in (("omp", {"atoms": 2}), ("iht", {"k": 2}),
                                   ("fista", {"lambda_": 0.5}), ("bpdn", {"epsilon": 0.5})):
                found = cs.solve(A_given, rhs, solver, **params)
                np.testing.assert_array_equal(rhs, kept)
                np.testing.assert_allclose(found.x, cs.solve(M, rhs, solver, **params).x, atol=1e-6)


def test_maps_that_are_not_linear_in_complex_x_are_told(rng):
    """Linear in real and imaginary parts, with the adjoint of that, of each part or mixed."""
    A, _, y = problem(rng, 30, 60, 2)
    C = A * np.exp(2j * np.pi * rng.random(A.shape))
    maps = {"real part": (lambda v: C @ v.real, lambda v: (C.conj().T @ v).real),
            "conjugate": (lambda v: C @ v.conj(), lambda v: (C.conj().T @ v).conj()),
            "imaginary parts scaled": (lambda v: C @ (v.real + 2j * v.imag),
                                       lambda v: (w := C.conj().T @ v).real + 2j * w.imag)}
    for forward, adjoint in maps.values():
        for given in ((forward, adjoint),
                      linalg.LinearOperator(C.shape, forward, adjoint, dtype=complex)):
            for rhs in (y + 0j, np.c_[y, y] + 0j):
                with pytest.raises(cs.ArgumentError, match="is not linear in complex x"):
                    cs.solve(given, rhs, "omp", atoms=2)
    pylops = pytest.importorskip("pylops")
    with pytest.raises(cs.ArgumentError, match="is not linear in complex x"):
        cs.solve(pylops.signalprocessing.FFT(32, real=True), np.ones(17, complex), "omp", atoms=2)
    for P in (pylops.signalprocessing.FFT(32, dtype=complex),
              pylops.signalprocessing.FFT2D((4, 8), dtype=complex),
              pylops.MatrixMult(C, dtype=complex), pylops.Diagonal(C[0], dtype=complex),
              pylops.Identity(32, dtype=complex), pylops.MatrixMult(C, dtype=complex).H):
        cs.solve(P, rng.standard_normal(P.shape[0]) + 1j, "fista", lambda_=0.1, atoms=2)


@pytest.mark.parametrize("package", ("scipy", "pylops"))
def test_algebra_with_operators_of_others(rng, package):
    """Every sum, product and multiple from both sides is that of the matrices, and can be solved."""
    n = 12
    M, O = rng.standard_normal((2, n, n))
    S = sparse.csr_array(np.where(rng.random((n, n)) < 0.3, O, 0))
    others = [(linalg.aslinearoperator(O), O), (S, S.toarray())]
    if package == "pylops":
        pylops = pytest.importorskip("pylops")
        others = [(pylops.MatrixMult(O), O), (pylops.Identity(n), np.eye(n)),
                  (2 * pylops.Diagonal(O[0]), 2 * np.diag(O[0])), (pylops.MatrixMult(O).T, O.T),
                  (pylops.MatrixMult(1j * O, dtype=complex).H, -1j * O.T)]
    mask = cs.Mask(n, rng.permutation(n))
    ours = [(cs.Dense(M), M), (cs.Dense(M + 1j * O), M + 1j * O), (cs.Dense(M).T, M.T),
            (cs.Dense(M + 1j * O).H, (M + 1j * O).conj().T), (mask, mask.toarray()),
            (cs.Dense(M) @ mask, M @ mask.toarray()), (cs.Dense(M) ** 2, M @ M),
            (2j * cs.Dense(M), 2j * M), (cs.Sparse(S), S.toarray())]
    x = rng.standard_normal(n)
    for A, a in ours:
        for B, b in others:
            made = [(A @ B, a @ b), (B @ A, b @ a), (A * B, a @ b)]
            if B is not S:  # no operator of SciPy adds a sparse matrix
                made += [(A + B, a + b), (B + A, b + a), (A - B, a - b), (B - A, b - a),
                         (A.H @ B / 2 - 3 * B, a.conj().T @ b / 2 - 3 * b), (B - 2 * A, b - 2 * a),
                         (-A + B, b - a), ((A + B).T @ B, (a + b).T @ b),
                         ((A * 3) ** 2 @ B, 9 * a @ a @ b)]
            for found, want in made:
                np.testing.assert_allclose(found @ x, want @ x, rtol=0, atol=1e-9)
                if hasattr(found, "rmatvec"):
                    np.testing.assert_allclose(found.H @ x, want.conj().T @ x, rtol=0, atol=1e-9)
                y = want[:, np.argmax(np.linalg.norm(want, axis=0))]
                assert cs.solve(found, y, "omp", atoms=1).residual < 1e-9


@pytest.mark.parametrize("way", ["operator", "functions", "methods"])
def test_solves_in_several_threads_call_one_operator_one_at_a_time(way):
    rng = np.random.default_rng(11)
    matrix, calls, overlaps = rng.normal(size=(20, 30)), [], []

    class Device:
        def apply(self, factor, x):
            calls.append(1)
            overlaps.append(len(calls) > 1)
            time.sleep(0.001)  # lets other threads run
            calls.pop()
            return factor @ x

        def forward(self, x):
            return self.apply(matrix, x)

        def adjoint(self, y):
            return self.apply(matrix.T, y)

    device = Device()
    forward, adjoint = device.forward, device.adjoint
    functions = (lambda x: forward(x), lambda y: adjoint(y))
    given = {"operator": linalg.LinearOperator(matrix.shape, matvec=forward, rmatvec=adjoint, dtype=float),
             "functions": functions, "methods": (forward, adjoint)}[way]
    y = matrix[:, 3] - matrix[:, 7]
    with ThreadPoolExecutor(4) as pool:
        def one(_):
            pair = (device.forward, device.adjoint)  # made anew, as users write it
            return cs.solve(pair if way == "methods" else given, y, "iht", k=2).x
        found = list(pool.map(one, range(8)))
    assert len(overlaps) > 100 and not any(overlaps)
    for x in found:
        np.testing.assert_array_equal(x, found[0])


@pytest.mark.parametrize("solver", sorted(set(cs.solvers()) - {"threshold"}))
def test_an_operator_of_zeros_in_float32(rng, solver):
    m, n = rng.integers(1, 9, 2)
    B = np.zeros((m, n), np.float32)
    A = linalg.LinearOperator((m, n), lambda v: B @ v.astype(np.float32), dtype=np.float32,
                              rmatvec=lambda v: B.T @ v.astype(np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        found = cs.solve(A, np.ones(m), solver)
    assert not found.x.any() and found.residual == 1
