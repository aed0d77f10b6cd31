/* engine.h - rounds of Gaussian groups on a CUDA device. */
#ifndef CSREC_KERNELS_METHOD_GAUSSIAN_ENGINE_H
#define CSREC_KERNELS_METHOD_GAUSSIAN_ENGINE_H

#include "method/gaussian/gaussian.h"

/* As csrec_gaussian_run up to rounding: where two patches are nearly equidistant, another may be
 * chosen. Deterministic. The picture's guide is ignored: patches are matched on the mean of the
 * channels. CSREC_UNSUPPORTED: beyond the limits of kernels/method/gaussian/gaussian.h. */
extern const csrec_gaussian_device csrec_cuda_gaussian_rounds;

#endif
