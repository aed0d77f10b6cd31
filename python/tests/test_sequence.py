# SPDX-License-Identifier: BSD-3-Clause
"""Frames one after another, against the C interface and the tool; an axis of time of an array."""
import itertools
import subprocess

import numpy as np
import pytest
from conftest import picture

import csrecover as cs
from csrecover._library import NULL, check, ffi, lib, new_error, pointer
from csrecover._measurement import to_c
from csrecover._options import options_of

WAY = {"quality": "fast", "backend": "cpu", "threads": 1}
BACKEND = ffi.new("char[]", b"cpu")


def film(rng, frames=5, side=24, channels=None):
    """[T, H, W] or [T, H, W, C]: a picture that moves, some of it NaN in all channels."""
    truth = picture(rng, side + frames)
    made = np.stack([truth[t:t + side, t // 2:t // 2 + side - 3] for t in range(frames)])
    known = rng.random(made.shape) < 0.35
    known[:, 0, 0] = True
    if channels:
        made = made[..., None] * rng.uniform(0.3, 1.0, channels)
        known = known[..., None]
    return np.where(known, made, np.nan)


def by_library(frames, uncertainty=False):
    """What the C interface gives, whose measurements are made here."""
    found, error, handle, keep, room = [], new_error(), None, [], ffi.new("csrec_sequence **")
    for k, frame in enumerate(frames):
        known = np.isfinite(frame if frame.ndim == 2 else frame[..., 0])
        made, own = to_c(cs.Measurement(frame[known], np.flatnonzero(known), known.shape))
        if handle is None:
            options = options_of(made, keep, by_library, **{**WAY, "quality": None})
            lib.csrec_sequence_preset(0, made, options)
            options.threads, options.backend = 1, BACKEND
            check(lib.csrec_sequence_create(options, room, error), error)
            handle = ffi.gc(room[0], lib.csrec_sequence_destroy)
        check(lib.csrec_sequence_push(handle, made, error), error)
        del own
        if k + 1 == len(frames):
            lib.csrec_sequence_end(handle)
        while lib.csrec_sequence_ready(handle):
            signal, errors = np.empty(frame.shape), np.empty(frame.shape)
            check(lib.csrec_sequence_take(handle, pointer(signal),
                                          pointer(errors) if uncertainty else NULL, NULL, error), error)
            found.append((signal, errors) if uncertainty else signal)
    return found


@pytest.mark.parametrize("channels", (None, 3))
def test_frames_are_as_of_the_library(rng, channels):
    frames = film(rng, channels=channels)
    axis = None if channels is None else -1
    wanted = by_library(frames)
    found = list(cs.sequence(frames, channel_axis=axis, **WAY))
    assert len(found) == len(wanted) == len(frames)
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other)
    known = np.isfinite(frames[0] if channels is None else frames[0][..., 0])
    scans = [cs.Measurement(frame[np.isfinite(frame).reshape(*known.shape, -1).all(-1)],
                            np.flatnonzero(np.isfinite(frame).reshape(*known.shape, -1).all(-1)),
                            known.shape) for frame in frames]
    for one, other in zip(cs.sequence(scans, **WAY), wanted):
        np.testing.assert_array_equal(one, other)
    if channels:
        first = np.moveaxis(frames, -1, 1)
        for one, other in zip(cs.sequence(first, channel_axis=0, dtype="f4", **WAY), wanted):
            np.testing.assert_array_equal(one, np.moveaxis(other, -1, 0).astype("f4"))


def test_expected_errors_come_with_a_frame(rng):
    frames = film(rng, frames=3)
    for found, wanted in itertools.zip_longest(cs.sequence(frames, return_uncertainty=True, **WAY),
                                               by_library(frames, uncertainty=True)):
        np.testing.assert_array_equal(found, wanted)


def test_the_tool_gives_the_same(rng, tool, tmp_path):
    frames = film(rng, frames=11)
    for t, frame in enumerate(frames):
        np.save(tmp_path / f"frame_{t}.npy", frame)
    subprocess.run([tool, str(tmp_path), "-o", f"{tmp_path}/out/", "--sequence", "--quality", "fast",
                    "--dtype", "float64", "-q"], check=True)
    for t, found in enumerate(cs.sequence(frames, **WAY)):
        np.testing.assert_array_equal(np.load(tmp_path / f"out/frame_{t}.npy"), found)
    few = [tmp_path / f"frame_{t}.npy" for t in range(5)]
    subprocess.run([tool, *few, "-o", f"{tmp_path}/own/", "-u", f"{tmp_path}/map/", "--sequence",
                    "--dtype", "float64", "-q"], check=True)
    told = cs.sequence(frames[:5], return_uncertainty=True, backend="cpu", threads=1)
    for t, (found, errors) in enumerate(told):
        np.testing.assert_array_equal(np.load(tmp_path / f"own/frame_{t}.npy"), found)
        errors_told = np.load(tmp_path / f"map/frame_{t}.npy")
        np.testing.assert_array_equal(errors_told, errors.astype(errors_told.dtype))


def test_frames_of_counts(rng, tool, tmp_path):
    """Beside a change of each frame by hand: Anscombe's, and the closed form of its inverse."""
    gain, offset = 2.0, 5.0
    law = f"poisson:{gain},{offset}"
    shown = film(rng, side=96)
    counts = np.where(np.isnan(shown), np.nan, rng.poisson(np.nan_to_num(shown) * 20 / 255))
    frames = gain * counts + offset
    found = list(cs.sequence(frames, sigma=law, return_uncertainty=True, dtype=float, **WAY))
    hand = cs.sequence(2 * np.sqrt(np.maximum(counts + 0.375, 0)), sigma=1, return_uncertainty=True,
                       dtype=float, **WAY)
    for (signal, errors), (u, e) in zip(found, hand, strict=True):
        d = np.maximum(u, np.sqrt(1.5))
        n = (d ** 2 / 4 + np.sqrt(1.5) / (4 * d) - 11 / (8 * d ** 2) + 5 * np.sqrt(1.5) / (8 * d ** 3)
             - 1 / 8)
        np.testing.assert_allclose(signal, gain * n + offset, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(errors, e * gain * np.sqrt(np.maximum(n, 0) + 0.375), rtol=1e-9)
    plain = list(cs.sequence(counts, sigma="poisson:1", dtype=float, **WAY))
    for told, given, wanted in ((law, frames, [f for f, _ in found]), ("auto", counts, plain)):
        files = [str(tmp_path / f"{k}.npy") for k in range(len(frames))]
        for name, frame in zip(files, given):
            np.save(name, frame)
        subprocess.run([tool, *files, "-o", f"{tmp_path}/out/", "--sequence", "--sigma", told, "-q",
                        "--quality", "fast", "-t", "1", "--dtype", "float64"], check=True)
        again = cs.sequence(given, sigma=told, dtype=float, **WAY)
        for k, (frame, other) in enumerate(zip(wanted, again, strict=True)):
            np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{k}.npy"), frame)
            np.testing.assert_array_equal(other, frame)
    counts[0] = np.nan
    assert np.isfinite(list(cs.sequence(counts, sigma="poisson:1", **WAY))).all()
    with pytest.raises(cs.DataError, match="sample"):
        list(cs.sequence(counts, sigma="poisson", **WAY))


def test_an_endless_film_is_taken_lazily(rng):
    frames, taken = film(rng), []

    def endless():
        for k in itertools.count():
            taken.append(k)
            yield frames[k % len(frames)]
    results = cs.sequence(endless(), **WAY)
    assert not taken
    with cs.Sequence(**WAY) as live:
        assert live.delay == 0
        live.push(frames[0])
        delay = live.delay
    for k in range(12):
        next(results)
        assert len(taken) <= k + 1 + delay
    results.close()


def test_a_live_sequence(rng):
    frames, found = film(rng), []
    with cs.Sequence(**WAY) as live:
        for k, frame in enumerate(frames):
            found += live.push(np.where(np.isfinite(frame), frame, 0), np.isfinite(frame))
            assert len(found) == max(0, k + 1 - live.delay)
        found += live.finish()
        with pytest.raises(cs.ArgumentError, match="ended"):
            live.push(frames[0])
    np.testing.assert_array_equal(found, by_library(frames))
    told = []
    with cs.Sequence(callback=lambda now: told.append(now.stage), **WAY) as live:
        live.push(frames[0])
        live.finish()
    assert told
    whole = picture(rng, 24)  # known everywhere
    np.testing.assert_array_equal(next(cs.sequence([whole], **WAY)), whole)
    with pytest.raises(cs.UnknownArgumentError, match="zzz"):
        cs.sequence([], zzz=1)


@pytest.mark.parametrize("channels", (None, 3))
def test_a_frame_without_samples_is_recovered_from_others(rng, channels, tool, tmp_path):
    frames = film(rng, frames=13, channels=channels)
    frames[2], frames[4:12] = np.nan, np.nan
    way, axis = {"backend": "cpu", "threads": 1}, None if channels is None else -1
    live, found = cs.Sequence(channel_axis=axis, return_uncertainty=True, **way), []
    with pytest.warns(cs.RecoveryWarning, match="nothing is known"):
        for frame in frames:
            found += live.push(frame)
        found += live.finish()
    lost = [t for t in range(13) if np.isnan(frames[max(0, t - live.delay):t + live.delay + 1]).all()]
    assert len(found) == 13 and lost
    for t, (signal, errors) in enumerate(found):
        assert (np.isnan(signal) if t in lost else np.isfinite(signal)).all()
        assert (np.isnan(errors) if t in lost else np.isfinite(errors)).all()
    with pytest.warns(cs.RecoveryWarning, match="no samples"):
        whole = cs.recover(frames, time_axis=0, channel_axis=axis, **way)
    np.testing.assert_array_equal(whole, [signal for signal, _ in found])
    hidden = np.ma.MaskedArray(np.nan_to_num(frames).astype("u1"), np.isnan(frames))
    with pytest.warns(cs.RecoveryWarning, match="nothing is known"):
        kinds = [one.dtype.kind for one in cs.sequence(hidden, channel_axis=axis, dtype="u1", **way)]
    assert kinds == ["f" if t in lost else "u" for t in range(13)]
    for t, frame in enumerate(frames):  # the tool: files of samples, of which some have none
        known = np.isfinite(frame if channels is None else frame[..., 0])
        np.savez(tmp_path / f"f{t}.npz", y=frame[known], index=np.flatnonzero(known), shape=known.shape)
    ended = subprocess.run([tool, str(tmp_path), "-o", f"{tmp_path}/out/", "--sequence", "-t", "1",
                            "--dtype", "float64", "-q"], capture_output=True, text=True)
    assert ended.returncode == 1
    for t, (signal, _) in enumerate(found):
        assert (f"f{t}.npz: nothing is known of it" in ended.stderr) == (t in lost)
        if t not in lost:
            np.testing.assert_array_equal(np.load(tmp_path / f"out/f{t}.npy"), signal)


def test_places_in_the_next_frame(rng, tool, tmp_path):
    frames = film(rng, frames=3)
    for t, frame in enumerate(frames):
        np.save(tmp_path / f"f{t}.npy", frame)
    with cs.Sequence(backend="cpu", threads=1) as live:
        with pytest.raises(cs.ArgumentError, match="no frame is known"):
            live.next(10)
        for frame in frames:
            live.push(frame)
        allowed = rng.random(frames[0].shape) < 0.5
        found = live.next(60, allowed=allowed, seed=4)
        assert len(set(found)) == 60 and allowed.flat[found].all()
        np.testing.assert_array_equal(found, live.next(60, allowed=allowed, seed=4))
        free = live.next(60, seed=4)
        for wrong in (0, frames[0].size + 1):
            with pytest.raises(cs.ArgumentError, match="count"):
                live.next(wrong)
        with pytest.raises(cs.DataError, match="allowed"):
            live.next(5, allowed=allowed[1:])
    for early in ([], ["f2", "f0"]):  # the last four frames count
        names = [f"{tmp_path}/{name}.npy" for name in (*early, "none", "f0", "f1", "f2")[-6:]]
        np.save(tmp_path / "none.npy", np.full(frames[0].shape, np.nan))
        subprocess.run([tool.replace("csrecover", "cssample"), *names, "--next", "60", "--seed",
                        "4", "--sequence", "-o", f"{tmp_path}/n.npz"], check=True)
        np.testing.assert_array_equal(np.load(tmp_path / "n.npz")["index"], free)


def test_what_a_callback_raises_arrives(rng):
    def fail(_now):
        raise KeyError("mine")
    with cs.Sequence(callback=fail, **WAY) as live, pytest.raises(KeyError, match="mine"):
        live.push(film(rng)[0])
        live.finish()


@pytest.mark.parametrize("channels", (None, 2))
def test_time_may_be_any_axis(rng, channels, tool, tmp_path):
    """As if the axes were moved by numpy, there and back; by the tool, too."""
    frames = film(rng, channels=channels)
    axis = None if channels is None else -1
    errors = channels is None
    known = np.isfinite(frames if channels is None else frames[..., 0])
    scan = cs.Measurement(frames[known], np.flatnonzero(known), known.shape, sequence=True)
    wanted = cs.recover(scan, return_uncertainty=errors, **WAY)
    first = cs.recover(frames, time_axis=0, channel_axis=axis, return_uncertainty=errors, **WAY)
    np.testing.assert_array_equal(first, wanted)
    for time in range(1, frames.ndim):
        moved = np.moveaxis(frames, 0, time)
        own = None if channels is None else -1 - (time == 3)
        found = cs.recover(moved, time_axis=time, channel_axis=own, return_uncertainty=errors, **WAY)
        for one, other in zip(found if errors else (found,), wanted if errors else (wanted,)):
            np.testing.assert_array_equal(np.moveaxis(one, time, 0), other)
    fill = rng.random(known.shape) < 0.5
    some = cs.recover(np.moveaxis(frames, 0, 2), time_axis=2, channel_axis=axis, fill=np.moveaxis(fill, 0, 2),
                      **WAY)
    signal = wanted[0] if errors else wanted
    keep = fill | known if channels is None else (fill | known)[..., None]
    np.testing.assert_array_equal(np.moveaxis(some, 2, 0), np.where(keep, signal, np.nan))
    for time in range(3):
        np.save(tmp_path / "in.npy", np.moveaxis(frames, 0, time))
        subprocess.run([tool, tmp_path / "in.npy", "-o", tmp_path / "out.npy", "-u",
                        tmp_path / "e.npy", "--sequence", "--time-axis", str(time), "--quality",
                        "fast", "-t", "1", "-q", "--dtype", "float64",
                        "--channels-last" if channels else "--volume"], check=True)
        np.testing.assert_array_equal(np.moveaxis(np.load(tmp_path / "out.npy"), time, 0), signal)
        told = np.moveaxis(np.load(tmp_path / "e.npy"), time, 0)
        if errors:
            np.testing.assert_array_equal(told, wanted[1].astype(told.dtype))
    # Samples in a list, by their positions in the array as it is.
    moved = np.moveaxis(known, 0, 1)
    listed = cs.recover(np.moveaxis(frames, 0, 1)[moved], moved, time_axis=1, **WAY)
    np.testing.assert_array_equal(np.moveaxis(listed, 1, 0), signal)


def test_guides_have_frames_too(rng, tool, tmp_path):
    frames = film(rng)
    guide = np.stack([np.nan_to_num(frames), rng.random(frames.shape)], -1).astype("f4")
    wanted = cs.recover(frames, time_axis=0, channel_axis=None, guide=guide, **WAY)
    live, found = cs.Sequence(**WAY), []
    for frame, own in zip(frames, guide):
        found += live.push(frame, guide=own)
    np.testing.assert_array_equal(found + live.finish(), wanted)
    moved, beside = np.moveaxis(frames, 0, 2), np.moveaxis(guide, 0, 2)
    turned = cs.recover(moved, time_axis=2, channel_axis=None, guide=beside, **WAY)
    np.testing.assert_array_equal(np.moveaxis(turned, 2, 0), wanted)
    known = np.isfinite(moved)
    cs.write(tmp_path / "film.npz", cs.Measurement(moved[known], np.flatnonzero(known), moved.shape,
                                                   guides=np.moveaxis(beside, -1, 0)))
    subprocess.run([tool, f"{tmp_path}/film.npz", "-o", f"{tmp_path}/x.npy", "--sequence", "--time-axis",
                    "2", "--quality", "fast", "--dtype", "float64", "-q"], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), turned)
    assert (wanted != cs.recover(frames, time_axis=0, channel_axis=None, **WAY)).any()
    still = cs.recover(frames, time_axis=0, channel_axis=None, guide=guide[0], **WAY)
    same = np.broadcast_to(guide[:1], guide.shape)
    np.testing.assert_array_equal(
        still, cs.recover(frames, time_axis=0, channel_axis=None, guide=same, **WAY))


def test_what_is_no_axis_of_time(rng):
    frames = film(rng, channels=3)
    for wrong in (3, -1, 4, "time", True):
        with pytest.raises(cs.ArgumentError, match="time_axis"):
            cs.recover(frames, time_axis=wrong, channel_axis=-1, **WAY)
    with pytest.raises(cs.ArgumentError, match="time_axis"):
        cs.recover(frames[0, ..., 0], time_axis=0, **WAY)
    with pytest.raises(cs.ArgumentError, match="reference"):
        cs.recover(frames, time_axis=0, channel_axis=-1, reference=frames, peak=1.0, **WAY)


def test_a_fit_goes_along_with_the_frames(rng):
    frames = film(rng, 3)
    way = {"method": "beside", "vote": 0, "channel_axis": None} | WAY
    del way["quality"]
    try:
        plain = cs.recover(frames, time_axis=0, **way)
    except cs.FileError:
        pytest.skip("no prior is installed")
    fitted = cs.recover(frames, time_axis=0, steps=8, **way)
    assert np.isfinite(fitted).all() and not np.array_equal(fitted, plain)
    np.testing.assert_array_equal(np.stack(list(cs.sequence(frames, steps=8, **way))), fitted)


def test_guides_of_each_frame(rng):
    frames = film(rng)
    guides = [np.cos(np.nan_to_num(frame) / 9.0) for frame in frames]
    live, wanted = cs.Sequence(**WAY), []
    for frame, guide in zip(frames, guides):
        wanted += live.push(frame, guide=guide)
    wanted += live.finish()
    for given in (guides, tuple(guides), iter(guides)):
        np.testing.assert_array_equal(np.stack(list(cs.sequence(frames, given, **WAY))), np.stack(wanted))
    for same in (guides[0], {"light": guides[0]}):
        found = list(cs.sequence(frames, same, **WAY))
        np.testing.assert_array_equal(np.stack(found),
                                      np.stack(list(cs.sequence(frames, [guides[0]] * 5, **WAY))))
    with pytest.raises(cs.ArgumentError, match="before frame 2"):
        list(cs.sequence(frames, guides[:2], **WAY))


def test_a_measurement_keeps_that_it_is_a_sequence(rng):
    frames = film(rng)
    known = np.isfinite(frames)
    scan = cs.Measurement(frames[known], np.flatnonzero(known), frames.shape, sequence=True)
    made, keep = to_c(scan)
    assert made.sequence and not to_c(cs.Measurement(scan.y, scan.index, scan.shape))[0].sequence
    from csrecover._measurement import from_c
    assert from_c(made).sequence
    del keep


def test_a_field_with_time_is_a_sequence(rng):
    xr = pytest.importorskip("xarray")
    import csrecover.xarray  # noqa: F401
    frames = film(rng)
    wanted = cs.recover(frames, time_axis=0, channel_axis=None, **WAY)
    volume = cs.recover(frames, channel_axis=None, **WAY)
    days = np.datetime64("2020-01-01", "ns") + np.arange(len(frames)) * np.timedelta64(1, "D")
    for field in (xr.DataArray(frames, dims=("time", "y", "x")),
                  xr.DataArray(frames, dims=("day", "y", "x"), coords={"day": days})):
        turned = field.transpose("y", "x", ...)
        with pytest.warns(UserWarning, match="time_axis=None"):
            found = turned.csrecover.recover(channel_axis=None, **WAY)
        assert found.dims == turned.dims
        np.testing.assert_array_equal(found.transpose(*field.dims), wanted)
        named = cs.recover(turned, time_axis=field.dims[0], channel_axis=None, **WAY)
        np.testing.assert_array_equal(named, found)
        np.testing.assert_array_equal(cs.recover(field, time_axis=None, channel_axis=None, **WAY), volume)
        single = list(cs.sequence((field[t] for t in range(len(frames))), **WAY))
        assert all(one.dims == ("y", "x") for one in single)
        np.testing.assert_array_equal(np.stack(single), by_library(frames))
    with pytest.raises(cs.ArgumentError, match="dims"):
        cs.recover(field, time_axis="hour", channel_axis=None, **WAY)


def test_frames_of_rays(rng):
    """One after another they are as in an array, whose rays and guides are told for all frames."""
    light, rays = rng.gamma(1.0, 1.0, (5, 16, 18, 3)), rng.integers(0, 3, (5, 16, 18)).astype(float)
    rays[3] = 0  # a frame that was dropped
    light[1, 2, 3, 0], rays[1, 2, 3] = np.inf, 1.0
    albedo = rng.uniform(0.1, 0.9, (5, 16, 18, 3))
    with pytest.warns(cs.RecoveryWarning, match="left out: 1 of"):
        wanted = cs.recover(light, rays=rays, guide={"albedo": albedo}, channel_axis=-1, time_axis=0, **WAY)
    with pytest.warns(cs.RecoveryWarning, match="left out: 1 of"):
        found = list(cs.sequence(light, [{"albedo": a} for a in albedo], list(rays), channel_axis=-1, **WAY))
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(cs.ArgumentError, match="rays: ends before frame 2"):
        list(cs.sequence(light, rays=iter(rays[:2]), channel_axis=-1, **WAY))
