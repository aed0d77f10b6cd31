# SPDX-License-Identifier: BSD-3-Clause
"""Measuring in rounds: the positions asked for, what they are worth, stops and mistakes."""
import numpy as np
import pytest
from conftest import picture

import csrecover as cs


class Instrument:
    """Reads a picture, each place once."""

    def __init__(self, truth):
        self.truth, self.taken, self.rounds = truth, np.zeros(truth.shape[:2], int), 0

    def __call__(self, at):
        assert at.dtype == np.int64 and at.shape[1] == 2
        np.add.at(self.taken, tuple(at.T), 1)
        self.rounds += 1
        return self.truth[at[:, 0], at[:, 1]]


def scene(rng, side=64):
    """Smooth on the left, edges and noise on the right."""
    truth = np.outer(np.linspace(0, 200, side), np.ones(side))
    truth[:, side // 2:] = picture(rng, side)[:, side // 2:] + 20 * rng.standard_normal(
        (side, side // 2))
    return truth


def test_rounds_go_where_it_is_hard(rng):
    truth = scene(rng)
    instrument = Instrument(truth)
    scan = cs.measure_rounds(instrument, truth.shape, 800, seed=3, backend="cpu")
    assert len(scan.y) == 800 and instrument.rounds == 9
    assert instrument.taken.max() == 1 and instrument.taken.sum() == 800
    np.testing.assert_array_equal(scan.y, truth.ravel()[scan.index])
    assert instrument.taken[:, 32:].sum() > 500
    again = cs.measure_rounds(Instrument(truth), truth.shape, 800, seed=3, threads=1, backend="cpu")
    np.testing.assert_array_equal(scan.index, again.index)


def test_channels_goals_and_going_on(rng):
    truth = np.stack([scene(rng, 48)] * 3, axis=-1)
    scan = cs.measure_rounds(Instrument(truth), (48, 48), 400, channels=3, goal=1e9, backend="cpu")
    assert scan.y.shape == (80, 3)
    more = Instrument(truth)
    scan = cs.measure_rounds(more, (48, 48), 400, rounds=2, start=scan, backend="cpu")
    assert len(scan.y) == 400 and more.taken.sum() == 320
    allowed = np.zeros((48, 48), bool)
    allowed[:, :20] = True
    only = Instrument(truth[..., 0])
    cs.measure_rounds(only, (48, 48), 200, allowed=allowed, backend="cpu")
    assert only.taken[:, 20:].sum() == 0


def test_stops_and_mistakes(rng):
    truth = scene(rng, 48)
    scan = cs.measure_rounds(Instrument(truth), truth.shape, 400,
                       callback=lambda progress: progress.done >= 80, backend="cpu")
    assert 80 <= len(scan.y) < 400
    with pytest.raises(ZeroDivisionError):
        cs.measure_rounds(lambda at: 1 // 0, truth.shape, 400, backend="cpu")
    with pytest.raises(cs.DataError, match="shape"):
        cs.measure_rounds(lambda at: np.zeros(3), truth.shape, 400, backend="cpu")
    with pytest.raises(cs.DataError, match="finite"):
        cs.measure_rounds(lambda at: np.full(len(at), np.nan), truth.shape, 400, backend="cpu")
    with pytest.raises(cs.ArgumentError, match="budget"):
        cs.measure_rounds(Instrument(truth), truth.shape, 48 * 48 + 1, backend="cpu")
    with pytest.raises(cs.ArgumentError, match="start"):
        cs.measure_rounds(Instrument(truth), (9, 9), 9, start=scan)


def test_the_old_name_is_warned_of():
    with pytest.warns(DeprecationWarning, match="adaptive is now called measure_rounds"):
        assert cs.adaptive is cs.measure_rounds
    assert "adaptive" not in dir(cs)
