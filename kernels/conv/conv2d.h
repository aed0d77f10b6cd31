/* SPDX-License-Identifier: BSD-3-Clause */
/* conv2d.h - products of a convolution in fp32, from arrays in device memory.
 *
 * The geometry is that of src/conv/conv.h, on two axes. The forward product is one such sum, its
 * transpose one for each remainder by the stride. The geometry alone
 * determines the order of all sums: the results are bitwise reproducible. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include <stdbool.h>

#include "conv/conv.h"

/* Weight of a row, channel, kernel entry k: w[row * row_step + channel * channel_step + k]. */
typedef struct csrec_cuda_conv_sum {
    int64_t batch, rows, channels, row_step, channel_step;
    int64_t kernel_width;
    csrec_conv_axis axis[2];
    /* For packed products: channel c is channel c / 4 of the input at entry c % 4 of the 2 x 2
     * squares of its plane, or row r so of the results: a 2 x 2 kernel of stride 2, or its adjoint,
     * has one tap then. */
    bool in_quads, out_quads;
} csrec_cuda_conv_sum;

/* CSREC_UNSUPPORTED where an index of one picture, or of the weights, does not fit 31 bits. */
csrec_status csrec_cuda_conv_check(const csrec_cuda_conv_sum *sum, csrec_error *error);

/* Bytes of scratch, aligned to 256, that the two products take. */
size_t csrec_cuda_conv_multiply_room(const csrec_cuda_conv_sum *sum);
size_t csrec_cuda_conv_gradient_room(const csrec_cuda_conv_sum *sum);
size_t csrec_cuda_conv_bias_room(int64_t rows);

/* out[n][row][first + apart o] = bias[row] + sum over channels and taps of w in[n][channel][..].
 * in: [batch][channels][in][in], out: [batch][rows][out][out]; bias: [rows] or NULL. */
csrec_status csrec_cuda_conv_multiply(const csrec_cuda_conv_sum *sum, const float *w,
                                      const float *in, const float *bias, float *out, void *scratch,
                                      csrec_error *error);

/* What is done to each sum before it is stored; arrays that are NULL are not used. add and gate
 * have the results' shape, and add may be the results themselves: gated(max(sum + bias + add, 0 if
 * relu)), gated(v) = gate > 0 ? v : 0. */
typedef struct csrec_cuda_conv_finish {
    const float *bias, *add, *gate;
    bool relu;
} csrec_cuda_conv_finish;

/* The product with weights packed before (packed.cu), for kernels that are not large, and positions
 * that advance by one or input in quads. The order of sums depends on rows, channels, taps and
 * batch alone: tiles of a picture have the bits of the whole. fast: one product in tf32, of the
 * factors rounded to 11 bits, in place of three. */
int64_t csrec_cuda_conv_packed_floats(const csrec_cuda_conv_sum *sum, bool fast);
csrec_status csrec_cuda_conv_pack(const csrec_cuda_conv_sum *sum, bool fast, const float *w,
                                  float *packed, csrec_error *error);
/* CSREC_UNSUPPORTED as csrec_cuda_conv_check, or for a kernel that is too large. */
csrec_status csrec_cuda_conv_packed_check(const csrec_cuda_conv_sum *sum, csrec_error *error);
size_t csrec_cuda_conv_packed_room(const csrec_cuda_conv_sum *sum); /* bytes of scratch */
csrec_status csrec_cuda_conv_packed_multiply(const csrec_cuda_conv_sum *sum, bool fast,
                                             const float *packed, const float *in,
                                             const csrec_cuda_conv_finish *finish, float *out,
                                             void *scratch, csrec_error *error);

/* dw of the kernel entries that have taps: sum over n and o of in[n][channel][..] at the tap and
 * out[n][row][first + apart o]. fast: as above. */
csrec_status csrec_cuda_conv_gradient(const csrec_cuda_conv_sum *sum, bool fast, const float *in,
                                      const float *out, float *dw, void *scratch,
                                      csrec_error *error);

/* db[row] = sum of out[n][row][..], plane entries each. */
csrec_status csrec_cuda_conv_bias(int64_t batch, int64_t rows, int64_t plane, const float *out,
                                  float *db, void *scratch, csrec_error *error);

/* Multiplications of csrec_cuda_conv_gradient, to choose between a sum and its transpose. */
double csrec_cuda_conv_gradient_work(const csrec_cuda_conv_sum *sum);

CSREC_C_END
