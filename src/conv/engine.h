/* engine.h - convolutions of pictures as a device is asked for them; conv2d.c has checked all. */
#ifndef CSREC_CONV_ENGINE_H
#define CSREC_CONV_ENGINE_H

#include "device/device.h"

/* All arrays are in host memory, shapes as in csrec.h. What is not wanted or not given is NULL. */
typedef struct csrec_conv2d_job {
    csrec_conv2d conv; /* strides and dilations are >= 1 */
    int64_t out[2];    /* Ho, Wo */
    const float *X, *W, *B, *dY;
    float *Y, *dX, *dW, *dB;
    /* The CPU's, which devices leave alone. W is set beside packed weights. */
    const csrec_conv2d_weights *weights;
    void *workspace;
    size_t bytes;
} csrec_conv2d_job;

typedef struct csrec_conv2d_engine {
    csrec_status (*forward)(const csrec_context *context, const csrec_conv2d_job *job,
                            csrec_error *error); /* Y */
    csrec_status (*backward)(const csrec_context *context, const csrec_conv2d_job *job,
                             csrec_error *error); /* dX, dW, dB */
    /* Whether auto should take the device, transfers counted. */
    bool (*pays)(const csrec_conv2d_job *job);
} csrec_conv2d_engine;

extern const csrec_conv2d_engine csrec_conv2d_cpu, csrec_conv2d_cuda;

#endif
