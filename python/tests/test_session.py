# SPDX-License-Identifier: BSD-3-Clause
"""Sessions, against the functions without a session."""
import threading

import numpy as np
import pytest
from conftest import picture

import csrecover as cs

WAY = {"threads": 1, "backend": "cpu"}


@pytest.mark.parametrize("channels, rays", ((1, False), (3, False), (3, True)))
def test_rounds_are_those_of_the_functions(rng, channels, rays):
    truth = np.stack([picture(rng, 32)] * channels, -1).reshape(-1, channels)
    with cs.Session((32, 32), channels=channels, rays=rays, **WAY) as session:
        for k in range(3):
            found = session.next(150, seed=k)
            at, sent = found if rays else (found, None)
            noise = rng.normal(0, 1, (len(at), channels)) if rays else 0
            assert session.add(at, truth[at] + noise, rays=sent) == 0
        samples = session.samples
        assert np.array_equal(session.picture(), cs.recover(samples, **WAY))
        map_, rms = session.expected()
        assert np.array_equal(map_, cs.recover(samples, return_uncertainty=True, **WAY)[1])
        assert 0 < rms < 255
        assert np.array_equal(session.next(50), cs.where_next(samples, 50, "expected"))


def test_what_is_measured_again_is_a_mean(rng):
    with cs.Session((5, 4), channels=2, sigma=2.0, method="smooth") as session:
        y = rng.random((6, 2))
        session.add([[1, 2], [0, 0], [1, 2]], y[:3])
        session.add([6, 6, 7], y[3:])
        m = session.samples
        assert list(m.index) == [0, 6, 7]
        assert np.allclose(m.y, [y[1], y[[0, 2, 3, 4]].mean(0), y[5]], rtol=1e-14)
        assert np.allclose(m.sigma, np.array([[2.0], [1.0], [2.0]]) * [1, 1])
        at, numbers = session.next(9, again=True)
        assert numbers.sum() == 9 and len(at) == len(numbers)
    with cs.Session(9, method="smooth") as session:
        session.add([1, 1], [3.0, 5.0], sigma=[1.0, 2.0])
        assert np.allclose(session.samples.y, (3 / 1 + 5 / 4) / (1 + 1 / 4))


def test_single_rays_of_rounds_tell_their_deviation(rng):
    rays = rng.random((6, 3))
    with cs.Session((4, 4), channels=3, rays=True, method="smooth") as session:
        for first, last in ((0, 1), (1, 4), (4, 5), (5, 6)):
            own = rays[first:last]
            sigma = own.std(0, ddof=1) / len(own) ** 0.5 if len(own) > 1 else np.full(3, np.nan)
            assert session.add([5], own.mean(0)[None], sigma=sigma[None], rays=len(own)) == 0
        assert np.allclose(session.samples.sigma, rays.std(0, ddof=1) / 6 ** 0.5, rtol=1e-12)


def test_nothing_is_lost(rng, tmp_path):
    truth = picture(rng, 24)
    session = cs.Session((24, 24), method="smooth")
    at = session.next(100)
    values = truth.flat[at].astype(float)
    values[:3] = np.nan, np.inf, -np.inf
    assert session.add(at, values) == 3
    for wrong in (([576], [1.0]), ([0, 1], [1.0]), ([[0, 24]], [1.0]), ([0], [1.0], -1.0)):
        with pytest.raises(cs.DataError):
            session.add(*wrong)
    with pytest.raises(cs.ArgumentError, match="rays"):
        session.add([0], [1.0], rays=2)
    with pytest.raises(cs.ArgumentError, match="channels"):
        cs.Session((4, 4), channels=0)
    with pytest.raises(cs.UnknownArgumentError):
        cs.Session((4, 4), qualty="fast")
    assert len(session.samples.y) == 97 and not np.isin(at[:3], session.samples.index).any()
    session.save(tmp_path / "half.npz")
    later = cs.Session((24, 24), method="smooth")
    later.load(tmp_path / "half.npz")
    assert np.array_equal(later.picture(), session.picture())
    session.close()
    with pytest.raises(cs.ArgumentError, match="closed"):
        session.picture()


def test_frames_lines_guides_and_threads(rng):
    truth = picture(rng, 24).astype(float)
    allowed = np.ones((24, 24), bool)
    allowed[:, 20:] = False
    with cs.Session((24, 24), allowed=allowed, sequence=True, quality="fast", guide=truth / 2,
                    **WAY) as session:
        for _ in range(3):
            lines = session.next(60, tile=(1, 24))
            assert len(lines) == 60 and (lines % 24 < 20).all()
            session.add(lines, truth.flat[lines])
            assert np.isfinite(session.picture()).all()
            session.frame(guide=truth / 3)
        assert np.isfinite(session.picture()).all()  # of a frame without samples
    results = {}

    def work(k):
        with cs.Session((24, 24), **WAY) as own:
            own.add(np.arange(0, 576, 3), truth.flat[::3])
            results[k] = own.picture()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(np.array_equal(results[k], results[0]) for k in range(3))


def test_a_callback_stops_it(rng):
    calls = []
    session = cs.Session((32, 32), callback=lambda _: calls.append(1) or True, method="net", **WAY)
    session.add(np.arange(0, 1024, 5), rng.random(205))
    with pytest.raises(cs.Stopped):
        session.next(5)
    assert calls
