/* SPDX-License-Identifier: BSD-3-Clause */
/* conv2d.h - the public convolution's geometry and packed weights. */
#ifndef CSREC_CONV_CONV2D_H
#define CSREC_CONV_CONV2D_H

#include "base/pool.h"
#include "conv/conv.h"
#include "csrec/conv.h"

struct csrec_conv2d_weights {
    csrec_pool pool; /* of W and packed */
    csrec_conv2d conv;
    float *W, *packed[2]; /* forward, transposed */
};

/* The geometry with a first axis of extent 1; out: Ho, Wo, which csrec_conv2d_check finds. */
csrec_conv csrec_conv2d_geometry(const csrec_conv2d *conv, const int64_t out[2]);
csrec_status csrec_conv2d_check(const csrec_conv2d *conv, csrec_conv *geometry, csrec_error *error);

/* Bytes of workspace that the CPU takes with so many threads. */
void csrec_conv2d_bytes(const csrec_conv *geometry, int threads, size_t *forward, size_t *backward);

#endif
