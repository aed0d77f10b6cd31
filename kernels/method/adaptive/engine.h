/* engine.h - passes over adaptive grids on a CUDA device. */
#ifndef CSREC_KERNELS_METHOD_ADAPTIVE_ENGINE_H
#define CSREC_KERNELS_METHOD_ADAPTIVE_ENGINE_H

#include "method/adaptive/device.h"

/* The CPU's bits, but where a mean of errors over the whole picture is rounded to a float and lies
 * within the rounding of a double between two. CSREC_MEMORY: it does not fit. */
extern const csrec_adaptive_device csrec_cuda_adaptive_passes;

#endif
