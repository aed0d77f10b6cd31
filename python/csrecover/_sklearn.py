"""Orthogonal Matching Pursuit as scikit-learn's users expect it."""
from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._errors import ArgumentError
from ._operators import Dense
from ._solve import solve


class OrthogonalMatchingPursuit(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Drop-in for ``sklearn.linear_model.OrthogonalMatchingPursuit``.

    Parameters
    ----------
    n_nonzero_coefs : int, optional
        non-zero coefficients a target; default: a tenth of the features, at least 1. Ignored where
        tol is given
    tol : float, optional
        largest squared norm of the residual
    fit_intercept : bool, optional
        centre X and y, and learn the intercept
    precompute : bool or 'auto', optional
        accepted and not looked at: the library decides whether a Gram matrix pays

    Notes
    -----
    Learns ``coef_`` [n_features] or [n_targets, n_features], ``intercept_``, ``n_iter_``,
    ``n_nonzero_coefs_``, ``n_features_in_``.

    The one difference: columns are compared by <a_j, r> / ||a_j||, so features of any scale are
    picked fairly, where scikit-learn wants columns of unit length. With such the picks agree.

    Examples
    --------
    >>> X = np.random.default_rng(1).standard_normal((40, 60))
    >>> model = csrecover.OrthogonalMatchingPursuit(n_nonzero_coefs=2).fit(X, X[:, 7] - X[:, 30])
    >>> np.flatnonzero(model.coef_)
    array([ 7, 30])
    """

    def __init__(self, *, n_nonzero_coefs: Optional[int] = None, tol: Optional[float] = None,
                 fit_intercept: bool = True, precompute: Any = "auto") -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute

    def _wanted(self, samples: int, features: int) -> tuple[int, float]:
        """(atoms, sigma)"""
        if self.tol is not None:
            if not isinstance(self.tol, Real) or not self.tol >= 0:
                raise ArgumentError(f"tol = {self.tol!r}; must be a number, at least 0")
            return min(samples, features), float(np.sqrt(self.tol / samples))
        count = self.n_nonzero_coefs
        if count is None:
            return min(max(features // 10, 1), samples), 0.0
        if not isinstance(count, Integral) or not 1 <= count <= features:
            raise ArgumentError(f"n_nonzero_coefs = {count!r}; must be 1 to the number of "
                                f"features, {features}")
        return int(count), 0.0

    def fit(self, X: Any, y: Any) -> OrthogonalMatchingPursuit:
        """X: [n_samples, n_features]; y: [n_samples] or [n_samples, n_targets]."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True,
                             dtype=[np.float64, np.float32])
        y = y.astype(X.dtype, copy=False)
        atoms, sigma = self._wanted(*X.shape)
        middle = X.mean(axis=0) if self.fit_intercept else np.zeros(X.shape[1], X.dtype)
        level = y.mean(axis=0) if self.fit_intercept else np.zeros(y.shape[1:], y.dtype)
        found = solve(Dense(X - middle), y - level, "omp", atoms=atoms, sigma=sigma)
        self.n_nonzero_coefs_ = None if self.tol is not None else atoms
        self.coef_ = found.x.T
        self.intercept_ = level - middle @ found.x if self.fit_intercept else 0.0
        self.n_iter_ = found.iterations if y.ndim == 1 else [int(k) for k in found.iterations]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """[n_samples] or [n_samples, n_targets]."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return X @ self.coef_.T + self.intercept_
