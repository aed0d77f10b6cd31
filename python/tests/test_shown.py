# SPDX-License-Identifier: BSD-3-Clause
"""Tables and pictures of notebooks, and plots."""
import base64
import io
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import csrecover as cs
from conftest import picture, problem


class Cells(HTMLParser):
    """Names and values of a table; fails where tags are not closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.rows = [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("th", "td"):
            self.rows.append(data)

    def found(self):
        return dict(zip(self.rows[::2], self.rows[1::2]))


def pixels(page):
    image = pytest.importorskip("PIL.Image")
    data = re.search('src="data:image/png;base64,([^"]*)"', page)[1]
    return np.asarray(image.open(io.BytesIO(base64.b64decode(data))))


@pytest.mark.parametrize("channels", ((), (3,)))
def test_measurement(rng, channels):
    shape = tuple(int(n) for n in rng.integers(9, 40, 2))
    image = rng.integers(0, 256, (*shape, *channels)).astype(np.uint8)
    scan = cs.sample(image, 0.4, channel_axis=-1 if channels else None)
    page = scan._repr_html_()
    cells = Cells(page).found()
    assert cells["shape"] == " x ".join(map(str, shape))
    assert cells["samples"].startswith(f"{len(scan.y)} (")
    shown = pixels(page)
    mask = scan.mask
    np.testing.assert_array_equal(shown[..., -1], 255 * mask)
    values = shown[..., :-1] if channels else shown[..., 0]
    np.testing.assert_array_equal(values[mask], image[mask])


def test_large_and_other_measurements(rng):
    big = cs.sample(picture(rng, 700), 0.3)
    assert max(pixels(big._repr_html_()).shape) <= 256
    line = cs.sample(rng.random(50), 0.5)
    assert "<img" not in line._repr_html_()
    flat = cs.Measurement(np.full(3, 5.0), np.array([0, 7, 9]), (4, 4))
    assert np.isin(pixels(flat._repr_html_())[..., 0][flat.mask], range(256)).all()
    Cells(line._repr_html_())


def test_others(rng):
    scan = cs.sample(picture(rng, 32), 0.5)
    _, info = cs.recover(scan, quality="fast", return_info=True)
    cells = Cells(info._repr_html_()).found()
    assert cells["method"] == info.method and cells["outcome"] == info.outcome
    A, _, y = problem(rng, 40, 80, 4)
    for rhs in (y, np.stack([y, 2 * y], 1)):
        found = cs.solve(A, rhs, atoms=4)
        assert Cells(found._repr_html_()).found()["not 0"] == str(np.count_nonzero(found.x))
    model = cs.learn_pca(rng.random((30, 5)), components=2)
    model.set_text("source", "<b>&")
    cells = Cells(model._repr_html_()).found()
    assert cells["components"] == "2 x 5" and cells["source"] == "<b>&"


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    yield pyplot
    pyplot.close("all")


def test_plots_have_the_numbers(rng, pyplot):
    image = picture(rng, 32)
    scan = cs.sample(image, 0.4)
    _, info = cs.recover(scan, method="grids", shifts=4, return_info=True)
    ax = info.plot()
    drawn = {line.get_label().split(" (")[0]: line.get_xydata() for line in ax.lines}
    for track in info.tracks[:-1]:
        np.testing.assert_array_equal(drawn[track.name], np.c_[track.iteration, track.residual])
    _, info = cs.recover(scan, method="grids", shifts=4, return_info=True, reference=image, peak=255)
    own = pyplot.subplots()[1]
    assert info.plot(own) is own and "PSNR" in own.get_ylabel()
    np.testing.assert_array_equal(own.lines[0].get_ydata(), info.tracks[0].psnr)
    A, _, y = problem(rng, 40, 80, 4)
    found = cs.solve(A, y, atoms=4)
    np.testing.assert_array_equal(found.plot().lines[0].get_ydata(), found.history)
    many = cs.solve(A, np.stack([y, 2 * y], 1), atoms=4, history=True)
    assert len(many.plot().lines) == 2
    with pytest.raises(cs.ArgumentError, match="history=True"):
        cs.solve(A, np.stack([y, 2 * y], 1), atoms=4).plot()


def test_plot_of_uncertainty(rng, pyplot):
    image = picture(rng, 32)
    signal, error = cs.recover(cs.sample(image, 0.4), quality="fast", return_uncertainty=True)
    axes = cs.plot_uncertainty(signal, error)
    for ax, values in zip(axes, (signal, error)):
        np.testing.assert_array_equal(ax.images[0].get_array(), values)
    cs.plot_uncertainty(np.stack([signal] * 3, 2), np.stack([error] * 3, 2))
    cs.plot_uncertainty(signal[0], error[0], pyplot.subplots(1, 2)[1])
    with pytest.raises(cs.ArgumentError, match="shape"):
        cs.plot_uncertainty(signal, error[0])
    with pytest.raises(cs.ArgumentError, match="axes"):
        cs.plot_uncertainty(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))


def test_without_matplotlib(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    A, _, y = problem(rng, 40, 80, 4)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        cs.solve(A, y, atoms=4).plot()
    with pytest.raises(ImportError, match="pip install matplotlib"):
        cs.plot_uncertainty(np.eye(3), np.eye(3))
