/* engine.h - thresholding a picture's block cosines on a CUDA device. */
#ifndef CSREC_KERNELS_METHOD_FRAMES_ENGINE_H
#define CSREC_KERNELS_METHOD_FRAMES_ENGINE_H

#include "csrec/status.h"
#include "device/threshold.h"

/* The CPU's picture up to the order in which overlapping blocks are summed: a coefficient within
 * rounding of a threshold may fall on its other side. Deterministic. CSREC_UNSUPPORTED: block or
 * step is not one of kernels/method/frames/shrink.h; CSREC_MEMORY: it does not fit.
 */
csrec_status csrec_cuda_threshold(const csrec_threshold_job *job, double *mean, double *energy,
                                  csrec_error *error);

#endif
