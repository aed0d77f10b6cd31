/* conv2d.h - what a device offers for csrec_conv2d; conv2d.c has done all checks before. */
#ifndef CSREC_CONV_CONV2D_H
#define CSREC_CONV_CONV2D_H

#include "base/error.h"

/* conv: strides and dilations are >= 1 here. All arrays are in host memory, shapes as in csrec.h;
 * out: Ho, Wo. What is not wanted or not given is NULL. The caller's workspace is host memory and
 * not passed on. */
typedef struct csrec_conv2d_device {
    csrec_status (*forward)(const csrec_conv2d *conv, const int64_t out[2], const float *X,
                            const float *W, const float *B, float *Y, csrec_error *error);
    csrec_status (*backward)(const csrec_conv2d *conv, const int64_t out[2], const float *X,
                             const float *W, const float *dY, float *dX, float *dW, float *dB,
                             csrec_error *error);
    /* Whether auto should take the device, transfers counted; NULL: never. */
    bool (*pays)(const csrec_conv2d *conv, const int64_t out[2]);
} csrec_conv2d_device;

/* The device for conv->backend; NULL: the CPU. CSREC_ARGUMENT, CSREC_DEVICE, CSREC_UNSUPPORTED as
 * csrec_backend_choose. */
csrec_status csrec_conv2d_choose(const csrec_conv2d *conv, const int64_t out[2],
                                 const csrec_conv2d_device **device, csrec_error *error);

#endif
