# SPDX-License-Identifier: BSD-3-Clause
"""Channels that are known at positions of their own: masks with channels, masked arrays, NaN,
against each channel recovered alone."""
import numpy as np
import pytest

import csrecover

METHOD = {"method": "smooth"}


def _bands(rng):
    y, x = np.mgrid[:24, :31]
    bands = np.stack([np.sin(x / 5 + k) * 100 + 3 * y * k for k in range(3)], -1)
    known = rng.random(bands.shape) < 0.6
    known[0, 0] = True
    return bands, known


@pytest.mark.parametrize("given", ["mask", "masked", "nan", "first", "integers"])
def test_each_channel_as_alone(given, rng):
    bands, known = _bands(rng)
    if given == "integers":
        bands = np.rint(bands)
    alone = np.stack([csrecover.recover(bands[..., k][known[..., k]], known[..., k], **METHOD)
                      for k in range(3)], -1)
    if given == "mask":
        found = csrecover.recover(bands, known, channel_axis=-1, **METHOD)
    elif given == "masked":
        found = csrecover.recover(np.ma.MaskedArray(bands, ~known), channel_axis=-1, **METHOD)
    elif given == "nan":
        found = csrecover.recover(np.where(known, bands, np.nan), channel_axis=-1, **METHOD)
    elif given == "first":
        moved = csrecover.recover(np.moveaxis(bands, -1, 0), np.moveaxis(known, -1, 0),
                                  channel_axis=0, **METHOD)
        found = np.moveaxis(moved, 0, -1)
    else:
        found = csrecover.inpaint(bands.astype(np.int16), ~known, channel_axis=-1, **METHOD)
    assert np.array_equal(found, alone)
    assert np.array_equal(found[known], bands[known])


def test_a_band_without_values_stays_unknown(rng):
    bands, known = _bands(rng)
    known[..., 1] = False
    found = csrecover.recover(np.where(known, bands, np.inf), channel_axis=-1, **METHOD)
    assert np.isnan(found[..., 1]).all() and np.isfinite(found[..., [0, 2]]).all()


def test_samples_of_a_measurement(rng):
    bands, known = _bands(rng)
    places = np.flatnonzero(known.any(-1))
    y = np.ma.MaskedArray(bands, ~known).reshape(-1, 3)[places]
    m = csrecover.Measurement(y, places, known.shape[:2])
    assert np.array_equal(np.isnan(m.y), ~known.reshape(-1, 3)[places])
    found, error = csrecover.recover(m, return_uncertainty=True, **METHOD)
    assert np.array_equal(found[known], bands[known])
    assert (error[known] == 0).all() and np.isfinite(error).all()


def test_a_wrong_mask_is_one_line(rng):
    bands, known = _bands(rng)
    for wrong in (known[..., :2], known[:5], known[:, :, None, 0]):
        with pytest.raises(csrecover.ArgumentError, match="mask has shape"):
            csrecover.inpaint(bands, wrong, channel_axis=-1)
