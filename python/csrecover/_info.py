# SPDX-License-Identifier: BSD-3-Clause
"""How a recovery went, in numbers, as a table and as a plot."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ._html import table
from ._library import Atoms, copied, ffi, lib, text
from ._plot import new_axes


@dataclass(frozen=True, eq=False)
class Track:
    """Some steps of one part of a recovery: each of the first 16, then about four in every
    doubling, and the last."""

    name: str
    unit: str
    """what one iteration is: 'iteration', 'grid' or 'pass'"""
    iteration: np.ndarray
    """[steps] int64, from 1"""
    residual: np.ndarray
    """[steps] ||y - A x|| / ||y|| over all channels"""
    psnr: np.ndarray
    """[steps] dB; NaN without ``reference``"""


@dataclass(frozen=True, eq=False)
class RecoverInfo:
    """How a recovery went."""

    method: str
    """the method that ran, a name of :func:`methods`"""
    outcome: str
    """why it ended, in words"""
    interrupted: bool
    """the callback asked to stop: the signal is the best so far"""
    pursuits: int
    """grids x channels, or frames x channels"""
    iterations: int
    """in all of them"""
    residual: float
    """largest ||r|| / ||y|| of any pursuit"""
    levels: int
    """L, where the Haar matrix has 2^L rows"""
    backend: str
    seconds: dict[str, float]
    """by stage: 'tree', 'pursuit', 'synthesis', 'total'"""
    atoms: Optional[list[Atoms]] = None
    """with ``coefficients=True``: those of each channel"""
    tracks: Optional[list[Track]] = None
    """how the signal came about, the last track being the signal as delivered"""
    devices: Optional[list[int]] = None
    """numbers of the GPUs that ran; empty on the CPU"""
    choice: Optional[str] = None
    """what the samples chose where the options left it open, and why"""
    curve: str = "none"
    """in whose values it ran: 'none', or 'log' of a logarithm"""
    curve_choice: Optional[str] = None
    """why, where the samples span decades"""
    clamped: int = 0
    """values of the signal that were outside of the range"""
    classes: Optional[int] = None
    """with ``labels=True``: how many the samples have"""
    expected: float = float("nan")
    """with ``return_uncertainty=True``: the root mean square error to expect,"""
    at_most: float = float("nan")
    """and what it is at most, with 95 % confidence where the samples are a uniform draw"""
    law: Optional[str] = None
    """of noise that grows with the samples, as 'poisson:2.5,100': what was given or found as sigma"""

    def _repr_html_(self) -> str:
        return table("Recovery", {
            "method": self.method, "outcome": self.outcome, "residual": self.residual,
            "pursuits": self.pursuits, "iterations": self.iterations, "backend": self.backend,
            "seconds": self.seconds["total"]})

    def plot(self, ax: Any = None) -> Any:
        """Draws the residual of each step with Matplotlib; where there was a ``reference``, the
        PSNR.

        ax
            axes of Matplotlib to draw on; default: those of a new figure

        Returns the axes.
        """
        tracks = self.tracks or []
        compared = any(np.isfinite(track.psnr).any() for track in tracks)
        ax = new_axes(ax)
        for track in tracks[:-1] or tracks:
            ax.plot(track.iteration, track.psnr if compared else track.residual, marker=".",
                    label=f"{track.name} (by {track.unit})")
        ax.set_xlabel("step")
        ax.set_ylabel("PSNR / dB" if compared else "||y - A x|| / ||y||")
        if tracks:
            ax.legend()
        return ax


def tracks_of(history: Any) -> list[Track]:
    name, unit = ffi.new("const char **"), ffi.new("const char **")
    n, steps = ffi.new("int64_t *"), ffi.new("const csrec_history_step **")
    record = np.dtype([("iteration", "i8"), ("residual", "f8"), ("psnr", "f8")])
    found: list[Track] = []
    while lib.csrec_history_track(history, len(found), name, unit, n, steps):
        table = copied(steps[0], int(n[0]), "csrec_history_step", record)
        found.append(Track(text(name[0]), text(unit[0]), table["iteration"].copy(),
                           table["residual"].copy(), table["psnr"].copy()))
    return found
