/* SPDX-License-Identifier: BSD-3-Clause */
/* fourier.h - frequencies of a signal, as magnetic resonance measures: perhaps by several coils. */
#ifndef CSREC_OPERATOR_FOURIER_H
#define CSREC_OPERATOR_FOURIER_H

#include "base/fft.h"
#include "base/inline.h"
#include "operator/operator.h"

/* y_kc = f_k sum_j s_c(j) x_j exp(-2 pi i j k / n), of all axes; y: [m][coils] pairs. */
typedef struct csrec_fourier {
    csrec_shape shape;
    int64_t entries, m, n_coils;
    int64_t *index;  /* [m] of fftn */
    double unit;     /* |f_k| */
    double *factors; /* [m] pairs f_k: norm, and turns of what is centred; NULL: ones */
    double *coils;   /* [n_coils][entries] pairs, or NULL: ones */
    bool complex_x;
    csrec_fft *fft; /* of the CPU */
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

#endif
