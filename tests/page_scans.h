/* SPDX-License-Identifier: BSD-3-Clause */
/* page_scans.h - scans of each kind of signal, for tests of the page of csrecover --report. */
#pragma once

#include "page.h"
#include "tools.h"

SEED(seed);

static inline int make_scans(void **state) {
    if (make_inputs(state)) return -1;
    make_random_picture("g.png", 47, 70, 1, &seed);
    make_random_picture("c.png", 40, 36, 3, &seed);
    run_well("$S g.png -o g.npz -r 0.3 && $S c.png -o c.npz -r 0.3 && "
             "$S volume.npy -o v.npz -r 0.3 && $S line.npy -o l.npz -r 0.3 && "
             "$S planes.npy -c -o p.npz -r 0.3");
    return 0;
}
