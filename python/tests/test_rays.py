# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of rays and standard deviations of single samples: whole arrays, lists, positions that
come again, what is not finite, files and the tool."""
import subprocess
import warnings

import numpy as np
import pytest

import csrecover as cs

WAY = {"quality": "fast", "backend": "cpu"}


def rendering(rng, channels, shape=(23, 19)):
    """(light [*shape, *channels], rays [*shape], of which half are 0)."""
    light = rng.random((*shape, *channels)) + 1
    return light, rng.integers(1, 9, shape) * (rng.random(shape) < 0.5)


def listed(light, rays):
    """The same as samples in a list."""
    known = rays > 0
    return {"y": light[known], "index": np.flatnonzero(known), "shape": rays.shape, "rays": rays[known]}


def same(one, other):
    np.testing.assert_array_equal(one, other, strict=True)


def refused(call, words):
    with pytest.raises(cs.CsrecError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize("channels, shape", (((), (23, 19)), ((3,), (23, 19)), ((), (61,)), ((2,), (6, 7, 5))))
@pytest.mark.parametrize("sigma", (None, 0.2))
def test_whole_arrays_are_lists(rng, channels, shape, sigma):
    light, rays = rendering(rng, channels, shape)
    wanted, info = cs.recover(**listed(light, rays), sigma=sigma, return_info=True, **WAY)
    assert wanted.shape == light.shape and (info.method == "rendered") == (len(shape) == 2)
    garbage = np.where(rays.reshape(*shape, *[1] * len(channels)) > 0, light, np.nan)
    for given in (light, garbage):
        axes = {"channel_axis": -1} if channels else {"channel_axis": None}
        same(cs.recover(given, rays=rays, sigma=sigma, **axes, **WAY), wanted)
        same(cs.recover(given, rays > 0, rays=rays.astype(float), sigma=sigma, **axes, **WAY), wanted)
    if channels:
        first = cs.recover(np.moveaxis(light, -1, 0), rays=rays, sigma=sigma, channel_axis=0, **WAY)
        same(np.moveaxis(first, 0, -1), wanted)
    one = cs.recover(light, rays > 0, rays=4, sigma=sigma, **axes, **WAY)
    same(one, cs.recover(**listed(light, 4 * (rays > 0)), sigma=sigma, **WAY))


@pytest.mark.parametrize("channels", ((), (3,)))
def test_positions_again_are_averaged_by_rays(rng, channels):
    """Against sums over all samples of a position."""
    index = rng.integers(0, 400, 900)
    y, rays = rng.random((900, *channels)) + 1, rng.integers(1, 9, 900).astype(float)
    total = np.bincount(index, rays, 400)
    weighted = (y.T * rays).T.reshape(900, -1)
    mean = np.stack([np.bincount(index, w, 400) for w in weighted.T], -1) / np.maximum(total, 1)[:, None]
    there = np.flatnonzero(total)
    for more in ({}, {"sigma": 0.3}, {"method": "frames", "sigma": 0.3}):
        way = {k: v for k, v in WAY.items() if "method" not in more or k != "quality"}
        got = cs.recover(y, index=index, shape=(20, 20), rays=rays, **more, **way)
        wanted = cs.recover(mean[there].reshape(-1, *channels), index=there, shape=(20, 20),
                            rays=total[there], **more, **way)
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize("channels", ((), (3,)))
def test_what_is_not_finite_is_left_out_and_counted(rng, channels):
    light, rays = rendering(rng, channels)
    bad = rng.choice(np.flatnonzero(rays), 7, replace=False)
    kept = rays.copy()
    kept.flat[bad] = 0
    wanted = cs.recover(**listed(light, kept), **WAY)
    for value in (np.nan, np.inf, -np.inf):
        light.reshape(rays.size, -1)[bad, 0] = value
        for given in ({"y": light, "channel_axis": -1 if channels else None, "rays": rays}, listed(light, rays)):
            with pytest.warns(cs.RecoveryWarning, match=f"left out: 7 of {np.count_nonzero(rays)}$"):
                same(cs.recover(**given, **WAY), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(cs.recover(**listed(light, kept), **WAY), wanted)
    few = listed(light, rays)
    few["rays"] = few["rays"].astype(float)
    few["rays"][np.isin(few["index"], bad)] = np.nan
    same(cs.recover(**few, **WAY), wanted)


def test_sigma_of_every_shape(rng):
    light, rays = rendering(rng, (3,))
    known, each = rays > 0, rng.random((23, 19, 3)) + 0.1
    samples = {"y": light[known], "index": np.flatnonzero(known), "shape": rays.shape, "backend": "cpu"}
    for method in ("frames", "gaussian"):
        for sigma in (each, np.broadcast_to(each[..., :1], each.shape)):
            scan = cs.Measurement(light[known], samples["index"], rays.shape, sigma[known])
            wanted = cs.recover(scan, method=method, backend="cpu")
            ways = [sigma[known], sigma] + [sigma[known][:, 0], sigma[..., 0]] * (sigma is not each)
            for own in ways:
                same(cs.recover(**samples, sigma=own, method=method), wanted)
                same(cs.recover(light, known, channel_axis=-1, sigma=own, method=method, backend="cpu"), wanted)
            first = cs.recover(np.moveaxis(light, -1, 0), known, channel_axis=0, method=method,
                               sigma=np.moveaxis(sigma, -1, 0), backend="cpu")
            same(np.moveaxis(first, 0, -1), wanted)
    flat = cs.recover(**samples, sigma=np.full(known.sum(), 0.25), method="frames")
    same(flat, cs.recover(**samples, sigma=0.25, method="frames"))


def test_wrong_shapes_are_one_line(rng):
    light, rays = rendering(rng, (3,))
    samples = listed(light, rays)
    n = len(samples["index"])
    for name, wrong in (("rays", np.ones(n + 1)), ("rays", np.ones((n, 3))), ("rays", np.ones((19, 23))),
                        ("sigma", np.ones(n - 1)), ("sigma", np.ones((n, 2))), ("sigma", np.ones((23, 19, 4)))):
        refused(lambda: cs.recover(**samples | {name: wrong}, **WAY), f"^{name} has shape .*give one for each")
    refused(lambda: cs.recover(**samples | {"rays": np.zeros(n)}, **WAY), "no sample has a ray")
    for field, wrong in (("rays", np.ones((n, 3))), ("rays", np.ones(n + 1)), ("sigma", np.ones((n, 2)))):
        scan = cs.Measurement(samples["y"], samples["index"], rays.shape, **{field: wrong})
        refused(lambda: cs.recover(scan, **WAY), f"{field} ha.* shape")
    for field, wrong in (("rays", np.zeros(n)), ("sigma", np.full(n, -1.0))):
        scan = cs.Measurement(samples["y"], samples["index"], rays.shape, **{field: wrong})
        refused(lambda: cs.recover(scan, **WAY), f"array '{field}'.*sample 0")


@pytest.mark.parametrize("channels", ((), (3,)))
def test_files_and_the_tool_give_the_same(rng, tool, tmp_path, channels):
    light, rays = rendering(rng, channels)
    known = rays > 0
    each = rng.random(light.shape)[known] * (rng.random(light.shape)[known] < 0.8)
    for more in ({"rays": rays[known]}, {"sigma": each}, {"rays": rays[known], "sigma": each},
                 {"rays": rays[known], "sigma": 0.5}):
        scan = cs.Measurement(light[known], np.flatnonzero(known), rays.shape, **more)
        assert ("rays" in more) == ("rays" in repr(scan._repr_html_()))
        cs.write(tmp_path / "scan.npz", scan)
        back = cs.read(tmp_path / "scan.npz")
        for name in ("y", "index", "rays", "sigma"):
            if getattr(scan, name) is not None:
                same(np.asarray(getattr(back, name), float), np.asarray(getattr(scan, name), float))
        done = subprocess.run([tool, tmp_path / "scan.npz", "-o", tmp_path / "o.npy", "-Q", "fast", "-q",
                               "--backend", "cpu"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        wanted = cs.recover(scan, **WAY)
        made = np.load(tmp_path / "o.npy")
        same(made, wanted.astype(made.dtype))
        same(wanted, cs.recover(back, **WAY))
