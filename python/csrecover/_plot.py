# SPDX-License-Identifier: BSD-3-Clause
"""Plots, where Matplotlib is installed."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import ArgumentError
from ._library import real


def new_axes(ax: Any = None, count: int = 1) -> Any:
    """The axes given, or those of a new figure: an array of them if count is above 1."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need Matplotlib: pip install matplotlib") from None
    return pyplot.subplots(1, count, figsize=(4.5 * count, 4), layout="constrained")[1]


def _drawn(ax: Any, values: np.ndarray, title: str, cmap: str) -> None:
    if values.ndim == 1:
        ax.plot(values)
    else:
        shown = ax.imshow(values, cmap=cmap)
        if values.ndim == 2:
            ax.figure.colorbar(shown, ax=ax)
    ax.set_title(title)


def plot_uncertainty(signal: Any, uncertainty: Any, axes: Any = None) -> Any:
    """Draws a recovery beside its expected errors, with Matplotlib.

    Parameters
    ----------
    signal, uncertainty : array_like
        as of ``recover(..., return_uncertainty=True)``: of one or two axes, or [H, W, 3]
    axes : sequence of Axes, optional
        two axes of Matplotlib to draw on; default: those of a new figure

    Returns
    -------
    axes : sequence of Axes
        the two

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scan = csrecover.sample(image, rate=0.3)
    >>> both = csrecover.recover(scan, quality="fast", return_uncertainty=True)
    >>> axes = csrecover.plot_uncertainty(*both)                # doctest: +SKIP
    """
    values, error = real(signal, "signal"), real(uncertainty, "uncertainty")
    if values.shape != error.shape:
        raise ArgumentError(f"signal has shape {values.shape} and uncertainty {error.shape}; give "
                            "both as of recover")
    if values.ndim not in (1, 2) and values.shape[2:] != (3,):
        raise ArgumentError(f"signal has shape {values.shape}; give one of 1 or 2 axes, or "
                            "[H, W, 3]")
    axes = new_axes(axes, 2)
    if values.ndim == 3:  # Matplotlib takes colours from 0 to 1
        values = (values - values.min()) / (np.ptp(values) or 1.0)
        error = error.mean(axis=2)
    _drawn(axes[0], values, "signal", "gray")
    _drawn(axes[1], error, "expected error", "magma")
    return axes
