# SPDX-License-Identifier: BSD-3-Clause
"""What samples say about their noise, gross errors, and other doubts."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import whole
from ._library import check, ffi, lib, new_error, pointer, text
from ._measurement import Measurement, to_c
from ._whole import taken_as


def estimate_noise(y: Any, mask: Any = None, *, index: Any = None, shape: Any = None) -> float:
    """Standard deviation of white Gaussian noise on the samples, in units of y.

    Parameters
    ----------
    y, mask, index, shape
        samples as :func:`recover` takes them

    Returns
    -------
    sigma : float
        0 where there is none

    Notes
    -----
    It is the same for all channels, found in the parts of the signal that are nearly planes. Few
    samples (under 256 of a picture) are a :class:`DataError`, and so is noise that differs between
    dark and bright places by more than a factor of 2, as that of light: ``sigma="auto"`` of
    :func:`recover` finds the law of that, and rays tell more.

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> noisy = image + np.random.default_rng(1).normal(0, 8, image.shape)
    >>> 5 < csrecover.estimate_noise(noisy, np.ones(image.shape, bool)) < 12
    True
    """
    made, keep = to_c(taken_as(y, mask, index, shape))
    error, sigma = new_error(), ffi.new("double *")
    check(lib.csrec_noise_estimate(made, sigma, error), error)
    del keep
    return float(sigma[0])


def noise_of(made: Any, sigma: str) -> tuple[float, Any]:
    """What a text says of the noise of a measurement: sigma, and a csrec_noise_law *."""
    error, law, value = new_error(), ffi.new("csrec_noise_law *"), ffi.new("double *")
    check(lib.csrec_noise_parse(sigma.encode(), value, law, error), error)
    check(lib.csrec_noise_find(made, value, law, error), error)
    return float(value[0]), law


def law_text(law: Any) -> str | None:
    """As sigma takes it; None: no law."""
    sentence = ffi.new("char[]", int(lib.CSREC_NOISE_TEXT))
    return text(sentence) if lib.csrec_noise_text(law, sentence) else None


def find_outliers(y: Any, mask: Any = None, *, index: Any = None, shape: Any = None,
                  threads: int = 0) -> np.ndarray:
    """Samples that are far from all of their neighbours: salt and pepper, dead pixels, cosmic rays;
    of radiance, fireflies.

    Parameters
    ----------
    y, mask, index, shape
        samples as :func:`recover` takes them
    threads : int, optional
        0: all cores

    Returns
    -------
    outlier : ndarray of bool
        [N], true for those samples

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> scan = csrecover.sample(image, rate=0.5)
    >>> scan.y[100] = 255 if scan.y[100] < 128 else 0
    >>> bool(csrecover.find_outliers(scan)[100])
    True
    """
    m = taken_as(y, mask, index, shape)
    made, keep = to_c(m)
    error, found = new_error(), ffi.new("int64_t *")
    outlier = np.zeros(len(m.index), np.uint8)
    check(lib.csrec_outliers_find(made, whole(threads, "threads"), pointer(outlier, "uint8_t"), found,
                                  error), error)
    del keep
    return outlier.astype(bool)


def doubts_about(made: Any, threads: int, robust: bool) -> list[str]:
    """Sentences about samples as the library has them."""
    error, found = new_error(), ffi.new("csrec_doubts *")
    check(lib.csrec_doubts_find(made, threads, found, error), error)
    if robust:
        found.outliers = 0.0  # what is left is the signal's own
    sentence = ffi.new("char[]", int(lib.CSREC_DOUBT_SIZE))
    sentences: list[str] = []
    while lib.csrec_doubts_text(found, len(sentences), sentence):
        sentences.append(text(sentence))
    return sentences


def doubts(y: Any, mask: Any = None, *, index: Any = None, shape: Any = None,
           threads: int = 0) -> list[str]:
    """What about the samples lets a recovery fail that reports success.

    Parameters
    ----------
    y, mask, index, shape
        samples as :func:`recover` takes them
    threads : int, optional
        0: all cores

    Returns
    -------
    sentences : list of str
        on places far from every sample, a regular grid, gross errors, constant samples

    Notes
    -----
    :func:`recover` gives these sentences as :class:`RecoveryWarning`.

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 64)
    >>> grid = np.zeros(image.shape, bool)
    >>> grid[::4, ::4] = True
    >>> len(csrecover.doubts(image, grid)) > 0
    True
    """
    made, keep = to_c(taken_as(y, mask, index, shape))
    found = doubts_about(made, whole(threads, "threads"), False)
    del keep
    return found
