# SPDX-License-Identifier: BSD-3-Clause
"""Pictures made by formulas."""
import numpy as np
import pytest

import csrecover as cs
from csrecover import datasets


def halved(image):
    h, w = image.shape[0] // 2, image.shape[1] // 2
    return image.reshape(h, 2, w, 2, *image.shape[2:]).mean(axis=(1, 3))


@pytest.mark.parametrize("kind", datasets.kinds())
def test_pictures(kind, rng):
    size = int(rng.integers(48, 120))
    image = datasets.picture(kind, size)
    assert image.shape == (size, size) and image.dtype == np.uint8
    np.testing.assert_array_equal(image, datasets.picture(kind, size))
    assert image.std() > 20 and image.min() < 80 and image.max() > 170
    assert abs(halved(datasets.picture(kind, 2 * size)) - image).mean() < 6  # finer, the same
    others = [datasets.picture(other, size) for other in datasets.kinds() if other != kind]
    assert all((image != other).mean() > 0.2 for other in others)


def test_head_is_that_of_scikit_image():
    data = pytest.importorskip("skimage.data")
    theirs = data.shepp_logan_phantom()
    ours = datasets.picture("head", len(theirs)) / 255
    assert (abs(ours - theirs) > 0.02).mean() < 0.02


def test_colours_and_volume():
    assert datasets.colours(40).shape == (40, 40, 3) and datasets.volume(12).shape == (12, 12, 12)
    scan = cs.sample(datasets.colours(64), 0.4, channel_axis=-1)
    assert cs.psnr(cs.recover(scan), datasets.colours(64)) > 20
    assert datasets.volume(12).std() > 10 and datasets.colours(40).std(axis=2).mean() > 10


def test_wrong_calls():
    for wrong in ({"kind": "cats"}, {"kind": 3}, {"size": 0.5}, {"size": 0}, {"size": True}):
        with pytest.raises(cs.ArgumentError):
            datasets.picture(**wrong)
    for make in (datasets.colours, datasets.volume):
        with pytest.raises(cs.ArgumentError):
            make(-1)
    assert datasets.picture(size=16.0).shape == (16, 16)
