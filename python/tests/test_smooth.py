# SPDX-License-Identifier: BSD-3-Clause
"""Method smooth: against SciPy's interpolation, sparse solutions of the energy, and dense posterior
means."""
import numpy as np
import pytest

import csrecover as cs

scipy_interpolate = pytest.importorskip("scipy.interpolate")
linalg = pytest.importorskip("scipy.linalg")


def fill(y, known, kind, **more):
    return cs.recover(np.where(known, y, np.nan), method="smooth", kind=kind, **more,
                      backend="cpu")


def series(rng, n=160, rate=0.4):
    known = rng.random(n) < rate
    known[rng.choice(n, 12, replace=False)] = True
    return 285 + rng.standard_normal(n).cumsum(), known


def test_one_axis_is_that_of_numpy_and_scipy(rng):
    for _ in range(20):
        y, known = series(rng)
        t, k = np.arange(len(y)), np.flatnonzero(known)
        np.testing.assert_allclose(fill(y, known, 1), np.interp(t, k, y[k]), rtol=1e-12)
        held = np.clip(t, k[0], k[-1])
        wanted = scipy_interpolate.PchipInterpolator(k, y[k])(held)
        np.testing.assert_allclose(fill(y, known, 2), wanted, rtol=1e-12)


def energy(shape, kind):
    """The matrix of the energy, by the differences of unit vectors."""
    n, axes = int(np.prod(shape)), range(1, 1 + len(shape))
    units = np.eye(n).reshape(n, *shape)
    D = [np.diff(units, axis=a) for a in axes]
    if kind == 3:
        D = [np.diff(d, axis=a) for d in D for a in axes]
    D = np.concatenate([d.reshape(n, -1).T for d in D])
    return D.T @ D if kind != 2 else (D.T @ D) @ (D.T @ D)


@pytest.mark.parametrize("shape", [(9, 13), (1, 17), (2, 11), (5, 6, 7), (3, 1, 14), (3, 4, 2, 5),
                                   (2, 3, 3, 2, 4)])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_plates_are_the_least_of_their_energies(rng, shape, kind):
    if len(shape) > 3 and kind != 2:
        with pytest.raises(cs.ArgumentError, match="up to three axes"):
            fill(np.ones(shape), np.arange(np.prod(shape)).reshape(shape) > 3, kind)
        return
    y = rng.standard_normal(shape) * 40 + 100
    known = rng.random(shape) < 0.5
    for corner in np.ndindex(*(2,) * len(shape)):
        known[tuple(-c for c in corner)] = True
    y.flat[0], y.flat[-1] = -500, 700
    E, free = energy(shape, kind), ~known.ravel()
    wanted = y.ravel().copy()
    wanted[free] = np.linalg.solve(E[free][:, free], -E[free][:, ~free] @ y.ravel()[~free])
    found = fill(y, known, kind, digits=12).ravel()
    np.testing.assert_allclose(found, np.clip(wanted, -500, 700), atol=1e-4)
    np.testing.assert_array_equal(found[~free], y.ravel()[~free])


def test_biharmonic_is_that_of_scikit_image(rng):
    restoration = pytest.importorskip("skimage.restoration")
    v, u = np.mgrid[:40, :50] / 50
    truth = 0.5 + 0.3 * np.sin(5 * u + v) * np.cos(4 * v)
    known = rng.random(truth.shape) < 0.3
    known[12:25, 20:31] = False
    wanted = restoration.inpaint_biharmonic(np.where(known, truth, 0), ~known)
    np.testing.assert_allclose(fill(truth, known, 2, digits=10), wanted, atol=1e-6)


def test_noise_is_smoothed_to_its_sigma(rng):
    v, u = np.mgrid[:40, :50] / 50
    truth = 100 + 50 * np.sin(4 * u + v)
    y, known = truth + 5 * rng.standard_normal(truth.shape), rng.random(truth.shape) < 0.5
    for order in (1, 2):
        found = cs.recover(np.where(known, y, np.nan), method="smooth", kind=order,
                           sigma=5.0, backend="cpu")
        assert np.sqrt(np.mean((found - y)[known] ** 2)) == pytest.approx(5.0, rel=0.05)
        assert np.sqrt(np.mean((found - truth) ** 2)) < 3.5


def autoregressive(y, known, noise, order=16, steps=8):
    """Expectation maximisation with dense matrices: covariances of the process by its recursion."""
    n, k = len(y), np.flatnonzero(known)
    q = min(order, max(2, len(k) // 4))
    x = np.interp(np.arange(n), k, y[k])
    mean = x.mean()
    x, variance = x - mean, np.var(x) + 1e-300
    s, P = max(noise, 1e-7 * variance), np.zeros((n, n))
    for _ in range(steps):
        r = np.array([x[:n - j] @ x[j:] + np.trace(P, j) for j in range(q + 1)]) / n
        r[0] *= 1 + 1e-6
        a = linalg.solve_toeplitz(r[:q], r[1:])
        v = max(r[0] - a @ r[1:], 1e-9 * variance)
        cov = list(r * v / (r[0] - a @ r[1:]))
        while len(cov) < n:
            cov.append(a @ cov[:-q - 1:-1])
        Q = np.linalg.inv(linalg.toeplitz(cov[:n])) + np.eye(n) * 1e-6 / variance
        Q[k, k] += 1 / s
        P = np.linalg.inv(Q)
        x = P[:, k] @ (y[k] - mean) / s
        s = max(np.mean((y[k] - mean - x[k]) ** 2 + P[k, k]), 1e-7 * variance)
    return x + mean


def test_an_autoregressive_fill_is_that_of_dense_matrices(rng):
    for _ in range(3):
        n = 120
        y = np.sin(np.arange(n) * 0.5) + 0.3 * rng.standard_normal(n).cumsum()
        known = rng.random(n) < 0.6
        sigma = 0.05
        found = cs.recover(np.where(known, y, np.nan), method="smooth", kind=3,
                           sigma=sigma, backend="cpu")
        wanted = autoregressive(y, known, sigma ** 2)
        np.testing.assert_allclose(found, wanted, atol=2e-5 * np.ptp(y))


def test_the_vote_takes_what_the_samples_say(rng):
    t = np.arange(400)
    known = rng.random(400) < 0.5
    waves = np.sin(t * 0.31) + 0.5 * np.sin(t * 0.77 + 1)
    off = np.abs(fill(waves, known, 0) - waves).max()
    assert off < 1e-4 < np.abs(fill(waves, known, 1) - waves).max()
    walk = 285 + rng.standard_normal(400).cumsum()
    errors = [np.sqrt(np.mean((fill(walk, known, kind) - walk)[~known] ** 2)) for kind in (0, 1)]
    assert errors[0] < 1.25 * errors[1]


def test_the_default_keeps_a_series_and_tells_a_table():
    rng, n = np.random.default_rng(4), np.arange(400)
    truth = 285 + 8 * np.sin(n / 58)
    missing = rng.random(400) < 0.3
    for quality in (None, "fast", "balanced", "best", "max"):
        full, info = cs.recover(np.where(missing, np.nan, truth), quality=quality, return_info=True)
        assert (full == truth)[~missing].all() and info.method == "smooth" and info.choice is None
        assert abs(full - truth).max() <= abs(np.interp(n, n[~missing], truth[~missing]) - truth).max()
    table = np.stack([truth, 1e5 + rng.standard_normal(400).cumsum(), rng.random(400).cumsum()], 1)
    missing = rng.random(table.shape) < 0.3
    full, info = cs.recover(np.where(missing, np.nan, table), channel_axis=None, return_info=True)
    assert "table" in info.choice and (full == table)[~missing].all()
    assert (abs(full - table).max(0) < 0.2 * np.ptp(table, 0)).all()


@pytest.mark.parametrize("series", [1, 2, 4, 8])
def test_a_few_like_series_are_filled_along_the_long_axis(rng, series):
    t = np.arange(600)
    truth = np.stack([(1 + j) * np.sin(t / 20 + j / 2) + j for j in range(series)])
    known = rng.random(truth.shape) < 0.4
    known[:, [0, -1]] = True
    wanted = np.stack([np.interp(t, t[k], y[k]) for y, k in zip(truth, known)])
    for turn in (False, True):
        y = np.where(known, truth, np.nan)
        full, info = cs.recover(y.T if turn else y, channel_axis=None, return_info=True)
        full = full.T if turn else full
        assert "series" in info.choice and (full == truth)[known].all()
        assert np.mean((full - truth) ** 2) < 0.3 * np.mean((wanted - truth) ** 2)


def test_a_narrow_picture_is_no_table(rng):
    v, u = np.mgrid[:8, :256]
    strip = 100 + 50 * np.sin(u / 9 + v / 7) + 2 * rng.standard_normal(v.shape)
    known = rng.random(strip.shape) < 0.5
    info = cs.recover(np.where(known, strip, np.nan), channel_axis=None, return_info=True)[1]
    assert info.choice is None


@pytest.mark.parametrize("quality", [None, "best"])
def test_four_axes_and_more_are_smooth(rng, quality):
    for shape in ((4, 4, 16, 16), (4, 4, 6, 6, 6)):
        truth = 300 + sum(np.sin(at / (3 + j)) for j, at in enumerate(np.indices(shape)))
        known = rng.random(shape) < 0.3
        full = cs.recover(np.where(known, truth, np.nan), quality=quality, channel_axis=None)
        assert (full == truth)[known].all()
        assert np.sqrt(np.mean((full - truth)[~known] ** 2)) < 0.08  # nearest: 0.2
