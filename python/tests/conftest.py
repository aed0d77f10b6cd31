# SPDX-License-Identifier: BSD-3-Clause
"""Fresh random inputs, with the seed printed where a test fails; pictures made by code."""
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

SEED = int(os.environ.get("CSRECOVER_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")


def pytest_report_header():
    import csrecover
    return f"csrecover {csrecover.__version__}; CSRECOVER_TEST_SEED={SEED} repeats this run"


@pytest.fixture
def rng(request):
    print(f"CSRECOVER_TEST_SEED={SEED}")
    return np.random.default_rng([SEED, *request.node.nodeid.encode()])


@pytest.fixture(scope="session")
def tool():
    """The command-line tool csrecover of the build under test."""
    folder = os.environ.get("CSRECOVER_TOOLS")
    found = folder and Path(folder) / "csrecover"
    if not found or not found.is_file():
        found = shutil.which("csrecover")
    if not found:
        pytest.skip("no tool csrecover to compare with")
    return str(found)


def picture(rng, side=96):
    """Discs and a stripe on a slope, 0 to 255."""
    v, u = np.mgrid[:side, :side] / side
    made = 60 + 100 * u + 20 * np.sin(9 * v)
    for _ in range(4):
        cu, cv, radius, level = rng.random(4)
        made[(u - cu) ** 2 + (v - cv) ** 2 < (0.1 + 0.2 * radius) ** 2] = 255 * level
    return np.clip(made, 0, 255)


def problem(rng, m, n, k, count=None):
    """A with unit columns, x with k entries of size 1 to 2, y = A x."""
    A = rng.standard_normal((m, n))
    A /= np.linalg.norm(A, axis=0)
    x = np.zeros((n, count or 1))
    for column in x.T:
        column[rng.choice(n, k, replace=False)] = rng.choice((-1, 1), k) * (1 + rng.random(k))
    if count is None:
        x = x[:, 0]
    return A, x, A @ x


def fresh_prior(rng, channels=1, width=4):
    """A small network that has learned nothing: the last layer is 0, and so is what it adds."""
    import csrecover
    rows, planes, weights = [], 2 * channels + 2, []

    def add(kind, out, result=-1, relu=0):
        nonlocal planes
        taps, zero = (4 if kind else 9), kind == 0 and result >= 0
        weights.append(rng.uniform(-1, 1, planes * out * taps) * (0 if zero else planes ** -0.5 / 3))
        weights.append(np.zeros(out))
        rows.append((kind, out, result, relu))
        planes = out
        return len(rows)

    def block(out, result):
        add(0, out, relu=1)
        return add(0, out, result)
    skip, result = [], add(0, width)
    for s in range(3):
        skip.append(block(width << s, result))
        result = add(1, width << (s + 1))
    block(width << 3, result)
    for s in (2, 1, 0):
        block(width << s, add(2, width << s, skip[s]))
    add(0, 2 * channels)
    weights[-2:] = np.zeros(width * 2 * channels * 9), np.repeat((0.0, -2.0), channels)
    return csrecover.Model("net", {"layers": np.array(rows), "channels": channels,
                                   "weights": np.concatenate(weights)})
