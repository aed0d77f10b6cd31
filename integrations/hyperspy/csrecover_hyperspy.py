# SPDX-License-Identifier: BSD-3-Clause
"""csrecover for HyperSpy: fills pictures, stacks of them, and scans that did not visit all pixels.
The result is a signal of the same kind with the axes and metadata of the input."""
import numpy as np
from hyperspy.signal import BaseSignal

import csrecover


def _array(mask):
    return None if mask is None else np.asarray(getattr(mask, "data", mask)).astype(bool)


def _check(signal):
    if not isinstance(signal, BaseSignal):
        raise csrecover.ArgumentError(f"signal is a {type(signal).__name__}; give one of HyperSpy")
    if signal._lazy:
        raise csrecover.ArgumentError("signal is lazy; give one in memory: signal.compute()")


def _like(signal, data):
    made = signal.deepcopy()
    made.data = data
    return made


def fill(signal, mask=None, **options):
    """Fills each picture (Signal2D) or spectrum (Signal1D) by itself.

    signal : Signal1D or Signal2D, NaN where it is not known
    mask : of the signal's shape or of one picture, an array or a signal: true where to fill
    options : of csrecover.recover: quality, sigma, within, ...
    """
    _check(signal)
    axes = signal.axes_manager.signal_dimension
    if axes == 0:
        raise csrecover.ArgumentError("signal has no signal axes; give signal.T")
    return _like(signal, csrecover.inpaint_each(signal.data, _array(mask), axes=axes, **options))


def fill_scan(signal, navigation_mask=None, components=None, **options):
    """Fills the pixels of a scan that were not visited, with whole spectra or diffraction patterns.

    signal : of one to three navigation axes; a pixel with NaN was not visited
    navigation_mask : of the navigation shape, an array or a signal, as HyperSpy has it: true where
        the scan was not
    components : int, recommended for more than a few channels: the visited spectra are written as
        sums of so many (by singular values), and the maps of their weights are recovered
    options : of csrecover.recover: quality; sigma="auto" for scans with noise
    """
    _check(signal)
    scan = signal.data.shape[:signal.axes_manager.navigation_dimension]
    if not scan:
        raise csrecover.ArgumentError("signal has no navigation axes; use fill, or give signal.T")
    spectra = signal.data.reshape(*scan, -1)
    visited = np.isfinite(spectra).all(-1)
    if navigation_mask is not None:
        hidden = _array(navigation_mask)
        if hidden.shape != scan:
            raise csrecover.ArgumentError(f"navigation_mask has shape {hidden.shape}, the scan "
                                          f"{scan}; give one of the scan's, true where it was not")
        visited &= ~hidden
    if not visited.any():
        raise csrecover.ArgumentError("no pixel of the scan is known; see navigation_mask")
    factors = None
    if components is not None:
        found = spectra[visited].astype(float)
        factors = np.linalg.svd(found, full_matrices=False)[2][:int(components)]
        maps = np.full((*scan, len(factors)), np.nan)
        maps[visited] = found @ factors.T
        each = csrecover.inpaint_each(np.moveaxis(maps, -1, 0), axes=len(scan), **options)
        made = np.moveaxis(each, 0, -1) @ factors
    else:
        made = csrecover.recover(spectra, visited, channel_axis=-1, **options)
    if options.get("sigma") is None:
        made[visited] = spectra[visited]
    if signal.data.dtype.kind in "iu":
        ends = np.iinfo(signal.data.dtype)
        made = np.clip(np.rint(made), ends.min, ends.max)
    return _like(signal, made.astype(signal.data.dtype).reshape(signal.data.shape))
