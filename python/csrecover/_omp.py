# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonal Matching Pursuit with the arguments and shapes of scikit-learn's functions."""
from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Optional, Union

import numpy as np

from ._arguments import flag, shown
from ._errors import ArgumentError, DataError, warn
from ._library import kept, real
from ._operators import Dense
from ._solve import solve

Found = Union[np.ndarray, "tuple[np.ndarray, Union[int, list[int]]]"]


def wanted(n_nonzero_coefs: Any, tol: Any, features: int) -> int:
    """How many coefficients are asked for; with tol: as many as there are."""
    if tol is not None:
        if not isinstance(tol, Real) or not tol >= 0:
            raise ArgumentError(f"tol = {shown(tol)}; must be a number, at least 0")
        return features
    if n_nonzero_coefs is None:
        return max(features // 10, 1)
    if not isinstance(n_nonzero_coefs, Integral) or not 1 <= n_nonzero_coefs <= features:
        raise ArgumentError(f"n_nonzero_coefs = {shown(n_nonzero_coefs)}; must be 1 to the number "
                            f"of features, {features}")
    return int(n_nonzero_coefs)


def _path(A: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the columns A [m, K] that a pursuit of y found: (the order in which it found them,
    [K, K] coefficients in that order, column k the least squares on the first k + 1).

    With A = Q R these are R_k^-1 (Q^T y)_k of the leading blocks; the inverse of a leading block
    of a triangle is the leading block of its inverse, so a running sum over columns has them all.
    """
    norms, r, Q = np.linalg.norm(A, axis=0), y.astype(float), np.zeros((A.shape[0], 0))
    left, order = list(range(A.shape[1])), []
    while left:
        order.append(left.pop(int(np.argmax(np.abs(A[:, left].T @ r) / norms[left]))))
        q = A[:, order[-1]] - Q @ (Q.T @ A[:, order[-1]])
        q -= Q @ (Q.T @ q)  # twice is enough
        Q = np.column_stack([Q, q / np.linalg.norm(q)])
        r = r - Q[:, -1] * (Q[:, -1] @ r)
    R = np.triu(Q.T @ A[:, order])
    return np.array(order), np.cumsum(np.linalg.inv(R) * (Q.T @ y), axis=1)


def pursue(A: np.ndarray, y: np.ndarray, atoms: int, tol: Optional[np.ndarray] = None,
           path: bool = False) -> tuple[np.ndarray, list[int]]:
    """A [m, n], y [m, K], tol [K] -> coefficients [n, K] or [n, K, steps], numbers of columns.

    The library compares ||r|| with sigma sqrt(m). A residual that is only what rounding left has
    nothing to pick from: eps^3/4 of y is the end of all.
    """
    m, n = A.shape
    dense = Dense(A)
    rules = {"atoms": min(m, atoms), "epsilon": float(np.finfo(y.dtype).eps) ** 0.75}
    if tol is None:
        solutions = [solve(dense, y, "omp", **rules)]
    else:
        solutions = [solve(dense, y[:, k:k + 1], "omp", sigma=float(np.sqrt(max(tol[k], 0) / m)),
                           **rules) for k in range(y.shape[1])]
    picks = [one.column.astype(np.intp) for found in solutions for one in found.atoms]
    counts = [len(at) for at in picks]
    r = np.hstack([found.r for found in solutions])
    _warn(np.array(counts) < atoms if tol is None else (
        np.einsum("mk,mk->k", r, r, dtype=float) > tol * (1 + 1e-6)))
    if not path:
        return np.hstack([found.x for found in solutions]), counts
    paths = [_path(A[:, at], y[:, k]) for k, at in enumerate(picks)]
    return _steps(n, y.dtype, [(at[order], coef) for at, (order, coef) in zip(picks, paths)], path)


def _warn(early: np.ndarray) -> None:
    if early.any():
        warn("Orthogonal matching pursuit ended prematurely due to linear dependence in the "
             "dictionary. The requested precision might not have been met.", RuntimeWarning)


def _steps(n: int, dtype: Any, found: list[tuple[np.ndarray, np.ndarray]],
           path: bool) -> tuple[np.ndarray, list[int]]:
    """Of each target's columns and their [K, K] coefficients after each step: all of them, with
    `path`, or the last; and the numbers of columns."""
    counts = [len(at) for at, _ in found]
    steps = np.zeros((n, len(found), max(counts) if path else 1), dtype)
    for k, (at, coef) in enumerate(found):
        if len(at):
            steps[at, k, :] = coef[:, -1:]
        if len(at) and path:
            steps[at, k, :len(at)] = coef
    return (steps if path else steps[:, :, 0]), counts


def _given(found: tuple[np.ndarray, list[int]], return_n_iter: bool) -> Found:
    """As scikit-learn gives it: one target has no axis of its own."""
    coef, counts = found
    return_n_iter = flag(return_n_iter, "return_n_iter")
    if coef.shape[1] > 1:
        return (coef, counts) if return_n_iter else coef
    return (coef[:, 0], counts[0]) if return_n_iter else coef[:, 0]


def _columns(y: Any, name: str, rows: int) -> np.ndarray:
    y = real(y, name)
    if y.ndim not in (1, 2) or y.shape[0] != rows:
        raise ArgumentError(f"{name} has shape {y.shape}; give ({rows},) or ({rows}, targets)")
    if y.size == 0:
        raise ArgumentError(f"{name} has shape {y.shape}; give at least one target")
    return y[:, None] if y.ndim == 1 else y


def _matrix(X: Any, name: str) -> np.ndarray:
    X = real(X, name)
    if X.ndim != 2 or 0 in X.shape:
        raise ArgumentError(f"{name} has shape {X.shape}; give a matrix")
    return X.astype(kept(X), copy=False)


def orthogonal_mp(X: Any, y: Any, *, n_nonzero_coefs: Optional[int] = None,
                  tol: Optional[float] = None, precompute: Any = False, copy_X: bool = True,
                  return_path: bool = False, return_n_iter: bool = False) -> Found:
    """Orthogonal Matching Pursuit, called as ``sklearn.linear_model.orthogonal_mp``.

    Parameters
    ----------
    X : array_like
        [n_samples, n_features] columns of any length
    y : array_like
        [n_samples] or [n_samples, n_targets]
    n_nonzero_coefs : int, optional
        non-zero coefficients a target; default: a tenth of the features, at least 1
    tol : float, optional
        largest squared norm of the residual; n_nonzero_coefs is then ignored
    precompute : bool or 'auto', optional
        accepted and not looked at: the library decides whether a Gram matrix pays
    copy_X : bool, optional
        accepted and not looked at: X is never written to
    return_path : bool, optional
        also the coefficients after each step, along a last axis; a target that ends before others
        keeps its last ones
    return_n_iter : bool, optional
        also the number of columns picked

    Returns
    -------
    coef : ndarray
        [n_features] or [n_features, n_targets]; with return_path one more axis
    n_iters : int or list of int
        with return_n_iter

    Warns
    -----
    RuntimeWarning
        fewer columns than wanted are independent, or tol is not reached

    Notes
    -----
    Columns are compared by <a_j, r> / ||a_j||; with columns of one length, which scikit-learn
    wants, the picks are the same.

    Examples
    --------
    >>> X = np.random.default_rng(1).standard_normal((40, 60))
    >>> coef = csrecover.orthogonal_mp(X, X[:, 7] - X[:, 30], n_nonzero_coefs=2)
    >>> np.flatnonzero(coef)
    array([ 7, 30])
    """
    X = _matrix(X, "X")
    y = _columns(y, "y", X.shape[0]).astype(X.dtype, copy=False)
    atoms = wanted(n_nonzero_coefs, tol, X.shape[1])
    bound = None if tol is None else np.full(y.shape[1], float(tol))
    return _given(pursue(X, y, atoms, bound,
                         flag(return_path, "return_path")), return_n_iter)


def _factor(gram: np.ndarray, Xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A [rank, n] and y [rank, K] with A^T A = gram, A^T y = Xy: of gram = V L V^T, A = L^1/2 V^T
    and y = L^-1/2 V^T Xy. What rounding left of eigenvalues that are 0 is cut off."""
    values, V = np.linalg.eigh(gram)
    keep = values > values[-1] * len(gram) * np.finfo(gram.dtype).eps
    root, V = np.sqrt(values[keep])[:, None], V[:, keep].T
    return root * V, (V @ Xy) / root


def _gram_path(gram: np.ndarray, b: np.ndarray, atoms: int,
               limit: float) -> tuple[np.ndarray, np.ndarray, float]:
    """One target's columns I, its coefficients after each step as :func:`_path` has them, and how
    much of ||y||^2 they take; it ends where that reaches the limit.

    Batch-OMP (Rubinstein, Zibulevsky and Elad 2008): with the inverse M of the Cholesky factor of
    G_II, z = M b_I, so x = M^T z and X^T r = b - G_I x.
    """
    n, eps, diagonal = len(b), float(np.finfo(gram.dtype).eps), gram.diagonal().astype(float)
    rows, M = np.empty((atoms, n)), np.zeros((atoms, atoms))
    z, order, taken = np.empty(atoms), np.empty(atoms, np.intp), 0.0
    unit = np.where(diagonal > 0, diagonal, np.inf) ** -0.5
    c, k = b, 0
    least = eps ** 0.75 * float(np.max(np.abs(c) * unit))  # what rounding leaves
    while k < atoms and taken < limit:
        size = np.abs(c) * unit
        j = int(np.argmax(size))
        w = M[:k, :k] @ rows[:k, j]
        left = diagonal[j] - w @ w
        if size[j] <= least or left <= n * eps * diagonal[j]:
            break
        M[k, :k], M[k, k] = w @ M[:k, :k] / -np.sqrt(left), left ** -0.5
        z[k], order[k], rows[k], unit[j] = (b[j] - w @ z[:k]) / np.sqrt(left), j, gram[j], 0.0
        taken += float(z[k]) ** 2
        k += 1
        c = b - z[:k] @ M[:k, :k] @ rows[:k]
    return order[:k], np.cumsum(M[:k, :k].T * z[:k], axis=1), taken


def _pursue_gram(gram: np.ndarray, Xy: np.ndarray, atoms: int, tol: Optional[float],
                 norms: np.ndarray, path: bool) -> tuple[np.ndarray, list[int]]:
    """As :func:`pursue`, target by target; norms: ||y||^2, with tol."""
    limits = np.full(Xy.shape[1], np.inf) if tol is None else norms - tol
    found = [_gram_path(gram, b, min(atoms, len(gram)), limit)
             for b, limit in zip(Xy.T.astype(float), limits)]
    if tol is None:
        _warn(np.array([len(at) < atoms for at, _, _ in found]))
    else:
        taken = np.array([energy for _, _, energy in found])
        _warn(norms - taken > tol * (1 + 1e-6) + 1e-14 * norms)
    return _steps(len(gram), gram.dtype, [each[:2] for each in found], path)


def orthogonal_mp_gram(Gram: Any, Xy: Any, *, n_nonzero_coefs: Optional[int] = None,
                       tol: Optional[float] = None, norms_squared: Any = None,
                       copy_Gram: bool = True, copy_Xy: bool = True, return_path: bool = False,
                       return_n_iter: bool = False) -> Found:
    """Orthogonal Matching Pursuit, called as ``sklearn.linear_model.orthogonal_mp_gram``.

    Parameters
    ----------
    Gram : array_like
        [n_features, n_features] X^T X
    Xy : array_like
        [n_features] or [n_features, n_targets] X^T y
    n_nonzero_coefs : int, optional
        non-zero coefficients a target; default: a tenth of the features, at least 1
    tol : float, optional
        largest squared norm of the residual; n_nonzero_coefs is then ignored
    norms_squared : float or array_like, optional
        [n_targets] ||y||^2, wanted with tol
    copy_Gram, copy_Xy : bool, optional
        accepted and not looked at: neither is written to
    return_path : bool, optional
        also the coefficients after each step, as :func:`orthogonal_mp`
    return_n_iter : bool, optional
        also the number of columns picked

    Returns
    -------
    coef : ndarray
        as :func:`orthogonal_mp` has it
    n_iters : int or list of int
        with return_n_iter

    Warns
    -----
    RuntimeWarning
        fewer columns than wanted are independent, or tol is not reached

    Notes
    -----
    Few targets are pursued one by one on Gram itself, by a progressive Cholesky factor. For many,
    Gram's eigenvectors give a square root A of it and a y with A^T y = Xy, on which all are pursued
    at once as on X: n_features^3 operations, whatever the number of samples.

    Examples
    --------
    >>> X = np.random.default_rng(1).standard_normal((40, 60))
    >>> coef = csrecover.orthogonal_mp_gram(X.T @ X, X.T @ (X[:, 7] - X[:, 30]), n_nonzero_coefs=2)
    >>> np.flatnonzero(coef)
    array([ 7, 30])
    """
    gram = _matrix(Gram, "Gram")
    n = gram.shape[0]
    if gram.shape != (n, n):
        raise ArgumentError(f"Gram has shape {gram.shape}; give X^T X, which is square")
    Xy = _columns(Xy, "Xy", n).astype(gram.dtype, copy=False)
    for name, array in (("Gram", gram), ("Xy", Xy)):
        if not np.isfinite(array).all():
            raise DataError(f"{name}: has entries that are not finite")
    atoms, norms = wanted(n_nonzero_coefs, tol, n), np.empty(0)
    if tol is not None:
        if norms_squared is None:
            raise ArgumentError("tol needs norms_squared, the squared norm of y; give both")
        norms = np.atleast_1d(real(norms_squared, "norms_squared")).astype(float)
        if norms.shape != (Xy.shape[1],):
            raise ArgumentError(f"norms_squared has shape {norms.shape}; give one for each target, "
                                f"{Xy.shape[1]}")
    return_path = flag(return_path, "return_path")
    if not (gram.diagonal() > 0).any():
        raise ArgumentError("Gram has no entry above 0 on its diagonal; give X^T X")
    # 20 us a pick against the eigenvectors.
    if Xy.shape[1] * atoms <= n ** 3 / 2 ** 16:
        return _given(_pursue_gram(gram, Xy, atoms, tol, norms, return_path), return_n_iter)
    A, y = _factor(gram, Xy)
    # What of y lies outside the columns' span no coefficient can reach: it is spent already.
    bound = None if tol is None else tol - (norms - np.einsum("mk,mk->k", y, y, dtype=float))
    return _given(pursue(A, y, atoms, bound, return_path), return_n_iter)
