# SPDX-License-Identifier: BSD-3-Clause
"""Tiles one by one, here, in other processes and by Dask, have the bits of the whole."""
import multiprocessing
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import picture

import csrecover as cs

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "dask_tiles.py"


def blended(plan, parts):
    channels = () if plan.channels is None else (plan.channels,)
    whole = np.full((*plan.shape, *channels), np.nan, plan.dtype)
    for k in range(len(plan)):
        assert np.isnan(whole[plan.core(k)]).all()
        whole[plan.core(k)] = plan.blend(k, [parts[j] for j in plan.near(k)])
    return whole


def recover_one(packed, k, part):
    return pickle.loads(packed).recover(k, part)


@pytest.mark.parametrize("options, shape", (
    ({"quality": "fast", "tile": 90000}, (600, 620)),
    ({"quality": "fast", "tile": 180000, "sigma": 4.0, "scale": (0, 255)}, (560, 530, 3)),
    ({"quality": "balanced", "tile": 40000}, (520, 100)),
    ({"quality": "best", "method": None}, (80, 90))))
def test_bits_of_the_whole(rng, options, shape):
    truth = picture(rng, max(shape[:2]))[:shape[0], :shape[1]]
    scan = np.stack([truth, 255 - truth, truth / 2], -1).astype(np.float32) if shape[2:] else truth
    scan[rng.random(shape[:2]) < 0.75] = np.nan
    axis = {"channel_axis": -1} if shape[2:] else {}
    options = {key: value for key, value in options.items() if value is not None}
    wanted = cs.recover(scan, backend="cpu", **axis, **options)
    plan = cs.tiles(scan, backend="cpu", **axis, **options)
    assert len(plan) == np.prod(plan.grid) and (len(plan) > 1) == ("tile" in options)
    order = rng.permutation(len(plan))
    packed = pickle.dumps(plan)
    parts = {k: plan.recover(k, scan[plan.box(k)]) if k % 2 else
             recover_one(packed, k, scan[plan.box(k)]) for k in order}
    found = blended(pickle.loads(packed), parts)
    assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


def test_other_processes(rng):
    scan = picture(rng, 600)
    scan[rng.random(scan.shape) < 0.8] = np.nan
    options = {"quality": "fast", "tile": 90000, "backend": "cpu", "threads": 1}
    plan = cs.tiles(scan, **options)
    packed = pickle.dumps(plan)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(recover_one, [(packed, k, scan[plan.box(k)]) for k in range(len(plan))])
    assert blended(plan, parts).tobytes() == cs.recover(scan, **options).tobytes()


def test_refusals(rng):
    scan = picture(rng, 600)
    scan[rng.random(scan.shape) < 0.8] = np.nan
    with pytest.raises(cs.UnsupportedError, match="needs the whole"):
        cs.tiles(scan, shifts=1)
    with pytest.raises(cs.ArgumentError, match="channels last"):
        cs.tiles(np.stack([scan, scan]), channel_axis=0)
    plan = cs.tiles(scan, quality="fast", tile=90000)
    parts = [np.zeros([one.stop - one.start for one in plan.box(k)]) for k in range(len(plan))]
    with pytest.raises(cs.ArgumentError, match="there are 0 to"):
        plan.box(len(plan))
    with pytest.raises(cs.ArgumentError, match="its box|box 0"):
        plan.recover(0, scan)
    with pytest.raises(cs.ArgumentError, match="near"):
        plan.blend(0, parts[:1])
    with pytest.raises(cs.ArgumentError, match="its box"):
        plan.blend(0, [parts[0][1:]] + [parts[j] for j in plan.near(0)][1:])
    made, form, options = plan.__reduce__()[1]
    with pytest.raises(cs.DataError, match="cut off"):
        plan.__reduce__()[0](made[:-8], form, options)


def test_dask():
    if find_spec("dask") is None:
        pytest.skip("no dask: pip install dask")
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=250,
                          check=False)
    assert done.returncode == 0 and "the same bits" in done.stdout, done.stdout + done.stderr
