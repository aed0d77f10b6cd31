"""Callbacks: on the calling thread, under no lock, with exceptions that come out."""
import threading

import numpy as np
import pytest
from conftest import picture

import csrecover as cs

WAYS = {"plain grid": dict(shifts=1), "grids": dict(shifts=8), "adaptive": dict(method="adaptive"),
        "dct": dict(basis="dct"), "fista": dict(basis="dct", solver="fista", atoms=40),
        "gaussian": dict(solver="gaussian"), "gmm": dict(solver="gmm")}


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
