# SPDX-License-Identifier: BSD-3-Clause
"""Sparse x with A x ~= y."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from ._arguments import flag, scalar, whole, word
from ._errors import ArgumentError, DataError
from ._haar import Haar
from ._html import table
from ._library import (NULL, Atoms, check as check_status, doubles, ffi, indices, lib, new_atoms,
                       new_error, numbers, pointer, single, take_atoms, text)
from ._operators import Operator, as_complex, as_operator
from ._options import check_place, settings
from ._plot import new_axes
from ._progress import Callback, Watch

_HISTORY_MOST = 1 << 20


@dataclass(frozen=True, eq=False)
class Solution:
    """What :func:`solve` found. With K right-hand sides, those marked * have an entry for each."""

    x: np.ndarray
    """[n] or [n, K] coefficients of A's columns"""
    r: np.ndarray
    """[m] or [m, K] residual y - A x"""
    residual: Any
    """* ||r|| / ||y||"""
    iterations: Any
    """*"""
    outcome: Any
    """* why it ended, in words"""
    history: Union[np.ndarray, list[np.ndarray], None]
    """* [iterations] ||r|| / ||y|| after each; None for many right-hand sides unless asked for"""
    atoms: Union[Atoms, list[Atoms]]
    """* x as columns and coefficients; of 'mp' on :class:`Haar` the columns' numbers in the full
    Haar matrix, as :func:`synthesize` takes them"""

    def _repr_html_(self) -> str:
        many = np.ndim(self.residual) == 1
        return table("Solution", {
            "coefficients": " x ".join(map(str, self.x.shape)),
            "not 0": int(np.count_nonzero(self.x)), "residual": float(np.max(self.residual)),
            "iterations": int(np.max(self.iterations)),
            "outcome": ", ".join(sorted(set(self.outcome))) if many else self.outcome})

    def plot(self, ax: Any = None) -> Any:
        """Draws the residual after each iteration with Matplotlib.

        ax
            axes of Matplotlib to draw on; default: those of a new figure

        Returns the axes.
        """
        if self.history is None:
            raise ArgumentError("there is no history; give history=True to solve")
        ax = new_axes(ax)
        for row in self.history if isinstance(self.history, list) else [self.history]:
            ax.semilogy(np.arange(1, len(row) + 1), row, marker=".")
        ax.set_xlabel("iteration")
        ax.set_ylabel("||r|| / ||y||")
        return ax


def _whole_atoms(x: np.ndarray) -> Atoms:
    column = np.flatnonzero(x)
    return Atoms(column.astype(np.uint64), x[column], np.zeros(column.size, np.int64))


def _scatter(A: Operator, solver: str, atoms: Atoms, x: np.ndarray) -> None:
    at = atoms.column
    if isinstance(A, Haar) and not A._complex and solver == "mp":
        at = np.searchsorted(A.column_numbers, atoms.column)
    x[at.astype(np.intp)] = atoms.coefficient


def _warm(A: Operator, x0: Any, keep: list[Any]) -> Any:
    x = A._given(x0, "x0")
    if x.shape != A.shape[1:]:
        raise ArgumentError(f"x0 has shape {x.shape}; give {A.shape[1:]}")
    if not np.isfinite(x).all():
        raise DataError(f"x0[{int(np.argmin(np.isfinite(x)))}] is not finite")
    x = A._doubles(x)
    column = np.flatnonzero(x).astype(np.uint64)
    arrays = [column, doubles(x[column.astype(np.intp)]), np.zeros(column.size, np.int64)]
    keep += [*arrays, pointer(arrays[0], "uint64_t"), pointer(arrays[1]),
             pointer(arrays[2], "int64_t")]
    keep.append(ffi.new("csrec_atoms *", {"n": column.size, "column": keep[-3],
                                          "coefficient": keep[-2], "count": keep[-1]}))
    return keep[-1]


def _weights(weights: Any, n: int) -> np.ndarray:
    given = numbers(weights, "weights")
    if given.shape != (n,) or given.dtype.kind == "c":
        raise ArgumentError(f"weights have shape {given.shape} of {given.dtype}; give ({n},), real")
    return doubles(given)


def solve(A: Any, y: Any, solver: str = "omp", *, atoms: Optional[int] = None,
          epsilon: float = 0.0, sigma: float = 0.0, min_coefficient: float = 0.0,
          stagnation: float = 0.0, x0: Any = None, weights: Any = None,
          nonnegative: bool = False, joint: bool = False, reference: bool = False,
          history: bool = False, callback: Optional[Callback] = None, progress: Any = None,
          threads: int = 0, parallel: bool = False, check: bool = True,
          **params: float) -> Solution:
    """Solves A x ~= y for x with few entries that are not 0.

    Parameters
    ----------
    A : Operator, array_like or LinearOperator
        an :class:`Operator`, or a matrix [m, n] with columns of any length, SciPy's sparse ones too
        (for many calls make :class:`Dense` or :class:`Sparse` of it once); by their products alone any
        ``LinearOperator`` of SciPy or PyLops, or a pair of functions (forward, adjoint) on vectors.
        Complex ones have complex x; so has a real one with complex y
    y : array_like
        [m] real or complex, or [m, K]: K right-hand sides, in parallel or all at once
    solver : str, optional
        'mp', 'omp', 'romp', 'cosamp', 'iht', 'htp', 'fista', ... see :func:`solvers`
    atoms : int, optional
        at most so many iterations: columns of 'mp' and 'omp'
    epsilon, sigma : float, optional
        stop at ||r|| <= epsilon ||y||, or <= sigma sqrt(m): the standard deviation of the noise of
        one sample, in units of y (not the norm of the noise, nor its square); of complex y that of
        real and of imaginary parts, and m counts both
    min_coefficient : float, optional
        stop when the best correlation <a_j, r> / ||a_j||, in units of y, is below
    stagnation : float, optional
        stop when an iteration shortens r by less than this share
    x0 : array_like, optional
        [n] to start from, for solvers that keep a dense x; those with a parameter k keep its k
        entries of the largest ||a_j|| |x_j|
    weights : array_like, optional
        [n] w_j > 0 for 'fista' and 'bpdn': sum w_j |x_j| in place of ||x||_1
    nonnegative : bool, optional
        'fista' and 'bpdn', real x: every x_j >= 0
    joint : bool, optional
        'fista' and 'bpdn', [m, K]: one problem with the sum over j of ||X[j]||_2, so that an entry
        is used by all right-hand sides or by none; ||r|| and ||y|| are those of all
    reference : array_like, optional
        'mp' on Haar: a full transform for every atom; slow, the same picks
    history : bool, optional
        take down the history of many right-hand sides too, 8 bytes for each and each iteration that
        the stopping rules admit; one right-hand side always has it
    callback : callable, optional
        called with a :class:`Progress`; a true result stops, and x so far is returned. Of one
        right-hand side its ``x`` and ``columns`` are those so far
    progress : bool or tqdm, optional
        True, or a bar of tqdm, shows how far it is
    threads : int, optional
        0: all cores, for many right-hand sides
    parallel : bool, optional
        the products of a ``LinearOperator`` may be called by several threads at once; by default many
        right-hand sides with one are solved one after the other
    check : bool, optional
        False: leave out the test, by one product each way with random x and y, that the adjoint of
        a ``LinearOperator`` (``rmatvec``) is that of its ``matvec``, as precisely as float32 can say
    **params : float
        of the solver, as k=20, or tau=3 of 'bpdn' (least ||A x - y|| with ||x||_1 <= tau);
        ``lambda_`` stands for the parameter ``lambda``

    Returns
    -------
    found : Solution
        coefficients, residual, history

    Notes
    -----
    x and r are float32 if y is float32, else float64; or complex64 or complex128 likewise. Entries
    of complex x are picked by their magnitude.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> A = rng.standard_normal((100, 400))
    >>> x = np.zeros(400)
    >>> x[[7, 80, 333]] = 1, -2, 3
    >>> found = csrecover.solve(A, A @ x, "omp", atoms=3)
    >>> np.flatnonzero(found.x), bool(np.allclose(found.x, x))
    (array([  7,  80, 333]), True)
    """
    products_single = hasattr(A, "matvec") and single(np.dtype(getattr(A, "dtype", None)))
    given = numbers(y, "y", "give y[~mask] and A[~mask]")
    history = flag(history, "history")
    A = as_operator(A, given, flag(parallel, "parallel"), flag(check, "check"))
    if given.dtype.kind == "c":
        A = as_complex(A)
    m, parts = A.shape[0], A._parts
    if given.ndim not in (1, 2) or given.shape[0] != m:
        raise ArgumentError(f"y has shape {given.shape}; {A!r} needs ({m},) or ({m}, k)")
    many = given.ndim == 2
    count = given.shape[1] if many else 1
    values = A._doubles(given.T)
    params = params | {name: 1.0 for name, on in (("nonnegative", nonnegative), ("joint", joint))
                       if flag(on, name)}
    table, keep = settings(params, solve)
    check_place("solver", solver)
    keep += [values, ffi.new("char[]", word(solver, "solver"))]
    options = ffi.new("csrec_solve_options *")
    options.solver, options.reference = keep[-1], flag(reference, "reference")
    options.settings, options.n_settings = table, len(params)
    stop = options.stop
    stop.atoms = 0 if atoms is None else whole(atoms, "atoms")
    stop.epsilon, stop.sigma = scalar(epsilon, "epsilon"), scalar(sigma, "sigma")
    stop.stagnation = scalar(stagnation, "stagnation")
    stop.min_coefficient = scalar(min_coefficient, "min_coefficient")
    if single(given.dtype) or products_single:
        stop.precision = 2.0 ** -23
    if weights is not None:
        keep.append(_weights(weights, A.shape[1]))
        options.weights = pointer(keep[-1])
    if x0 is not None:
        options.start = _warm(A, x0, keep)
    steps = lib.csrec_solve_limit(A._handle, options) if history or not many else 0
    steps = max(0, min(steps, _HISTORY_MOST))
    followed = np.empty((count, steps))
    if followed.size:
        options.history, options.history_size = pointer(followed), steps

    r, error = np.empty((count, parts * m)), new_error()
    found = new_atoms(max(count, 1))
    reports = ffi.new("csrec_solve_report[]", max(count, 1))
    dtype = _dtype_of(A, given)
    look = NULL if many or callback is None else ffi.new("csrec_look *")
    options.look = look
    with Watch(callback, progress, fetch=lambda: _looked_at(look, A, solver, dtype)) as watch:
        options.progress = watch.function
        if many:
            status = lib.csrec_solve_many(A._handle, count, pointer(values), options,
                                          whole(threads, "threads"), found, pointer(r), reports,
                                          error)
        else:
            status = lib.csrec_solve(A._handle, pointer(values), options, found, pointer(r),
                                     reports, error)
    if getattr(A, "failure", None):
        raise A.failure
    check_status(status, error)
    del keep
    return _solution(A, solver, found, reports, r, followed, dtype, many)


def _dtype_of(A: Operator, y: np.ndarray) -> np.dtype[Any]:
    real, complex_ = ((np.float32, np.complex64) if single(y.dtype) else
                      (np.float64, np.complex128))
    return np.dtype(complex_ if A._complex else real)


def _looked_at(look: Any, A: Operator, solver: str, dtype: np.dtype[Any]) -> Optional[np.ndarray]:
    """x of a solve that runs; None: there is none now."""
    if look == NULL or look.run == NULL:
        return None
    found, error = new_atoms(1), new_error()
    check_status(lib.csrec_look_at(look, found, NULL, error), error)
    x = np.zeros(A._parts * A.shape[1])
    _scatter(A, solver, take_atoms(found[0]), x)
    return _typed(A._back(x), dtype)


def _typed(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """In this type, unless all would be infinite or 0 there."""
    size, ends = np.abs(x).max(initial=0.0), np.finfo(dtype)
    return x if size > ends.max or 0.0 < size < ends.tiny else x.astype(dtype, copy=False)


def _solution(A: Operator, solver: str, found: Any, reports: Any, r: np.ndarray,
              followed: np.ndarray, dtype: np.dtype[Any], many: bool) -> Solution:
    atoms = [take_atoms(found[k]) for k in range(len(r))]
    x = np.zeros((len(r), A._parts * A.shape[1]))
    for row, one in zip(x, atoms):
        _scatter(A, solver, one, row)
    x, r = A._back(x), A._back(r)
    if A._complex:
        atoms = [_whole_atoms(row) for row in x]
    x, r = _typed(x, dtype), _typed(r, dtype)
    residual = np.array([reports[k].residual for k in range(len(r))])
    iterations = np.array([reports[k].iterations for k in range(len(r))])
    outcome = [text(lib.csrec_outcome_text(reports[k].outcome)) for k in range(len(r))]
    history = [row[:n].copy() for row, n in zip(followed, iterations)]
    if many:
        return Solution(x.T, r.T, residual, iterations, outcome,
                        history if followed.size else None, atoms)
    return Solution(x[0], r[0], float(residual[0]), int(iterations[0]), outcome[0], history[0],
                    atoms[0])


def synthesize(atoms: Atoms, rows: Any, levels: int) -> np.ndarray:
    """Values of Haar atoms at any rows, sampled or not.

    Parameters
    ----------
    atoms : Atoms
        of 'mp' on :class:`Haar`
    rows : array_like of int
        the rows wanted
    levels : int
        L, the matrix has 2^L rows

    Returns
    -------
    values : ndarray
        [len(rows)]

    Notes
    -----
    The sum over i of x_i Psi_i(row), with Psi_i = +-1 / sqrt(count_i) on column i's block.

    Examples
    --------
    >>> haar = csrecover.Haar([0, 1, 2, 3], 2)
    >>> found = csrecover.solve(haar, [4.0, 4.0, 1.0, 1.0], "mp", epsilon=1e-9)
    >>> bool(np.allclose(csrecover.synthesize(found.atoms, [0, 1, 2, 3], 2), [4, 4, 1, 1]))
    True
    """
    rows = indices(rows, "rows", dtype=np.uint64)
    column = np.ascontiguousarray(atoms.column, dtype=np.uint64)
    coefficient, counts = doubles(atoms.coefficient), np.ascontiguousarray(atoms.count, np.int64)
    made = ffi.new("csrec_atoms *", {"n": column.size})
    keep = [pointer(column, "uint64_t"), pointer(coefficient), pointer(counts, "int64_t")]
    made.column, made.coefficient, made.count = keep
    values = np.empty(rows.size)
    check_status(lib.csrec_atoms_synthesize(whole(levels, "levels"), made, rows.size,
                                     pointer(rows, "uint64_t"), pointer(values)))
    return values


