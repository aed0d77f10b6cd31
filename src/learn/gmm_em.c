/* SPDX-License-Identifier: BSD-3-Clause */
/* gmm_em.c - one round of expectation maximisation over rows that are read in pieces.
 *
 * Second moments are summed about the means of the previous round, so one pass is enough and large
 * numbers do not cancel: C = sum r (x - mu_old)(x - mu_old)^T / N - delta delta^T, where delta = mu
 * - mu_old is no larger than the spread of the component. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/gmm.h"
#include "learn/whiten.h"

enum { ROWS = CSREC_WHITEN_ROWS };

static const csrec_em_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(&csrec_em_cpu, &csrec_em_cuda);

struct csrec_em {
    csrec_mixture *mixture;
    const csrec_em_engine *engine;
    void *state;
    csrec_call *call;   /* or NULL */
    int64_t rows;       /* rows in this round */
    double sum, carry;  /* log-likelihoods, and the rounding error of their sum */
    double *likelihood; /* [piece / ROWS + 1] */
    double *moments;    /* [K] weights, [K][d] shifts, [d][d] */
    csrec_pool pool;    /* of both */
};

void csrec_em_destroy(csrec_em *em) {
    if (!em) return;
    em->engine->destroy(em->state);
    csrec_pool_clear(&em->pool);
    free(em);
}

csrec_status csrec_em_create(const csrec_context *context, csrec_mixture *mixture,
                             const csrec_em_plan *plan, csrec_em **em, csrec_error *error) {
    size_t K = (size_t)mixture->K, d = (size_t)mixture->d;
    csrec_em *e = calloc(1, sizeof *e);
    if (!e) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    e->mixture = mixture;
    e->engine = engines[context->kind];
    e->call = plan->call;
    CSREC_TAKE(&e->pool, e->likelihood, (size_t)plan->piece / ROWS + 1);
    CSREC_TAKE(&e->pool, e->moments, K + K * d + d * d);
    csrec_status status = e->pool.lacks
                              ? csrec_fail(error, CSREC_MEMORY, "out of memory")
                              : e->engine->create(context, mixture, plan, &e->state, error);
    if (status)
        csrec_em_destroy(e);
    else
        *em = e;
    return status;
}

csrec_status csrec_em_begin(csrec_em *em, csrec_error *error) {
    em->rows = 0;
    em->sum = em->carry = 0.0;
    return em->engine->begin(em->state, error);
}

/* Neumaier's sum: a million rows of different size. */
static void add_sum(csrec_em *em, double value) {
    double sum = em->sum + value;
    em->carry += fabs(em->sum) >= fabs(value) ? em->sum - sum + value : value - sum + em->sum;
    em->sum = sum;
}

csrec_status csrec_em_take(void *context, int64_t first, int64_t count, const float *X,
                           csrec_error *error) {
    csrec_em *em = context;
    csrec_status status = em->engine->take(em->state, first, count, X, em->likelihood, error);
    if (status || csrec_call_stopped(em->call)) return status;
    for (int64_t b = 0; b < (count + ROWS - 1) / ROWS; b++) {
        if (!isfinite(em->likelihood[b]))
            return csrec_fail(
                error, CSREC_DATA, "data: rows %lld to %lld are not finite or too large",
                (long long)(first + b * ROWS), (long long)(first + b * ROWS + ROWS - 1));
        add_sum(em, em->likelihood[b]);
    }
    em->rows += count;
    return CSREC_OK;
}

/* ------------------------------------------------------------------ the maximum */

static void update(csrec_mixture *m, int k, double weight, double *shift, const double *moment) {
    size_t d = (size_t)m->d;
    double *mean = m->means + (size_t)k * d, *C = m->C + (size_t)k * d * d;
    for (size_t i = 0; i < d; i++) shift[i] /= weight;
    for (size_t i = 0; i < d; i++) {
        mean[i] += shift[i];
        for (size_t j = 0; j < d; j++) C[i * d + j] = moment[i * d + j] - shift[i] * shift[j];
    }
}

csrec_status csrec_em_finish(csrec_em *em, double *log_likelihood, csrec_error *error) {
    csrec_mixture *m = em->mixture;
    csrec_status status = CSREC_OK;
    double all = 0.0, *shifts = em->moments + m->K, *C = shifts + (size_t)m->K * (size_t)m->d;
    for (int k = 0; k < m->K && !status; k++) {
        double *shift = shifts + (size_t)k * (size_t)m->d;
        status = em->engine->moments(em->state, k, &em->moments[k], shift, C, error);
        /* A component without rows keeps its mean and covariance; its weight becomes 0. */
        if (!status && em->moments[k] > 0.0) update(m, k, em->moments[k], shift, C);
        all += em->moments[k];
    }
    if (status == CSREC_DATA)
        return csrec_fail(error, status, "data: the covariance of a component overflows");
    for (int k = 0; k < m->K && !status; k++) m->weights[k] = em->moments[k] / all;
    *log_likelihood = (em->sum + em->carry) / (double)em->rows;
    return status;
}
