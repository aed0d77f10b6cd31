/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/conv.h - convolutions of neural networks, and filters learned from pictures. */
#ifndef CSREC_CONV_H
#define CSREC_CONV_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csrec_model csrec_model; /* learn.h */

/* ------------------------------------------------------------------ convolution --------------- */

/* A two-dimensional convolution as in neural networks (a correlation: the kernel is not reversed),
 * NCHW, float, one group. [H, W] is size, [Kh, Kw] kernel, and so on: Ho = (H + 2 ph - dh (Kh - 1)
 * - 1) / sh + 1, rounded down; Wo likewise Y[n][co][ho][wo] = B[co] + sum_ci sum_kh sum_kw
 * W[co][ci][kh][kw] X[n][ci][ho sh - ph + kh dh][wo sw - pw + kw dw], X being 0 outside. Every
 * product has the order (ci, kh, kw), kw fastest. Computed by im2col in tiles, so that memory does
 * not grow with the picture. Results depend neither on the number of threads nor on the workspace;
 * sums are float, their error about 1e-7 of the sum of magnitudes. A result that is not finite is
 * CSREC_DATA. */
typedef struct csrec_conv2d {
    int64_t batch, channels_in, channels_out; /* each >= 1 */
    int64_t size[2], kernel[2];               /* height, width; each >= 1 */
    int64_t stride[2], dilation[2];           /* >= 1, or 0: 1 */
    int64_t padding[2];                       /* >= 0 on both sides of an axis, zeros */
    int threads;                              /* 0: all cores */
    const char *backend;                      /* NULL or "auto", "cpu", "cuda" */
} csrec_conv2d;

/* out: Ho, Wo. CSREC_ARGUMENT: a number out of range, or a kernel larger than the padded input. */
CSREC_API csrec_status csrec_conv2d_output(const csrec_conv2d *conv, int64_t out[2],
                                           csrec_error *error);

/* Bytes of workspace for the passes, of any alignment; either may be NULL. Packed weights need
 * less. With less than all threads need, but enough for one, fewer threads run.
 */
CSREC_API csrec_status csrec_conv2d_workspace(const csrec_conv2d *conv, size_t *forward,
                                              size_t *backward, csrec_error *error);

/* Weights in the layout of the products, for both passes: use them if the same W
 * [channels_out][channels_in][Kh][Kw] is applied to several inputs. They fit any batch, size and
 * padding with the same channels, kernel, stride and dilation, on any backend, because W is kept.
 */
typedef struct csrec_conv2d_weights csrec_conv2d_weights;
CSREC_API csrec_status csrec_conv2d_weights_create(const csrec_conv2d *conv, const float *W,
                                                   csrec_conv2d_weights **weights,
                                                   csrec_error *error);
CSREC_API void csrec_conv2d_weights_destroy(csrec_conv2d_weights *weights);

/* Y: [batch][channels_out][Ho][Wo]. W or weights is given, the other NULL; B: [channels_out] or
 * NULL. CSREC_ARGUMENT: workspace too small, weights of another geometry. */
CSREC_API csrec_status csrec_conv2d_forward(const csrec_conv2d *conv, const float *X,
                                            const float *W, const csrec_conv2d_weights *weights,
                                            const float *B, float *Y, void *workspace,
                                            size_t workspace_bytes, csrec_error *error);

/* Gradients of L = sum(Y dY), each may be NULL: dX as X, needs W or weights; dW as W,
 * needs X; dB [channels_out]. dW and dB are sums over the batch. Entries of dX that no output uses
 * are 0. */
CSREC_API csrec_status csrec_conv2d_backward(const csrec_conv2d *conv, const float *X,
                                             const float *W, const csrec_conv2d_weights *weights,
                                             const float *dY, float *dX, float *dW, float *dB,
                                             void *workspace, size_t workspace_bytes,
                                             csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
