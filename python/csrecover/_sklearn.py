# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonal Matching Pursuit as scikit-learn's users expect it."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arguments import flag
from ._library import named
from ._omp import pursue, wanted


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

    @named
    def __init__(self, *, n_nonzero_coefs: Optional[int] = None, tol: Optional[float] = None,
                 fit_intercept: bool = True, precompute: Any = "auto") -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute

    def fit(self, X: Any, y: Any) -> OrthogonalMatchingPursuit:
        """X: [n_samples, n_features]; y: [n_samples] or [n_samples, n_targets]."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True,
                             dtype=[np.float64, np.float32])
        y = y.astype(X.dtype, copy=False)
        centre = flag(self.fit_intercept, "fit_intercept")
        atoms = wanted(self.n_nonzero_coefs, self.tol, X.shape[1])
        targets = y.reshape(len(y), -1)
        middle = X.mean(axis=0) if centre else np.zeros(X.shape[1], X.dtype)
        level = targets.mean(axis=0) if centre else np.zeros(targets.shape[1], X.dtype)
        tol = None if self.tol is None else np.full(targets.shape[1], float(self.tol))
        x, counts = pursue(X - middle, targets - level, atoms, tol)
        one = targets.shape[1] == 1
        self.n_nonzero_coefs_ = None if self.tol is not None else atoms
        self.coef_ = x[:, 0] if one else x.T
        self.n_iter_ = counts[0] if one else counts
        self.intercept_ = 0.0
        if centre:
            intercept = level - middle @ x
            self.intercept_ = intercept[0] if y.ndim == 1 else intercept
        return self

    def predict(self, X: Any) -> np.ndarray:
        """[n_samples] or [n_samples, n_targets]."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return X @ self.coef_.T + self.intercept_
