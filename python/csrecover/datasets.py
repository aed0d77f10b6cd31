# SPDX-License-Identifier: BSD-3-Clause
"""Pictures made by formulas: the same on every machine, of any size, for examples and tests."""
from __future__ import annotations

from typing import Callable

import numpy as np

from ._arguments import whole, word
from ._errors import ArgumentError
from ._library import unknown

__all__ = ["colours", "kinds", "picture", "volume"]

# Ellipses of the modified head of Shepp and Logan (Toft 1996): level, half axes, middle, degrees.
_HEAD = ((1.0, 0.69, 0.92, 0.0, 0.0, 0), (-0.8, 0.6624, 0.874, 0.0, -0.0184, 0),
         (-0.2, 0.11, 0.31, 0.22, 0.0, -18), (-0.2, 0.16, 0.41, -0.22, 0.0, 18),
         (0.1, 0.21, 0.25, 0.0, 0.35, 0), (0.1, 0.046, 0.046, 0.0, 0.1, 0),
         (0.1, 0.046, 0.046, 0.0, -0.1, 0), (0.1, 0.046, 0.023, -0.08, -0.605, 0),
         (0.1, 0.023, 0.023, 0.0, -0.606, 0), (0.1, 0.023, 0.046, 0.06, -0.605, 0))


def _head(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    x, y, made = 2 * u - 1, 1 - 2 * v, np.zeros(u.shape)
    for level, a, b, x0, y0, degrees in _HEAD:
        c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
        along, across = (x - x0) * c + (y - y0) * s, (y - y0) * c - (x - x0) * s
        made[(along / a) ** 2 + (across / b) ** 2 <= 1] += level
    return made


def _discs(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    made = 0.25 + 0.4 * u + 0.08 * np.sin(9 * v)
    for x, y, radius, level in ((0.3, 0.3, 0.2, 0.9), (0.7, 0.35, 0.12, 0.1), (0.55, 0.7, 0.22, 0.6),
                                (0.2, 0.75, 0.1, 0.0), (0.62, 0.62, 0.07, 1.0)):
        made[(u - x) ** 2 + (v - y) ** 2 < radius ** 2] = level
    return made


def _waves(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return 0.5 + 0.25 * np.sin(40 * u + 12 * v * v) + 0.25 * np.cos(30 * np.hypot(u - 0.4, v - 0.6))


def _grains(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    i = np.arange(40)
    x, y = (0.5 + i * 0.7548776662466927) % 1, (0.5 + i * 0.5698402909980532) % 1
    nearest = np.argmin((u[..., None] - x) ** 2 + (v[..., None] - y) ** 2, axis=-1)
    return (i * 0.6180339887498949 % 1)[nearest]


def _surface(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    made = np.zeros(u.shape)
    for octave in range(5):
        f, turn = 2.0 ** octave, 2.4 * octave
        x, y = u * np.cos(turn) - v * np.sin(turn), u * np.sin(turn) + v * np.cos(turn)
        made += (np.sin(5 * f * x + turn) * np.cos(4 * f * y + 2 * turn)) / f
    return (made + 1.6) / 3.2


_KINDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "discs": _discs, "grains": _grains, "head": _head, "surface": _surface, "waves": _waves}


def kinds() -> list[str]:
    """The kinds of pictures that :func:`picture` makes.

    Returns
    -------
    kinds : list of str
        sorted

    Examples
    --------
    >>> csrecover.datasets.kinds()
    ['discs', 'grains', 'head', 'surface', 'waves']
    """
    return sorted(_KINDS)


def _extents(size: int) -> int:
    found = whole(size, "size")
    if found < 1:
        raise ArgumentError(f"size = {found}; must be at least 1")
    return found


def _bytes(tones: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(255 * tones), 0, 255).astype(np.uint8)


def picture(kind: str = "discs", size: int = 128) -> np.ndarray:
    """A gray picture of size x size pixels.

    Parameters
    ----------
    kind : str, optional
        'discs' and a slope, 'grains' of a metal, the 'head' of Shepp and Logan, a rough 'surface',
        or 'waves'
    size : int, optional
        the edge; a larger picture has the same content in finer pixels

    Returns
    -------
    picture : ndarray of uint8
        [size, size]

    Examples
    --------
    >>> csrecover.datasets.picture("grains", 100).shape
    (100, 100)
    """
    word(kind, "kind")
    if kind not in _KINDS:
        raise unknown("kind", kind, kinds())
    at = (np.arange(_extents(size)) + 0.5) / size
    return _bytes(_KINDS[kind](*np.meshgrid(at, at)))


def colours(size: int = 128) -> np.ndarray:
    """A picture in colours, the channels of which share their edges.

    Parameters
    ----------
    size : int, optional
        the edge

    Returns
    -------
    picture : ndarray of uint8
        [size, size, 3]

    Examples
    --------
    >>> csrecover.datasets.colours(100).shape
    (100, 100, 3)
    """
    at = (np.arange(_extents(size)) + 0.5) / size
    u, v = np.meshgrid(at, at)
    tones = _discs(u, v)
    return _bytes(np.stack([tones, 0.8 * tones + 0.2 * v, 1 - 0.7 * tones - 0.2 * u], axis=-1))


def volume(size: int = 32) -> np.ndarray:
    """A volume: balls in a slope.

    Parameters
    ----------
    size : int, optional
        the edge

    Returns
    -------
    volume : ndarray of uint8
        [size, size, size]

    Examples
    --------
    >>> csrecover.datasets.volume(20).shape
    (20, 20, 20)
    """
    at = (np.arange(_extents(size)) + 0.5) / size
    w, v, u = np.meshgrid(at, at, at, indexing="ij")
    made = 0.2 + 0.3 * u + 0.2 * w
    for x, y, z, radius, level in ((0.35, 0.4, 0.4, 0.25, 0.9), (0.7, 0.6, 0.65, 0.2, 0.05)):
        made[(u - x) ** 2 + (v - y) ** 2 + (w - z) ** 2 < radius ** 2] = level
    return _bytes(made)
