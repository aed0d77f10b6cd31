/* levels.h - the paper's kernel: one thread a sample, one launch a level. The readable way; the
 * baseline of the bench. */
#ifndef CSREC_KERNELS_HAAR_LEVELS_H
#define CSREC_KERNELS_HAAR_LEVELS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"

/* As csrec_haar_levels, host arrays in and out. */
csrec_status csrec_cuda_levels(int levels, int64_t n, const uint64_t *rows, const double *r,
                               int64_t capacity, csrec_product *products, int64_t *found,
                               csrec_error *error);

/* Matching Pursuit with a launch and a Thrust maximum a level: `iterations` picks for y on the grid
 * (haar/pursuit.h, in units). picks: [iterations] columns; r: [n] the residual; both and
 * microseconds (of one iteration, without set-up) may be NULL. Stops early, with *done <
 * iterations, when nothing can be gained. */
csrec_status csrec_cuda_levels_pursuit(int levels, int64_t n, const uint64_t *rows, const double *y,
                                       csrec_columns columns, int64_t iterations, uint64_t *picks,
                                       double *r, int64_t *done, double *microseconds,
                                       csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
