/* gmm_em.c - one round of expectation maximisation over rows that are read in pieces.
 *
 * Second moments are summed about the means of the previous round, so one pass is enough and large
 * numbers do not cancel: C = sum r (x - mu_old)(x - mu_old)^T / N - delta delta^T, where delta = mu
 * - mu_old is no larger than the spread of the component. One thread sums each component, over the
 * rows in order: the number of threads does not change the result. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "learn/gmm.h"
#include "learn/statistics.h"
#include "learn/whiten.h"

enum { GATHER = 256, ROWS = CSREC_WHITEN_ROWS };

static const double SHARE = 1e-10; /* posteriors below it are left out */

typedef struct component {
    csrec_statistics *statistics;
    double weight, *shift; /* sum of posteriors; of posteriors times (x - mu_old) [d] */
    float *rows;           /* [GATHER][d] waiting */
    double weights[GATHER];
    int waiting;
    csrec_status status;
} component;

struct csrec_em {
    csrec_mixture *mixture;
    int threads;
    csrec_team *team;  /* or NULL */
    int64_t rows;      /* rows in this round */
    double sum, carry; /* log-likelihoods, and the rounding error of their sum */
    double *posterior; /* [piece][K] */
    double *block_sum; /* [piece / ROWS] */
    double *work;      /* [threads][csrec_mixture_work] */
    double *C;         /* [d][d] */
    component *part;   /* [K] */
};

void csrec_em_destroy(csrec_em *em) {
    if (!em) return;
    for (int k = 0; em->part && k < em->mixture->K; k++) {
        csrec_statistics_destroy(em->part[k].statistics);
        free(em->part[k].shift);
        free(em->part[k].rows);
    }
    free(em->part);
    free(em->posterior);
    free(em->block_sum);
    free(em->work);
    free(em->C);
    free(em);
}

static bool create_parts(csrec_em *em) {
    size_t d = (size_t)em->mixture->d;
    em->part = calloc((size_t)em->mixture->K, sizeof *em->part);
    for (int k = 0; em->part && k < em->mixture->K; k++) {
        component *p = &em->part[k];
        p->shift = malloc(d * sizeof *p->shift);
        p->rows = malloc(GATHER * d * sizeof *p->rows);
        if (!p->shift || !p->rows || csrec_statistics_create((int64_t)d, 1, &p->statistics, NULL))
            return false;
    }
    return em->part != NULL;
}

csrec_status csrec_em_create(csrec_mixture *mixture, int64_t piece, int threads, csrec_team *team,
                             csrec_em **em, csrec_error *error) {
    size_t K = (size_t)mixture->K, d = (size_t)mixture->d;
    csrec_em *e = calloc(1, sizeof *e);
    if (!e) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    e->mixture = mixture;
    e->threads = threads;
    e->team = team;
    e->posterior = malloc((size_t)piece * K * sizeof *e->posterior);
    e->block_sum = malloc(((size_t)piece / ROWS + 1) * sizeof *e->block_sum);
    e->work = malloc((size_t)threads * csrec_mixture_work(mixture) * sizeof *e->work);
    e->C = malloc(d * d * sizeof *e->C);
    if (e->posterior && e->block_sum && e->work && e->C && create_parts(e)) {
        *em = e;
        return CSREC_OK;
    }
    csrec_em_destroy(e);
    return csrec_fail(error, CSREC_MEMORY, "out of memory for %zu components of %zu entries", K, d);
}

void csrec_em_begin(csrec_em *em) {
    const csrec_mixture *m = em->mixture;
    em->rows = 0;
    em->sum = em->carry = 0.0;
    for (int k = 0; k < m->K; k++) {
        component *p = &em->part[k];
        csrec_statistics_restart(p->statistics, m->means + (size_t)k * (size_t)m->d);
        memset(p->shift, 0, (size_t)m->d * sizeof *p->shift);
        p->weight = 0.0;
        p->waiting = 0;
        p->status = CSREC_OK;
    }
}

/* ------------------------------------------------------------------ a piece */

static void hand_over(component *p) {
    if (p->waiting && !p->status)
        p->status =
            csrec_statistics_add_covariance(p->statistics, p->waiting, p->rows, p->weights, NULL);
    p->waiting = 0;
}

static void take_rows(csrec_em *em, int k, int64_t count, const float *X) {
    const csrec_mixture *m = em->mixture;
    component *p = &em->part[k];
    size_t d = (size_t)m->d;
    const double *mean = m->means + (size_t)k * d;
    for (int64_t i = 0; i < count; i++) {
        double r = em->posterior[i * m->K + k];
        const float *x = X + (size_t)i * d;
        if (!(r >= SHARE)) continue;
        memcpy(p->rows + (size_t)p->waiting * d, x, d * sizeof *x);
        p->weights[p->waiting++] = r;
        p->weight += r;
        for (size_t j = 0; j < d; j++) p->shift[j] += r * ((double)x[j] - mean[j]);
        if (p->waiting == GATHER) hand_over(p);
    }
}

static void find_posteriors(csrec_em *em, int64_t count, const float *X) {
    const csrec_mixture *m = em->mixture;
    size_t room = csrec_mixture_work(m);
#pragma omp parallel num_threads(em->threads)
    {
        int thread = omp_get_thread_num();
#pragma omp for schedule(dynamic, 4)
        for (int64_t first = 0; first < count; first += ROWS) {
            int rows = (int)(count - first < ROWS ? count - first : ROWS);
            if (csrec_team_poll(em->team)) continue;
            em->block_sum[first / ROWS] = csrec_mixture_posteriors(m, rows, X + first * m->d,
                                                                   em->work + (size_t)thread * room,
                                                                   em->posterior + first * m->K);
        }
    }
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
    find_posteriors(em, count, X);
    if (csrec_team_stopped(em->team)) return CSREC_OK;
    for (int64_t b = 0; b < (count + ROWS - 1) / ROWS; b++) {
        if (!isfinite(em->block_sum[b]))
            return csrec_fail(
                error, CSREC_DATA, "data: rows %lld to %lld are not finite or too large",
                (long long)(first + b * ROWS), (long long)(first + b * ROWS + ROWS - 1));
        add_sum(em, em->block_sum[b]);
    }
    em->rows += count;
#pragma omp parallel for schedule(dynamic, 1) num_threads(em->threads)
    for (int k = 0; k < em->mixture->K; k++)
        if (!csrec_team_poll(em->team)) take_rows(em, k, count, X);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ the maximum */

static csrec_status update(csrec_em *em, int k, csrec_error *error) {
    csrec_mixture *m = em->mixture;
    component *p = &em->part[k];
    size_t d = (size_t)m->d;
    double *mean = m->means + (size_t)k * d, *C = m->C + (size_t)k * d * d;
    hand_over(p);
    csrec_status status = p->status;
    if (!status) status = csrec_statistics_covariance(p->statistics, em->C, NULL);
    if (status)
        return csrec_fail(error, status, "data: the covariance of component %d overflows", k);
    for (size_t i = 0; i < d; i++) p->shift[i] /= p->weight;
    for (size_t i = 0; i < d; i++) {
        mean[i] += p->shift[i];
        for (size_t j = 0; j < d; j++) C[i * d + j] = em->C[i * d + j] - p->shift[i] * p->shift[j];
    }
    return CSREC_OK;
}

csrec_status csrec_em_finish(csrec_em *em, double *log_likelihood, csrec_error *error) {
    csrec_mixture *m = em->mixture;
    csrec_status status = CSREC_OK;
    double all = 0.0;
    for (int k = 0; k < m->K; k++) all += em->part[k].weight;
    for (int k = 0; k < m->K && !status; k++) {
        /* A component without rows keeps its mean and covariance; its weight becomes 0. */
        m->weights[k] = em->part[k].weight / all;
        if (em->part[k].weight > 0.0) status = update(em, k, error);
    }
    *log_likelihood = (em->sum + em->carry) / (double)em->rows;
    return status;
}
