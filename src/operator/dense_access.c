/* SPDX-License-Identifier: BSD-3-Clause */
/* dense_access.c - a few columns of a stored matrix: products, Gram matrix, sums. */
#include <stdlib.h>

#include "base/threads.h"
#include "operator/dense.h"

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
    if (status)
        csrec_pool_destroy(a);
    else
        *state = a;
    return status;
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
