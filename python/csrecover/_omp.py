"""Orthogonal Matching Pursuit with the arguments and shapes of scikit-learn's functions."""
from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Optional, Union

import numpy as np

from ._arguments import shown
from ._errors import ArgumentError
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
    early = np.array(counts) < atoms if tol is None else (
        np.einsum("mk,mk->k", r, r, dtype=float) > tol * (1 + 1e-6))
    if early.any():
        warnings.warn("Orthogonal matching pursuit ended prematurely due to linear dependence in "
                      "the dictionary. The requested precision might not have been met.",
                      RuntimeWarning, stacklevel=3)
    if not path:
        return np.hstack([found.x for found in solutions]), counts
    steps = np.zeros((n, y.shape[1], max(counts)), y.dtype)
    for k, at in enumerate(picks):
        if len(at):
            order, coef = _path(A[:, at], y[:, k])
            steps[at[order], k, :len(at)] = coef
            steps[at[order], k, len(at):] = coef[:, -1:]
    return steps, counts


def _given(found: tuple[np.ndarray, list[int]], return_n_iter: bool) -> Found:
    """As scikit-learn gives it: one target has no axis of its own."""
    coef, counts = found
    if coef.shape[1] > 1:
        return (coef, counts) if return_n_iter else coef
    return (coef[:, 0], counts[0]) if return_n_iter else coef[:, 0]


def _columns(y: Any, name: str, rows: int) -> np.ndarray:
    y = real(y, name)
    if y.ndim not in (1, 2) or y.shape[0] != rows:
        raise ArgumentError(f"{name} has shape {y.shape}; give ({rows},) or ({rows}, targets)")
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
    return _given(pursue(X, y, atoms, bound, return_path), return_n_iter)


def _factor(gram: np.ndarray, Xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A [rank, n] and y [rank, K] with A^T A = gram, A^T y = Xy: of gram = V L V^T, A = L^1/2 V^T
    and y = L^-1/2 V^T Xy. What rounding left of eigenvalues that are 0 is cut off."""
    values, V = np.linalg.eigh(gram)
    keep = values > values[-1] * len(gram) * np.finfo(gram.dtype).eps
    if not keep.any():
        raise ArgumentError("Gram has no eigenvalue above 0; give X^T X")
    root, V = np.sqrt(values[keep])[:, None], V[:, keep].T
    return root * V, (V @ Xy) / root


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
    Gram's eigenvectors give a square root A of it and a y with A^T y = Xy, on which the pursuit
    goes as on X: n_features^3 operations once, whatever the number of samples.

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
    A, y = _factor(gram, _columns(Xy, "Xy", n).astype(gram.dtype, copy=False))
    atoms = wanted(n_nonzero_coefs, tol, n)
    bound = None
    if tol is not None:
        if norms_squared is None:
            raise ArgumentError("tol needs norms_squared, the squared norm of y; give both")
        norms = np.atleast_1d(real(norms_squared, "norms_squared"))
        if norms.shape != (y.shape[1],):
            raise ArgumentError(f"norms_squared has shape {norms.shape}; give one for each target, "
                                f"{y.shape[1]}")
        # What of y lies outside the columns' span no coefficient can reach: it is spent already.
        bound = tol - (norms - np.einsum("mk,mk->k", y, y, dtype=float))
    return _given(pursue(A, y, atoms, bound, return_path), return_n_iter)
