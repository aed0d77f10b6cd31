/* engine.h - the parts of the learners' engine on a CUDA device. */
#ifndef CSREC_KERNELS_LEARN_ENGINE_H
#define CSREC_KERNELS_LEARN_ENGINE_H

#include "learn/engine.h"

/* CSREC_DATA names the first column whose value is not finite. */
csrec_status csrec_cuda_columns_check(int64_t n, const double *values, int64_t step,
                                      csrec_error *error);

/* Pieces are uploaded as they are read, so data may be larger than either memory. The same bits
 * every time. CSREC_MEMORY: a covariance of n columns does not fit. */
csrec_status csrec_cuda_stream(const csrec_context *context, const csrec_data *data, int threads,
                               csrec_progress_fn progress, void *caller, double *mean, double *C,
                               bool *stopped, csrec_error *error);

/* By cuSOLVER (shim/eigen.h), in double. A is not changed. */
csrec_status csrec_cuda_eigen(const csrec_context *context, int n, double *A, int count,
                              double *values, double *V, csrec_error *error);
bool csrec_cuda_eigen_pays(int n, int count);

#endif
