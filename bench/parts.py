#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""parts.py - memory of a process by the format of the files: one picture of which a quarter is known,
as .npy, HDF5 (whole, with a mask) and .npz (stored in order, stored in any order, compressed),
recovered to .npy (HDF5: to HDF5) in one piece, in slabs by --memory (not what is compressed, which
is read as a whole), and by four ranks that share it.
The values are compared with those of one piece. Each rank has one thread. Needs NumPy and MPI."""
import subprocess
import sys
import tempfile

import numpy as np

import common
from many import RATE, Runner, make


def inputs(runner, side):
    """Name, input, more options, ending of the output."""
    make(runner.folder / "scan.npy", side, side, 1)
    scan = np.load(runner.folder / "scan.npy")
    known = np.isfinite(scan)
    index = np.flatnonzero(known)
    y = scan.reshape(-1)[index]
    order = np.random.default_rng(2).permutation(len(index))
    shape = np.array(scan.shape)
    np.save(runner.folder / "mask.npy", known.astype(np.uint8))
    np.savez(runner.folder / "stored.npz", y=y, index=index, shape=shape)
    np.savez(runner.folder / "any.npz", y=y[order], index=index[order], shape=shape)
    np.savez_compressed(runner.folder / "compressed.npz", y=y, index=index, shape=shape)
    runner.once(1, ["scan.npy", "-o", "full.h5", "-Q", "fast"])
    return [(".npy", "scan.npy", [], ".npy"),
            ("HDF5, a mask", "full.h5", ["--mask", "mask.npy"], ".h5"),
            (".npz, stored", "stored.npz", [], ".npy"),
            (".npz, stored, in any order", "any.npz", [], ".npy"),
            (".npz, compressed", "compressed.npz", [], ".npy")]


def values_of(path, side):
    """The bytes of the values: of a .npy from its header on, of our HDF5 without chunks too, whose
    head does not depend on the options."""
    data = path.read_bytes()
    head = 128 if path.suffix == ".npy" else None
    return data[head:head + 4 * side * side] if head else data[:data.rfind(b"csrec-fingerprint")]


def rows_of(runner, side, tile, memory, ranks):
    found = []
    for name, source, more, ending in inputs(runner, side):
        whole = None
        small = ["--memory", str(memory)]
        for how, count, limit in (("one piece", 1, []), ("slabs", 1, small),
                                  (f"{ranks} ranks", ranks, small)):
            if source == "compressed.npz":  # is read as a whole
                limit = []
                if how == "slabs":
                    continue
            out = runner.folder / f"out{ending}"
            words = [source, "-o", out.name, "-Q", "fast", "--tile", str(tile), *limit, *more]
            row = {"what": name, "how": how}
            try:
                row["peak_mib"] = runner.once(count, words)[1]
                whole = whole or values_of(out, side)
                row["same"] = values_of(out, side) == whole
                out.unlink()
            except subprocess.CalledProcessError:
                row["refused"] = True
            found.append(row)
            print(row, file=sys.stderr, flush=True)
    return found


def main():
    arguments = common.arguments(__doc__, "parts.json", mpirun="mpirun", side=3000,
                                  memory=(90, "MiB"), tile=300000, ranks=4)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(arguments.build, folder, arguments.mpirun)
        rows = rows_of(runner, arguments.side, arguments.tile, arguments.memory, arguments.ranks)
    common.save(arguments, rate=RATE, side=arguments.side, memory=arguments.memory,
                 tile=arguments.tile, rows=rows)


if __name__ == "__main__":
    main()
