/* SPDX-License-Identifier: BSD-3-Clause */
/* graded.c - samples whose noise differs, for methods that know one sigma.
 *
 * The method M with noise s of all samples is iterated: x_0 = M(y, s_0), s_0 the root mean square
 * of the deviations s_i; then x_t+1 = M(y', s) of samples y'_i = x_t + min(1, (s / s_i)^2) (y_i -
 * x_t), which is a proximal gradient step of sum (y_i - x_i)^2 / (2 s_i^2) + R(x), if M is the
 * proximal point of R; 1 / s^2 is the mean of 1 / s_i^2. A method that departs from samples as far
 * as its sigma tells takes instead of s the noise that y' has, the root mean square of min(s_i, s^2
 * / s_i), and would else depart further in each step. Two steps (docs/renderings.md). */
#include <math.h>

#include "measurement/each.h"
#include "recover/recover.h"

enum { STEPS = 2 };

typedef struct grades {
    const csrec_measurement *m;
    double *deviation, *y; /* [n * channels]; y: of the step */
    double mean, first;    /* s, s_0; 0: no noise */
    double left;           /* that of y' */
    bool same;             /* all deviations */
} grades;

static double *value_of(const grades *g, int64_t i, double *signal) {
    const int64_t C = g->m->channels;
    return &signal[g->m->index[i / C] * C + i % C];
}

static void summarize(grades *g) {
    double squares = 0.0, precisions = 0.0, least = INFINITY, most = 0.0;
    int64_t n = 0;
    for (int64_t i = 0; i < g->m->n * g->m->channels; i++) {
        const double s = g->deviation[i];
        if (isnan(g->m->y[i])) continue;
        least = fmin(least, s);
        most = fmax(most, s);
    }
    for (int64_t i = 0; i < g->m->n * g->m->channels && most > 0.0; i++) {
        const double s = g->deviation[i] / most;
        if (isnan(g->m->y[i]) || s == 0.0) continue;
        squares += s * s;
        precisions += 1.0 / (s * s);
        n++;
    }
    g->same = !(least < most);
    g->first = n ? most * sqrt(squares / (double)n) : 0.0;
    g->mean = n && isfinite(precisions) ? most * sqrt((double)n / precisions) : g->first;
    for (int64_t i = 0; i < g->m->n * g->m->channels; i++) {
        const double s = g->deviation[i];
        if (isnan(g->m->y[i]) || s == 0.0) continue;
        const double left = fmin(s, g->mean * (g->mean / s)) / most;
        g->left += left * left / (double)n;
    }
    g->left = most * sqrt(g->left);
}

static csrec_status prepare(const csrec_measurement *m, grades *g, csrec_pool *pool,
                            csrec_error *error) {
    *g = (grades){.m = m};
    CSREC_TAKE(pool, g->deviation, m->n * m->channels);
    CSREC_TAKE(pool, g->y, m->n * m->channels);
    if (pool->lacks)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for the noise of samples");
    csrec_status status = csrec_noise_each(m, g->deviation, error);
    if (!status) summarize(g);
    return status;
}

/* Exact samples among others are kept. */
static void restore(const grades *g, double *signal) {
    for (int64_t i = 0; i < g->m->n * g->m->channels && g->first > 0.0; i++) {
        if (g->deviation[i] > 0.0 || isnan(g->m->y[i])) continue;
        *value_of(g, i, signal) = g->m->y[i];
    }
}

csrec_status csrec_graded_run(const csrec_graded *job, csrec_error *error) {
    csrec_pool pool = {0};
    csrec_measurement one = *job->seen;
    grades g;
    csrec_status status = prepare(job->measurement, &g, &pool, error);
    one.rays = one.deviation = NULL;
    one.sigma = g.first;
    const int steps = g.same || !job->signal || !job->steps ? 0 : STEPS;
    for (int k = 0; k <= steps && !status; k++) {
        status = job->run(job->context, &one, steps - k, error);
        if (status || job->report->outcome == CSREC_INTERRUPTED || k == steps) break;
        /* The samples of the next step, of a signal. */
        for (int64_t i = 0; i < g.m->n * g.m->channels; i++) {
            const double x = *value_of(&g, i, job->signal), ratio = g.mean / g.deviation[i];
            const double weight = g.deviation[i] > 0.0 ? fmin(1.0, ratio * ratio) : 1.0;
            g.y[i] = isfinite(x) ? x + weight * (g.m->y[i] - x) : g.m->y[i];
        }
        one.y = g.y;
        one.sigma = job->bounds ? g.left : g.mean;
    }
    if (!status && job->signal) restore(&g, job->signal);
    if (!status && job->signal)
        job->report->residual = csrec_samples_residual(job->measurement, job->signal);
    csrec_pool_clear(&pool);
    return status;
}
