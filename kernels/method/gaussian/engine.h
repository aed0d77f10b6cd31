/* engine.h - rounds of Gaussian groups on a CUDA device. */
#ifndef CSREC_KERNELS_METHOD_GAUSSIAN_ENGINE_H
#define CSREC_KERNELS_METHOD_GAUSSIAN_ENGINE_H

#include "method/gaussian/gaussian.h"

/* As csrec_gaussian_run but for rounding: where two patches are as good as equally near, another
 * may be taken. The same bits every time. The picture's guide is left alone: patches are matched on
 * the mean of the channels. CSREC_UNSUPPORTED: beyond the limits of
 * kernels/method/gaussian/gaussian.h. */
extern const csrec_gaussian_device csrec_cuda_gaussian_rounds;

#endif
