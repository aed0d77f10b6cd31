/* SPDX-License-Identifier: BSD-3-Clause */
/* pca.c - principal components of data read in pieces.
 *
 * With more rows than columns from the covariance C = Xc^T Xc / m; with fewer from the Gram matrix
 * G = Xc Xc^T / m of the centred rows, which has the same eigenvalues: if G u = l u then
 * Xc^T u / sqrt(m l) is a unit eigenvector of C (Turk and Pentland 1991, section 2). */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/engine.h"
#include "base/blas.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/call.h"
#include "learn/model.h"

enum { COLUMNS = 1024 }; /* columns of the data, centred at a time */

static const double ENERGY = 0.99, RANK = 1e-10; /* of the variance; of the largest eigenvalue */

typedef struct pca_learning {
    const csrec_data *data;
    const csrec_learn_options *options;
    csrec_call call;
    bool *stopped;
    int64_t m, n, size, k; /* size: of the eigenproblem; k: eigenvectors requested, then kept */
    float *X;              /* [m][n] if by the Gram matrix */
    double *mean, *A;      /* [n]; [size][size] */
    double *values, *V;    /* [k]; [k][size] */
    double *components;    /* [k][n] */
    double *part;          /* [m][COLUMNS] */
    csrec_pool pool;       /* of all arrays */
    double trace;
    const char *matrix_on, *vectors_on; /* the backends used */
} pca_learning;

static csrec_status no_memory(csrec_error *error) {
    return csrec_fail(error, CSREC_MEMORY,
                      "out of memory for principal components; use fewer or smaller pictures or "
                      "patches");
}

static csrec_status keep_piece(void *context, int64_t first, int64_t count, const float *X,
                               csrec_error *error) {
    pca_learning *j = context;
    (void)error;
    memcpy(j->X + first * j->n, X, (size_t)(count * j->n) * sizeof *X);
    return CSREC_OK;
}

static csrec_status load(pca_learning *j, csrec_error *error) {
    csrec_data_pass pass = {"reading", csrec_call_hear, &j->call, keep_piece, j, 0, 0};
    CSREC_TAKE(&j->pool, j->X, j->m * j->n);
    CSREC_TAKE(&j->pool, j->part, j->m * COLUMNS);
    csrec_status status =
        j->pool.lacks ? no_memory(error) : csrec_data_each(j->data, &pass, j->stopped, error);
    if (status || *j->stopped) return status;
    return csrec_mean(j->m, j->n, j->X, NULL, j->options->threads, j->mean, error);
}

/* Copies columns first .. of the data, centred, to `part`; returns their number, 0 at the end or if
 * stopped. */
static int take_columns(pca_learning *j, int64_t first) {
    if (first >= j->n || csrec_call_poll(&j->call)) return 0;
    int columns = (int)(j->n - first < COLUMNS ? j->n - first : COLUMNS);
    for (int64_t i = 0; i < j->m; i++)
        for (int c = 0; c < columns; c++)
            j->part[i * columns + c] = (double)j->X[i * j->n + first + c] - j->mean[first + c];
    return columns;
}

static csrec_status make_gram(pca_learning *j, csrec_error *error) {
    int m = (int)j->m;
    j->matrix_on = "cpu";
    csrec_status status = load(j, error);
    if (status || *j->stopped) return status;
    if (!csrec_blas_begin(1)) return no_memory(error);
    memset(j->A, 0, (size_t)(j->m * j->m) * sizeof *j->A);
    int columns;
    for (int64_t first = 0; (columns = take_columns(j, first)); first += columns)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, m, columns, 1.0 / (double)m, j->part,
                    columns, 1.0, j->A, m);
    csrec_blas_end(1);
    *j->stopped = csrec_call_stopped(&j->call);
    return CSREC_OK;
}

static csrec_status make_matrix(pca_learning *j, csrec_error *error) {
    const csrec_learn_options *o = j->options;
    csrec_status status =
        j->size == j->n ? csrec_stream_on(o->backend, j->data, o->threads, csrec_call_hear,
                                          &j->call, j->mean, j->A, j->stopped, &j->matrix_on, error)
                        : make_gram(j, error);
    for (int64_t i = 0; i < j->size && !status && !*j->stopped; i++)
        j->trace += j->A[i * (j->size + 1)];
    if (!status && !*j->stopped && !(j->trace > 0.0))
        status = csrec_fail(error, CSREC_DATA,
                            "all %lld rows of the data are equal; add rows that differ",
                            (long long)j->m);
    return status;
}

/* The requested number, at most the rank, and enough for the share of the variance. */
static void choose(pca_learning *j) {
    const csrec_learn_options *o = j->options;
    double energy = o->energy > 0.0 ? o->energy : o->components > 0 ? 1.0 : ENERGY, sum = 0.0;
    int64_t k = 0;
    while (k < j->k && j->values[k] > RANK * j->values[0] &&
           (energy >= 1.0 || sum < energy * j->trace))
        sum += j->values[k++];
    j->k = k;
}

static csrec_status spread_vectors(pca_learning *j, csrec_error *error) {
    j->components = j->V;
    if (j->size == j->n) return CSREC_OK;
    CSREC_TAKE(&j->pool, j->components, j->k * j->n);
    if (!j->components || !csrec_blas_begin(1)) return no_memory(error);
    int columns;
    for (int64_t first = 0; (columns = take_columns(j, first)); first += columns)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)j->k, columns, (int)j->m, 1.0,
                    j->V, (int)j->m, j->part, columns, 0.0, j->components + first, (int)j->n);
    for (int64_t i = 0; i < j->k && !csrec_call_poll(&j->call); i++) {
        cblas_dscal((int)j->n, 1.0 / sqrt((double)j->m * j->values[i]), j->components + i * j->n,
                    1);
        csrec_eigen_sign(j->n, j->components + i * j->n);
    }
    csrec_blas_end(1);
    *j->stopped = csrec_call_stopped(&j->call);
    return CSREC_OK;
}

static csrec_status solve(pca_learning *j, csrec_error *error) {
    csrec_progress now = {"eigenvectors", 0, 0, -1.0};
    const csrec_learn_options *o = j->options;
    *j->stopped = csrec_call_report(&j->call, &now);
    if (*j->stopped) return CSREC_OK;
    CSREC_TRY(csrec_eigen_largest_on(o->backend, (int)j->size, j->A, (int)j->k, j->values, j->V,
                                     &j->vectors_on, error));
    choose(j);
    return spread_vectors(j, error);
}

static csrec_status name_backends(const pca_learning *j, csrec_model *model) {
    char text[64];
    snprintf(text, sizeof text, "covariance %s, eigenvectors %s", j->matrix_on, j->vectors_on);
    bool same = strcmp(j->matrix_on, j->vectors_on) == 0;
    return csrec_model_set_text(model, "backend", same ? j->matrix_on : text);
}

static csrec_status pca_deliver(const pca_learning *j, csrec_model **model, csrec_error *error) {
    double kept = 0.0, noise = 0.0;
    for (int64_t i = 0; i < j->k; i++) kept += j->values[i];
    /* The mean variance that is left: Tipping and Bishop 1999, equation 8. */
    if (j->k < j->n && j->trace > kept) noise = (j->trace - kept) / (double)(j->n - j->k);
    csrec_model_parts parts = {.n = 0};
    csrec_model_add(&parts, "mean", (csrec_shape){1, {j->n}}, j->mean);
    csrec_model_add(&parts, "components", (csrec_shape){2, {j->k, j->n}}, j->components);
    csrec_model_add(&parts, "variances", (csrec_shape){1, {j->k}}, j->values);
    csrec_model_add(&parts, "noise", (csrec_shape){0}, &noise);
    csrec_status status = csrec_model_build("pca", &parts, j->options, j->n, model, error);
    if (status || !name_backends(j, *model)) return status;
    csrec_model_destroy(*model);
    *model = NULL;
    return no_memory(error);
}

static csrec_status allocate(pca_learning *j, csrec_error *error) {
    int64_t most = j->size == j->n ? j->n : j->m - 1;
    j->k =
        j->options->components > 0 && j->options->components < most ? j->options->components : most;
    if (j->k < 1)
        return csrec_fail(error, CSREC_DATA,
                          "one row of data has no principal components; give more pictures, or "
                          "patches");
    if (j->size > 1 << 15)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%lld rows of %lld: the smaller must be at most 32768; take fewer, or "
                          "smaller patches",
                          (long long)j->m, (long long)j->n);
    uint64_t squares = 4 * (uint64_t)(j->size * j->size) * sizeof(double);
    if (j->size < j->n) squares += (uint64_t)j->m * (uint64_t)j->n * sizeof(float);
    CSREC_TRY(csrec_memory_check(squares, 1, "principal components", error));
    CSREC_TAKE(&j->pool, j->mean, j->n);
    CSREC_TAKE(&j->pool, j->A, j->size * j->size);
    CSREC_TAKE(&j->pool, j->values, j->k);
    CSREC_TAKE(&j->pool, j->V, j->k * j->size);
    return j->pool.lacks ? no_memory(error) : CSREC_OK;
}

csrec_status csrec_pca_learn(const csrec_data *data, const csrec_learn_options *options,
                             csrec_model **model, bool *stopped, csrec_error *error) {
    bool own = false;
    pca_learning j = {.data = data, .options = options, .stopped = stopped ? stopped : &own};
    *j.stopped = false;
    CSREC_TRY(csrec_data_check(data, error));
    CSREC_TRY(csrec_learn_check(options, data->n, error));
    CSREC_TRY(csrec_learn_usable(options->backend, error));
    j.m = data->m;
    j.n = data->n;
    j.size = j.m < j.n ? j.m : j.n;
    csrec_call_begin(&j.call, options->progress, options->context,
                     (csrec_progress){"reading", 0, j.m, -1.0});
    csrec_status status = allocate(&j, error);
    if (!status) status = make_matrix(&j, error);
    if (!status && !*j.stopped) status = solve(&j, error);
    if (!status && !*j.stopped) status = pca_deliver(&j, model, error);
    csrec_call_end(&j.call);
    csrec_pool_clear(&j.pool);
    return status;
}
