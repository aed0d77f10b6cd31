# SPDX-License-Identifier: BSD-3-Clause
"""Forked children, exits, and more threads than can be had."""
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import picture

import csrecover as cs

SECONDS = 240


def recover_all(scan, threads=0):
    """On OpenMP's threads and with linear algebra."""
    matrix = np.random.default_rng(1).standard_normal((200, 300))
    rows = np.random.default_rng(2).standard_normal((150, 260)).astype(np.float32)
    large = cs.Dense(np.random.default_rng(3).standard_normal((1100, 1000)))
    return (cs.recover(scan, threads=threads), cs.recover(scan, solver="gaussian", threads=threads),
            large @ (large.T @ np.ones(1100)), cs.sample(np.ones((256, 256)), 0.5, seed=1).index,
            cs.solve(cs.Dense(matrix), matrix[:, :40], "omp", atoms=30, threads=threads).x,
            cs.learn_pca(rows, components=3, threads=threads)["components"])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_forked_children_recover(rng):
    scan = cs.sample(picture(rng, 64), 0.3)
    wanted = recover_all(scan, 2)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        waiting = pool.map_async(recover_all, [scan] * 4)
        for found in waiting.get(SECONDS):
            for one, other in zip(found, wanted):
                np.testing.assert_array_equal(one, other)


def test_waits_of_threads_are_short():
    """Unless the user says otherwise; the environment is as it was."""
    code = "import os; before = dict(os.environ); import csrecover; assert os.environ == before"
    for given, rounds in (({}, "10000"), ({"GOMP_SPINCOUNT": "77"}, "77"),
                          ({"OMP_WAIT_POLICY": "passive"}, "0")):
        rest = {name: value for name, value in os.environ.items()
                if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        said = subprocess.run([sys.executable, "-c", code], check=True, text=True, capture_output=True,
                              env={**rest, **given, "OMP_DISPLAY_ENV": "VERBOSE"}).stderr
        assert f"GOMP_SPINCOUNT = '{rounds}'" in said or "GOMP_SPINCOUNT" not in said


def test_any_number_of_threads(rng):
    scan = cs.sample(picture(rng, 64), 0.3)
    for one, other in zip(recover_all(scan, 10000), recover_all(scan, 1)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("policy", ("active", "passive"))
def test_the_interpreter_exits(policy):
    """OpenMP's threads wait in the library's code when it would be unloaded."""
    code = ("import numpy, csrecover as cs; "
            "cs.recover(cs.sample(numpy.eye(64), 0.5, seed=1), threads=2)")
    ended = subprocess.run([sys.executable, "-c", code], timeout=SECONDS, check=False,
                           env={**os.environ, "OMP_WAIT_POLICY": policy})
    assert ended.returncode == 0
