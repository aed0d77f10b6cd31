/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse.c - a matrix of which only the entries that are not 0 are stored, by columns. A complex
 * one is stored as the real matrix that it is for pairs: [re, -im; im, re] for each entry. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "operator/engine.h"

typedef struct sparse {
    int64_t *first; /* [n + 1] of column j's entries in the next two */
    int32_t *row;   /* ascending in a column */
    double *value;
    double *norms; /* [n] */
} sparse;

static csrec_status refuse(csrec_error *error, int64_t j, const char *why) {
    return csrec_fail(error, CSREC_DATA, "operator sparse: column %lld: %s", (long long)j, why);
}

static csrec_status check_column(const csrec_operator_spec *spec, int64_t j, csrec_error *error) {
    const int64_t parts = spec->complex_signal ? 2 : 1;
    const int64_t *row = spec->index + spec->offset[j],
                  size = spec->offset[j + 1] - spec->offset[j];
    const double *value = spec->matrix + parts * spec->offset[j];
    for (int64_t k = 0; k < size; k++) {
        if (row[k] < 0 || row[k] >= spec->m) return refuse(error, j, "a row is out of range");
        if (k > 0 && row[k] <= row[k - 1])
            return refuse(error, j, "rows must ascend; sort them, and add up repeats");
        for (int64_t p = 0; p < parts; p++)
            if (!isfinite(value[parts * k + p])) return refuse(error, j, "an entry is not finite");
    }
    return CSREC_OK;
}

static csrec_status sparse_check(const csrec_operator_spec *spec, csrec_error *error) {
    const long long most = spec->complex_signal ? INT32_MAX / 2 : INT32_MAX;
    if (spec->m < 1 || spec->n < 1 || spec->m > most || spec->n > most)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator sparse: a matrix of %lld x %lld; both sides must be 1 to %lld",
                          (long long)spec->m, (long long)spec->n, most);
    if (!spec->offset || !spec->index || !spec->matrix || spec->offset[0] != 0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator sparse: needs offset, which begins with 0, index and matrix");
    /* All offsets before any entry: what is read lies before the last. */
    for (int64_t j = 0; j < spec->n; j++)
        if (spec->offset[j + 1] < spec->offset[j] || spec->offset[j + 1] > INT64_C(1) << 56)
            return refuse(error, j, "offset must not fall");
    for (int64_t j = 0; j < spec->n; j++) CSREC_TRY(check_column(spec, j, error));
    return CSREC_OK;
}

/* Part p of column j, of the entry's real or imaginary part, begins at `at`; returns its end. */
static int64_t fill_column(const csrec_operator_spec *spec, int64_t j, int p, sparse *s,
                           int64_t at) {
    for (int64_t k = spec->offset[j]; k < spec->offset[j + 1]; k++) {
        if (!spec->complex_signal) {
            s->row[at] = (int32_t)spec->index[k];
            s->value[at++] = spec->matrix[k];
            continue;
        }
        const double re = spec->matrix[2 * k], im = spec->matrix[2 * k + 1];
        s->row[at] = (int32_t)(2 * spec->index[k]);
        s->value[at++] = p ? -im : re;
        s->row[at] = (int32_t)(2 * spec->index[k] + 1);
        s->value[at++] = p ? re : im;
    }
    return at;
}

static void fill(const csrec_operator *A, const csrec_operator_spec *spec, sparse *s) {
    const int parts = spec->complex_signal ? 2 : 1;
    s->first[0] = 0;
    for (int64_t j = 0; j < A->n; j++) {
        const int64_t from = s->first[j];
        s->first[j + 1] = fill_column(spec, j / parts, (int)(j % parts), s, from);
        /* At most m entries, and their squares may overflow. */
        s->norms[j] = cblas_dnrm2((int)(s->first[j + 1] - from), s->value + from, 1);
    }
}

static csrec_status sparse_create(csrec_operator *A, const csrec_operator_spec *spec,
                                  csrec_error *error) {
    CSREC_TRY(sparse_check(spec, error));
    const int64_t parts = spec->complex_signal ? 2 : 1, entries = spec->offset[spec->n];
    sparse *s = csrec_operator_data(A, sizeof *s);
    if (!s) return CSREC_MEMORY;
    A->m = parts * spec->m;
    A->n = parts * spec->n;
    A->complex_x = A->complex_y = spec->complex_signal;
    CSREC_TAKE(&A->pool, s->first, A->n + 1);
    CSREC_TAKE(&A->pool, s->row, parts * parts * entries + 1);
    CSREC_TAKE(&A->pool, s->value, parts * parts * entries + 1);
    CSREC_TAKE(&A->pool, s->norms, A->n);
    if (csrec_pool_status(&A->pool))
        return csrec_fail(error, CSREC_MEMORY, "operator sparse: out of memory for %lld entries",
                          (long long)entries);
    fill(A, spec, s);
    return CSREC_OK;
}

/* Of a complex one, the column of an entry's real part has re and im of each in turn. */
static csrec_status sparse_divide(const csrec_operator *A, int exponent, csrec_operator **divided,
                                  csrec_error *error) {
    const sparse *s = A->data;
    const int64_t parts = A->complex_x ? 2 : 1, n = A->n / parts;
    const int64_t entries = s->first[A->n] / (parts * parts);
    csrec_operator_spec spec = {
        .name = "sparse", .m = A->m / parts, .n = n, .complex_signal = A->complex_x};
    int64_t *offset = malloc((size_t)(n + 1) * sizeof *offset);
    int64_t *index = malloc(((size_t)entries + 1) * sizeof *index);
    double *matrix = malloc(((size_t)(parts * entries) + 1) * sizeof *matrix);
    bool made = offset && index && matrix;
    for (int64_t j = 0; made && j <= n; j++) offset[j] = s->first[parts * j] / (parts * parts);
    for (int64_t j = 0; made && j < n; j++)
        for (int64_t k = 0; k < parts * (offset[j + 1] - offset[j]); k++) {
            index[offset[j] + k / parts] = s->row[s->first[parts * j] + k] / parts;
            matrix[parts * offset[j] + k] = ldexp(s->value[s->first[parts * j] + k], -exponent);
        }
    spec.offset = offset;
    spec.index = index;
    spec.matrix = matrix;
    csrec_status status = made ? csrec_operator_create_on(&A->context, &spec, divided, error)
                               : csrec_fail(error, CSREC_MEMORY, "operator sparse: out of memory");
    free(offset);
    free(index);
    free(matrix);
    return status;
}

static double product(const sparse *s, int64_t j, const double *v) {
    double sum = 0.0;
    for (int64_t k = s->first[j]; k < s->first[j + 1]; k++) sum += s->value[k] * v[s->row[k]];
    return sum;
}

/* v += w a_j */
static void add(const sparse *s, int64_t j, double w, double *v) {
    for (int64_t k = s->first[j]; k < s->first[j + 1]; k++) v[s->row[k]] += w * s->value[k];
}

/* x is sparse in most solvers: columns with x_j = 0 are not read. */
static csrec_status sparse_forward(const csrec_operator *A, const double *x, double *y) {
    memset(y, 0, (size_t)A->m * sizeof *y);
    for (int64_t j = 0; j < A->n; j++)
        if (x[j] != 0.0) add(A->data, j, x[j], y);
    return CSREC_OK;
}

static csrec_status sparse_adjoint_on(const csrec_operator *A, int64_t count, const bool *chosen,
                                      const double *y, double *x) {
    const sparse *s = A->data;
    const int threads = csrec_threads_for(count * s->first[A->n] >> 4, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t j = 0; j < A->n; j++)
        for (int64_t k = 0; k < count; k++)
            x[k * A->n + j] = !chosen || chosen[j] ? product(s, j, y + k * A->m) : 0.0;
    return CSREC_OK;
}

static csrec_status sparse_adjoint(const csrec_operator *A, const double *y, double *x) {
    return sparse_adjoint_on(A, 1, NULL, y, x);
}

static csrec_status sparse_column_norms(const csrec_operator *A, double *norms) {
    memcpy(norms, ((const sparse *)A->data)->norms, (size_t)A->n * sizeof *norms);
    return CSREC_OK;
}

static csrec_status sparse_column(const csrec_operator *A, int64_t j, double *a) {
    memset(a, 0, (size_t)A->m * sizeof *a);
    add(A->data, j, 1.0, a);
    return CSREC_OK;
}

typedef struct access {
    const csrec_operator *A;
    double column[]; /* [m] zeros between calls */
} access;

static csrec_status access_create(const csrec_operator *A, void **state) {
    access *a = calloc(1, sizeof *a + (size_t)A->m * sizeof *a->column);
    if (!a) return CSREC_MEMORY;
    a->A = A;
    *state = a;
    return CSREC_OK;
}

/* The products themselves. */
static void access_bounds(void *state, const double *r, double *upper) {
    const access *a = state;
    sparse_adjoint(a->A, r, upper);
    for (int64_t j = 0; j < a->A->n; j++) upper[j] = fabs(upper[j]);
}

static double access_product(const void *state, int64_t j, const double *r) {
    return product(((const access *)state)->A->data, j, r);
}

static void access_gram(const void *state, int64_t first, int64_t size, const int64_t *list,
                        int64_t stride, double *G) {
    access *a = (access *)state;
    const sparse *s = a->A->data;
    for (int64_t i = first; i < size; i++) {
        const int64_t j = list[i];
        add(s, j, 1.0, a->column);
        for (int64_t k = 0; k <= i; k++)
            G[i * stride + k] = G[k * stride + i] = product(s, list[k], a->column);
        for (int64_t k = s->first[j]; k < s->first[j + 1]; k++) a->column[s->row[k]] = 0.0;
    }
}

static void access_subtract(const void *state, int64_t size, const int64_t *list, const double *w,
                            double *r) {
    const access *a = state;
    for (int64_t k = 0; k < size; k++)
        if (w[k] != 0.0) add(a->A->data, list[k], -w[k], r);
}

static const csrec_column_access sparse_access = {access_create,  free,        access_bounds,
                                                  access_product, access_gram, access_subtract};

const csrec_operator_type csrec_operator_sparse = {.name = "sparse",
                                                   .brief = "any matrix by its entries that are "
                                                            "not 0",
                                                   .takes = CSREC_TAKES_INDEX | CSREC_TAKES_COMPLEX,
                                                   .create = sparse_create,
                                                   .forward = sparse_forward,
                                                   .adjoint = sparse_adjoint,
                                                   .adjoint_on = sparse_adjoint_on,
                                                   .column_norms = sparse_column_norms,
                                                   .column = sparse_column,
                                                   .access = &sparse_access,
                                                   .divide = sparse_divide};
