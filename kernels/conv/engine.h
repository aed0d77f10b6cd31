/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - convolutions of arrays in CUDA device memory. */
#pragma once

#include "csrec/conv.h"
#include "base/error.h"

/* Arrays on the device, as in csrec_conv2d_forward and csrec_conv2d_backward; arrays not requested
 * are NULL. scratch: csrec_cuda_conv2d_room bytes, aligned to 256. fast: dW by one product in tf32
 * in place of three. */
typedef struct csrec_cuda_conv2d_arrays {
    const float *X, *W, *B, *dY;
    float *Y, *dX, *dW, *dB;
    void *scratch;
    bool fast;
} csrec_cuda_conv2d_arrays;

/* backward: computes the gradients whose arrays are not NULL. */
size_t csrec_cuda_conv2d_room(const csrec_conv2d *conv, const int64_t out[2],
                              const csrec_cuda_conv2d_arrays *arrays, bool backward);
csrec_status csrec_cuda_conv2d_forward(const csrec_conv2d *conv, const int64_t out[2],
                                       const csrec_cuda_conv2d_arrays *arrays, csrec_error *error);
csrec_status csrec_cuda_conv2d_backward(const csrec_conv2d *conv, const int64_t out[2],
                                        const csrec_cuda_conv2d_arrays *arrays, csrec_error *error);
