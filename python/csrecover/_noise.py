"""What samples say about their noise, gross errors, and other doubts."""
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ._arguments import whole
from ._library import check, ffi, lib, new_error, pointer, text
from ._measurement import Measurement, to_c
from ._whole import taken_as


def estimate_noise(y: Any, mask: Any = None, *, index: Any = None, shape: Any = None) -> float:
    """Standard deviation of white Gaussian noise on the samples, in units of y, the same for all
    channels: from the parts of the signal that are nearly planes. Takes samples as
    :func:`recover`. Few samples (under 256 of a picture) are a :class:`DataError`."""
    made, keep = to_c(taken_as(y, mask, index, shape))
    error, sigma = new_error(), ffi.new("double *")
    check(lib.csrec_noise_estimate(made, sigma, error), error)
    del keep
    return float(sigma[0])


def find_outliers(y: Any, mask: Any = None, *, index: Any = None, shape: Any = None,
                  threads: int = 0) -> np.ndarray:
    """[N] bool, true for samples that are far from all of their neighbours: salt and pepper, dead
    pixels, cosmic rays. Takes samples as :func:`recover`."""
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
    """What about the samples lets a recovery fail that reports success, a sentence each: places
    far from every sample, a regular grid, gross errors, constant samples. Takes samples as
    :func:`recover`, which gives these sentences as :class:`RecoveryWarning`."""
    made, keep = to_c(taken_as(y, mask, index, shape))
    found = doubts_about(made, whole(threads, "threads"), False)
    del keep
    return found


def without(m: Measurement, outlier: np.ndarray) -> Measurement:
    """The other samples, no longer those that a pattern draws."""
    kept = ~outlier
    return dataclasses.replace(m, y=np.asarray(m.y)[kept], index=np.asarray(m.index)[kept],
                               pattern=None, count=0)
