/* SPDX-License-Identifier: BSD-3-Clause */
/* operator.h - products of operators on the device.
 *
 * An operator's data stay in device memory; each call uploads its vector through pinned buffers
 * that the operator owns, runs the kernels and downloads the result. Every entry of a result is
 * gathered by one thread, or added up from parts in a fixed order, so results are reproducible.
 * haar, dct, wavelet, mask and hadamard do the CPU's additions in the CPU's order and equal it to
 * the bit; others add up in another order.
 *
 * All calls queue on one stream and the buffers are the operator's: one call at a time. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "operator/devices.h"
#include "operator/dct.h"
#include "operator/wavelet.h"

typedef struct csrec_cuda_operator csrec_cuda_operator;

/* columns: [n][m]. norms: [n]. */
csrec_status csrec_cuda_operator_dense(int64_t m, int64_t n, const double *columns,
                                       const double *norms, csrec_cuda_operator **made,
                                       csrec_error *error);
csrec_status csrec_cuda_operator_mask(const csrec_mask *mask, csrec_cuda_operator **made,
                                      csrec_error *error);
csrec_status csrec_cuda_operator_dct(const csrec_dct *dct, csrec_cuda_operator **made,
                                     csrec_error *error);
csrec_status csrec_cuda_operator_wavelet(const csrec_wavelet *wavelet, csrec_cuda_operator **made,
                                         csrec_error *error);
csrec_status csrec_cuda_operator_hadamard(const csrec_hadamard *hadamard,
                                          csrec_cuda_operator **made, csrec_error *error);
/* Of fourier and nufft; the latter's FORWARD and ADJOINT are CSREC_UNSUPPORTED without cuFINUFFT.
 * CSREC_UNSUPPORTED: cuFFT is not installed. */
csrec_status csrec_cuda_operator_fourier(const csrec_fourier *fourier, csrec_cuda_operator **made,
                                         csrec_error *error);
csrec_status csrec_cuda_operator_matrix(const csrec_matrix *matrix, csrec_cuda_operator **made,
                                        csrec_error *error);
csrec_status csrec_cuda_operator_blur(const csrec_blur *blur, csrec_cuda_operator **made,
                                      csrec_error *error);
csrec_status csrec_cuda_operator_downsample(const csrec_downsample *downsample,
                                            csrec_cuda_operator **made, csrec_error *error);
/* `first` must outlive it. */
csrec_status csrec_cuda_operator_pairs(csrec_cuda_operator *first, csrec_cuda_operator **made,
                                       csrec_error *error);
/* Both must outlive the product. */
csrec_status csrec_cuda_operator_chain(csrec_cuda_operator *first, csrec_cuda_operator *second,
                                       csrec_cuda_operator **made, csrec_error *error);

/* The row tree in the form of the kernels. Positions: node i of the tree is i, leaf j is nodes + j.
 * Column c is factor (S_plus - S_minus) of the sums at two positions, or of one where minus < 0. */
typedef struct csrec_cuda_haar {
    int64_t m, n, nodes;
    int32_t *left, *right;        /* [nodes] positions of the children */
    int32_t *order;               /* [nodes] by height, the lowest first */
    int heights;                  /* at most 63 */
    int64_t first[66];            /* nodes of height h are order[first[h]] .. order[first[h+1]] */
    int32_t *plus, *minus;        /* [n] */
    double *factor;               /* [n] */
    int32_t *difference, *single; /* [nodes], [nodes + m] the column of the position, or -1 */
} csrec_cuda_haar;

csrec_status csrec_cuda_operator_haar(const csrec_cuda_haar *haar, csrec_cuda_operator **made,
                                      csrec_error *error);
void csrec_cuda_operator_destroy(csrec_cuda_operator *op);

typedef enum csrec_cuda_product {
    CSREC_CUDA_FORWARD,    /* [n] -> [m] */
    CSREC_CUDA_ADJOINT,    /* [m] -> [n] */
    CSREC_CUDA_CORRELATE,  /* [m] -> [n] */
    CSREC_CUDA_NORMS,      /* nothing -> [n] */
    CSREC_CUDA_SYNTHESIZE, /* [n] -> [entries] */
    CSREC_CUDA_ANALYZE,    /* [entries] -> [n] */
    CSREC_CUDA_NORMAL      /* [n] -> [n], A^T A, of nufft */
} csrec_cuda_product;

/* Between vectors in host memory. */
csrec_status csrec_cuda_operator_apply(csrec_cuda_operator *op, csrec_cuda_product product,
                                       const double *in, double *out, csrec_error *error);

CSREC_C_END
