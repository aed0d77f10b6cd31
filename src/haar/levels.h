/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.h - the paper's transform, level by level. */
#ifndef CSREC_HAAR_LEVELS_H
#define CSREC_HAAR_LEVELS_H

#include <math.h>

#include "base/inline.h"
#include "csrec/haar.h"

/* 1 / sqrt(#). Every method multiplies by this rounded value, so all agree to the last bit. */
CSREC_BOTH double csrec_haar_scale(int64_t count) {
    return 1.0 / sqrt((double)count);
}

/* csrec_haar_transform by CSREC_TRANSFORM_LEVELS, for arguments already checked. */
csrec_status csrec_haar_levels(int levels, int64_t n, const uint64_t *rows, const double *r,
                               int64_t capacity, csrec_product *products, int64_t *found);

#endif
