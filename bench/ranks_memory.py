#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ranks_memory.py [--log2-n 20 22] [--ranks 1 2 4 8] - largest resident set of the ranks of one exact
pursuit with atoms (csrecover --shifts 1 -C), all on this machine: every rank reads the whole
measurement."""
import tempfile

import common
from many import Runner, make, version


def peaks(runner, ranks, words):
    """MiB by rank."""
    runner.once(ranks, words)
    return [int((runner.folder / f"peak.{k}").read_text()) / 1024 for k in range(ranks)]


def main():
    arguments = common.arguments(__doc__, "pursuit_memory.json", mpirun="mpirun",
                                  ranks=[1, 2, 4, 8], log2_n=[20, 22])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(arguments.build, folder, arguments.mpirun)
        for log2_n in arguments.log2_n:
            side = 1 << (log2_n + 2) // 2
            make(runner.folder / "scan.npy", 4 * (1 << log2_n) // side, side, 1)
            words = ["scan.npy", "--shifts", "1", "--epsilon", "0", "--atoms", str((1 << log2_n) // 4),
                     "--columns", "paper", "--threads", "1", "-C", "atoms.npz"]
            for ranks in arguments.ranks:
                found = peaks(runner, ranks, words)
                rows.append({"log2_n": log2_n, "ranks": ranks, "first_mib": round(found[0], 1),
                             "others_mib": round(max(found[1:]), 1) if ranks > 1 else None})
                print(rows[-1], flush=True)
    common.save(arguments, mpi=version(arguments.mpirun), rows=rows)


if __name__ == "__main__":
    main()
