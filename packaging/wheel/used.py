# SPDX-License-Identifier: BSD-3-Clause
"""used.py MODULE... - imports modules in this order, then csrecover, and prints what it computes.

Each of the others computes something too, between two runs: threads and CPU code are shared. And
writes and reads a file of each format.
"""
import hashlib
import importlib
import sys
import tempfile
from pathlib import Path

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


def kspace():
    """From a third of the frequencies."""
    truth = csrecover.datasets.picture("discs", 96)
    scan = csrecover.measure(truth, "fourier", rate=0.33, seed=1)
    assert csrecover.psnr(truth, np.abs(csrecover.recover(scan))) > 25


def formats(folder):
    """Writes and reads one of each; the names of the formats."""
    from csrecover._library import check, ffi, lib, new_error, new_shape, text
    error, picture = new_error(), csrecover.datasets.picture("discs", 48).astype(np.uint8)
    for number in range(64):
        row = lib.csrec_format_info(number)
        if row == ffi.NULL:
            return
        name, path = text(row.name), folder / ("a" + text(row.endings).split()[0])
        assert row.uses, f"{name}: not in the wheel"
        yield name
        if not row.uses & lib.CSREC_USE_WRITE:
            continue
        whole = row.uses & lib.CSREC_USE_PICTURE
        pixels = picture if whole else picture.astype(np.float32)
        shape = (*pixels.shape, 1) if whole else pixels.shape
        signal = ffi.new("csrec_image *", {
            "pixels": {"dtype": lib.CSREC_U8 if whole else lib.CSREC_F32, "count": pixels.size,
                       "shape": new_shape(shape)[0], "data": ffi.from_buffer(pixels)},
            "bits": 8 if whole else 0, "has_channels": bool(whole)})
        files = ffi.new("csrec_files **")
        check(lib.csrec_files_create(ffi.NULL, files, error), error)
        check(lib.csrec_files_add_signal(files[0], bytes(path), row, signal, ffi.NULL, error), error)
        check(lib.csrec_files_commit(files[0], error), error)
        lib.csrec_files_destroy(files[0])
        made = ffi.new("csrec_image *")
        check(lib.csrec_signal_read(bytes(path), made, error), error)
        read = [lib.csrec_array_value(ffi.addressof(made.pixels), i) for i in range(pixels.size)]
        lib.csrec_image_clear(made)
        lossy = bool(row.uses & lib.CSREC_USE_LOSSY)
        assert np.abs(np.array(read) - picture.reshape(-1)).max() <= (64 if lossy else 0), name


first = list(results())
kspace()
with tempfile.TemporaryDirectory() as place:
    first.append("formats " + " ".join(formats(Path(place))))
if "torch" in loaded:
    a = loaded["torch"].ones(500, 500)
    assert float((a @ a).sum()) == 500.0 ** 3
square = np.ones((500, 500))
assert (square @ square).sum() == 500.0 ** 3
assert list(results()) == first[:-1]
print("\n".join(first))
