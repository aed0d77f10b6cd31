# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C and other threads while the library works."""
import contextlib
import os
import signal
import threading

import numpy as np
import pytest
from conftest import picture

import csrecover as cs


def work(rng, many):
    """Minutes of it."""
    if many:
        A = cs.Dense(rng.standard_normal((200, 2000)))
        return lambda **more: cs.solve(A, rng.standard_normal((200, 100000)), "omp", epsilon=1e-9,
                                       **more)
    rows = np.sort(rng.choice(1 << 18, 1 << 16, replace=False))
    A, y = cs.Haar(rows, 18), rng.standard_normal(1 << 16)
    return lambda **more: cs.solve(A, y, "mp", reference=True, **more)


@contextlib.contextmanager
def pressed():
    """Presses Ctrl-C when what it yields is set. What runs in the background of a shell is started
    with that signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = threading.Event()

    def press():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield begun
    finally:
        begun.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("many", (False, True))
def test_ctrl_c_stops(rng, many):
    with pressed() as begun, pytest.raises(KeyboardInterrupt):
        work(rng, many)(callback=lambda progress: begun.set())


@pytest.mark.parametrize("threads", (1, 2))
def test_ctrl_c_reaches_a_thread_of_the_library(rng, threads):
    """One task: where the library has two threads, the main one may be idle."""
    truth = picture(rng, 256)
    with pressed() as begun, pytest.raises(KeyboardInterrupt):
        cs.recover(cs.sample(truth, 0.3), solver="fista", basis="dct", atoms=100000,
                   lambda_=1e-9, threads=threads, callback=lambda progress: begun.set())


def test_who_listened_for_signals_still_does(rng):
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write)
    try:
        cs.recover(cs.sample(picture(rng, 64), 0.3))
        assert signal.set_wakeup_fd(write) == write
    finally:
        signal.set_wakeup_fd(before)
        os.close(read)
        os.close(write)


def test_other_threads_run_meanwhile(rng):
    run, counted, done = work(rng, False), [0], threading.Event()

    def solve():
        run(callback=lambda progress: counted[0] > 10000)
        done.set()
    thread = threading.Thread(target=solve)
    thread.start()
    while not done.is_set():  # ends only if this loop gets to run while the library works
        counted[0] += 1
    thread.join()
    assert counted[0] > 10000


def test_operators_are_shared_by_threads(rng):
    A = cs.Dense(rng.standard_normal((50, 80)))
    y = rng.standard_normal((50, 8))
    wanted = [cs.solve(A, y[:, k], atoms=9).x for k in range(8)]
    found = [None] * 8

    def one(k):
        found[k] = cs.solve(A, y[:, k], atoms=9).x
    threads = [threading.Thread(target=one, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found, wanted)
