# SPDX-License-Identifier: BSD-3-Clause
"""used.py MODULE... - imports modules in this order, then csrecover, and prints what it computes.

Each of the others computes something too, between two runs: threads and CPU code are shared.
"""
import hashlib
import importlib
import sys

loaded = {name: importlib.import_module(name) for name in sys.argv[1:]}
import csrecover  # noqa: E402
import numpy as np  # noqa: E402


def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def results():
    truth = csrecover.datasets.picture("discs", 96)
    scan = csrecover.sample(truth, rate=0.25, seed=1)
    patches = np.lib.stride_tricks.sliding_window_view(truth, (8, 8))[::2, ::2].reshape(-1, 8, 8)
    rng = np.random.default_rng(1)
    A = rng.standard_normal((100, 300))
    found = csrecover.solve(A, A[:, 7] - A[:, 30], "omp", atoms=2)
    assert list(np.flatnonzero(found.x)) == [7, 30]
    for quality in ("fast", "balanced", "best"):
        made = csrecover.recover(scan, quality=quality)
        assert csrecover.psnr(truth, made) > 22
        yield f"{quality} {digest(made)}"
    variances = csrecover.learn_pca(patches, energy=0.99)["variances"]
    yield f"pca {np.array2string(variances[:3], precision=6)}"


first = list(results())
if "torch" in loaded:
    a = loaded["torch"].ones(500, 500)
    assert float((a @ a).sum()) == 500.0 ** 3
square = np.ones((500, 500))
assert (square @ square).sum() == 500.0 ** 3
assert list(results()) == first
print("\n".join(first))
