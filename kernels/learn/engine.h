/* engine.h - mean, centring and covariance on a CUDA device. */
#ifndef CSREC_KERNELS_LEARN_ENGINE_H
#define CSREC_KERNELS_LEARN_ENGINE_H

#include "device/statistics.h"

/* The same bits for the same shape and device memory. Rows that do not fit go up in chunks, twice
 * for a covariance. CSREC_MEMORY: a covariance of n columns does not fit. */
extern const csrec_statistics_device csrec_cuda_statistics_functions;

#endif
