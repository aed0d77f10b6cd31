# SPDX-License-Identifier: BSD-3-Clause
"""Orthogonal Matching Pursuit and gaps of pictures as scikit-learn's users expect them."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np
from sklearn.base import (BaseEstimator, MultiOutputMixin, OneToOneFeatureMixin, RegressorMixin,
                          TransformerMixin)
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arguments import flag
from ._errors import ArgumentError
from ._library import named
from ._omp import pursue, wanted
from ._recover import recover


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


class PictureImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Recovers the NaN of pictures, each from its own pixels; for pipelines of scikit-learn.

    Parameters
    ----------
    shape : sequence of int, optional
        of one picture, as (8, 8), where each is a row of X. Default: that of X behind its first
        axis; rows of a table are signals of one axis
    channel_axis : int, optional
        of one picture: -1 for [H, W, 3]
    quality : str, optional
        as of :func:`recover`
    sigma : float or 'auto', optional
        as of :func:`recover`
    options : dict, optional
        other arguments of :func:`recover`

    Notes
    -----
    Learns ``mean_``, the mean of the known values of each pixel, of one that is never known the
    mean of all. A picture of which nothing is known becomes it.

    Examples
    --------
    >>> from csrecover import PictureImputer
    >>> pictures = np.stack([csrecover.datasets.picture(name, 32) for name in ("discs", "grains")])
    >>> known = np.random.default_rng(1).random(pictures.shape) < 0.5
    >>> filled = PictureImputer(quality="fast").fit_transform(np.where(known, pictures, np.nan))
    >>> filled.shape, bool(np.isfinite(filled).all())
    ((2, 32, 32), True)
    """

    @named
    def __init__(self, shape: Union[int, Sequence[int], None] = None, *,
                 channel_axis: Optional[int] = None, quality: Optional[str] = None,
                 sigma: Any = None, options: Optional[Mapping[str, Any]] = None) -> None:
        self.shape = shape
        self.channel_axis = channel_axis
        self.quality = quality
        self.sigma = sigma
        self.options = options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked(self, X: Any, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        """(X, its pictures)."""
        X = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], allow_nd=True,
                          ensure_all_finite="allow-nan")
        shape = X.shape[1:] if self.shape is None else tuple(np.atleast_1d(self.shape).tolist())
        if np.prod(shape, dtype=np.int64) != X[0].size or (not reset and shape != self.mean_.shape):
            raise ArgumentError(f"X has rows of shape {X.shape[1:]}, and shape = {shape}; give the "
                                "shape of one picture, and pictures of the shape that fit had")
        return X, X.reshape(len(X), *shape)

    def fit(self, X: Any, y: Any = None) -> PictureImputer:
        """X: [n_samples, n_features] or [n_samples, ...], NaN where not known; y is ignored."""
        pictures = self._checked(X, True)[1]
        known = np.isfinite(pictures)
        if not known.any():
            raise ArgumentError("X: no value of any picture is known; leave some that are not NaN")
        count, total = known.sum(0), np.where(known, pictures, 0).sum(0, dtype=np.float64)
        self.mean_ = np.where(count > 0, total / np.maximum(count, 1), total.sum() / count.sum())
        return self

    def transform(self, X: Any) -> np.ndarray:
        """X without NaN, of its shape and dtype."""
        check_is_fitted(self)
        X, pictures = self._checked(X, False)
        given: dict[str, Any] = {"channel_axis": self.channel_axis, "quality": self.quality,
                                 "sigma": self.sigma, **(self.options or {})}
        made = np.empty_like(pictures)
        for out, one in zip(made, pictures):
            known = np.isfinite(one)
            whole = known.all() and self.sigma is None
            out[...] = (self.mean_ if not known.any() else one if whole
                        else recover(one, known, **given))
        return made.reshape(X.shape)
