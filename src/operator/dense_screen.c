/* SPDX-License-Identifier: BSD-3-Clause */
/* dense_screen.c - finds the column with the largest correlation without reading the whole matrix.
 *
 * Each column of unit length is kept as a_j = s_j q_j + e_j with q_j of 8-bit integers, the
 * residual is rounded to r = t p + f with p of 8-bit integers, and
 *
 *     |<a_j, r> - s_j t <q_j, p>| <= ||e_j|| ||r|| + s_j ||q_j|| ||f||,   s_j ||q_j|| <= 1 +
 * ||e_j||
 *
 * where <q_j, p> is exact. Columns whose bound is below the best correlation so far are excluded;
 * the few others are computed in full. The pick is that of all correlations computed in full, for
 * an eighth of the memory traffic, by which a large matrix is bound. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "operator/dense.h"

/* ---- a few columns of a stored matrix: products, Gram matrix, sums. */

/* Below this many entries, computing all products is cheaper than the second copy. */
enum { SCREEN_FROM = 1 << 14 };

typedef struct access {
    csrec_pool pool; /* first */
    const csrec_operator *A;
    const csrec_dense *dense;
    const csrec_dense_simd *simd;
    const csrec_screen *screen; /* or NULL */
    int8_t *p;                  /* scratch of the screen */
} access;

static csrec_status access_create(const csrec_operator *A, void **state) {
    access *a = csrec_pool_create(sizeof *a);
    if (!a) return CSREC_MEMORY;
    a->A = A;
    a->dense = csrec_dense_of(A);
    a->simd = csrec_dense_simd_choose();
    csrec_status status = CSREC_OK;
    if (A->m * A->n >= SCREEN_FROM) {
        size_t bytes = CSREC_SCREEN_COUNT * (size_t)csrec_screen_padded(A->m);
        a->p = csrec_pool_keep(&a->pool, aligned_alloc(64, bytes));
        status = a->p ? csrec_screen_of(A, &a->screen) : CSREC_MEMORY;
    }
    return CSREC_SETTLE(status, csrec_pool_destroy(a), *state = a);
}

static const double *access_column(const access *a, int64_t j) {
    return a->dense->columns + j * a->A->m;
}

static double access_product(const void *state, int64_t j, const double *r) {
    const access *a = state;
    return a->simd->dot(a->A->m, access_column(a, j), r);
}

static void access_bounds(void *state, const double *r, double *upper) {
    const access *a = state;
    const double *norms = a->dense->norms;
    if (a->screen) {
        csrec_screen_bounds(a->A, a->screen, 1, r, upper, a->p);
        /* These bounds are for unit columns; a bound may be infinite, a length 0. */
        for (int64_t j = 0; j < a->A->n; j++)
            upper[j] = norms[j] > 0.0 ? upper[j] * norms[j] * (1.0 + 0x1p-50) : 0.0;
    } else {
        for (int64_t j = 0; j < a->A->n; j++) upper[j] = __builtin_fabs(access_product(a, j, r));
    }
}

/* Computes the requested entries of rows i, i + 1 and columns k .. k + 3. */
static void gram_tile(const access *a, int64_t i, int64_t k, int64_t size, const int64_t *list,
                      int64_t stride, double *G) {
    const double *rows[2], *columns[4];
    double sum[8];
    for (int64_t u = 0; u < 2; u++) rows[u] = access_column(a, list[i + u < size ? i + u : i]);
    for (int64_t v = 0; v < 4; v++) columns[v] = access_column(a, list[k + v < size ? k + v : k]);
    a->simd->products(a->A->m, rows, columns, sum);
    for (int64_t u = 0; u < 2 && i + u < size; u++)
        for (int64_t v = 0; v < 4 && k + v <= i + u; v++)
            G[(i + u) * stride + k + v] = G[(k + v) * stride + i + u] = sum[4 * u + v];
}

/* Columns are processed in groups that stay in the cache while all rows are read. */
static void access_gram(const void *state, int64_t first, int64_t size, const int64_t *list,
                        int64_t stride, double *G) {
    enum { FEW = 32 };
    const access *a = state;
    const int threads = csrec_threads_for(a->A->m * (size - first) * size >> 10, 0);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t start = 0; start < size; start += FEW)
        for (int64_t i = first; i < size; i += 2)
            for (int64_t k = start; k < start + FEW && k <= i + 1 && k < size; k += 4)
                gram_tile(a, i, k, size, list, stride, G);
}

static void access_subtract(const void *state, int64_t size, const int64_t *list, const double *w,
                            double *r) {
    const access *a = state;
    for (int64_t k = 0; k < size; k++)
        if (w[k] != 0.0)
            a->simd->subtract(a->A->m, 1, access_column(a, list[k]), a->A->m, w + k, r);
}

const csrec_column_access csrec_dense_access = {
    access_create, csrec_pool_destroy, access_bounds, access_product, access_gram, access_subtract};

struct csrec_screen {
    csrec_pool pool; /* first */
    int64_t stride;  /* m rounded up to 64 */
    uint8_t *coded;  /* [n + 1][stride] q_j + 128; columns are read in pairs */
    double *scale;   /* [n] s_j */
    double *error;   /* [n] ||e_j||; infinite if lengths leave the range of safe products */
};

/* Beyond these lengths squares leave the normal range and the bounds would not hold. */
static bool safe(double length) {
    return length > 1e-140 && length < 1e140;
}

void csrec_screen_encode(csrec_screen *s, int64_t m, const csrec_dense *d, int64_t first,
                         int64_t end) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    for (int64_t j = first; j < end; j++) {
        uint8_t *coded = s->coded + j * s->stride;
        double error = 0.0;
        memset(coded + m, 0, (size_t)(s->stride - m));
        if (safe(d->norms[j])) {
            s->scale[j] = simd->quantise(m, d->columns + j * m, 1.0 / d->norms[j], coded, &error);
            /* The parts of e_j are rounded at 2^-53 of a_j's; m of them at most. */
            s->error[j] = sqrt(error) * (1.0 + 1e-9) + 0x1p-50;
        } else {
            memset(coded, 128, (size_t)m);
            s->scale[j] = 0.0;
            s->error[j] = d->norms[j] == 0.0 ? 0.0 : INFINITY;
        }
    }
}

csrec_screen *csrec_screen_create(int64_t m, int64_t n) {
    csrec_screen *s = csrec_pool_create(sizeof *s);
    if (!s) return NULL;
    s->stride = csrec_screen_padded(m);
    s->coded =
        csrec_pool_keep(&s->pool, csrec_memory_allocate((size_t)(n + 1) * (size_t)s->stride));
    CSREC_TAKE(&s->pool, s->scale, n);
    CSREC_TAKE(&s->pool, s->error, n);
    if (csrec_pool_status(&s->pool)) {
        csrec_pool_destroy(s);
        return NULL;
    }
    memset(s->coded + n * s->stride, 0, (size_t)s->stride);
    return s;
}

csrec_status csrec_screen_of(const csrec_operator *A, const csrec_screen **screen) {
    csrec_dense *d = csrec_dense_of(A);
    csrec_screen *made = d->screen, *none = NULL;
    if (!made) {
        made = csrec_screen_create(A->m, A->n);
        if (!made) return CSREC_MEMORY;
        csrec_screen_encode(made, A->m, d, 0, A->n);
        /* If another thread was faster, its copy is used. */
        if (!atomic_compare_exchange_strong(&d->screen, &none, made)) {
            csrec_pool_destroy(made);
            made = none;
        }
    }
    *screen = made;
    return CSREC_OK;
}

/* p = r / t rounded; returns t, and ||r - t p|| with its own rounding. */
static double round_residual(int64_t m, const double *r, double length, int8_t *p, double *left) {
    double most = 0.0, squares = 0.0;
    for (int64_t i = 0; i < m; i++) most = fmax(most, fabs(r[i]));
    double t = most / CSREC_SCREEN_RANGE;
    for (int64_t i = 0; i < m; i++) {
        p[i] = (int8_t)lrint(r[i] / t);
        double f = r[i] - t * p[i];
        squares += f * f;
    }
    for (int64_t i = m; i < csrec_screen_padded(m); i++) p[i] = 0;
    *left = sqrt(squares) * (1.0 + 1e-9) + 0x1p-50 * length;
    return t;
}

/* One rounded residual. */
typedef struct rounded {
    double t, left, length, rounding, offset; /* 128 times the sum of p */
    bool safe;
} rounded;

static rounded round_one(const csrec_operator *A, const double *r, int8_t *p) {
    rounded k = {0};
    k.length = sqrt(csrec_dense_simd_choose()->dot(A->m, r, r)) * (1.0 + 1e-9);
    k.safe = safe(k.length);
    /* Bound of the rounding of <a_j, r> by dot, at most m 2^-53 |a_j| |r|, and of the products
     * here. */
    k.rounding = (2.0 * (double)A->m + 100.0) * 0x1p-53 * k.length;
    if (k.safe)
        k.t = round_residual(A->m, r, k.length, p, &k.left);
    else
        memset(p, 0, (size_t)csrec_screen_padded(A->m) * sizeof *p);
    for (int64_t i = 0; i < A->m; i++) k.offset += 128.0 * p[i];
    return k;
}

static double bound(const rounded *k, double about, double scale, double error) {
    if (!k->safe) return INFINITY;
    return fabs((about - k->offset) * k->t * scale) + error * k->length + (1.0 + error) * k->left +
           k->rounding;
}

void csrec_screen_bounds(const csrec_operator *A, const csrec_screen *s, int count, const double *r,
                         double *upper, int8_t *p) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    rounded of[CSREC_SCREEN_COUNT];
    for (int k = 0; k < count; k++) of[k] = round_one(A, r + k * A->m, p + k * s->stride);
    for (int k = count; k % 4 != 0; k++) /* coded_dots takes four */
        memset(p + k * s->stride, 0, (size_t)s->stride * sizeof *p);
    /* A smaller pass takes less time than starting a team of threads on busy cores. */
    const int threads = csrec_threads_for(A->m * A->n >> 10, 0);
#pragma omp parallel for schedule(dynamic, 128) num_threads(threads)
    for (int64_t pair = 0; pair < A->n; pair += 2) {
        int64_t sum[2 * CSREC_SCREEN_COUNT];
        simd->coded_dots(s->stride, count, s->coded + pair * s->stride, p, sum);
        for (int64_t j = pair; j < pair + 2 && j < A->n; j++)
            for (int k = 0; k < count; k++) {
                double about = (double)sum[(j - pair) * CSREC_SCREEN_COUNT + k];
                upper[k * A->n + j] = bound(&of[k], about, s->scale[j], s->error[j]);
            }
    }
}

static int64_t first_guess(int64_t n, const bool *skip, const double *upper) {
    int64_t best = -1;
    for (int64_t j = 0; j < n; j++)
        if (!skip[j] && (best < 0 || upper[j] > upper[best])) best = j;
    return best;
}

int64_t csrec_screen_settle(const csrec_operator *A, const double *r, const bool *skip,
                            const double *upper, int64_t best, double *c) {
    if (best < 0) best = first_guess(A->n, skip, upper);
    if (best < 0) return -1;
    *c = csrec_dense_correlation(A, best, r);
    for (int64_t j = 0, guess = best; j < A->n; j++) {
        if (upper[j] < fabs(*c) || skip[j] || j == guess) continue;
        double here = csrec_dense_correlation(A, j, r);
        if (fabs(here) > fabs(*c) || (fabs(here) == fabs(*c) && j < best)) {
            best = j;
            *c = here;
        }
    }
    return best;
}
