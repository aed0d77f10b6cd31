# SPDX-License-Identifier: BSD-3-Clause
"""Signals of HyperSpy: values against the package's own functions; axes and metadata are kept."""
import sys

import numpy as np
import pytest
from conftest import HERE, page_block, picture

hs = pytest.importorskip("hyperspy.api")


@pytest.fixture(scope="module")
def plugin(package):
    sys.path.insert(0, str(HERE / "hyperspy"))
    import csrecover_hyperspy
    yield csrecover_hyperspy
    sys.path.remove(str(HERE / "hyperspy"))


def described(signal):
    signal.metadata.General.title, signal.metadata.Signal.quantity = "one", "Counts"
    for number, axis in enumerate(signal.axes_manager._axes):
        axis.name, axis.units, axis.scale, axis.offset = f"a{number}", "nm", 0.5 + number, number
    return signal


def same_but_for_data(made, signal):
    assert type(made) is type(signal) and made.data.dtype == signal.data.dtype
    assert made.axes_manager.as_dictionary() == signal.axes_manager.as_dictionary()
    assert made.metadata.as_dictionary() == signal.metadata.as_dictionary()
    assert made.data is not signal.data


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_pictures_of_a_stack(rng, plugin, package, dtype):
    values = np.stack([picture(rng, (40, 56)) for _ in range(3)]).astype(dtype)
    mask = np.zeros((40, 56), bool)
    mask[10:14, 4:50] = True
    signal = described(hs.signals.Signal2D(values))
    wanted = [package.inpaint(one, mask, dtype=dtype, quality="fast") for one in values]
    for given in (mask, np.stack([mask] * 3), hs.signals.Signal2D(mask)):
        made = plugin.fill(signal, given, quality="fast")
        same_but_for_data(made, signal)
        np.testing.assert_array_equal(made.data, wanted)
    np.testing.assert_array_equal(signal.data, values)
    if dtype != "u1":
        gaps = hs.signals.Signal2D(np.where(mask, np.nan, values).astype(dtype))
        np.testing.assert_array_equal(plugin.fill(gaps, quality="fast").data, wanted)


def test_spectra_one_by_one(rng, plugin, package):
    spectra = np.cumsum(rng.random((2, 3, 60)), axis=-1)
    spectra[rng.random(spectra.shape) < 0.3] = np.nan
    made = plugin.fill(described(hs.signals.Signal1D(spectra)))
    for at in np.ndindex(2, 3):
        np.testing.assert_array_equal(made.data[at], package.recover(spectra[at]))


def scanned(rng, components=3, channels=30):
    maps = np.stack([picture(rng, (40, 48)) for _ in range(components)], axis=-1)
    clean = maps @ rng.random((components, channels))
    return clean, rng.random(clean.shape[:2]) < 0.4


def test_a_scan_of_spectra(rng, plugin, package):
    clean, visited = scanned(rng)
    seen = np.where(visited[..., None], clean, np.nan)
    signal = described(hs.signals.Signal1D(seen))
    made = plugin.fill_scan(signal, quality="fast")
    same_but_for_data(made, signal)
    wanted = package.recover(seen, visited, channel_axis=-1, quality="fast")
    np.testing.assert_array_equal(made.data, wanted)
    masked = plugin.fill_scan(hs.signals.Signal1D(clean), ~visited, quality="fast")
    np.testing.assert_array_equal(masked.data, wanted)
    few = plugin.fill_scan(signal, components=3, quality="fast")
    np.testing.assert_array_equal(few.data[visited], clean[visited])
    error, other = (np.sqrt(np.mean((one.data - clean)[~visited] ** 2)) for one in (few, made))
    assert error < 1.25 * other and np.linalg.matrix_rank(few.data[~visited], tol=1e-6) == 3


def test_a_scan_of_patterns_of_integers(rng, plugin):
    clean, visited = scanned(rng, channels=48)
    counts = rng.poisson(clean / 50).astype("u2").reshape(40, 48, 6, 8)
    signal = described(hs.signals.Signal2D(counts))
    made = plugin.fill_scan(signal, hs.signals.BaseSignal(~visited).T, components=3, sigma="auto",
                            quality="fast")
    same_but_for_data(made, signal)
    errors = (made.data - clean.reshape(made.data.shape) / 50)[~visited]
    assert errors.std() < 0.6 * (clean / 50)[~visited].std()


def test_mistakes(rng, plugin, package):
    clean, visited = scanned(rng)
    signal = hs.signals.Signal1D(clean)
    for call, said in ((lambda: plugin.fill(clean), "give one of HyperSpy"),
                       (lambda: plugin.fill(signal.as_lazy()), "compute"),
                       (lambda: plugin.fill(hs.signals.Signal2D(np.ones((9, 9), int)),
                                            np.ones((9, 9))), "nothing of it is known"),
                       (lambda: plugin.fill(signal, np.ones((3, 4), bool)), "mask has shape"),
                       (lambda: plugin.fill_scan(signal, visited[:9]), "navigation_mask has shape"),
                       (lambda: plugin.fill_scan(signal, visited | True), "no pixel"),
                       (lambda: plugin.fill_scan(signal.inav[0, 0], visited), "no navigation axes"),
                       (lambda: plugin.fill(hs.signals.Signal2D(clean * 1j)), "real numbers")):
        with pytest.raises(package.CsrecError, match=said):
            call()


def test_the_page(rng, plugin):
    names = page_block("csrecover_hyperspy", rng)
    assert np.isfinite(names["full"].data).all()
    image = names["image"][..., None] * np.linspace(1, 2, 50)
    assert np.abs(names["spectra"].data - image)[names["mask"]].max() < 1e-9
