# SPDX-License-Identifier: BSD-3-Clause
"""Frames and guides: what is moved is the same scene, planes are those of the words of network.py,
and a network that takes them begins as the one for single pictures."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from test_training import TINY, random_network, rng, seed, weights  # noqa: E402, F401

import beside  # noqa: E402
import network  # noqa: E402
import scenes  # noqa: E402
import things  # noqa: E402
import train  # noqa: E402
from draws import Draws  # noqa: E402
from tones import Palette  # noqa: E402


def still(motion):
    """Without movement of any kind."""
    zeros = [torch.zeros_like(t) for t in motion.camera]
    motion.camera, motion.shapes = list(zeros), list(zeros)
    motion.turn = motion.zoom = zeros[0]
    return motion


@pytest.fixture
def leaves(seed):  # noqa: F811
    d = Draws("cpu", seed, 21)
    tables = scenes.noise_tables(Draws("cpu", seed, 22), 64)
    shapes, surface = things.leaves(d, Palette(d, 2, 1), 48, 1, tables)
    return d, shapes, surface, lambda s, f: scenes.paint(s, f, scenes.front(s, 48), tables)


def differ(a, b):
    """Share of pixels; an edge may move by rounding."""
    return ((a - b).abs() > 0.5).float().mean().item()


def test_what_does_not_move_is_the_same_picture(leaves):
    d, shapes, surface, paint = leaves
    motion = still(beside.Motion(d, shapes, 48, 1))
    assert differ(paint(*motion.at(3.0, shapes, surface)), paint(shapes, surface)) < 0.01


def test_the_camera_moves_shapes_and_textures(leaves):
    d, shapes, surface, paint = leaves
    motion = still(beside.Motion(d, shapes, 48, 1))
    motion.camera = [torch.full((2, 1), 2.0), torch.full((2, 1), -3.0)]
    now, then = paint(shapes, surface), paint(*motion.at(2.0, shapes, surface))
    assert differ(then[..., :-6, 4:], now[..., 6:, :-4]) < 0.01
    assert differ(then, now) > 0.1


def test_zoom_and_turn_are_about_the_middle(leaves):
    d, shapes, surface, paint = leaves
    motion = still(beside.Motion(d, shapes, 48, 1))
    motion.turn = torch.full((2, 1), np.pi / 2)  # a quarter
    then = paint(*motion.at(1.0, shapes, surface))
    assert differ(then, paint(shapes, surface).rot90(-1, (2, 3))) < 0.02
    motion.turn, motion.zoom = torch.zeros(2, 1), torch.full((2, 1), np.log(3.0))
    then = paint(*motion.at(1.0, shapes, surface))
    wanted = paint(shapes, surface)[..., 17:31, 17:31]
    assert differ(then[..., 4:46:3, 4:46:3], wanted) < 0.03  # pixel 24 + 3 (j + 0.5 - 24)


def test_planes_are_those_of_their_words(seed):  # noqa: F811
    d, (T, G) = Draws("cpu", seed, 23), (3, 2)
    values, guides = d.between(0, 255, 2, T, 9, 11), d.between(-5, 9, 2, G, 9, 11)
    known = (d.uniform(2, T, 9, 11) < 0.4).float()
    known[:, 0], known[:, 1, 0, 0], guides[0, 1] = 0, 1, 0
    X, filled, mean, unit = network.beside_planes(values, known, torch.full((2, 1, 1, 1), 3.0), guides)
    for b in range(2):
        v, k = values[b].double().numpy(), known[b].numpy() > 0
        assert abs(mean[b].item() - v[k].mean()) < 1e-3
        assert abs(unit[b].item() - np.hypot(v[k].std(), 1)) < 1e-3
        z = np.where(k, (v - v[k].mean()) / np.hypot(v[k].std(), 1), 0)
        np.testing.assert_allclose(X[b, T:2 * T], z, atol=1e-4)
        np.testing.assert_array_equal(X[b, 2 * T:3 * T], k)
        np.testing.assert_allclose(X[b, 3 * T], 3 / unit[b].item(), rtol=1e-5)
        np.testing.assert_allclose(X[b, :T][k], z[k], atol=1e-3)
        assert (X[b, 0] == 0).all()  # a frame without samples
        for g, own in enumerate(guides[b].double().numpy()):
            want = ((own - own.mean()) / (own.std() or 1)).clip(-8, 8)
            np.testing.assert_allclose(X[b, 3 * T + 1 + g], want, atol=1e-4)


def fit_by_definition(z, known, guides):
    """The pyramid of local fits in double precision, by solvers and filters of others."""
    ndimage = pytest.importorskip("scipy.ndimage", reason="SciPy is not installed")
    count, planes = len(guides), [np.ones_like(z), *guides, z]
    levels = [np.stack([a * b * known for a in planes for b in planes])]
    while max(levels[-1].shape[1:]) > 1:
        m = np.pad(levels[-1], [(0, 0), *((0, n % 2) for n in levels[-1].shape[1:])])
        levels.append(sum(m[:, y::2, x::2] for y in (0, 1) for x in (0, 1)))
    fit = None
    for level, m in reversed(list(enumerate(levels))):
        whole, shape = max(m.shape[1:]) == 1, m.shape[1:]
        if fit is not None:
            at = np.meshgrid(*(np.clip((np.arange(n) + 0.5) / 2 - 0.5, 0, k - 1)
                               for n, k in zip(shape, fit.shape[1:])), indexing="ij")
            fit = np.stack([ndimage.map_coordinates(f, at, order=1) for f in fit])
        if level == 0 and fit is not None:
            break
        own = np.zeros((count + 1, *shape))
        if not whole:
            m = np.stack([ndimage.gaussian_filter(p, 1.2, mode="constant", radius=4) for p in m])
        n = np.maximum(m[0] * (1 if whole else 4 * np.pi * 1.44), 1e-3)
        for y, x in np.ndindex(shape):
            S = m[:, y, x].reshape(count + 2, count + 2) / max(m[0, y, x], 1e-12)
            C = S[1:, 1:] - np.outer(S[0, 1:], S[0, 1:])
            a = np.linalg.solve(C[:-1, :-1] + (0.1 / n[y, x] + 1e-4) * np.eye(count), C[:-1, -1])
            own[:, y, x] = [*a, S[0, -1] - a @ S[0, 1:-1]]
        q = 1.0 if fit is None else np.clip((n - 5) / 10, 0, 1)
        fit = own if fit is None else q * own + (1 - q) * fit
    half = (z.max() - z.min()) / 2
    return ((fit[:-1] * guides).sum(0) + fit[-1]).clip(z.min() - half, z.max() + half)


@pytest.mark.parametrize("shape", [(21, 34), (1, 9), (40, 3)])
def test_guides_are_fitted_locally(rng, shape):  # noqa: F811
    guides, known = rng.standard_normal((2, *shape)), rng.random(shape) < 0.5
    known[0, 0] = True
    known[: shape[0] // 3, shape[1] // 3:] = False
    z = known * (guides[0] * np.sign(np.arange(shape[1]) - 6) + 0.1 * rng.standard_normal(shape))
    got = network.guided_fit(*(torch.tensor(a, dtype=torch.float32)[None]
                               for a in (z[None], known[None], guides)))[0, 0].numpy()
    np.testing.assert_allclose(got, fit_by_definition(z, known, guides), atol=1e-3)


def test_it_begins_as_the_network_of_single_pictures(rng):  # noqa: F811
    gray = random_network(rng, 1)
    both = network.begun(gray, 5, 2)
    picture, known = rng.uniform(0, 255, (1, 17, 22)), rng.random((17, 22)) < 0.4
    known[0, 0] = True
    clip, masks = np.zeros((5, 17, 22)), np.zeros((5, 17, 22))
    clip[2], masks[2] = picture[0], known
    want = network.recover(gray, picture, known)
    got = network.recover(both, clip, masks, guides=np.zeros((2, 17, 22)))
    torch.testing.assert_close(got, want, rtol=0, atol=2e-5 * want.abs().max().item())


def test_a_broadened_network_is_the_same(rng):  # noqa: F811
    net = network.beside(3, 1, 6, 1)
    net.fill(0.2 * rng.standard_normal(net.flat().numel()))
    wide = network.broadened(net, network.beside(3, 1, [8, 13, 24, 50], 1))
    X = torch.tensor(rng.standard_normal((2, 12, 16, 24)), dtype=torch.float32)
    torch.testing.assert_close(wide(X), net(X), rtol=1e-4, atol=1e-4 * net(X).abs().max().item())
    assert wide.products[3].weight.abs().sum() > net.products[3].weight.abs().sum()


def test_samples_are_of_the_frames_that_there_are(seed):  # noqa: F811
    data = beside.BesideData("cpu", 3, 2, seed=seed, batch=4, size=32, steps=4, reuse=1, slots=4,
                             side=64)
    batches, sorts = data.make(0), set()
    for X in (batch.X for batch in batches):
        known = X[:, 6:9]
        assert ((known == 0) | (known == 1)).all() and (known[:, 1].flatten(1).sum(1) > 0).all()
        assert (X[:, :6].abs() * (known.flatten(2).sum(2) == 0).repeat(1, 2)[..., None, None] == 0).all()
        others, guided = (a.flatten(1).any(1) for a in (known[:, ::2] > 0, X[:, 10:12] != 0))
        sorts |= set(zip(others.tolist(), guided.tolist()))
    assert len(sorts) > 1  # pictures with other frames, and with guides
    kept = data.kept_aside(8)
    share = kept.X[:, 7].mean((1, 2))
    assert (share[0::2] < 0.18).all() and (share[1::2] > 0.12).all()


def test_it_trains_and_is_read_back(tmp_path):
    path = str(tmp_path / "a.npz")
    train.main(["-o", path, "--steps", "3", *TINY, "--frames", "3", "--guides", "2"])
    net, channels, of = network.read(path)
    assert (channels, of) == (1, (3, 2)) and net.products[0].in_channels == 13
    train.main(["-o", str(tmp_path / "b.npz"), "--steps", "3", *TINY, "--frames", "3", "--guides", "2",
                "--from", path])
    assert not np.array_equal(weights(path), weights(tmp_path / "b.npz"))
    for more, words in ((["--frames", "4"], "an odd number"), (["--guides", "-1"], "--guides -1"),
                        (["--guides", "1", "--channels", "3"], "for one channel"),
                        (["--frames", "5", "--from", path], "a model for 1 channels, 3 frames")):
        with pytest.raises(train.Fault, match=words):
            train.main(["-o", path, "--steps", "1", *TINY, *more])
