/* conv2d.h - products of a convolution in fp32, from arrays in device memory.
 *
 * The geometry is that of src/conv/conv.h, on two axes: position o of 0 .. count - 1 along an axis
 * has index first + apart o in the results, and tap t = 0 .. taps - 1 of it, entry kernel +
 * kernel_step t of the kernel, takes the input at step o + base + advance t, 0 outside. The forward
 * product is one such sum, its transpose one for each remainder by the stride. The geometry alone
 * determines the order of all sums: the results are bitwise reproducible. */
#ifndef CSREC_KERNELS_CONV_CONV2D_H
#define CSREC_KERNELS_CONV_CONV2D_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"

typedef struct csrec_cuda_conv_axis {
    int64_t in, out; /* extents of input and result */
    int64_t count, first, apart;
    int64_t taps, kernel, kernel_step, step, base, advance;
} csrec_cuda_conv_axis;

/* Weight of a row, channel, kernel entry k: w[row * row_step + channel * channel_step + k]. */
typedef struct csrec_cuda_conv_sum {
    int64_t batch, rows, channels, row_step, channel_step;
    int64_t kernel_width;
    csrec_cuda_conv_axis axis[2];
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

/* dw of the kernel entries that have taps: sum over n and o of in[n][channel][..] at the tap and
 * out[n][row][first + apart o]. */
csrec_status csrec_cuda_conv_gradient(const csrec_cuda_conv_sum *sum, const float *in,
                                      const float *out, float *dw, void *scratch,
                                      csrec_error *error);

/* db[row] = sum of out[n][row][..], plane entries each. */
csrec_status csrec_cuda_conv_bias(int64_t batch, int64_t rows, int64_t plane, const float *out,
                                  float *db, void *scratch, csrec_error *error);

/* Multiplications of csrec_cuda_conv_gradient, to choose between a sum and its transpose. */
double csrec_cuda_conv_gradient_work(const csrec_cuda_conv_sum *sum);

csrec_status csrec_cuda_conv_clear(float *values, int64_t count, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
