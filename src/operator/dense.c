/* SPDX-License-Identifier: BSD-3-Clause */
/* dense.c - any m x n matrix, stored by columns; columns may have any length. A complex one is
 * stored as the real matrix that it is for pairs: [re, -im; im, re] for each entry. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/threads.h"
#include "operator/dense.h"
#include "operator/engine.h"

const csrec_dense_simd *csrec_dense_simd_choose(void) {
#if defined(__x86_64__)
    if (csrec_cpu_level() == CSREC_CPU_AVX512 && __builtin_cpu_supports("avx512vnni"))
        return &csrec_dense_vnni;
#endif
    return CSREC_CPU_CHOOSE(csrec_dense);
}

static void dense_destroy(csrec_operator *A) {
    csrec_pool_destroy(((csrec_dense *)A->data)->screen);
}

/* For infinities and NaN, adding one to the exponent overflows into the sign bit. */
static bool all_finite(int64_t count, const double *v) {
    typedef uint64_t bits __attribute__((may_alias));
    const bits *as_bits = (const bits *)v;
    uint64_t sign = 0;
    for (int64_t i = 0; i < count; i++) sign |= (as_bits[i] & INT64_MAX) + (UINT64_C(1) << 52);
    return !(sign >> 63);
}

static csrec_status dense_check(const csrec_operator_spec *spec, csrec_error *error) {
    long long most = spec->complex_signal ? INT32_MAX / 2 : INT32_MAX;
    if (spec->m < 1 || spec->n < 1 || spec->m > most || spec->n > most || !spec->matrix)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator dense: a matrix of %lld x %lld; both sides must be 1 to %lld",
                          (long long)spec->m, (long long)spec->n, most);
    return CSREC_OK;
}

static csrec_status dense_refuse(const csrec_operator_spec *spec, csrec_error *error) {
    int64_t at = 0;
    while (isfinite(spec->matrix[at])) at++;
    if (spec->complex_signal) at /= 2;
    return csrec_fail(error, CSREC_DATA, "operator dense: entry (%lld, %lld) is not finite",
                      (long long)(at / spec->n), (long long)(at % spec->n));
}

enum { PANEL = 64 };

/* Columns j0 .. end - 1 and their norms, while they are in cache; false: not all are finite. */
static bool fill_panel(csrec_dense *d, const csrec_operator_spec *spec, int64_t j0, int64_t end) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    int64_t m = spec->m;
    for (int64_t i0 = 0; i0 < m; i0 += 16)
        for (int64_t j = j0; j < end; j++)
            for (int64_t i = i0; i < m && i < i0 + 16; i++)
                d->columns[j * m + i] = spec->matrix[i * spec->n + j];
    for (int64_t j = j0; j < end; j++) {
        const double *a = d->columns + j * m;
        double squares = simd->dot(m, a, a);
        bool usual = squares > 1e-250 && squares < 1e250;
        if (!usual && !all_finite(m, a)) return false;
        /* Squares out of the normal range need the scaled sum of BLAS. */
        d->norms[j] = usual ? sqrt(squares) : cblas_dnrm2((int)m, a, 1);
    }
    if (d->screen) csrec_screen_encode(d->screen, m, d, j0, end);
    return true;
}

static bool fill(csrec_dense *d, const csrec_operator_spec *spec) {
    bool finite = true;
    const int threads = csrec_threads_for(spec->m * spec->n >> 4, 0);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(&& : finite)
    for (int64_t j = 0; j < spec->n; j += PANEL)
        finite = fill_panel(d, spec, j, j + PANEL < spec->n ? j + PANEL : spec->n) && finite;
    return finite;
}

static csrec_status create_real(csrec_operator *A, const csrec_operator_spec *spec,
                                csrec_error *error) {
    csrec_dense *d = csrec_operator_data(A, sizeof *d);
    if (!d) return CSREC_MEMORY;
    A->m = spec->m;
    A->n = spec->n;
    const size_t bytes = (size_t)spec->m * (size_t)spec->n * sizeof *d->columns;
    d->columns = csrec_pool_keep(&A->pool, csrec_memory_allocate(bytes));
    CSREC_TAKE(&A->pool, d->norms, spec->n);
    /* For a large matrix the screen is made now, because reading the matrix again costs more. */
    bool large = spec->m * spec->n >= 1 << 20;
    if (large) d->screen = csrec_screen_create(spec->m, spec->n);
    if (csrec_pool_status(&A->pool) || (large && !d->screen)) {
        dense_destroy(A);
        return csrec_fail(error, CSREC_MEMORY, "operator dense: out of memory for %lld x %lld",
                          (long long)spec->m, (long long)spec->n);
    }
    if (fill(d, spec)) return CSREC_OK;
    dense_destroy(A);
    return dense_refuse(spec, error);
}

/* The real matrix of a complex one. */
static csrec_status create_complex(csrec_operator *A, const csrec_operator_spec *spec,
                                   csrec_error *error) {
    csrec_operator_spec real = *spec;
    int64_t m = spec->m, n = spec->n;
    double *matrix = csrec_memory_allocate(4 * (size_t)m * (size_t)n * sizeof *matrix);
    if (!matrix)
        return csrec_fail(error, CSREC_MEMORY, "operator dense: out of memory for %lld x %lld",
                          (long long)m, (long long)n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double re = spec->matrix[2 * (i * n + j)], im = spec->matrix[2 * (i * n + j) + 1];
            double *at = matrix + 4 * i * n + 2 * j;
            at[0] = at[2 * n + 1] = re;
            at[1] = -im;
            at[2 * n] = im;
        }
    real.matrix = matrix;
    real.m = 2 * m;
    real.n = 2 * n;
    csrec_status status = create_real(A, &real, error);
    free(matrix);
    A->complex_x = A->complex_y = true;
    return status == CSREC_DATA ? dense_refuse(spec, error) : status;
}

static csrec_status dense_create(csrec_operator *A, const csrec_operator_spec *spec,
                                 csrec_error *error) {
    CSREC_TRY(dense_check(spec, error));
    return (spec->complex_signal ? create_complex : create_real)(A, spec, error);
}

static csrec_status dense_divide(const csrec_operator *A, int exponent, csrec_operator **divided,
                                 csrec_error *error) {
    const csrec_dense *d = A->data;
    const int64_t parts = A->complex_x ? 2 : 1, m = A->m / parts, n = A->n / parts;
    double *matrix = csrec_memory_allocate((size_t)A->m * (size_t)n * sizeof *matrix);
    if (!matrix)
        return csrec_fail(error, CSREC_MEMORY, "operator dense: out of memory for %lld x %lld",
                          (long long)m, (long long)n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < A->m; i++)
            matrix[(i / parts * n + j) * parts + i % parts] =
                ldexp(d->columns[j * parts * A->m + i], -exponent);
    const csrec_operator_spec spec = {
        .name = "dense", .m = m, .n = n, .matrix = matrix, .complex_signal = A->complex_x};
    csrec_status status = csrec_operator_create_on(&A->context, &spec, divided, error);
    free(matrix);
    return status;
}

/* x is sparse in most solvers: columns with x_j = 0 are not read. Each block of rows sums its
 * columns in one order, so the number of threads does not change the result. */
static csrec_status dense_forward(const csrec_operator *A, const double *x, double *y) {
    enum { BLOCK = 1024 };
    const csrec_dense *d = A->data;
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    const int threads = csrec_threads_for(A->m * A->n >> 4, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t start = 0; start < A->m; start += BLOCK) {
        int64_t size = A->m - start < BLOCK ? A->m - start : BLOCK;
        memset(y + start, 0, (size_t)size * sizeof *y);
        for (int64_t j = 0, end; j < A->n; j = end) {
            for (end = j; end < A->n && x[end] != 0.0;) end++;
            if (end == j)
                end++;
            else
                simd->subtract(size, end - j, d->columns + j * A->m + start, A->m, x + j,
                               y + start);
        }
        for (int64_t i = start; i < start + size; i++) y[i] = 0.0 - y[i];
    }
    return CSREC_OK;
}

/* Of a complex matrix every other column is read: that of i a_j is a_j with its pairs turned, and
 * so <i a_j, y> = <a_j, y turned back>. Four columns share the loads of y and of y turned back, of
 * a real matrix those of two y. */
static void multiply_columns(const csrec_operator *A, int64_t count, const int64_t *list,
                             int64_t size, const double *y, const double *turned, double *x) {
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
    const int64_t few = size < 4 ? size : 4, m = A->m;
    const double *columns[4];
    double sum[8];
    for (int64_t v = 0; v < 4; v++)
        columns[v] = ((const csrec_dense *)A->data)->columns + list[v < few ? v : 0] * m;
    for (int64_t k = 0; k < count; k += turned ? 1 : 2) {
        const int64_t other = k + 1 < count ? k + 1 : k;
        const double *both[2] = {y + k * m, turned ? turned + k * m : y + other * m};
        double *to[2] = {x + k * A->n, turned ? x + k * A->n + 1 : x + other * A->n};
        simd->products(m, both, columns, sum);
        for (int64_t u = 0; u < 2; u++)
            for (int64_t v = 0; v < few; v++) to[u][list[v]] = sum[4 * u + v];
    }
}

static csrec_status dense_adjoint_on(const csrec_operator *A, int64_t count, const bool *chosen,
                                     const double *y, double *x) {
    const int64_t parts = A->complex_x ? 2 : 1, m = A->m, n = A->n;
    int64_t *list = malloc((size_t)n * sizeof *list), size = 0;
    double *turned = parts == 2 ? malloc((size_t)(count * m) * sizeof *turned) : NULL;
    const bool room = list && (turned || parts == 1);
    for (int64_t j = 0; j < n && room; j += parts)
        if (!chosen || chosen[j]) list[size++] = j;
    for (int64_t i = 0; i < count * m && turned; i += 2) {
        turned[i] = y[i + 1];
        turned[i + 1] = -y[i];
    }
    if (size * parts < n && room) memset(x, 0, (size_t)(count * n) * sizeof *x);
    const int threads = csrec_threads_for(count * m * size >> 4, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t g = 0; g < size; g += 4)
        multiply_columns(A, count, list + g, size - g, y, turned, x);
    free(list);
    free(turned);
    return room ? CSREC_OK : CSREC_MEMORY;
}

static csrec_status dense_adjoint(const csrec_operator *A, const double *y, double *x) {
    if (A->complex_x) return dense_adjoint_on(A, 1, NULL, y, x);
    const csrec_dense *d = A->data;
    const csrec_dense_simd *simd = csrec_dense_simd_choose();
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(A->m * A->n >> 4, 0))
    for (int64_t j = 0; j < A->n; j++) x[j] = simd->dot(A->m, d->columns + j * A->m, y);
    return CSREC_OK;
}

static csrec_status dense_column_norms(const csrec_operator *A, double *norms) {
    const csrec_dense *d = A->data;
    memcpy(norms, d->norms, (size_t)A->n * sizeof *norms);
    return CSREC_OK;
}

static csrec_status dense_column(const csrec_operator *A, int64_t j, double *a) {
    const csrec_dense *d = A->data;
    memcpy(a, d->columns + j * A->m, (size_t)A->m * sizeof *a);
    return CSREC_OK;
}

double csrec_dense_correlation(const csrec_operator *A, int64_t j, const double *r) {
    const csrec_dense *d = A->data;
    double norm = d->norms[j];
    return norm > 0.0 ? csrec_dense_simd_choose()->dot(A->m, d->columns + j * A->m, r) / norm : 0.0;
}

static csrec_status dense_correlate(const csrec_operator *A, const double *r, double *c) {
    const csrec_dense *d = A->data;
    dense_adjoint(A, r, c);
    for (int64_t j = 0; j < A->n; j++) c[j] = d->norms[j] > 0.0 ? c[j] / d->norms[j] : 0.0;
    return CSREC_OK;
}

const csrec_operator_type csrec_operator_dense = {.name = "dense",
                                                  .brief = "any real matrix in memory",
                                                  .takes = CSREC_TAKES_COMPLEX,
                                                  .create = dense_create,
                                                  .destroy = dense_destroy,
                                                  .forward = dense_forward,
                                                  .adjoint = dense_adjoint,
                                                  .adjoint_on = dense_adjoint_on,
                                                  .column_norms = dense_column_norms,
                                                  .correlate = dense_correlate,
                                                  .column = dense_column,
                                                  .access = &csrec_dense_access,
                                                  .divide = dense_divide};
