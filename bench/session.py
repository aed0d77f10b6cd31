#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""session.py [SIDE...] - rounds of a csrecover.Session: CPU and clock seconds of add (1 % of the
pixels), next (1 %) and picture, the best of some, at 25 % known; of the same without a session; and
the largest memory."""
import resource
import sys
import time

import numpy as np

import csrecover as cs


def best(call, times=5):
    found = []
    for _ in range(times):
        clock, cpu = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - clock, time.process_time() - cpu))
    return min(one[0] for one in found), min(one[1] for one in found)


def main():
    for side in [int(word) for word in sys.argv[1:]] or [256, 1024]:
        y, x = np.mgrid[:side, :side] / side
        truth = 128 + 90 * np.sin(20 * x + 9 * y) * np.cos(31 * y * x) + 30 * (np.hypot(x - .5, y - .4) < .3)
        session = cs.Session((side, side))
        at = session.next(side * side // 4)
        session.add(at, truth.flat[at])

        def a_round():
            where = session.next(side * side // 100)
            session.add(where, truth.flat[where])
            session.picture()

        def without():
            cs.where_next(samples, side * side // 100, "expected")
            cs.recover(samples)

        session.picture()
        clock, cpu = best(a_round)
        samples = session.samples
        alone = best(without, 2)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{side} x {side}: a round {clock:.3f} s ({cpu:.3f} CPU), without a session {alone[0]:.3f} s "
              f"({alone[1]:.3f} CPU); peak {most:.0f} MiB", flush=True)


main()
