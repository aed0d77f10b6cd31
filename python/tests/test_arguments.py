"""Counts, names, seeds and progress bars: what is taken, and what is refused in one line."""
import io
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import picture, problem

import csrecover as cs

WAY = {"quality": "fast", "backend": "cpu"}


def refused(call, words):
    with pytest.raises(cs.ArgumentError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


@pytest.mark.parametrize("wrong", (0.5, "4", True, np.True_, None, np.nan, np.inf, [4], 4 + 0j,
                                   1 << 63, np.arange(400.0)), ids=lambda wrong: repr(wrong)[:9])
def test_what_is_no_count(wrong):
    refused(lambda: cs.positions_of((9, 9), wrong), "count = .*whole number")
    refused(lambda: cs.positions_of((9, wrong), 4), "shape = .*whole number")


def test_what_is_a_count():
    class Four:
        def __index__(self):
            return 4
    wanted = cs.positions_of((9, 9), 4)
    for count in (4.0, np.int8(4), np.uint64(4), np.float32(4), np.array(4), Four()):
        np.testing.assert_array_equal(cs.positions_of((9, 9), count), wanted)
    for shape in ((9.0, np.int16(9)), [9, 9], np.array([9, 9])):
        np.testing.assert_array_equal(cs.positions_of(shape, 4), wanted)


def test_names_and_numbers(rng):
    truth = picture(rng, 24)
    mask = rng.random(truth.shape) < 0.5
    A, _, y = problem(rng, 20, 40, 2)
    for call, words in ((lambda: cs.solve(A, y, 3), "solver = 3.*a name"),
                        (lambda: cs.solve(A, y, atoms=True), "atoms = True"),
                        (lambda: cs.solve(A, y, epsilon="0.1"), "epsilon = '0.1'.*a number"),
                        (lambda: cs.solve(A, y, callback=3), "callback = 3"),
                        (lambda: cs.solve(A, y, progress=3), "progress = 3"),
                        (lambda: cs.Dense(A, backend=None), "backend = None.*a name"),
                        (lambda: cs.Wavelet(truth.shape, kind=1), "kind = 1.*a name"),
                        (lambda: cs.sample(truth, 0.5, 7), "pattern = 7.*a name"),
                        (lambda: cs.recover(truth, mask, method=2), "method = 2.*a name"),
                        (lambda: cs.recover(truth, mask, order=2), "order = 2.*a name"),
                        (lambda: cs.recover(truth, mask, shifts=True), "shifts = True"),
                        (lambda: cs.recover(truth, mask, solver="iht", k="3"), "k = '3'"),
                        (lambda: cs.learn_gmm(truth, start=0), "start = 0.*a name"),
                        (lambda: cs.Model(1, {}), "kind = 1.*a name")):
        refused(call, words)


def drawn(truth, mask):
    """Every function that draws, on a seed or a generator."""
    patches = truth.reshape(-1, 8)
    return {"positions_of": lambda **by: cs.positions_of((30, 30), 50, **by),
            "sample": lambda **by: cs.sample(truth, 0.2, "uniform", **by).index,
            "where_next": lambda **by: cs.where_next(mask, 20, **by),
            "recover": lambda **by: cs.recover(truth, mask, shifts=4, backend="cpu", **by),
            "adaptive": lambda **by: cs.adaptive(lambda at: truth[at[:, 0], at[:, 1]], truth.shape,
                                                 60, rounds=1, backend="cpu", **by).index,
            "learn_gmm": lambda **by: cs.learn_gmm(patches, 4, rounds=1, **by)["means"],
            "learn_conv": lambda **by: cs.learn_conv(truth, filters=2, size=4, iterations=1,
                                                     **by)["filters"],
            "learn_net": lambda **by: cs.learn_net(width=4, blocks=1, batch=2, patch=16, steps=1,
                                                   backend="cpu", **by)["weights"]}


def test_generators_draw_seeds(rng):
    truth = picture(rng, 32)
    state = int(rng.integers(1 << 31))
    seeds = {int(np.random.default_rng(state).integers(1 << 63)): (
                 state, np.int32(state)),
             int(np.random.RandomState(state).randint(0, (1 << 63) - 1, dtype=np.int64)): ()}
    for name, call in drawn(truth, rng.random(truth.shape) < 0.5).items():
        for seed, numbers in seeds.items():
            wanted = call(seed=seed)
            made = numbers + ((np.random.default_rng(state),) if numbers else
                              (np.random.RandomState(state),))
            for generator in made:
                np.testing.assert_array_equal(call(rng=generator), wanted, name)
        refused(lambda: call(rng=3, seed=1), "give one of them")
        for wrong in (True, 0.5, "x", -1):
            refused(lambda: call(rng=wrong), "rng = ")
        for wrong in (None, True, 0.5, "x", -1, 1 << 64):
            refused(lambda: call(seed=wrong), "seed = ")


def test_a_bar_of_tqdm(rng):
    tqdm = pytest.importorskip("tqdm")
    truth = picture(rng, 64)
    scan, told, written = cs.sample(truth, 0.3), [], io.StringIO()
    bar = tqdm.tqdm(file=written, mininterval=0)
    found = cs.recover(scan, shifts=8, backend="cpu", progress=bar, callback=told.append)
    assert (bar.n, bar.total) == (told[-1].done, told[-1].total or None)
    assert told[-1].stage in written.getvalue() and not bar.disable
    bar.close()
    np.testing.assert_array_equal(found, cs.recover(scan, shifts=8, backend="cpu", progress=False))


def test_progress_true_makes_a_bar(rng, capfd):
    pytest.importorskip("tqdm")
    A, _, y = problem(rng, 100, 300, 5)
    cs.solve(A, np.stack([y] * 40, axis=1), "fista", atoms=50, progress=True)
    assert "it" in capfd.readouterr().err


def test_without_tqdm():
    code = ("import sys; sys.modules['tqdm'] = None; import numpy as np, csrecover\n"
            "try: csrecover.solve(np.eye(3), np.ones(3), progress=True)\n"
            "except ImportError as error: print(error)")
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    assert said.stdout == "progress=True needs tqdm: pip install tqdm\n"
