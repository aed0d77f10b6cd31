/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.h - the paper's transform on a device: one thread a sample, one launch a level. */
#ifndef CSREC_KERNELS_HAAR_LEVELS_H
#define CSREC_KERNELS_HAAR_LEVELS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "csrec/haar.h"
#include "base/error.h"

/* As csrec_haar_levels, host arrays in and out. */
csrec_status csrec_cuda_levels(int levels, int64_t n, const uint64_t *rows, const double *r,
                               int64_t capacity, csrec_product *products, int64_t *found,
                               csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
