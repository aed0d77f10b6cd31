# SPDX-License-Identifier: BSD-3-Clause
"""The tiles of a recovery one by one, for Dask and other schedulers of tasks."""
from __future__ import annotations

from typing import Any, Iterable, Optional

import numpy as np

from ._arguments import pair, scalar, whole
from ._errors import ArgumentError
from ._library import (NULL, check, doubles, ffi, kept, lib, new_error, new_shape, pointer,
                       real, unmasked)
from ._measurement import Measurement, from_file, to_c
from ._noise import estimate_noise
from ._options import options_of
from ._whole import UNSAID, ChannelAxis, of_dtype, taken, taken_as

Box = tuple[slice, ...]


class Tiles:
    """What :func:`tiles` returns: a plan that can be pickled, sent to other processes and used
    there. Tile k is recovered from the samples in ``box(k)``; ``core(k)`` of the signal is blended
    from the tiles ``near(k)``."""

    def __init__(self, handle: Any, keep: list[Any], form: dict[str, Any],
                 options: dict[str, Any]) -> None:
        self._handle = ffi.gc(handle, lib.csrec_tiles_destroy)
        self._keep, self._form, self._options = keep, form, options
        self.shape: tuple[int, ...] = form["shape"]
        """of the signal, without channels"""
        self.channels: Optional[int] = form["channels"]
        """None: there is no axis of them"""
        self.dtype: np.dtype[Any] = form["dtype"]
        """of what :meth:`blend` returns"""
        shape = self.shape
        count = ffi.new("int64_t[3]")
        self._length = int(lib.csrec_tiles_count(handle, count))
        self.grid: tuple[int, ...] = tuple(count[axis] for axis in range(len(shape)))
        """tiles along each axis; they are numbered in C order"""

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<Tiles: {' x '.join(map(str, self.grid))} of {' x '.join(map(str, self.shape))}>"

    def __reduce__(self) -> Any:
        packed = bytearray(lib.csrec_tiles_pack(self._handle, NULL))
        lib.csrec_tiles_pack(self._handle, ffi.from_buffer(packed))
        return _unpacked, (bytes(packed), self._form, self._options)

    def _number(self, k: int) -> int:
        number = whole(k, "tile")
        if number >= len(self):
            raise ArgumentError(f"tile {number}; there are 0 to {len(self) - 1}")
        return number

    def _place(self, k: int) -> Any:
        place = ffi.new("csrec_tile_place *")
        lib.csrec_tiles_place(self._handle, self._number(k), place)
        return place

    def _slices(self, slabs: Any) -> Box:
        return tuple(slice(slabs[axis].first, slabs[axis].first + slabs[axis].count)
                     for axis in range(len(self.shape)))

    def core(self, k: int) -> Box:
        """The part of the signal that is tile k's own, as slices."""
        return self._slices(self._place(k).core)

    def box(self, k: int) -> Box:
        """The part whose samples tile k is recovered from."""
        return self._slices(self._place(k).box)

    def near(self, k: int) -> list[int]:
        """The tiles that reach ``core(k)``, k among them."""
        found: list[int] = []
        number, last = self._number(k), -1
        while (last := int(lib.csrec_tiles_near(self._handle, number, last))) >= 0:
            found.append(last)
        return found

    def _values(self, box: Box) -> np.ndarray:
        channels = () if self.channels is None else (self.channels,)
        return np.empty((*(one.stop - one.start for one in box), *channels))

    def recover(self, k: int, y: Any, mask: Any = None) -> np.ndarray:
        """Tile k, in float64.

        ``y`` : ``box(k)`` of the whole array, channels last, NaN where it is not known or with a
        mask; or a :class:`Measurement` of it
        """
        values = self._values(self.box(k))
        shape = values.shape[:len(self.shape)]
        if not isinstance(y, Measurement):
            array, known = taken(y, "y")
            if mask is not None:
                known, hidden = np.asarray(unmasked(mask, "mask"), bool), np.ma.getmaskarray(y)
                known = known & ~(hidden if known.ndim == hidden.ndim else hidden.any(-1))
            if known.ndim > len(shape):
                known = known.all(-1)
            if array.shape != values.shape or known.shape != shape:
                raise ArgumentError(f"y has shape {array.shape}; box {k} has {values.shape}")
            y = Measurement(array[known], np.flatnonzero(known), shape)
        made, keep = to_c(y)
        error = new_error()
        check(lib.csrec_tiles_run(self._handle, self._number(k), made, pointer(values), NULL, error),
              error)
        del keep
        return values

    def blend(self, k: int, tiles: Iterable[Any]) -> np.ndarray:
        """``core(k)`` of the signal, from what :meth:`recover` returned of the tiles ``near(k)``, in
        their order."""
        near, given = self.near(k), [doubles(real(one, "tile")) for one in tiles]
        for number, one in zip(near, given):
            if one.shape != (wanted := self._values(self.box(number)).shape):
                raise ArgumentError(f"tile {number} has shape {one.shape}; its box has {wanted}")
        if len(given) != len(near):
            raise ArgumentError(f"{len(given)} tiles for core {k}; give those of near({k}): {near}")
        core, error = self._values(self.core(k)), new_error()
        memory = [pointer(one) for one in given]
        check(lib.csrec_tiles_blend(self._handle, k, ffi.new("double *[]", memory), pointer(core),
                                    error), error)
        return of_dtype(core, self.dtype)


def _unpacked(packed: bytes, form: dict[str, Any], options: dict[str, Any]) -> Tiles:
    """What a pickle holds; a preset asks for the form of the measurement."""
    made, keep = ffi.new("csrec_measurement *"), []
    made.shape, made.channels = new_shape(form["shape"])[0], form["channels"] or 1
    made.n, made.sigma = form["n"], form["sigma"]
    room, error = ffi.new("csrec_tiles **"), new_error()
    chosen = options_of(made, keep, tiles, **options)
    check(lib.csrec_tiles_unpack(ffi.from_buffer(packed), len(packed), chosen, room, error), error)
    return Tiles(room[0], [chosen, *keep], form, options)


def tiles(y: Any, mask: Any = None, *, index: Any = None, shape: Any = None,
          channel_axis: ChannelAxis = UNSAID, dtype: Any = None, sigma: Any = None,
          scale: Optional[tuple[float, float]] = None, **options: Any) -> Tiles:
    """Plans a recovery whose tiles are recovered one by one, in any process: as tasks of Dask, jobs
    of a queue. The signal has the bits of :func:`recover` with the same arguments.

    Parameters
    ----------
    y, mask, index, shape, channel_axis
        as of :func:`recover`; channels are last. All samples are looked at, as tiles depend on
        their range and number
    dtype : dtype, optional
        of the result, as of :func:`recover`
    sigma, scale
        as of :func:`recover`
    **options
        as of :func:`recover`: quality, method, tile, threads and others that choose how

    Returns
    -------
    tiles : Tiles
        their places, and the functions that recover and blend them

    Examples
    --------
    >>> image = csrecover.datasets.picture("discs", 560).astype(float)
    >>> image[np.random.default_rng(1).random(image.shape) < 0.7] = np.nan
    >>> plan = csrecover.tiles(image, quality="fast", tile=90000)
    >>> plan
    <Tiles: 2 x 2 of 560 x 560>
    >>> parts = [plan.recover(k, image[plan.box(k)]) for k in range(len(plan))]
    >>> whole = np.empty(image.shape)
    >>> for k in range(len(plan)):
    ...     whole[plan.core(k)] = plan.blend(k, [parts[j] for j in plan.near(k)])
    >>> bool((whole == csrecover.recover(image, quality="fast", tile=90000)).all())
    True
    """
    m = taken_as(*from_file(y, mask), index, shape, channel_axis)
    if isinstance(channel_axis, int) and channel_axis not in (-1, len(m.shape)):
        raise ArgumentError(f"channel_axis = {channel_axis}; tiles have channels last, give -1")
    if m.guides is not None:
        raise ArgumentError("tiles do not know of guides; use recover, or read with guides=False")
    made, keep = to_c(m)
    if sigma is not None:
        made.sigma = estimate_noise(m) if isinstance(sigma, str) else scalar(sigma, "sigma")
    if scale is not None:
        made.scale = pair(scale, "scale")
    values, error, room = real(m.y, "y"), new_error(), ffi.new("csrec_tiles **")
    chosen = options_of(made, keep, tiles, **options)
    check(lib.csrec_tiles_create(made, chosen, room, error), error)
    form = {"shape": tuple(m.shape), "channels": values.shape[1] if values.ndim == 2 else None,
            "n": len(values), "sigma": float(made.sigma),
            "dtype": np.dtype(kept(values) if dtype is None else dtype)}
    return Tiles(room[0], [chosen, *keep], form, options)
