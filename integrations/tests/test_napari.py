# SPDX-License-Identifier: BSD-3-Clause
"""The plug-in of napari by its manifest, in a viewer without a window."""
import os
import sys

import numpy as np
import pytest
from conftest import picture, place

os.environ.setdefault("QT_QPA_PLATFORM", "xcb" if "DISPLAY" in os.environ else "offscreen")
napari = pytest.importorskip("napari")
npe2 = pytest.importorskip("npe2")


@pytest.fixture(scope="module")
def manager(tmp_path_factory, package):
    folder = tmp_path_factory.mktemp("plugin")
    place("napari", folder, ["csrecover_napari"])
    sys.path.insert(0, str(folder))
    found = npe2.PluginManager.instance()
    found.discover()
    assert "csrecover-napari" in found
    yield found
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def filled(manager):
    from csrecover_napari import filled
    return filled


@pytest.fixture(scope="module")
def viewer(manager):
    if "DISPLAY" not in os.environ:
        pytest.skip("no display for the viewer's OpenGL: run under xvfb-run")
    made = napari.Viewer(show=False)
    yield made
    made.close()


def hole(shape=(64, 64)):
    mask = np.zeros(shape, int)
    mask[..., 20:26, 8:50] = 3
    return mask


def test_the_manifest(manager):
    manifest = manager.get_manifest("csrecover-napari")
    commands = {one.id: one for one in manifest.contributions.commands}
    for widget in manifest.contributions.widgets:
        assert callable(manager.commands.get(widget.command))
    (data, options, kind), = commands["csrecover-napari.sample"].exec()
    assert kind == "image" and 0.7 < np.isnan(data).mean() < 0.8


def test_the_widget_in_a_viewer(rng, viewer, package):
    values = picture(rng, (64, 64)).astype("u1")
    image = viewer.add_image(values, name="cells", scale=(2, 3), translate=(5, -7),
                             colormap="magma", metadata={"by": "me"})
    viewer.add_labels(hole(), name="scratch", scale=(2, 3), translate=(5, -7))
    dock, widget = viewer.window.add_plugin_dock_widget("csrecover-napari", "Fill gaps")
    widget.image.value, widget.mask.value = image, viewer.layers["scratch"]
    widget.quality.value = "fast"
    worker = widget()
    from qtpy.QtTest import QTest
    for _ in range(600):
        if "cells filled" in viewer.layers:
            break
        QTest.qWait(50)
    made = viewer.layers["cells filled"]
    wanted = package.inpaint(values, hole(), dtype="u1", quality="fast")
    np.testing.assert_array_equal(made.data, wanted)
    for name in ("scale", "translate", "metadata", "contrast_limits", "gamma"):
        np.testing.assert_equal(getattr(made, name), getattr(image, name))
    assert made.colormap.name == "magma" and worker is not None


def test_shapes_lie_where_they_are_drawn(rng, filled, package):
    from napari.layers import Image, Shapes
    values = picture(rng, (64, 64))
    values[21:26, 9:50] = 999
    image = Image(values, scale=(2, 2), translate=(100, 50))
    corners = np.array([[140, 66], [140, 150], [152, 150], [152, 66]])
    shapes = Shapes([corners], shape_type="rectangle")
    made, options, kind = filled(image, shapes, quality="fast")
    changed = np.argwhere(made != values)
    assert np.all(changed.min(0) >= (19, 7)) and np.all(changed.max(0) <= (27, 51))
    mask = np.zeros((64, 64), bool)
    mask[20:27, 8:51] = True
    np.testing.assert_array_equal(made, package.inpaint(values, mask, quality="fast"))
    none, _, _ = filled(image, Shapes(), quality="fast")
    np.testing.assert_array_equal(none, values)


def test_stacks_colours_and_nan(rng, filled, package):
    from napari.layers import Image, Labels
    stack = np.stack([picture(rng, (64, 64)) for _ in range(3)]).astype("u2")
    one, stack_mask = Labels(hole()), hole(stack.shape)
    stack_mask[1] = 0
    made = filled(Image(stack), one, quality="fast")[0]
    wanted = [package.inpaint(each, hole(), dtype="u2", quality="fast") for each in stack]
    np.testing.assert_array_equal(made, wanted)
    made = filled(Image(stack), Labels(stack_mask), quality="fast")[0]
    np.testing.assert_array_equal(made, [wanted[0], stack[1], wanted[2]])
    made = filled(Image(stack), Labels(stack_mask), quality="fast", volume=True)[0]
    volume = package.inpaint(stack, stack_mask, dtype="u2", quality="fast")
    np.testing.assert_array_equal(made, volume)
    colours = np.moveaxis(stack, 0, -1).astype("u1")
    made = filled(Image(colours, rgb=True), one, quality="fast")[0]
    wanted = package.inpaint(colours, hole(), channel_axis=-1, dtype="u1", quality="fast")
    np.testing.assert_array_equal(made, wanted)
    clear = np.concatenate([colours, np.where(hole()[..., None], 0, 255).astype("u1")], -1)
    made = filled(Image(clear, rgb=True), quality="fast")[0]
    np.testing.assert_array_equal(made[..., :3], wanted)
    assert (made[..., 3] == 255).all()
    gaps = np.where(hole(), np.nan, stack[0]).astype("f4")
    made = filled(Image(gaps), quality="fast", within=1)[0]
    assert made.dtype == np.float32 and 0 < np.isnan(made).sum() < (hole() > 0).sum()


def test_mistakes(rng, filled):
    from napari.layers import Image, Labels
    values = picture(rng, (64, 64)).astype("u1")
    for layer, mask, said in ((Image(values), Labels(hole((32, 64))), "mask has shape"),
                              (Image(values), Labels(np.ones((64, 64), int)), "nothing of it"),
                              (Image([values, values[::2, ::2]], multiscale=True), None,
                               "several scales")):
        with pytest.raises(ValueError, match=said):
            filled(layer, mask)
    with pytest.raises(ValueError, match="within"):
        filled(Image(np.zeros((9, 9, 3), "u1"), rgb=True), None, within=1)
