/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - convolutions of pictures on a device; conv2d.c has checked all arguments. */
#pragma once

#include "base/pool.h"
#include "conv/conv.h"
#include "csrec/conv.h"
#include "device/device.h"

/* All arrays are in host memory, shapes as in csrec.h. Arrays that are not requested or not given
 * are NULL. */
typedef struct csrec_conv2d_job {
    csrec_conv2d conv; /* strides and dilations are >= 1 */
    int64_t out[2];    /* Ho, Wo */
    const float *X, *W, *B, *dY;
    float *Y, *dX, *dW, *dB;
    /* For the CPU only; devices ignore them. W is set in addition to packed weights. */
    const csrec_conv2d_weights *weights;
    void *workspace;
    size_t bytes;
} csrec_conv2d_job;

typedef struct csrec_conv2d_engine {
    csrec_status (*forward)(const csrec_context *context, const csrec_conv2d_job *job,
                            csrec_error *error); /* Y */
    csrec_status (*backward)(const csrec_context *context, const csrec_conv2d_job *job,
                             csrec_error *error); /* dX, dW, dB */
    /* Whether auto should use the device, including transfers. */
    bool (*device_faster)(const csrec_conv2d_job *job);
} csrec_conv2d_engine;

extern const csrec_conv2d_engine csrec_conv2d_cpu, csrec_conv2d_cuda;

/* ---- the public convolution's geometry and packed weights. */

struct csrec_conv2d_weights {
    csrec_pool pool; /* of W and packed */
    csrec_conv2d conv;
    float *W, *packed[2]; /* forward, transposed */
};

/* The geometry with a first axis of extent 1; out: Ho, Wo, which csrec_conv2d_check finds. */
csrec_conv csrec_conv2d_geometry(const csrec_conv2d *conv, const int64_t out[2]);
csrec_status csrec_conv2d_check(const csrec_conv2d *conv, csrec_conv *geometry, csrec_error *error);
