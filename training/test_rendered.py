# SPDX-License-Identifier: BSD-3-Clause
"""Renderings: planes are those of their words, rays are of what is painted and have the mean and
the variance that they promise, and a tiny network learns, stops, goes on, and is checked."""
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from test_training import TINY, rng, seed, weights  # noqa: E402, F401

import check_rendered  # noqa: E402
import network  # noqa: E402
import radiance  # noqa: E402
import rays  # noqa: E402
import rendered  # noqa: E402
import scenes  # noqa: E402
import things  # noqa: E402
import train  # noqa: E402
from draws import Draws  # noqa: E402
from tones import Palette  # noqa: E402

SMALL = ["--renderings", *TINY]


# ---- planes

def spread(values, weight):
    """The pyramid of means by its words, in double precision: values, weight [H][W]."""
    if values.size == 1:
        return values
    height, width = ((n + 1) // 2 for n in values.shape)
    sums, weights = np.zeros((2, height, width))
    for y, x in np.ndindex(values.shape):
        sums[y // 2, x // 2] += weight[y, x] * values[y, x]
        weights[y // 2, x // 2] += weight[y, x]
    coarse = spread(np.where(weights > 0, sums / np.maximum(weights, 1e-30), 0), weights)
    made = values.astype(float).copy()
    for y, x in zip(*np.nonzero(weight == 0)):
        v, u = ((i - 0.5) / 2 for i in (y, x))
        i, j = (int(np.floor(a)) for a in (v, u))
        made[y, x] = sum(
            (v - i if di else 1 - v + i) * (u - j if dj else 1 - u + j)
            * coarse[np.clip(i + di, 0, height - 1), np.clip(j + dj, 0, width - 1)]
            for di in (0, 1) for dj in (0, 1))
    return made


def drawn(rng, shape):  # noqa: F811
    """y, rays, variance, AOVs, of which some depths are 0 or infinite."""
    y = rng.gamma(0.5, 40.0, (3, *shape))
    n = rng.choice([0, 0, 1, 4, 64], shape).astype(float)
    n[0, 0] = 1
    aovs = np.concatenate([rng.random((3, *shape)), rng.uniform(-1, 1, (3, *shape)),
                           rng.gamma(2.0, 3.0, (1, *shape))])
    aovs[6][rng.random(shape) < 0.2] = 0
    aovs[6][rng.random(shape) < 0.1] = np.inf
    variance = np.where(n > 1, rng.gamma(0.5, 100.0, (3, *shape)), -1)
    return y * (n > 0), n, variance, aovs


@pytest.mark.parametrize("clean, there", [(True, (1, 1, 1)), (False, (1, 1, 1)), (True, (0, 1, 0)),
                                          (False, (0, 0, 1)), (True, (0, 0, 0))])
def test_planes_are_those_of_their_words(rng, clean, there):  # noqa: F811
    y, n, variance, aovs = drawn(rng, (13, 22))
    known, share = n > 0, np.full(n.shape, 255.0) if clean else n
    X, unit = radiance.planes(*(torch.tensor(a, dtype=torch.float32)[None] for a in
                                (y, n[None], variance, aovs, share[None])),
                              torch.tensor(there, dtype=torch.float32).view(1, 3, 1, 1))
    U = 4 * ((np.sqrt(y.mean(0)) * n).sum() / n.sum()) ** 2
    assert abs(unit.item() / U - 1) < 1e-4
    of, tone = np.ones_like(known) if clean else known, lambda c: np.log1p(20 * c) / 3
    albedo = aovs[:3] if there[0] else np.full_like(aovs[:3], 0.96)
    hit = (aovs[6] > 0) & np.isfinite(aovs[6])
    g = np.exp(np.log(aovs[6][hit & of]).mean())
    far = np.where(hit, 1 / (1 + g / np.where(hit, aovs[6], 1)), 1)
    own = [*albedo, *(there[1] * aovs[3:6]), there[2] * far]
    own = [spread(np.where(of, a, 0), share) for a in own]
    direct = tone(y / U)
    quotient = tone(y / U / (np.array(own[:3]) + 0.04))
    deviation = np.sqrt(np.maximum(variance, 0)).mean(0) / U
    slope = 20 / 3 / (1 + 20 * (y / U).mean(0))
    want = [*(spread(p, n) for p in direct), *direct, known, np.log2(1 + n) / 6,
            known * np.where(variance[0] < 0, -0.5, np.minimum(deviation * slope, 2)),
            *(spread(np.where(known, p, 0), n) for p in quotient), *own,
            np.minimum(np.log2(1 + share) / 8, 1) * max(there)]
    for k, plane in enumerate(want):
        np.testing.assert_allclose(X[0, k], plane, rtol=2e-3, atol=2e-4, err_msg=f"plane {k}")


def test_output_is_a_mixture(rng):  # noqa: F811
    X, Y = rng.random((2, 20, 3, 4)), rng.normal(0, 1, (2, 8, 3, 4))
    got = radiance.made(*(torch.tensor(a) for a in (X, Y))).numpy()
    back = lambda z: np.expm1(3 * z.clip(-0.01, 4)) / 20  # noqa: E731
    w = 1 / (1 + np.exp(-Y[:, 6:7]))
    lit = (X[:, 12:15] + 0.04) * back(X[:, 9:12] + Y[:, 3:6])
    want = (1 - w) * back(X[:, :3] + Y[:, :3]) + w * lit
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)
    c = rng.random(50) * 4
    np.testing.assert_allclose(back(radiance.tone(torch.tensor(c)).numpy()), c, rtol=1e-6)


def test_light_and_distance_have_any_unit(rng):  # noqa: F811
    net = network.rendered(6, 1)
    net.fill(0.1 * rng.standard_normal(net.flat().numel()))
    y, n, variance, aovs = drawn(rng, (21, 30))
    of = {"albedo": aovs[:3], "normal": aovs[3:6], "depth": aovs[6]}
    one = radiance.recover(net, y, n, of, variance=variance).numpy()
    variance = np.where(variance < 0, -1, 4e6 * variance)
    two = radiance.recover(net, 2e3 * y, n, {**of, "depth": 0.01 * of["depth"]}, variance=variance)
    np.testing.assert_allclose(two.numpy() / 2e3, one, rtol=2e-3, atol=1e-3 * one.max())
    eight = radiance.recover(network.rendered(6, 1), y, n, of, turns=8).numpy()  # makes zeros
    once = radiance.recover(network.rendered(6, 1), y, n, of).numpy()
    np.testing.assert_allclose(eight, once, rtol=1e-3, atol=1e-4 * once.max())


def test_channels_by_themselves_are_gray_pictures(rng):  # noqa: F811
    net = network.rendered(6, 1)
    net.fill(0.1 * rng.standard_normal(net.flat().numel()))
    y, n, variance, aovs = drawn(rng, (16, 18))
    of = {"albedo": aovs[:3], "normal": aovs[3:6], "depth": aovs[6]}
    got = radiance.recover(net, y, n, of, variance=variance, together=False).numpy()
    for k in range(3):
        gray = lambda a: np.stack([a[k]] * 3)  # noqa: E731
        one = radiance.recover(net, gray(y), n, {**of, "albedo": gray(of["albedo"])},
                               variance=gray(variance)).numpy()
        unit = radiance.unit_of(*(torch.tensor(a)[None] for a in (gray(y), n[None]))).item()
        mean = np.expm1(np.log1p(20 * one / unit).mean(0)) / 20 * unit
        np.testing.assert_allclose(got[k], mean, rtol=1e-3, atol=1e-4 * mean.max())


# ---- the library's network

@pytest.mark.parametrize("clean, there, noise, together, turns", [
    (True, ("albedo", "normal", "depth"), False, True, 1),
    (False, ("albedo", "normal", "depth"), True, True, 8), (True, (), True, True, 1),
    (False, ("depth",), True, False, 1), (True, ("albedo", "normal"), True, False, 8)])
def test_the_library_computes_the_same(rng, tmp_path, clean, there, noise, together,  # noqa: F811
                                       turns):
    program = Path(os.environ.get("CSRECOVER_BUILD", "-"), "tests", "test_rendered_passes")
    if not program.exists():
        pytest.skip("CSRECOVER_BUILD has no tests/test_rendered_passes (run-tests.sh sets it)")
    net = network.rendered(6, 1)
    net.fill(0.05 * rng.standard_normal(net.flat().numel()))
    network.write(tmp_path / "model.npz", net, 3, dtype=np.float32, kind="rendered")
    y, n, variance, aovs = drawn(rng, (37, 26))
    of = {"albedo": aovs[:3], "normal": aovs[3:6], "depth": aovs[6]}
    of = {name: of[name] for name in there}
    wanted, plain = (radiance.recover(own, y, n, of, None if clean else n,
                                      variance if noise else None, turns, together).numpy()
                     for own in (net, network.rendered(6, 1)))
    assert np.abs(wanted - plain).max() > 0.02 * plain.max()  # the network did something
    more = {} if clean else {"aov_rays": n}
    if noise:
        more["deviation"] = np.where(variance < 0, -1, np.sqrt(np.maximum(variance, 0)))
    np.savez(tmp_path / "samples.npz", radiance=y, rays=n, wanted=wanted, passes=turns,
             together=1.0 * together, **of, **more)
    ran = subprocess.run([program], env={**os.environ, "CSREC_RENDERED": str(tmp_path)},
                         capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "OK ] it_computes_what_the_training_does" in ran.stdout + ran.stderr
    print(ran.stdout + ran.stderr)


# ---- scenes

class Still(Draws):
    """Nothing that is drawn by chance happens."""

    def chance(self, probability, *shape):
        return torch.zeros(shape, dtype=torch.bool)


def test_phases_are_places_within_a_pixel(seed):  # noqa: F811
    d, size = Still("cpu", seed, 31), 24
    tables = scenes.noise_tables(Draws("cpu", seed, 32), 64)
    shapes, surface = things.leaves(d, Palette(d, 2, 1), size, 1, tables)
    what = rendered.materials(d, shapes)
    made, every = rendered.moved(d, shapes, surface, what, size)
    got = scenes.front(made, size).view(2, 3, 3, size, size).permute(0, 3, 1, 4, 2)
    fine = shapes.clone()
    fine[..., [0, 1, 4]] *= 3
    fine[..., 5:9] /= 9
    fine[..., 11::3] *= 3
    want = scenes.front(fine, 3 * size)
    assert (got.reshape(2, 3 * size, 3 * size) != want).float().mean() < 0.01
    assert len(every["material"]) == 18


def test_a_ball_has_the_normals_of_a_ball(seed):  # noqa: F811
    d, size, r = Draws("cpu", seed, 33), 32, 11.0
    tables = scenes.noise_tables(Draws("cpu", seed, 34), 64)
    at = torch.full((1, 1), 16.0)
    ball = scenes.shape(at, at, d.uniform(1, 1), 0 * at + r, (0 * at + r, 0 * at + r))
    shapes = torch.cat([ball, scenes.everywhere(1, "cpu")], 1)
    every = {name: torch.zeros(1, 2) for name in rendered.materials(d, shapes)}
    every |= {"curved": torch.tensor([[1, 0]]), "phase": torch.zeros(1, 2)}
    seen = scenes.front(shapes, size)
    _, normal = rendered.surface_of(shapes, every, seen, tables)
    y, x = np.mgrid[:size, :size] + 0.5 - 16
    square = (x * x + y * y) / r ** 2
    inside = square < 0.96
    want = np.stack([x / r, y / r, np.sqrt(np.maximum(1 - square, 0))])
    np.testing.assert_allclose(normal[0].numpy()[:, inside], want[:, inside], atol=1e-4)
    assert (normal[0, 2].numpy()[square > 1.1] == 1).all()


def test_scenes_are_what_a_renderer_gives(seed):  # noqa: F811
    tables = scenes.noise_tables(Draws("cpu", seed, 35), 64)
    made = rendered.block(Draws("cpu", seed, 36), 8, 32, tables, parts=4).float()
    made = made.view(8, rendered.PHASES, rendered.WIDTH, 32, 32)
    assert torch.isfinite(made).all() and (made[:, :, [*range(11), 14]] >= 0).all()
    assert (made[:, :, 8:11] <= 1).all() and made[:, :, :6].amax((1, 2, 3, 4)).min() > 0
    long = made[:, :, 11:14].square().sum(2)
    assert (((long - 1).abs() < 1e-2) | (long == 0)).all()
    assert (made[:, 0] != made[:, 4]).any()


# ---- rays

def test_noise_has_its_mean_and_variance(seed):  # noqa: F811
    d, n = Draws("cpu", seed, 37), 400000
    for variance in (0.0, 0.3, 2.0):
        for zeros in (0.0, 0.6, 1.0):
            got = rays.factor(d, torch.full((1, 1, 1, 1), variance), zeros, (1, 1, 1, n))
            assert abs(got.mean() - 1) < 6 * (variance / n) ** 0.5 + 1e-5
            assert abs(got.var() - variance) < 0.15 * variance + 1e-5
            none = 1 - 1 / (1 + zeros * variance)
            assert abs((got == 0).float().mean() - none) < 6 * (none / n) ** 0.5 + 1e-9


def test_a_ray_finds_one_phase(seed):  # noqa: F811
    d = Draws("cpu", seed, 38)
    phases = d.uniform(2, rendered.PHASES, rendered.WIDTH, 16, 16)
    phases[:, :, rendered.VARIANCES] = 0
    light = phases[:, :, :3] + phases[:, :, 3:6]
    y, variance, aovs = rays.traced(d, phases, torch.ones(2, 1, 16, 16))
    off = (light - y[:, None]).abs().amax(2) + (phases[:, :, 8:] - aovs[:, None]).abs().amax(2)
    which = off.argmin(1)
    assert off.amin(1).max() < 1e-5 and len(which.unique()) == rendered.PHASES
    assert (variance == -1).all()
    many = torch.full((2, 1, 16, 16), 1.0)
    many[1] = 8
    y, variance, aovs = rays.traced(d, phases, many)
    assert (variance[1] >= 0).all() and (variance[0] == -1).all()
    mean = light[1].mean(0)
    off, sigma = y[1] - mean, light[1].var(0, unbiased=False).div(8).sqrt()
    assert abs((off / sigma).square().mean() - 1) < 0.3
    assert abs(variance[1].mean() / sigma.square().mean() - 1) < 0.2


def test_rays_have_their_numbers(seed):  # noqa: F811
    d, size = Draws("cpu", seed, 39), 32
    ranks = rays.sampling.poisson_ranks(Draws("cpu", seed, 40), 1, 32)
    density = d.scale(0.2, 5, 200, 1, size, size)
    density = density / density.mean((2, 3), keepdim=True)
    n = rays.rays_of(d, density, ranks)
    assert (n[:, :, 0, 0] >= 1).all() and (n == n.round()).all() and (n >= 0).all()
    assert ((n <= rays.MOST_RAYS) | (n == rays.CONVERGED)).all()
    share = (n > 0).float().mean((1, 2, 3))
    assert (share == 1).float().mean() > 0.1 and (share < 0.3).float().mean() > 0.1
    likely, rare = (density > 1.5).float(), (density < 0.5).float()
    of = [(n.gt(0) * w).sum((1, 2, 3)) / w.sum((1, 2, 3)) for w in (likely, rare)]
    assert (of[0] > of[1] + 0.1).float().mean() > 0.1  # of those that are placed


# ---- training and check

def test_it_trains_stops_and_goes_on(tmp_path):
    whole, parts = str(tmp_path / "a.npz"), str(tmp_path / "b.npz")
    train.main(["-o", whole, "--steps", "6", *SMALL])
    for end in ("2", "6"):
        train.main(["-o", parts, "--steps", "6", "--end-step", end, *SMALL, "--checkpoint",
                    str(tmp_path / "state.pt")])
    assert np.array_equal(weights(whole), weights(parts))
    net, channels, beside = network.read(whole)
    assert (net.kind, channels, beside) == ("rendered", 3, (0, 0))
    assert net.products[0].in_channels == 20 and net.products[-1].out_channels == 8
    train.main(["-o", parts, "--steps", "3", *SMALL, "--from", whole])
    assert not np.array_equal(weights(whole), weights(parts))
    train.main(["-o", parts, "--steps", "1", *TINY])
    for more, words in ((["--from", parts], "kind net"), (["--guides", "1"], "of its own")):
        with pytest.raises(train.Fault, match=words):
            train.main(["-o", whole, "--steps", "1", *SMALL, *more])
    with pytest.raises(train.Fault, match="kind rendered"):
        train.main(["-o", parts, "--steps", "1", *TINY, "--from", whole])


def test_kept_aside_are_of_every_sort(seed):  # noqa: F811
    data = rays.RenderedData("cpu", seed=seed, batch=2, size=32, steps=1, reuse=1, slots=1, side=64)
    kept = data.kept_aside(2)
    assert len(kept.X) == 2 * len(data.sorts)
    share = kept.X[:, 6].mean((1, 2)).view(-1, 2).mean(1)
    assert abs(share[0] - 0.25) < 0.08 and (share[2:5] == 1).all()
    Y = torch.zeros(len(kept.X), 8, 32, 32)
    e, _, count = kept.errors(Y)
    want = radiance.shown(radiance.made(kept.X, Y)) - radiance.shown(kept.target)
    torch.testing.assert_close(e[:4], want[:4])
    exact = kept.X[-1, 6] > 0
    assert (e[-1][:, exact] == 0).all() and count[-1] == 3 * (~exact).sum()
    assert kept.decibels(Y).view(-1, 2).mean(1)[4] > kept.decibels(Y).view(-1, 2).mean(1)[2]


def test_the_check_measures(rng, tmp_path):  # noqa: F811
    ref = rng.random((16, 24, 3)).astype(np.float32)
    scene = {"ref": ref, "clean": rng.random((16, 24, 7)).astype(np.float32),
             "rays": (ref * rng.gamma(1, 1, (16, *ref.shape))).astype(np.float32),
             "beside": rng.random((16, 16, 24, 7)).astype(np.float32), "more": ref}
    lines = []
    found = check_rendered.check(network.rendered(4, 1), scene, lines.append,
                                 (("1", 1, 1), ("1/4 exact", 0.25, 256)))
    assert len(lines) == 2
    first = scene["rays"][0]
    want = -10 * np.log10(np.mean((first.clip(0, 1) ** (1 / 2.2) - ref ** (1 / 2.2)) ** 2))
    assert abs(found["1", "samples"] - want) < 1e-3
    y, n, _, variance = check_rendered.samples(scene, 0.25, 4)
    assert (n > 0).sum() == 96 and np.allclose(variance.mean(), scene["rays"][:4].var(0).mean() / 3)
    mean = scene["rays"][:4].mean(0)
    np.testing.assert_allclose(y.transpose(1, 2, 0)[n > 0], mean[n > 0], rtol=1e-6)
