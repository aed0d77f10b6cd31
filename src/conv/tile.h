/* SPDX-License-Identifier: BSD-3-Clause */
/* tile.h - the inner products of convolutions, one table an instruction set.
 *
 * Sums run over k in ascending order for each entry on its own, so results depend neither on the
 * division into tiles nor on the number of threads. */
#ifndef CSREC_CONV_TILE_H
#define CSREC_CONV_TILE_H

#include <stdbool.h>
#include <stdint.h>

/* Columns of a tile: a multiple of every table's width. The row distance of tiles spreads rows over
 * the sets of a cache. */
enum { CSREC_CONV_TILE = 240, CSREC_CONV_LD_F32 = 240, CSREC_CONV_LD_F64 = 248 };

/* The gradient's tile: rows of so many positions, so many rows. */
enum { CSREC_CONV_LINE = 480, CSREC_CONV_LINES = 48, CSREC_CONV_DOT = 4 };

typedef struct csrec_conv_simd {
    int height;               /* rows of a packed panel */
    int width_f32, width_f64; /* columns of an inner tile */
    int dot;                  /* rows of b that `dot` takes at once; divides CSREC_CONV_LINES */
    /* c[i][j] = (add ? c[i][j] : 0) + sum_k a[k][i] b[k][j], i < height, j < width; rows of a are
     * height long, those of b and c ld apart. */
    void (*tile_f32)(int64_t k, const float *a, const float *b, float *c, int64_t ld, bool add);
    void (*tile_f64)(int64_t k, const double *a, const double *b, double *c, int64_t ld, bool add);
    /* c[i][j] += sum_p a[i][p] b[j][p], i < CSREC_CONV_DOT, j < dot; rows are CSREC_CONV_LINE
     * long, those of c ld apart. */
    void (*dot_f32)(const float *a, const float *b, float *c, int64_t ld);
    /* c[i] += t d[i] */
    void (*axpy_f64)(int64_t n, double t, const double *d, double *c);
    /* max |c[i]| w[i], w >= 0; 0 for n = 0 */
    double (*peak_f64)(int64_t n, const double *c, const double *w);
} csrec_conv_simd;

extern const csrec_conv_simd csrec_conv_generic;
#if defined(__x86_64__)
extern const csrec_conv_simd csrec_conv_avx2, csrec_conv_avx512;
#endif

/* The widest that this processor has. */
const csrec_conv_simd *csrec_conv_simd_choose(void);

#endif
