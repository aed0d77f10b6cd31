/* SPDX-License-Identifier: BSD-3-Clause */
/* mixture.c - factors of covariances and posteriors of rows. */
#include "learn/gmm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "learn/whiten.h"

static const double LOG_2_PI = 1.8378770664093454836;

void csrec_mixture_clear(csrec_mixture *mixture) {
    csrec_pool_clear(&mixture->pool);
    *mixture = (csrec_mixture){0};
}

csrec_status csrec_mixture_create(int K, int d, csrec_mixture *mixture, csrec_error *error) {
    size_t k = (size_t)K, n = (size_t)d;
    *mixture = (csrec_mixture){.K = K, .d = d};
    if (K < 1 || K > CSREC_MIXTURE_MOST || d < 1 || d > CSREC_MIXTURE_MOST)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "a mixture of %d components of %d entries; both must be 1 to %d", K, d,
                          CSREC_MIXTURE_MOST);
    CSREC_ZEROS(&mixture->pool, mixture->weights, k);
    CSREC_ZEROS(&mixture->pool, mixture->means, k * n);
    CSREC_ZEROS(&mixture->pool, mixture->C, k * n * n);
    CSREC_ZEROS(&mixture->pool, mixture->whiten, k * csrec_whiten_size(d));
    CSREC_ZEROS(&mixture->pool, mixture->offset, k);
    if (!mixture->pool.lacks) return CSREC_OK;
    csrec_mixture_clear(mixture);
    return csrec_fail(error, CSREC_MEMORY, "out of memory for %d components of %d entries", K, d);
}

csrec_status csrec_mixture_from(const csrec_model *model, csrec_mixture *mixture,
                                csrec_error *error) {
    const csrec_array *means = csrec_model_array(model, "means");
    if (means->shape.dim[0] > CSREC_MIXTURE_MOST || means->shape.dim[1] > CSREC_MIXTURE_MOST)
        return csrec_fail(
            error, CSREC_UNSUPPORTED, "model: array 'means': is %lld x %lld; at most %d of each",
            (long long)means->shape.dim[0], (long long)means->shape.dim[1], CSREC_MIXTURE_MOST);
    int K = (int)means->shape.dim[0], d = (int)means->shape.dim[1];
    csrec_status status = csrec_mixture_create(K, d, mixture, error);
    if (status) return status;
    const csrec_array *C = csrec_model_array(model, "covariances");
    memcpy(mixture->weights, csrec_model_array(model, "weights")->data, (size_t)K * 8);
    memcpy(mixture->means, means->data, (size_t)means->count * 8);
    memcpy(mixture->C, C->data, (size_t)C->count * 8);
    return CSREC_OK;
}

bool csrec_cholesky(int d, double *A) {
    size_t n = (size_t)d;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            if (i > j) {
                A[i * n + j] = sum / A[j * n + j];
                continue;
            }
            if (!(sum > 0.0)) return false;
            A[i * n + i] = sqrt(sum);
        }
    return true;
}

/* W = L^-1, lower, zero above. */
static void invert_triangle(int d, const double *L, double *W) {
    size_t n = (size_t)d;
    memset(W, 0, n * n * sizeof *W);
    for (size_t i = 0; i < n; i++) {
        /* row i of W: (e_i - sum_k<i L_ik W_k) / L_ii, computed by whole rows */
        for (size_t k = 0; k < i; k++)
            for (size_t j = 0; j <= k; j++) W[i * n + j] -= L[i * n + k] * W[k * n + j];
        W[i * n + i] = 1.0;
        for (size_t j = 0; j <= i; j++) W[i * n + j] /= L[i * n + i];
    }
}

/* Whether all eigenvalues are at least `least`, up to rounding. A: work. */
static bool is_above(int d, const double *C, double least, double *A) {
    size_t n = (size_t)d;
    memcpy(A, C, n * n * sizeof *A);
    for (size_t i = 0; i < n; i++) A[i * (n + 1)] -= least * (1.0 - 1e-6);
    return csrec_cholesky(d, A);
}

/* All eigenvalues of A (destroyed) and their vectors as rows of V; values: [5 d], work behind the
 * first d. */
static csrec_status find_eigen(int d, double *A, double *values, double *V, csrec_error *error) {
    if (d > CSREC_EIGEN_SMALL) return csrec_eigen_largest(d, A, d, values, V, error);
    if (csrec_eigen_all(d, A, values, V, values + d)) return CSREC_OK;
    return csrec_fail(
        error, CSREC_DATA,
        "the eigenvectors of %d x %d did not converge; check that the data are finite", d, d);
}

/* C = V max(l, least) V^T. A, V: work. */
static csrec_status raise(int d, double *C, double least, double *A, double *V,
                          csrec_error *error) {
    size_t n = (size_t)d;
    double *values = malloc(5 * n * sizeof *values);
    if (!values) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    memcpy(A, C, n * n * sizeof *A);
    csrec_status status = find_eigen(d, A, values, V, error);
    for (size_t i = 0; i < n && !status; i++)
        for (size_t j = 0; j <= i; j++) C[i * n + j] = C[j * n + i] = i == j ? least : 0.0;
    for (size_t k = 0; k < n && !status; k++)
        for (size_t i = 0; i < n && values[k] > least; i++) {
            double f = (values[k] - least) * V[k * n + i];
            for (size_t j = 0; j <= i; j++) C[i * n + j] += f * V[k * n + j];
        }
    for (size_t i = 0; i < n && !status; i++)
        for (size_t j = 0; j < i; j++) C[j * n + i] = C[i * n + j];
    free(values);
    return status;
}

void csrec_whiten_pack(int d, const double *W, double *packed) {
    enum { TILE = CSREC_WHITEN_TILE };
    for (int i = 0; i < d; i += TILE)
        for (int j = 0; j < i + TILE; j++)
            for (int t = 0; t < TILE; t++)
                *packed++ =
                    i + t < d && j <= i + t ? W[(size_t)(i + t) * (size_t)d + (size_t)j] : 0.0;
}

static void set_factor(csrec_mixture *m, int k, double *L, double *W) {
    size_t n = (size_t)m->d;
    double log_det = 0.0;
    memcpy(L, m->C + (size_t)k * n * n, n * n * sizeof *L);
    csrec_cholesky(m->d, L);
    invert_triangle(m->d, L, W);
    csrec_whiten_pack(m->d, W, m->whiten + (size_t)k * csrec_whiten_size(m->d));
    for (size_t i = 0; i < n; i++) log_det += 2.0 * log(L[i * (n + 1)]);
    m->offset[k] = log(m->weights[k]) - 0.5 * ((double)n * LOG_2_PI + log_det);
}

static csrec_status prepare_one(csrec_mixture *m, int k, double least, csrec_error *error) {
    size_t squares = (size_t)m->d * (size_t)m->d;
    double *A = malloc(2 * squares * sizeof *A), *C = m->C + (size_t)k * squares;
    if (!A) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status = CSREC_OK;
    if (!is_above(m->d, C, least, A)) status = raise(m->d, C, least, A, A + squares, error);
    if (!status) set_factor(m, k, A, A + squares);
    free(A);
    return status;
}

csrec_status csrec_mixture_prepare(csrec_mixture *mixture, double least, int threads,
                                   csrec_call *call, csrec_error *error) {
    csrec_call faults;
    csrec_call_begin(&faults, NULL, NULL, (csrec_progress){0});
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int k = 0; k < mixture->K; k++) {
        csrec_error own;
        if (csrec_call_poll(call)) continue;
        csrec_status status = prepare_one(mixture, k, least, &own);
        if (status) csrec_call_fail(&faults, k, status, own.text);
    }
    csrec_call_end(&faults);
    return faults.status ? csrec_fail(error, faults.status, "%s", faults.error.text) : CSREC_OK;
}

static size_t padded(const csrec_mixture *m) {
    return (size_t)(m->d + CSREC_WHITEN_TILE) * CSREC_WHITEN_ROWS;
}

size_t csrec_mixture_work(const csrec_mixture *mixture) {
    return 2 * padded(mixture) + CSREC_WHITEN_ROWS;
}

/* Converts r from logarithms to posteriors; returns the logarithm of their sum. */
static double normalise(int K, double *r) {
    double most = -INFINITY, sum = 0.0;
    for (int k = 0; k < K; k++)
        if (r[k] > most) most = r[k];
    for (int k = 0; k < K; k++) {
        r[k] = r[k] - most < CSREC_MIXTURE_NOTHING ? 0.0 : exp(r[k] - most);
        sum += r[k];
    }
    for (int k = 0; k < K; k++) r[k] /= sum;
    return most + log(sum);
}

/* r [count][K]: log of weight times density. */
static void score(const csrec_mixture *mixture, int count, const float *X, double *work,
                  double *r) {
    enum { ROWS = CSREC_WHITEN_ROWS };
    const csrec_whiten_fn whiten = CSREC_CPU_CHOOSE(csrec_whiten);
    double *x = work, *centred = work + padded(mixture), *length = centred + padded(mixture);
    int K = mixture->K, d = mixture->d;
    for (int i = 0; i < d; i++)
        for (int k = 0; k < ROWS; k++)
            x[i * ROWS + k] = k < count ? (double)X[(size_t)k * (size_t)d + (size_t)i] : 0.0;
    for (int k = 0; k < K; k++) {
        whiten(d, mixture->whiten + (size_t)k * csrec_whiten_size(d),
               mixture->means + (size_t)k * (size_t)d, x, centred, length);
        for (int i = 0; i < count; i++)
            r[(size_t)i * (size_t)K + (size_t)k] = mixture->offset[k] - 0.5 * length[i];
    }
}

double csrec_mixture_posteriors(const csrec_mixture *mixture, int count, const float *X,
                                double *work, double *r) {
    int K = mixture->K;
    double sum = 0.0;
    score(mixture, count, X, work, r);
    for (int i = 0; i < count; i++) sum += normalise(K, r + (size_t)i * (size_t)K);
    return sum;
}

void csrec_mixture_choose(const csrec_mixture *mixture, int count, const float *X, double *work,
                          int *choice) {
    int K = mixture->K;
    double *r = work + csrec_mixture_work(mixture);
    score(mixture, count, X, work, r);
    for (int i = 0; i < count; i++, r += K) {
        choice[i] = 0;
        for (int k = 1; k < K; k++)
            if (r[k] > r[choice[i]]) choice[i] = k;
    }
}
