/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.h - the paper's transform on a device: one thread a sample, one launch a level. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "csrec/haar.h"

/* As csrec_haar_levels, host arrays in and out. */
csrec_status csrec_cuda_levels(int levels, int64_t n, const uint64_t *rows, const double *r,
                               int64_t capacity, csrec_product *products, int64_t *found,
                               csrec_error *error);

CSREC_C_END
