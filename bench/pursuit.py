#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pursuit.py - exact Matching Pursuit on one core: nanoseconds an atom by size and signal, beside
an iteration of the paper's loop. An atom's time is what a run takes longer than one of a single
atom."""
import onethread  # noqa: F401, before NumPy
import numpy as np

import common

SIDE = 4096
WIDE = 40  # log2 of the rows of which N are drawn, beside 4 N


def every_other(bits):
    """Bits 0, 2, 4, ... of each: a coordinate of the Morton order."""
    one = np.uint64(1)
    return sum((bits >> np.uint64(k) & one) << np.uint64(k // 2) for k in range(0, WIDE, 2))


def drawn(rng, levels, n):
    """So many of 2^levels rows, ascending."""
    if levels < 30:
        return np.sort(rng.permutation(1 << levels)[:n]).astype(np.uint64)
    rows = np.unique(rng.integers(0, 1 << levels, n + n // 8, np.uint64))
    return np.sort(rng.permutation(rows)[:n])


def values(signal, rng, rows, levels):
    if signal == "noise":
        return rng.uniform(-1, 1, len(rows))
    place = rows / 2.0 ** levels
    if signal == "piecewise":
        jumps = np.sort(rng.random(24))
        phase = rng.uniform(-2, 2, 25)[np.searchsorted(jumps, place)]
        return np.sin(7 * place + phase) + place ** 2
    import net_drawn
    scene, side = net_drawn.synthetic(1, SIDE), 2 ** (levels // 2)
    x, y = (every_other(rows >> np.uint64(k)).astype(float) for k in (0, 1))
    return scene[(y * (SIDE / side)).astype(int), (x * (SIDE / side)).astype(int)]


def solve(A, y, atoms, reference=False):
    from csrecover._library import NULL, check, ffi, lib, new_atoms, new_error, pointer
    found, report, error = new_atoms(1), ffi.new("csrec_solve_report *"), new_error()
    options = ffi.new("csrec_solve_options *", {"reference": reference, "stop": {"atoms": atoms}})
    check(lib.csrec_solve(A._handle, pointer(y), options, found, NULL, report, error), error)
    return report.iterations


def atom_ns(A, y, atoms, seconds, reference=False):
    from library import least_ms
    one, all_of_them = (least_ms(lambda: solve(A, y, k, reference), 2, seconds, seconds > 0)
                        for k in (1, atoms))
    return 1e6 * (all_of_them - one) / max(solve(A, y, atoms, reference) - 1, 1)


def speed(largest):
    import csrecover
    for log_n in (10, 14, *range(18, largest + 1, 2)):
        for levels in (log_n + 2, WIDE)[:2 if log_n <= 20 else 1]:
            n, rng, loop = 1 << log_n, np.random.default_rng(log_n), {}
            rows = drawn(rng, levels, n)
            for signal in ("noise", "piecewise", "picture"):
                y = values(signal, rng, rows, levels)
                for columns in ("two-sided", "paper"):
                    A = csrecover.Haar(rows, levels, columns, backend="cpu")
                    few, many = (atom_ns(A, y, n // share, 0.05) for share in (20, 4))
                    if signal == "noise" and log_n <= (18 if levels == WIDE else 20):
                        loop[columns] = atom_ns(A, y, 5, 0, reference=True)
                    yield {"signal": signal, "columns": columns, "n": n, "levels": levels,
                           "ns_atom_20th": few, "ns_atom_4th": many,
                           "speedup_levels": loop[columns] / many if columns in loop else None}


def main():
    arguments = common.arguments(__doc__, "pursuit.json", largest=(22, "log2 of the samples"))
    common.load(arguments.build)
    common.save(arguments, pursuit=list(speed(arguments.largest)))


if __name__ == "__main__":
    main()
