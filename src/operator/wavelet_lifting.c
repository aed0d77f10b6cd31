/* SPDX-License-Identifier: BSD-3-Clause */
/* wavelet_lifting.c - the taps of Haar, CDF 5/3 and CDF 9/7. */
#include <string.h>

#include "base/cpu.h"
#include "operator/wavelet.h"

#define CDF97_GAIN 1.230174104914001 /* of s on a constant line, before the scaling */
#define SQRT2      1.4142135623730951

static const csrec_lifting liftings[] = {
    {"haar", 2, {-1.0, 0.0}, {0.0, 0.5}, SQRT2},
    {"cdf53", 2, {-0.5, 0.25}, {-0.5, 0.25}, SQRT2},
    {"cdf97",
     4,
     {-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971},
     {-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971},
     SQRT2 / CDF97_GAIN},
};

const csrec_lifting *csrec_lifting_find(const char *kind) {
    for (size_t i = 0; i < sizeof liftings / sizeof *liftings; i++)
        if (kind && strcmp(liftings[i].kind, kind) == 0) return &liftings[i];
    return NULL;
}

csrec_lift_fn csrec_lift_choose(void) {
    return CSREC_CPU_CHOOSE(csrec_lift);
}
