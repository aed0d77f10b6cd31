# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of users as the numbers and words that the library takes; each error is one line."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ._errors import ArgumentError


class _Default(int):
    """A seed that was not given."""


#: The default of every ``seed``. Only the object itself means that no seed was given.
SEED = _Default(1)


def shown(value: Any) -> str:
    """A value in a message: one line, not long."""
    line = " ".join(repr(value).split())
    return line if len(line) <= 60 else line[:57] + "..."


def _integer(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("a truth value is no count")
    if not isinstance(value, (float, np.floating)):
        return operator.index(value)
    if int(value) != value:
        raise ValueError("has a fraction")
    return int(value)


def whole(value: Any, name: str) -> int:
    """An integer that fits C's int64: what has ``__index__``, or a float without a fraction. True
    is not a count."""
    try:
        found = _integer(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} = {shown(value)}; must be a whole number") from None
    if abs(found) >= 1 << 63:
        raise ArgumentError(f"{name} = {shown(value)}; must be a whole number below 2^63")
    return found


def scalar(value: Any, name: str) -> float:
    """A number; text that reads as one is none."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError("text")
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} = {shown(value)}; must be a number") from None


def pair(value: Any, name: str) -> list[float]:
    """Two numbers, as those of black and white."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} = {shown(value)}; must be two numbers") from None
    return [scalar(first, name), scalar(second, name)]


def deviation(value: Any, name: str) -> float:
    """A standard deviation: a number from 0 on."""
    found = scalar(value, name)
    if not 0.0 <= found < float("inf"):
        raise ArgumentError(f"{name} = {shown(value)}; must be finite and not negative")
    return found


def flag(value: Any, name: str) -> bool:
    """A truth value, or the numbers 0 and 1; text is true whatever it says, so it is refused."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and
                                               value in (0, 1)):
        return bool(value)
    raise ArgumentError(f"{name} = {shown(value)}; must be True or False")


def word(value: Any, name: str) -> bytes:
    """A name in one of the library's tables."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} = {shown(value)}; must be a name, a string")
    return value.encode()


def as_tuple(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """A shape as users write it: a number or a sequence of them."""
    try:
        extents = list(shape) if np.ndim(shape) else [shape]
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} = {shown(shape)}; must be whole numbers") from None
    return tuple(whole(extent, name) for extent in extents)


def _drawn(rng: Any) -> int:
    try:
        if isinstance(rng, np.random.RandomState):
            return int(rng.randint(0, (1 << 63) - 1, dtype=np.int64))
        if isinstance(rng, (bool, np.bool_)):
            raise TypeError("a truth value")
        return int(np.random.default_rng(rng).integers(1 << 63))
    except (TypeError, ValueError):
        raise ArgumentError(f"rng = {shown(rng)}; must be a whole number, or a Generator or "
                            "RandomState of NumPy") from None


def seed_of(seed: Any, rng: Any, name: str = "seed") -> int:
    """A seed of the library, drawn from rng if there is one."""
    if rng is not None:
        if seed is not SEED:
            raise ArgumentError("seed and rng both draw; give one of them")
        return _drawn(rng)
    try:
        found = _integer(seed)
        if 0 <= found < 1 << 64:
            return found
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(f"{name} = {shown(seed)}; must be a whole number, 0 to 2^64 - 1"
                        f"{' (or give rng)' if name == 'seed' else ''}")
