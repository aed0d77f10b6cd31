# SPDX-License-Identifier: BSD-3-Clause
"""Counts, names, seeds and progress bars: what is taken, and what is refused in one line."""
import inspect
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import picture, problem

import csrecover as cs

WAY = {"quality": "fast", "backend": "cpu"}


def refused(call, words, kind=cs.ArgumentError):
    with pytest.raises(kind, match=words) as caught:
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
                        (lambda: cs.Model(1, {}), "kind = 1.*a name")):
        refused(call, words)


def drawn(truth, mask):
    """Every function that draws, on a seed or a generator."""
    return {"positions_of": lambda **by: cs.positions_of((30, 30), 50, **by),
            "sample": lambda **by: cs.sample(truth, 0.2, "uniform", **by).index,
            "where_next": lambda **by: cs.where_next(mask, 20, **by),
            "recover": lambda **by: cs.recover(truth, mask, shifts=4, backend="cpu", **by),
            "measure_rounds": lambda **by: cs.measure_rounds(lambda at: truth[at[:, 0], at[:, 1]], truth.shape,
                                                 60, rounds=1, backend="cpu", **by).index}


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


def test_what_is_under_a_mask_is_not_used(rng):
    """Of masked arrays of numpy.ma: unknown where that has a meaning, refused elsewhere."""
    truth, hidden = picture(rng, 24), rng.random((24, 24)) < 0.3
    mask = rng.random(truth.shape) < 0.6
    spoiled = np.ma.MaskedArray(np.where(hidden, 1e9, truth), hidden)
    wanted = cs.recover(truth, mask & ~hidden, **WAY)
    flat = np.flatnonzero(mask)
    for found in (cs.recover(spoiled, mask, **WAY), cs.recover(spoiled[mask], mask, **WAY),
                  cs.recover(spoiled.ravel()[flat], index=flat, shape=truth.shape, **WAY),
                  cs.recover(cs.Measurement(spoiled.ravel()[flat], flat, truth.shape), **WAY),
                  cs.inpaint(spoiled, ~mask, **WAY)):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(cs.recover(spoiled, **WAY), cs.recover(truth, ~hidden, **WAY))
    colours = np.stack([truth, truth / 2, 255 - truth], -1)
    one = np.zeros(colours.shape, bool)
    one[..., 1] = hidden
    found = cs.recover(np.ma.MaskedArray(np.where(one, -1e9, colours), one), mask, channel_axis=-1,
                       **WAY)
    np.testing.assert_array_equal(found[..., 1], cs.recover(colours[..., 1], mask & ~hidden, **WAY))
    np.testing.assert_array_equal(found[..., [0, 2]],
                                  cs.recover(colours[..., [0, 2]], mask, channel_axis=-1, **WAY))
    scan = cs.sample(spoiled, 0.5)
    assert scan.y.max() < 1e9 and not hidden.ravel()[scan.index].any()

    A, _, y = problem(rng, 20, 40, 2)
    some, none = np.arange(20) < 3, np.zeros(20, bool)
    hide = lambda values: np.ma.MaskedArray(values, rng.permutation(values.size).reshape(values.shape) < 3)
    np.testing.assert_array_equal(cs.solve(A, np.ma.MaskedArray(y, none)).x, cs.solve(A, y).x)
    refused(lambda: cs.solve(A, np.ma.MaskedArray(y, some)), r"y: is masked in 3 of 20.*A\[~mask\]",
            cs.DataError)
    for call in (lambda: cs.solve(hide(A), y), lambda: cs.solve(A, y, "iht", k=2, x0=hide(np.ones(40))),
                 lambda: cs.Dense(hide(A)), lambda: cs.Dense(A) @ hide(np.ones(40)),
                 lambda: cs.orthogonal_mp(hide(A), y), lambda: cs.orthogonal_mp(A, hide(y)),
                 lambda: cs.psnr(hide(truth), truth), lambda: cs.learn_pca(hide(truth)),
                 lambda: cs.recover(truth, np.ma.MaskedArray(mask, hidden), **WAY),
                 lambda: cs.recover(truth, mask, reference=hide(truth), peak=255, **WAY)):
        refused(call, "is masked in ", cs.DataError)


def test_nothing_is_known_under_a_whole_mask(rng):
    for shape, axis in (((24, 24), None), ((24, 24, 3), -1), ((30,), None)):
        hidden = np.ma.MaskedArray(rng.random(shape), True)
        refused(lambda: cs.recover(hidden, channel_axis=axis), "no samples", cs.DataError)


def test_products_of_users_hide_nothing(rng):
    A, _, y = problem(rng, 20, 40, 2)
    hide = lambda v, some: np.ma.MaskedArray(v, np.arange(v.size) < 3) if some else np.ma.MaskedArray(v)
    for first, second in ((True, False), (False, True)):
        pair = (lambda v, on=first: hide(A @ v, on), lambda v, on=second: hide(A.T @ v, on))
        refused(lambda: cs.solve(pair, y, "iht", k=2), r"A\.r?matvec: is masked in 3 of", cs.DataError)
    open_ = (lambda v: hide(A @ v, False), lambda v: hide(A.T @ v, False))
    np.testing.assert_allclose(cs.solve(open_, y, "iht", k=2).x, cs.solve(A, y, "iht", k=2).x, atol=1e-9)


def test_multiples_are_by_numbers():
    D = cs.Dense(np.eye(3))
    for wrong in ("a", b"a", None, object()):
        for call in (lambda: D * wrong, lambda: D.dot(wrong), lambda: wrong * D):
            with pytest.raises(TypeError):
                call()


def test_multiples():
    pytest.importorskip("scipy.sparse.linalg")
    D = cs.Dense(np.eye(3))
    for right in (2, 2.0, np.float32(2), np.array(2)):
        np.testing.assert_array_equal((D * right) @ np.ones(3), 2 * np.ones(3))


def test_unknown_keyword_arguments(rng):
    truth, mask = picture(rng, 24), rng.random((24, 24)) < 0.5
    A, _, y = problem(rng, 20, 40, 2)
    for call in (lambda **more: cs.recover(truth, mask, **more), lambda **more: cs.inpaint(truth, mask, **more),
                 lambda **more: cs.tiles(truth, mask, **more), lambda **more: cs.solve(A, y, **more)):
        for name in ("foo", "method__foo", "nobody__k", "k__solver", "é" * 99):
            with pytest.raises(TypeError, match="unknown argument") as caught:
                call(**{name: 1})
            assert isinstance(caught.value, cs.ArgumentError) and "\n" not in str(caught.value)
            assert len(str(caught.value)) < 200
        for wrong, right in (("lamda", "lambda_"), ("itrations", "iterations"),
                             ("epsilom", "epsilon"), ("thread", "threads")):
            with pytest.raises(cs.UnknownArgumentError, match=f"did you mean {right}\\?"):
                call(**{wrong: "text"})
    with pytest.raises(cs.UnknownArgumentError, match=r"'qualty'; did you mean quality\?"):
        cs.recover(truth, mask, qualty="best")
    for wrong, words in (("patern", "did you mean pattern"), ("sigma", "noise is added to image"),
                         ("foo", "see sample")):
        refused(lambda: cs.sample(truth, 0.3, **{wrong: 1}), f"unknown argument '{wrong}'; {words}",
                cs.UnknownArgumentError)


def test_names_in_the_wrong_place(rng):
    truth, mask = picture(rng, 24), rng.random((24, 24)) < 0.5
    A, _, y = problem(rng, 20, 40, 2)
    kinds = {"method": ("tv", "Omp", "solver='omp'"), "solver": ("mp", "net", "method='net'"),
             "basis": ("dct", "best", "quality='best'"),
             "quality": ("fast", "wavelet", "basis='wavelet'")}
    for kind, (right, wrong, words) in kinds.items():
        refused(lambda: cs.recover(truth, mask, **{kind: wrong}), words)
        assert cs.recover(truth, mask, **{kind: right}).shape == truth.shape
    refused(lambda: cs.recover(truth, mask, quality="Best"), "did you mean best?")
    for wrong, words in (("lasso", "did you mean fista?"), ("OMP", "did you mean omp?"),
                         ("net", "a method of recover: method='net'")):
        refused(lambda: cs.solve(A, y, wrong), words)
    refused(lambda: cs.recover(truth, mask, minutes=-1), "minutes = -1")
    refused(lambda: cs.sample(truth, 15), "a share: 0.15 for 15 %")
    refused(lambda: cs.sample(truth, 0.1, pattern="random"), "did you mean uniform?")


def test_parameters_say_whose_they_are(rng):
    A, _, y = problem(rng, 20, 40, 2)
    wanted = cs.solve(A, y, "iht", k=2).x
    for settings in ({"solver__k": 2}, {"solver.k": 2}, {"k": 5, "solver__k": 2}):
        np.testing.assert_array_equal(cs.solve(A, y, "iht", **settings).x, wanted)
    refused(lambda: cs.solve(A, y, "iht", basis__k=2), "solver iht: no parameter 'basis.k'")
    fista = cs.solve(A, y, "fista", lambda_=0.3).x
    np.testing.assert_array_equal(cs.solve(A, y, "fista", solver__lambda_=0.3).x, fista)
    truth, mask = picture(rng, 24), rng.random((24, 24)) < 0.5
    np.testing.assert_array_equal(
        cs.recover(truth, mask, quality="fast", basis__block=16, solver__steps=7, backend="cpu"),
        cs.recover(truth, mask, quality="fast", block=16, steps=7, backend="cpu"))


@pytest.mark.parametrize("method", list(cs.methods()))
def test_every_method_refuses_unknown_settings(rng, method):
    """Those of other tables, too: the same line as of the tools."""
    truth, mask = picture(rng, 24), rng.random((24, 24)) < 0.5
    if cs.methods()[method].model and method == "pca":
        pytest.skip("needs a model: test_settings does it")
    own = cs.methods()[method].parameters
    if method == "trial":  # of volumes alone
        truth, mask = picture(rng, 64).reshape(16, 16, 16), rng.random((16, 16, 16)) < 0.5
    guide = truth if method == "beside" else None
    rays = 4 if method == "rendered" else None
    for name in {"rounds", "effort", "lambda", "planes"} - set(own):
        refused(lambda: cs.recover(truth, mask, method=method, backend="cpu", guide=guide, rays=rays,
                                   **{name: 1}),
                f"method {method}.*no parameter '{name}'")


def test_unknown_names_are_answered_with_the_table(rng):
    truth, mask = picture(rng, 24), rng.random((24, 24)) < 0.5
    A, _, y = problem(rng, 20, 40, 2)
    for call, words in ((lambda: cs.solve(A, y, "opm"), "use one of mp, omp.*mean omp"),
                        (lambda: cs.recover(truth, mask, method="gausian"), "mean gaussian"),
                        (lambda: cs.recover(truth, mask, method="adaptive"),
                         "method 'adaptive' is no longer there; use gaussian, or frames"),
                        (lambda: cs.recover(truth, mask, basis="wavelt", solver="fista"), "mean wavelet"),
                        (lambda: cs.recover(truth, mask, solver="romq", basis="dct"), "mean romp"),
                        (lambda: cs.recover(truth, mask, quality="bst"), "balanced.*mean best"),
                        (lambda: cs.recover(truth, mask, quality=3), "quality = 3"),
                        (lambda: cs.recover(truth, mask, order="mortn"), "hilbert.*mean morton"),
                        (lambda: cs.recover(truth, mask, columns="papr"), "two-sided.*mean paper"),
                        (lambda: cs.recover(truth, mask, backend="cpuu"), "auto, cpu, cuda"),
                        (lambda: cs.recover(truth, mask, dtype="flot"), "dtype = 'flot'"),
                        (lambda: cs.sample(truth, 0.5, "poison"), "jitter.*mean poisson"),
                        (lambda: cs.Wavelet(truth.shape, kind="harr"), "haar, cdf53, cdf97"),
                        (lambda: cs.Wavelet(truth.shape, dtype="flot"), "dtype = 'flot'.*float32"),
                        (lambda: cs.measure(truth, "hadamrd"), "hadamard, fourier"),
                        (lambda: cs.Model("gm", {}), "pca, net, beside or rendered"),
                        (lambda: cs.datasets.picture("disks", 9), "mean discs")):
        with pytest.raises(cs.CsrecError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value) and isinstance(caught.value, ValueError)


def test_positions_are_whole_and_in_range(rng):
    y, shape = rng.standard_normal(3), (4, 5)
    for wrong in ([-1, 2, 3], [0, 1, 20], [0.5, 1, 2], [0.0, 1.0, 2.0], [True, False, True],
                  np.array([0, 1, 2 + (1 << 63)], np.uint64), [0, 1, np.nan], [[0, 1, 2]],
                  np.ma.MaskedArray([0, 1, 2], [0, 0, 1]), [0, 1, 1]):
        for call in (lambda: cs.recover(cs.Measurement(y, wrong, shape)),
                     lambda: cs.recover(y, index=wrong, shape=shape)):
            with pytest.raises((cs.DataError, cs.ArgumentError)) as caught:
                call()
            assert "index" in str(caught.value) and "\n" not in str(caught.value)
    for wrong in ([-1, 2], [0.5, 2], [[0, 1]], [True, False]):
        with pytest.raises(cs.DataError, match="rows"):
            cs.Haar(wrong)
        with pytest.raises(cs.DataError, match="rows"):
            cs.haar_transform(wrong, y[:2])
        with pytest.raises(cs.DataError, match="index"):
            cs.haar_rows(wrong, 9)
        with pytest.raises(cs.DataError, match="index"):
            cs.Measurement(y, wrong, shape).mask


def test_truth_values_are_not_guessed(rng):
    truth, mask = picture(rng, 24), rng.random((24, 24)) < 0.5
    A, _, y = problem(rng, 20, 40, 2)
    for wrong in ("no", "False", 2, 0.0, None, [True], 1.5, np.nan):
        for name in ("robust", "reference_pursuit", "return_info", "return_uncertainty", "coefficients"):
            refused(lambda: cs.recover(truth, mask, **{name: wrong}), f"{name} = .*True or False")
        refused(lambda: cs.solve(A, y, history=wrong), "history = ")
        for name in ("nonnegative", "joint"):
            for solver in ("omp", "bpdn"):
                refused(lambda: cs.solve(A, np.c_[y, y], solver, epsilon=0.1, **{name: wrong}),
                        f"{name} = .*True or False")
        refused(lambda: cs.solve(A, y, "mp", reference=wrong), "reference = ")
        refused(lambda: cs.orthogonal_mp(A, y, return_path=wrong), "return_path = ")
        refused(lambda: cs.orthogonal_mp(A, y, n_nonzero_coefs=2, return_n_iter=wrong), "return_n_iter = ")
    assert cs.solve(A, y, history=np.True_).history is not None
    for on in (True, np.True_, 1):
        assert cs.solve(A, -A[:, 3], "fista", lambda_=0.1, nonnegative=on).x.min() >= 0
    assert cs.solve(A, -A[:, 3], "fista", lambda_=0.1, nonnegative=0).x.min() < 0


def test_no_targets(rng):
    A, _, _ = problem(rng, 20, 40, 2)
    for name in cs.solvers():
        found = cs.solve(A, np.zeros((20, 0)), name)
        assert found.x.shape == (40, 0) and found.r.shape == (20, 0)
        assert found.residual.shape == found.iterations.shape == (0,)
        assert found.outcome == found.atoms == []
    refused(lambda: cs.solve(A, np.zeros((20, 0)), "omp", epsilon=2), "epsilon")
    refused(lambda: cs.solve(A, np.zeros(0)), r"y has shape \(0,\)")
    refused(lambda: cs.solve(np.zeros((20, 0)), np.zeros(20)), "shape \\(20, 0\\)")
    refused(lambda: cs.orthogonal_mp(A, np.zeros((20, 0))), "at least one target")
    refused(lambda: cs.orthogonal_mp_gram(A.T @ A, np.zeros((40, 0))), "at least one target")


def test_starts_are_finite(rng):
    A, _, y = problem(rng, 20, 40, 2)
    for wrong in (np.nan, np.inf):
        x0 = np.zeros(40)
        x0[7] = wrong
        for name in ("iht", "htp", "cosamp", "romp", "fista", "bpdn"):
            with pytest.raises(cs.DataError, match=r"x0\[7\] is not finite"):
                cs.solve(A, y, name, x0=x0)
    for name in ("mp", "omp"):
        with pytest.raises(cs.UnsupportedError, match=f"solver {name}: starts from 0"):
            cs.solve(A, y, name, x0=np.zeros(40))


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


#: Calls that lack what a function cannot do without fail for that first.
HALF = np.array([1.0, np.nan, 2.0, 3.0])
NEEDED = {"recover": (HALF,), "uncertainty": (HALF,), "sample": (np.zeros(8),), "tiles": (HALF,), "Operator": ("dct",),
          "solve": (np.eye(2), np.ones(2)), "inpaint": (np.ones((4, 4)), np.eye(4)),
          "measure": (np.zeros(8), "hadamard"), "sequence": ([],), "Session": (4,),
          "inpaint_each": (np.ones((2, 4, 4)), np.eye(4))}


def calls(name):
    """Whether it is a function or a class that one calls: no error, and no tuple that is a result."""
    thing = getattr(cs, name)
    return callable(thing) and not (inspect.isclass(thing) and issubclass(thing, (BaseException, tuple)))


@pytest.mark.parametrize("name", list(filter(calls, sorted(cs.__all__))))
def test_an_unknown_keyword_is_told_by_every_function_and_class(name):
    thing = getattr(cs, name)
    with pytest.raises(cs.UnknownArgumentError, match="unknown argument 'zzz'") as caught:
        thing(*NEEDED.get(name, ()), zzz=1)
    assert isinstance(caught.value, TypeError) and "\n" not in str(caught.value)
    for near in list(inspect.signature(thing).parameters.values())[-1:]:
        if near.kind is near.VAR_KEYWORD or len(near.name) < 4:
            continue
        with pytest.raises(cs.UnknownArgumentError, match=f"did you mean {near.name}\\?"):
            thing(*NEEDED.get(name, ()), **{near.name[:-1] + "_": 1})


def test_a_misspelt_field_of_an_operator_is_told():
    with pytest.raises(cs.UnknownArgumentError, match="'scrambl'; did you mean scramble?"):
        cs.Through("hadamard", scrambl=1)
    assert pickle.loads(pickle.dumps(cs.psnr)) is cs.psnr


def test_warnings_name_the_line_that_called_the_package():
    scans = [cs.Measurement(y=np.full(3, value), index=np.arange(3), shape=(8,), sigma=0.1)
             for value in (1.0, 9.0)]
    with pytest.warns(UserWarning, match="contradict each other") as seen:
        cs.merge(scans)
    assert [warning.filename for warning in seen] == [__file__]
