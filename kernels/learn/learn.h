/* learn.h - what learners have on a CUDA device. */
#ifndef CSREC_KERNELS_LEARN_LEARN_H
#define CSREC_KERNELS_LEARN_LEARN_H

#include "device/learn.h"

/* Pieces go up as they are read, so data may be larger than either memory. The accuracy of
 * csrec_cuda_statistics_functions, and as there the same bits every time. CSREC_MEMORY: a
 * covariance of n columns does not fit. */
csrec_status csrec_cuda_stream(const csrec_data *data, csrec_progress_fn progress, void *context,
                               double *mean, double *C, bool *stopped, csrec_error *error);

/* By cuSOLVER (shim/eigen.h), in double. */
extern const csrec_eigen_device csrec_cuda_eigen;

#endif
