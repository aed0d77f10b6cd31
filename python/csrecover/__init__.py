# SPDX-License-Identifier: BSD-3-Clause
"""csrecover - sparse recovery of sampled pictures, volumes and signals.

>>> import csrecover
>>> picture = csrecover.recover(image[mask], mask=mask)

Pictures: :func:`sample`, :func:`recover`, :func:`where_next`, :func:`estimate_noise`, :func:`psnr`,
:func:`ssim`. Files: :func:`read`, :func:`write`. Solvers: :func:`solve` on an :class:`Operator` or a
matrix. All arithmetic is in
libcsrec, without the GIL; Ctrl-C stops it.
"""
from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from . import datasets
from ._conv import conv2d, conv2d_backward
from ._errors import (ArgumentError, CsrecError, DataError, DeviceError, Error, FileError, FormatError,
                      OutOfMemoryError, RecoveryWarning, Stopped, UnknownArgumentError, UnsupportedError, warn)
from ._haar import Haar, haar_rows, haar_transform
from ._info import RecoverInfo, Track
from ._inpaint import inpaint, inpaint_each
from ._learn import learn_pca
from ._library import Atoms, lib, name_all, text
from ._measurement import Measurement, Placement, place, read, write
from ._metrics import psnr, ssim
from ._models import Model, read_model
from ._next import merge, path_order, where_next
from ._noise import doubts, estimate_noise, find_outliers
from ._omp import orthogonal_mp, orthogonal_mp_gram
from ._plot import plot_uncertainty
from ._progress import Progress
from ._operators import Chain, Dct, Dense, Mask, Operator, Pairs, Sparse, Wavelet
from ._recover import recover, uncertainty
from ._rounds import measure_rounds
from ._sample import positions_of, sample
from ._sequence import Sequence, sequence
from ._session import Session
from ._solve import Solution, solve, synthesize
from ._tables import backends, bases, methods, solvers
from ._through import Through, estimate_coils, measure, whiten
from ._tiles import Tiles, tiles

if TYPE_CHECKING:
    from ._sklearn import OrthogonalMatchingPursuit, PictureImputer

__version__: str = text(lib.csrec_version())

__all__ = [
    "ArgumentError", "Atoms", "Chain", "CsrecError", "DataError", "Dct", "Dense",
    "DeviceError", "Error", "FileError", "FormatError", "Haar", "Mask", "Measurement", "Model", "Operator",
    "OutOfMemoryError", "Pairs", "Placement", "Progress", "RecoverInfo", "RecoveryWarning",
    "Sequence", "Session", "Solution", "Sparse", "Stopped", "Through", "Tiles", "Track", "UnknownArgumentError", "UnsupportedError",
    "Wavelet", "backends", "bases", "conv2d",
    "conv2d_backward", "datasets", "doubts", "estimate_coils", "estimate_noise", "find_outliers", "haar_rows",
    "haar_transform", "inpaint", "inpaint_each", "learn_pca", "measure",
    "measure_rounds", "merge", "methods", "orthogonal_mp", "orthogonal_mp_gram", "path_order", "place", "plot_uncertainty",
    "positions_of", "psnr", "read", "read_model", "recover", "sample", "sequence", "solve", "solvers", "ssim",
    "synthesize", "tiles", "uncertainty", "where_next", "whiten", "write",
]

name_all(globals(), __all__)


def __dir__() -> list[str]:
    """What is public."""
    return sorted([*__all__, "__version__"])


def _has_sklearn() -> bool:
    """Whether there is a scikit-learn that is new enough; it is not imported."""
    try:
        found = [int(part) for part in version("scikit-learn").split(".")[:2]]
    except (PackageNotFoundError, ValueError):
        return False
    return find_spec("sklearn") is not None and found >= [1, 6]


# What needs scikit-learn, as the rest does not: without it, it is as if it were not there.
if _has_sklearn():
    __all__ += ["OrthogonalMatchingPursuit", "PictureImputer"]

_RENAMED = {"adaptive": "measure_rounds"}  # by names that were

if not TYPE_CHECKING:  # a checker would take any name for one of the module
    def __getattr__(name: str) -> Any:
        if name in ("OrthogonalMatchingPursuit", "PictureImputer"):
            try:
                from . import _sklearn
            except ImportError as error:
                raise AttributeError(f"csrecover.{name} needs scikit-learn 1.6: {error}") from error
            return getattr(_sklearn, name)
        if name in _RENAMED:
            warn(f"csrecover.{name} is now called {_RENAMED[name]}; the old name goes with version 0.4",
                 DeprecationWarning)
            return globals()[_RENAMED[name]]
        raise AttributeError(f"module 'csrecover' has no attribute '{name}'")
