# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of rays and standard deviations of single samples."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import numpy as np

from ._arguments import scalar
from ._errors import ArgumentError, RecoveryWarning, warn
from ._library import real
from ._measurement import Measurement, picked
from ._whole import UNSAID, taken, take_axis


def _of_samples(given: Any, name: str, m: Measurement, axis: Optional[int], wide: bool) -> np.ndarray:
    """[N], or [N, C] where `wide`, of an array of samples or of the whole signal."""
    array = real(given, name).astype(float)
    n, channels, shape = len(m.index), np.shape(m.y)[1:], tuple(m.shape)
    if wide and channels and axis is not None and array.ndim == len(shape) + 1:
        array = np.moveaxis(array, axis, -1)
    for own in (shape, shape + channels) if wide else (shape,):
        if array.shape == own:
            return array.reshape(-1, *own[len(shape):])[np.asarray(m.index)]
    if array.shape == (n,) or (wide and array.shape == (n, *channels)):
        return array
    raise ArgumentError(f"{name} has shape {array.shape}, y {np.shape(m.y)} and the signal {shape}; give "
                        f"one for each sample{' or value' if wide else ''}, or for each entry")


def lit(y: Any, mask: Any, rays: Any, channel_axis: Any) -> Any:
    """The mask of a whole array of radiance: where there are rays, and every channel is finite."""
    if mask is not None or isinstance(y, Measurement) or np.ndim(rays) == 0:
        return mask
    axis = None if channel_axis is UNSAID else take_axis(channel_axis, np.ndim(y))
    finite = taken(y, "y")[1]
    finite = finite if axis is None else finite.all(axis)
    counts = np.nan_to_num(real(rays, "rays").astype(float)) > 0
    if counts.shape != finite.shape:
        return mask
    return _finite(counts, finite, "pixels with rays")


def _averaged(m: Measurement) -> Measurement:
    """Positions that were measured again have the mean of their rays."""
    from ._next import merge
    order = np.argsort(m.index, kind="stable")
    index = np.asarray(m.index)[order]
    first = np.r_[0, np.flatnonzero(np.diff(index)) + 1]
    again = np.empty(len(index), int)
    again[order] = np.arange(len(index)) - np.repeat(first, np.diff(np.r_[first, len(index)]))
    if not len(index) or not again.any():
        return m
    return merge(picked(m, again == k) for k in range(int(again.max()) + 1))


def _finite(there: Any, finite: Any, what: str) -> Any:
    lost = int((there & ~finite).sum())
    if lost:
        warn(f"{what} that are NaN or infinite are left out: {lost} of {int(there.sum())}", RecoveryWarning)
    return there & finite


def with_noise(m: Measurement, sigma: Any, rays: Any, axis: Optional[int]) -> Measurement:
    """The measurement with these, of its samples or of all entries. Samples without rays, or that are
    not finite, are left out; those of one position are averaged."""
    if sigma is not None and np.ndim(sigma) > 0:
        m = replace(m, sigma=_of_samples(sigma, "sigma", m, axis, True))
    if rays is None:
        return m
    if np.ndim(rays) == 0:
        rays = np.full(len(m.index), scalar(rays, "rays"))
    m = replace(m, rays=_of_samples(rays, "rays", m, axis, False))
    there = np.nan_to_num(m.rays) > 0
    values = np.asarray(m.y).reshape(len(m.index), -1)
    finite = np.isfinite(values).all(1)
    kept = _finite(there, finite, "samples")
    if not kept.any():
        raise ArgumentError("rays: no sample has a ray and finite values; give at least one")
    return _averaged(m if kept.all() else picked(m, kept))

