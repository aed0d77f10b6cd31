/* SPDX-License-Identifier: BSD-3-Clause */
/* gmm_em.c - one round of expectation maximisation over rows that are read in pieces.
 *
 * Second moments are summed about the means of the previous round, so one pass is enough and large
 * numbers do not cancel: C = sum r (x - mu_old)(x - mu_old)^T / N - delta delta^T, where delta = mu
 * - mu_old is no larger than the spread of the component. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "learn/gmm.h"
#include "learn/whiten.h"

/* ---- the expectation step on the CPU, the reference for every device.
 *
 * One thread sums each component, over the rows in order: the number of threads does not change the
 * result. */

enum { GATHER = 256, ROWS = CSREC_WHITEN_ROWS };

typedef struct component {
    csrec_statistics *statistics;
    double weight, *shift; /* sum of posteriors; of posteriors times (x - mu_old) [d] */
    float *rows;           /* [GATHER][d] waiting */
    double weights[GATHER];
    int waiting;
    csrec_status status;
    csrec_error error; /* where status is one */
} component;

typedef struct engine {
    const csrec_mixture *mixture;
    csrec_em_plan plan;
    double *posterior; /* [piece][K] */
    double *work;      /* [threads][csrec_mixture_work] */
    component *part;   /* [K] */
    csrec_pool pool;   /* of all arrays */
} engine;

static void destroy(void *state) {
    engine *em = state;
    if (!em) return;
    for (int k = 0; em->part && k < em->mixture->K; k++)
        csrec_statistics_destroy(em->part[k].statistics);
    csrec_pool_clear(&em->pool);
    free(em);
}

static bool create_parts(engine *em) {
    size_t d = (size_t)em->mixture->d;
    CSREC_ZEROS(&em->pool, em->part, em->mixture->K);
    for (int k = 0; em->part && k < em->mixture->K; k++) {
        component *p = &em->part[k];
        CSREC_TAKE(&em->pool, p->shift, d);
        CSREC_TAKE(&em->pool, p->rows, GATHER * d);
        if (csrec_statistics_create((int64_t)d, 1, &p->statistics, NULL)) return false;
    }
    return !em->pool.lacks;
}

static csrec_status create(const csrec_context *context, const csrec_mixture *mixture,
                           const csrec_em_plan *plan, void **state, csrec_error *error) {
    (void)context;
    size_t K = (size_t)mixture->K;
    engine *e = calloc(1, sizeof *e);
    if (!e) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    e->mixture = mixture;
    e->plan = *plan;
    CSREC_TAKE(&e->pool, e->posterior, (size_t)plan->piece * K);
    CSREC_TAKE(&e->pool, e->work, (size_t)plan->threads * csrec_mixture_work(mixture));
    if (create_parts(e)) {
        *state = e;
        return CSREC_OK;
    }
    destroy(e);
    return csrec_fail(error, CSREC_MEMORY, "out of memory for %d components of %d entries",
                      mixture->K, mixture->d);
}

static csrec_status begin(void *state, csrec_error *error) {
    engine *em = state;
    const csrec_mixture *m = em->mixture;
    (void)error;
    for (int k = 0; k < m->K; k++) {
        component *p = &em->part[k];
        csrec_statistics_restart(p->statistics, m->means + (size_t)k * (size_t)m->d);
        memset(p->shift, 0, (size_t)m->d * sizeof *p->shift);
        p->weight = 0.0;
        p->waiting = 0;
        p->status = CSREC_OK;
    }
    return CSREC_OK;
}

/* ------------------------------------------------------------------ a piece */

static void hand_over(component *p) {
    if (p->waiting && !p->status)
        p->status = csrec_statistics_add_covariance(p->statistics, p->waiting, p->rows, p->weights,
                                                    &p->error);
    p->waiting = 0;
}

static void take_rows(engine *em, int k, int64_t count, const float *X) {
    const csrec_mixture *m = em->mixture;
    component *p = &em->part[k];
    size_t d = (size_t)m->d;
    const double *mean = m->means + (size_t)k * d;
    for (int64_t i = 0; i < count; i++) {
        double r = em->posterior[i * m->K + k];
        const float *x = X + (size_t)i * d;
        if (!(r >= CSREC_EM_SHARE)) continue;
        memcpy(p->rows + (size_t)p->waiting * d, x, d * sizeof *x);
        p->weights[p->waiting++] = r;
        p->weight += r;
        for (size_t j = 0; j < d; j++) p->shift[j] += r * ((double)x[j] - mean[j]);
        if (p->waiting == GATHER) hand_over(p);
    }
}

static void find_posteriors(engine *em, int64_t count, const float *X, double *likelihood) {
    const csrec_mixture *m = em->mixture;
    size_t room = csrec_mixture_work(m);
#pragma omp parallel num_threads(em->plan.threads)
    {
        int thread = omp_get_thread_num();
#pragma omp for schedule(dynamic, 4)
        for (int64_t first = 0; first < count; first += ROWS) {
            int rows = (int)(count - first < ROWS ? count - first : ROWS);
            if (csrec_call_poll(em->plan.call)) continue;
            likelihood[first / ROWS] = csrec_mixture_posteriors(m, rows, X + first * m->d,
                                                                em->work + (size_t)thread * room,
                                                                em->posterior + first * m->K);
        }
    }
}

static csrec_status take(void *state, int64_t first, int64_t count, const float *X,
                         double *likelihood, csrec_error *error) {
    engine *em = state;
    (void)first;
    (void)error;
    find_posteriors(em, count, X, likelihood);
    if (csrec_call_stopped(em->plan.call)) return CSREC_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(em->plan.threads)
    for (int k = 0; k < em->mixture->K; k++)
        if (!csrec_call_poll(em->plan.call)) take_rows(em, k, count, X);
    return CSREC_OK;
}

static csrec_status moments(void *state, int k, double *weight, double *shift, double *C,
                            csrec_error *error) {
    engine *em = state;
    component *p = &em->part[k];
    hand_over(p);
    *weight = p->weight;
    memcpy(shift, p->shift, (size_t)em->mixture->d * sizeof *shift);
    if (p->status) return csrec_fail(error, p->status, "%s", p->error.text);
    if (!(p->weight > 0.0)) return CSREC_OK;
    return csrec_statistics_covariance(p->statistics, C, error);
}

const csrec_em_engine csrec_em_cpu = {create, destroy, begin, take, moments};

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
    return CSREC_SETTLE(status, csrec_em_destroy(e), *em = e);
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
