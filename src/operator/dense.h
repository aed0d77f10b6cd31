/* SPDX-License-Identifier: BSD-3-Clause */
/* dense.h - the stored matrix, for solvers with faster algorithms on it (OMP). */
#pragma once

#include "operator/operator.h"

typedef struct csrec_screen csrec_screen;

typedef struct csrec_dense {
    double *columns; /* [n][m]: column j is contiguous */
    double *norms;   /* [n] */
    /* Made with a large matrix, otherwise at the first use by a solver; any thread may be first. */
    _Atomic(csrec_screen *) screen;
} csrec_dense;

/* The matrix if A is dense, else NULL. */
static inline csrec_dense *csrec_dense_of(const csrec_operator *A) {
    return A->row == &csrec_operator_dense ? (csrec_dense *)A->data : NULL;
}

/* Loops over long arrays, compiled for each instruction set. Columns are `stride` apart. */
typedef struct csrec_dense_simd {
    double (*dot)(int64_t m, const double *a, const double *b);
    /* v -= sum_k w_k a_k */
    void (*subtract)(int64_t m, int64_t count, const double *a, int64_t stride, const double *w,
                     double *v);
    /* sum[4 i + k] = <a_i, b_k> for i < 2, k < 4 */
    void (*products)(int64_t m, const double *const *a, const double *const *b, double *sum);
    /* coded_i - 128 = q_i ~= a_i unit / scale in -127 .. 127; returns scale, and
     * ||a unit - scale q||^2. */
    double (*quantise)(int64_t m, const double *a, double unit, uint8_t *coded, double *error);
    /* sum[c][k] = sum_i coded_c,i p_k,i exactly for 2 columns and k < count <= CSREC_SCREEN_COUNT,
     * all m apart, a multiple of 64; |p_i| <= CSREC_SCREEN_RANGE. */
    void (*coded_dots)(int64_t m, int count, const uint8_t *coded, const int8_t *p, int64_t *sum);
    /* out = base - sum_k w_k row_k over n floats, a multiple of 64. */
    void (*combine)(int64_t n, int64_t count, const float *const *row, const float *w,
                    const float *base, float *out);
    /* max |c_j| over n floats, a multiple of 64. */
    float (*largest)(int64_t n, const float *c);
    /* Lists the j with |c_j| >= least, ascending; returns how many. */
    int64_t (*reaching)(int64_t n, const float *c, float least, int64_t *list);
} csrec_dense_simd;

/* Blocks of 2^16 products of at most 255 * 127 stay below 2^31. Codes are unsigned and p is signed,
 * because processors multiply and add these fastest. */
enum { CSREC_SCREEN_RANGE = 127, CSREC_SCREEN_BLOCK = 1 << 16, CSREC_SCREEN_COUNT = 16 };

/* Access to single columns (dense_access.c). */
extern const csrec_column_access csrec_dense_access;

/* The widest that this processor runs. */
const csrec_dense_simd *csrec_dense_simd_choose(void);
extern const csrec_dense_simd csrec_dense_generic, csrec_dense_avx2, csrec_dense_avx512,
    csrec_dense_vnni;

/* c_j = <a_j, r> / ||a_j|| as dot rounds it; 0 for a column of zeros. */
double csrec_dense_correlation(const csrec_operator *A, int64_t j, const double *r);

/* 8-bit copy of the matrix that finds the best column (dense_screen.c); csrec_pool_destroy frees
 * it. NULL: out of memory. */
csrec_screen *csrec_screen_create(int64_t m, int64_t n);
/* Columns first .. end - 1, whose norms are known. */
void csrec_screen_encode(csrec_screen *screen, int64_t m, const csrec_dense *dense, int64_t first,
                         int64_t end);
csrec_status csrec_screen_of(const csrec_operator *A, const csrec_screen **screen);

/* upper[k][j] >= |csrec_dense_correlation(j)| with the k-th of count <= CSREC_SCREEN_COUNT
 * residuals r [count][m], in one pass over the screen. p: [CSREC_SCREEN_COUNT][csrec_screen_padded]
 * scratch. */
void csrec_screen_bounds(const csrec_operator *A, const csrec_screen *screen, int count,
                         const double *r, double *upper, int8_t *p);

/* The first column not in `skip` [n] with the largest |csrec_dense_correlation|; -1: none. c: its
 * correlation. best: a good column that is not in skip, or -1. */
int64_t csrec_screen_settle(const csrec_operator *A, const double *r, const bool *skip,
                            const double *upper, int64_t best, double *c);

/* Entries of p. */
static inline int64_t csrec_screen_padded(int64_t m) {
    return (m + 63) / 64 * 64;
}
