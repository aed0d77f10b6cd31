# SPDX-License-Identifier: BSD-3-Clause
"""Callbacks: on the calling thread, under no lock, with exceptions that come out."""
import threading
import time

import numpy as np
import pytest
from conftest import picture

import csrecover as cs

WAYS = {"plain grid": dict(shifts=1), "grids": dict(shifts=8),
        "dct": dict(basis="dct"), "fista": dict(basis="dct", solver="fista", atoms=40),
        "gaussian": dict(solver="gaussian")}


@pytest.fixture(params=list(WAYS))
def recover(request, rng):
    scan = cs.sample(picture(rng, 64), 0.3)
    return lambda **more: cs.recover(scan, **WAYS[request.param], **more)


def test_they_come_on_the_calling_thread(recover):
    seen = set()
    recover(threads=4, callback=lambda progress: seen.add(threading.get_ident()))
    assert seen == {threading.get_ident()}


def test_they_may_recover(recover):
    wanted, within = recover(), []

    def again(_progress):
        if not within:
            within.append(recover(threads=2))
    np.testing.assert_array_equal(recover(threads=2, callback=again), wanted)
    np.testing.assert_array_equal(within[0], wanted)


def test_two_threads_report_at_once(recover):
    """Each callback waits until the other call is in its callback as well."""
    both, missed = threading.Barrier(2), []

    def call():
        met = []

        def meet(_progress):
            if not met:
                met.append(True)
                try:
                    both.wait(120)
                except threading.BrokenBarrierError:
                    missed.append(True)
        recover(threads=2, callback=meet)
    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not missed


def test_an_exception_comes_out_and_leaves_nothing(recover):
    class Odd(Exception):
        pass

    def fail(_progress):
        calls.append(True)
        raise Odd("once")
    calls, wanted = [], recover()
    with pytest.raises(Odd, match="once"):
        recover(threads=2, callback=fail)
    assert len(calls) == 1
    np.testing.assert_array_equal(recover(), wanted)


SOLVERS = {"mp": {}, "omp": {}, "romp": {"k": 9}, "cosamp": {"k": 9}, "iht": {"k": 9}, "htp": {"k": 9},
           "fista": {"lambda_": 0.01}, "fista debias": {"lambda_": 0.01, "debias": 1},
           "bpdn": {"epsilon": 0.1}}


def seen_by(A, matrix, y, name, **more):
    """(the solution, residuals told and of the x given, the columns given and those of x)."""
    told = []

    def look(progress):
        if progress.x is None:
            return
        x = progress.x
        told.append((progress.residual, np.linalg.norm(y - matrix @ x) / np.linalg.norm(y), x.dtype))
        np.testing.assert_array_equal(progress.columns, np.flatnonzero(x))
        time.sleep(0.011)  # the next report is due
    return cs.solve(A, y, name.split()[0], callback=look, **SOLVERS[name], **more), told


@pytest.mark.parametrize("kind", ("real", "complex", "products", "large"))
@pytest.mark.parametrize("name", list(SOLVERS))
def test_x_is_that_of_the_residual_told(rng, name, kind):
    A = rng.standard_normal((60, 90)) + (1j * rng.standard_normal((60, 90)) if kind == "complex" else 0)
    x = np.zeros(90, A.dtype)
    x[rng.choice(90, 9, replace=False)] = rng.standard_normal(9)
    unit = 1e140 if kind == "large" else 1.0
    y = unit * (A @ x + 0.1 * rng.standard_normal(60))
    if kind == "products":
        given = pytest.importorskip("scipy.sparse.linalg").aslinearoperator(A)
    else:
        given = A
    options = {"atoms": 25}
    found, told = seen_by(given, A, y, name, **options)
    assert told and all(kind == found.x.dtype for *_, kind in told)
    told = np.array([(one, other) for one, other, _ in told])
    np.testing.assert_allclose(told[:, 0], told[:, 1], rtol=1e-6, atol=1e-10)
    # Who looks changes nothing.
    plain = cs.solve(given, y, name.split()[0], **SOLVERS[name], **options)
    np.testing.assert_array_equal(found.x, plain.x)
    np.testing.assert_array_equal(found.history, plain.history)


def test_x_of_a_haar_matrix(rng):
    rows = np.sort(rng.choice(1 << 10, 300, replace=False))
    A, y = cs.Haar(rows, 10), rng.standard_normal(300)
    for name in ("mp", "omp"):
        _, told = seen_by(A, A.toarray(), y, name, atoms=40)
        assert told
        for one, other, _ in told:
            assert abs(one - other) < 1e-9


def test_there_is_no_x_elsewhere(recover, rng):
    kept = []
    recover(callback=kept.append)
    A = rng.standard_normal((40, 80))
    cs.solve(A, rng.standard_normal((40, 5)), "fista", callback=kept.append)
    one = []
    cs.solve(A, rng.standard_normal(40), "fista", callback=one.append)
    assert one and all(told.x is None and told.columns is None for told in kept + one)
    assert all(isinstance(told, cs.Progress) and len(told) == 4 for told in kept + one)


def test_a_history_does_not_change_the_result(rng):
    truth = picture(rng, 32)
    mask = rng.random(truth.shape) < 0.4
    way = dict(method="sparse", basis="dct", solver="omp", atoms=40)
    followed, info = cs.recover(truth, mask, reference=truth, peak=255, return_info=True, **way)
    np.testing.assert_array_equal(cs.recover(truth, mask, **way), followed)
    assert info.tracks
