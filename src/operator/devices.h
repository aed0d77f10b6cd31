/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.h - what products on a device know of operators: chains, matrices, blurs,
 * frequencies. */
#pragma once

#include "base/fft.h"
#include "base/inline.h"
#include "base/nufft.h"
#include "operator/mask.h"

typedef struct csrec_chain {
    const csrec_operator *first, *second;
} csrec_chain;

/* ---- a matrix of any values, applied to the whole signal or to each block of it. */

/* y: [blocks][rows]; block b of the signal, in C order, is the entries place[b * each ...]. */
typedef struct csrec_matrix {
    int64_t entries, rows, each, blocks;
    double *values; /* [rows][each] */
    int64_t *place; /* [blocks * each], -1: a zero beyond the signal; NULL: a single block */
} csrec_matrix;

/* ---- a blurred signal at some positions, and means of boxes. */

/* y_p = sum_k h_k x_(p + c - k) at the positions of the mask, c = extent / 2, 0 outside. */
typedef struct csrec_blur {
    csrec_mask mask;
    int64_t extent[3], kernel[3]; /* 1 for axes that the signal lacks, which are in front */
    double *h;
} csrec_blur;

/* y: boxes of `factor` entries in C order; the last along an axis may have fewer. */
typedef struct csrec_downsample {
    int64_t extent[3], factor[3], boxes[3];
} csrec_downsample;

/* Entries of the box that entry i along axis a is in. */
CSREC_BOTH int64_t csrec_box_edge(const csrec_downsample *d, int a, int64_t i) {
    const int64_t first = i / d->factor[a] * d->factor[a], rest = d->extent[a] - first;
    return rest < d->factor[a] ? rest : d->factor[a];
}

/* ---- frequencies of a signal, as magnetic resonance measures: perhaps by several coils. */

/* What is asked of FINUFFT, so that sums at any frequencies are right to 1e-9 of the largest: at
 * 1e-9 they were off by up to 8e-9 on fine grids of 1.25 times the extents. */
#define CSREC_NUFFT_PRECISION 3e-10

/* y_kc = f_k sum_j s_c(j) x_j exp(-2 pi i j k / n), of all axes; y: [m][coils] pairs. */
typedef struct csrec_fourier {
    csrec_shape shape;
    int64_t entries, m, n_coils;
    int64_t *index;  /* [m] of fftn */
    double unit;     /* |f_k| */
    double *factors; /* [m] pairs f_k: norm, and turns of what is centred; NULL: ones */
    double *coils;   /* [n_coils][entries] pairs, or NULL: ones */
    bool complex_x;
    csrec_fft *fft;     /* of the CPU */
    csrec_nufft *nufft; /* or any frequencies, without index and factors */
    double *k;          /* of these [m][dims], cycles per field of view */
    double *kernel;     /* of these, for A^T A: [2^dims][entries]; NULL: there is no FFT */
    double *half;       /* [last extent] pairs exp(-pi i j / n) */
} csrec_fourier;

/* to = f_k from, or conj(f_k) from; factors NULL: ones. */
CSREC_BOTH void csrec_fourier_turn(const double *factors, int64_t k, double sign,
                                   const double *from, double *to) {
    const double re = from[0], im = from[1];
    const double u = factors ? factors[2 * k] : 1.0, v = factors ? sign * factors[2 * k + 1] : 0.0;
    to[0] = factors ? u * re - v * im : re;
    to[1] = factors ? u * im + v * re : im;
}

/* sum_c |s_c(j)|^2. coils NULL: one of ones. */
CSREC_BOTH double csrec_fourier_square(const double *coils, int64_t entries, int64_t n_coils,
                                       int64_t j) {
    double sum = coils ? 0.0 : 1.0;
    for (int64_t c = 0; c < n_coils && coils; c++) {
        const double *s = coils + 2 * (c * entries + j);
        sum += s[0] * s[0] + s[1] * s[1];
    }
    return sum;
}

/* Entry j of grid = s x; s: a coil, NULL: ones; pairs: x is complex. */
CSREC_BOTH void csrec_fourier_weigh(const double *s, bool pairs, int64_t j, const double *x,
                                    double *grid) {
    const double re = pairs ? x[2 * j] : x[j], im = pairs ? x[2 * j + 1] : 0.0;
    grid[2 * j] = s ? s[2 * j] * re - s[2 * j + 1] * im : re;
    grid[2 * j + 1] = s ? s[2 * j] * im + s[2 * j + 1] * re : im;
}

/* Entry j of x += conj(s) grid, or of its real part. */
CSREC_BOTH void csrec_fourier_collect(const double *s, bool pairs, int64_t j, const double *grid,
                                      double *x) {
    const double u = grid[2 * j], v = grid[2 * j + 1];
    const double re = s ? s[2 * j] * u + s[2 * j + 1] * v : u;
    const double im = s ? s[2 * j] * v - s[2 * j + 1] * u : v;
    if (pairs) {
        x[2 * j] += re;
        x[2 * j + 1] += im;
    } else {
        x[j] += re;
    }
}

/* ---- rows of Hadamard's matrix, as a single-pixel camera measures: +1 and -1. */

/* The signal is padded with zeros to a power of two along each axis. y_k = (H P x)_row[k], where H
 * is the Kronecker product of the axes' matrices, H_ij = (-1)^popcount(i & j), and P puts entry i
 * at place[i]. */
typedef struct csrec_hadamard {
    int64_t entries, padded; /* at most 2^31 - 1 */
    int64_t m;
    int32_t *row;   /* [m] in natural order */
    int32_t *place; /* [entries] */
} csrec_hadamard;

/* x <- H x, n = 2^k entries, in O(n log n), in cache where that is possible. */
void csrec_hadamard_transform(int64_t n, double *x);
void csrec_hadamard_generic(int64_t n, double *x);
void csrec_hadamard_avx2(int64_t n, double *x);
void csrec_hadamard_avx512(int64_t n, double *x);

/* The natural number of row `k` of an ordering: csrec_ordering_info. For orderings that need a
 * table see csrec_hadamard_rows. */
int64_t csrec_hadamard_sequency(int bits, int64_t k);

/* rows [padded]: the natural number of each row of the ordering; extent: powers of two.
 *   - natural: as it is
 *   - sequency: ascending number of sign changes of the whole row (Walsh)
 *   - cake-cutting: ascending number of pieces of constant sign, prod_a (s_a + 1), s_a being the
 *     sign changes along axis a (Yu 2019); equal ones by C order of (s_0, s_1, ...)
 *   - zig-zag: (s_0, s_1) as JPEG scans them; of three axes by ascending sum, then C order; of one
 *     axis sequency
 * CSREC_MEMORY. */
csrec_status csrec_hadamard_rows(const char *ordering, int axes, const int64_t extent[],
                                 int32_t *rows);
