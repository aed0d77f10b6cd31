# SPDX-License-Identifier: BSD-3-Clause
"""The reconstructor for DeepInverse gives what recover gives."""
import subprocess
import sys

import numpy as np
import pytest

import csrecover as cs

torch = pytest.importorskip("torch", exc_type=ImportError)


class Physics:
    """As deepinv.physics.Inpainting: a mask, and perhaps noise."""

    def __init__(self, mask, sigma=None):
        self.mask = mask
        if sigma is not None:
            self.noise_model = type("Noise", (), {"sigma": torch.tensor(sigma)})


def waves(rng, *shape):
    at = np.indices(shape)
    return 0.5 + 0.3 * np.sin(sum(rng.uniform(0.05, 0.2) * a for a in at)) + 0.02 * rng.random(shape)


def made(y, physics, **options):
    from csrecover.deepinv import Reconstructor
    return Reconstructor(quality="fast", **options)(y, physics)


@pytest.mark.parametrize("channels,shape", ((1, (40, 52)), (3, (36, 30)), (2, (14, 16, 12))))
@pytest.mark.parametrize("lead", (True, False))
def test_one_mask_of_all_channels(rng, channels, shape, lead):
    x = np.stack([[waves(rng, *shape) for _ in range(channels)] for _ in range(2)])
    mask = rng.random(shape) < 0.4
    physics = Physics(torch.from_numpy(mask[None, None] if lead else mask[None]).float())
    y = torch.from_numpy(x * mask).float()
    found = made(y, physics)
    assert found.dtype == torch.float32 and found.shape == y.shape
    for k in range(2):
        holes = np.where(mask, y[k].double().numpy(), np.nan)
        wanted = cs.recover(holes, channel_axis=0, quality="fast")
        assert np.array_equal(found[k].numpy(), wanted.astype(np.float32))
    assert np.array_equal(found.numpy()[..., mask], y.numpy()[..., mask])


def test_a_mask_of_each_channel_and_picture(rng):
    x, mask = np.stack([[waves(rng, 40, 40)] * 2] * 2), rng.random((2, 2, 40, 40)) < 0.4
    found = made(torch.from_numpy(x * mask), Physics(torch.from_numpy(mask)))
    assert found.dtype == torch.float64
    for b in range(2):
        for c in range(2):
            wanted = cs.recover(np.where(mask[b, c], x[b, c], np.nan), quality="fast")
            assert np.array_equal(found[b, c].numpy(), wanted)


def test_noise_of_the_physics_is_told(rng):
    x, mask = waves(rng, 48, 48), rng.random((48, 48)) < 0.5
    holes = np.where(mask, x + 0.05 * rng.standard_normal(x.shape), np.nan)
    y, whole = torch.from_numpy(np.nan_to_num(holes))[None, None], torch.from_numpy(mask)[None]
    given = cs.recover(holes[None], channel_axis=0, quality="fast", sigma=0.05)
    assert np.allclose(made(y, Physics(whole, 0.05))[0].numpy(), given, atol=1e-6)
    other = cs.recover(holes[None], channel_axis=0, quality="fast", sigma=0.2)
    assert np.array_equal(made(y, Physics(whole, 0.05), sigma=0.2)[0].numpy(), other)
    assert not np.allclose(given, other, atol=1e-3)


def test_mistakes_are_told(rng):
    y = torch.from_numpy(waves(rng, 20, 20))[None, None]
    for physics, words in ((object(), "has no mask"),
                           (Physics(torch.ones(1, 20, 21)), "does not fit"),
                           (Physics(torch.ones(20)), "does not fit")):
        with pytest.raises(cs.ArgumentError, match=words):
            made(y, physics)
    with pytest.raises(cs.ArgumentError, match="axes"):
        made(y[0, 0], Physics(torch.ones(20, 20)))


def test_deepinverse_itself(rng):
    deepinv = pytest.importorskip("deepinv", exc_type=ImportError)
    x = torch.from_numpy(np.stack([waves(rng, 40, 40) for _ in range(3)]))[None].float()
    mask = torch.from_numpy(rng.random((1, 40, 40)) < 0.4).float().expand(3, -1, -1)
    physics = deepinv.physics.Inpainting(img_size=(3, 40, 40), mask=mask)
    found = made(physics(x), physics)
    holes = np.where(mask.numpy() > 0, x[0].double().numpy(), np.nan)
    wanted = cs.recover(holes, channel_axis=0, quality="fast").astype(np.float32)
    assert np.array_equal(found[0].numpy(), wanted)
    noisy = deepinv.physics.Inpainting(img_size=(3, 40, 40), mask=mask,
                                       noise_model=deepinv.physics.GaussianNoise(sigma=0.1))
    assert not np.array_equal(made(physics(x), noisy).numpy(), found.numpy())


def test_torch_is_not_imported_by_the_package():
    code = "import csrecover, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
