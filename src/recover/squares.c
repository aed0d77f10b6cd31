/* SPDX-License-Identifier: BSD-3-Clause */
/* squares.c - sums of squared errors at samples left out, and what they tell of the result's. */
#include <math.h>

#include "measurement/left_out.h"
#include "recover/interval.h"
#include "recover/window.h"

/* Deviations of the noise that a sample is from a recovery without it, where what that changes
 * tells how the result follows noise (docs/notebook/uncertainty.md). */
static const double CLEAR = 2.0;

double csrec_seen_square(const csrec_estimator *e, int64_t k, double v, double *noise) {
    const double own = e->deviation ? e->deviation[k] : 0.0, y = e->m->y[k];
    *noise = own * own;
    if (!(e->cut.sigma > 0.0)) return (y - v) * (y - v);
    const csrec_cut_seen seen = csrec_cut_see(&e->cut, v);
    const double slope = seen.slope * seen.slope;
    *noise = seen.variance / slope;
    return (y - seen.mean) * (y - seen.mean) / slope;
}

void csrec_squares_add(csrec_estimator *e, const csrec_glance *g, const int64_t *origin) {
    const csrec_measurement *m = e->m;
    for (int64_t i = 0; i < m->n; i++) {
        int64_t at = csrec_window_from_whole(&m->shape, &g->m.shape, origin, m->index[i]);
        if (at < 0 || g->state[at] != CSREC_LEFT_OUT) continue;
        for (int64_t c = 0; c < m->channels; c++) {
            double p = g->signal[at * m->channels + c], y = m->y[i * m->channels + c];
            double q = e->signal[m->index[i] * m->channels + c];
            double noise[2];
            const double square = csrec_seen_square(e, i * m->channels + c, p, &noise[0]);
            const double result = csrec_seen_square(e, i * m->channels + c, q, &noise[1]);
            const double v = g->variance[at * m->channels + c];
            e->squares += square;
            e->noises += noise[0];
            e->fourths += pow(square - noise[0], 2.0);
            e->residuals += result;
            if (square < CLEAR * CLEAR * noise[0]) { /* else an error of p, such as at an edge */
                e->answers += y < p ? p - q : q - p;
                e->surprise += fabs(y - p);
            }
            e->expected += v;
            e->deviations[0] += sqrt(v);
            if (e->missed)
                e->missed[e->n_missed++] = (csrec_missed){
                    m->index[i] * m->channels + c, square, result, noise[0], v, g->far[at]};
        }
        e->nearer += g->nearer;
        e->hidden++;
    }
    e->farthest = fmax(e->farthest, g->farthest);
    e->left += g->left;
    e->beyond += g->beyond;
    e->raised += g->raised;
    for (int64_t at = 0; at < g->values / m->channels; at++) {
        for (int64_t c = 0; c < m->channels && g->state[at] == CSREC_SHOWN; c++) {
            e->shown += 1.0;
            e->shown_variance += g->variance[at * m->channels + c];
        }
        if (g->state[at] != CSREC_UNKNOWN) continue;
        int64_t whole = csrec_window_to_whole(&m->shape, &g->m.shape, origin, at);
        for (int64_t c = 0; c < m->channels; c++) {
            double d = e->signal[whole * m->channels + c] - g->signal[at * m->channels + c];
            if (isnan(d)) continue; /* of a sequence's frames that stay unknown */
            e->unknown += 1.0;
            e->variance += g->variance[at * m->channels + c];
            e->deviations[1] += sqrt(g->variance[at * m->channels + c]);
            e->differences += d * d;
        }
    }
}

void csrec_squares_judge(csrec_estimator *e) {
    const double SURE = 5.0, n = (double)(e->hidden * e->m->channels);
    const double below = (e->noises - e->squares) / n;
    if (!(below > SURE * sqrt(fmax(e->fourths / n - below * below, 0.0) / n))) return;
    e->in_doubt = e->noises / n;
    e->noises = 0.0;
    for (int64_t i = 0; i < e->n_missed; i++) e->missed[i].noise = 0.0;
}

/* Whether the noise is that of light, as rays tell: guessed, or by few of them. */
static bool is_vague(const csrec_estimator *e) {
    return e->m->rays && e->m->sigma == 0.0;
}

/* The noise of light may leave little to see of
 * the errors: then what was expected counts, as far as the deviation of the factor, of the fourths,
 * is above what it usually misses. */
double csrec_squares_factor(const csrec_estimator *e) {
    static const double usual = 0.2;
    const double found = csrec_left_out_factor(e->hidden, e->squares, e->noises, e->expected);
    const double variance = e->fourths / (e->expected * e->expected);
    if (!is_vague(e) || !(e->expected > 0.0)) return found;
    return 1.0 + (found - 1.0) * usual * usual / (usual * usual + variance);
}

/* Of a uniform draw one entry in k is farther than all k left out of a window, and more than s of
 * them with probability exp(-s k). */
bool csrec_squares_are_near(const csrec_estimator *e, double *distance) {
    const double C = (double)e->m->channels, n = (double)e->hidden;
    *distance = e->left / n;
    return e->unknown > 0.0 && e->beyond * C > (0.05 + 60.0 / n) * e->unknown;
}

/* Mean of the deviations that are expected where there is no sample by that where some were left
 * out. */
static double elsewhere(const csrec_estimator *e) {
    const double n = (double)(e->hidden * e->m->channels);
    return (e->deviations[1] / e->unknown) / (e->deviations[0] / n);
}

/* Mean squared error of the result where there is no sample; NAN: no window had a sample to show.
 * That of samples left out, by the mean deviations that are expected here and there: the mean
 * variances are those of a few values. */
static double unknown_square(const csrec_estimator *e) {
    if (e->unknown == 0.0) return NAN;
    const double n = (double)(e->hidden * e->m->channels);
    double cheap =
        csrec_left_out_fall(e->share) * csrec_squares_factor(e) * e->variance / e->unknown;
    if (e->deviations[0] > 0.0 && e->hidden >= CSREC_LEAST_LEFT_OUT && !is_vague(e))
        cheap = csrec_left_out_fall(e->share) * csrec_squares_factor(e) * (e->expected / n) *
                (e->nearer / (double)e->hidden) * elsewhere(e);
    return fmax(cheap + e->excess * e->differences / e->unknown, CSREC_LEAST_EXPECTED * cheap);
}

/* Mean squared error of the result q at noisy samples. The noise is in y, and in q by the share h
 * of y that q follows, so (y - q)^2 is (1 - 2 h) noise and the error (Stein's estimate; h by what a
 * sample changes that was left out before). Of rays it is not known well enough for that. */
static double sampled_square(const csrec_estimator *e) {
    double noise = e->noise, n = (double)(e->hidden * e->m->channels);
    if (noise == 0.0) return 0.0;
    if (is_vague(e) && e->shown > 0.0)
        return csrec_squares_factor(e) * e->shown_variance / e->shown;
    if (e->hidden < CSREC_LEAST_LEFT_OUT || !(e->surprise > 0.0)) return noise;
    noise = e->noises / n;
    double h = fmin(fmax(e->answers / e->surprise, 0.0), 1.0);
    return fmax(e->residuals / n - (1.0 - 2.0 * h) * noise, CSREC_LEAST_SIGNAL * noise);
}

/* What squares are at most, with 95 % confidence: where there is no sample by the mean of those
 * left out as it is, of the cheap recovery from fewer samples; and at samples. */
static void find_most(const csrec_estimator *e, const double squares[2], double most[2]) {
    static const double sure = 1.6448536269514722;
    const double n = (double)(e->hidden * e->m->channels);
    const double left = fmax(e->squares - e->noises, CSREC_LEAST_SIGNAL * e->squares) / n;
    const double better = e->unknown > 0.0 ? e->excess * e->differences / e->unknown : 0.0;
    const double spread = sqrt(fmax(e->fourths / n - left * left, 0.0) / n);
    double there = e->nearer / (double)e->hidden; /* of unknown entries, by those left out */
    if (e->deviations[0] > 0.0 && e->unknown > 0.0 && !is_vague(e))
        there *= sqrt(fmin(elsewhere(e), 1.0));
    most[0] =
        fmax(there * left + better, CSREC_LEAST_EXPECTED * there * left) + sure * there * spread;
    most[1] = squares[1] + sure * sqrt(2.0 / n) * e->residuals / n;
    if (e->in_doubt > 0.0) most[0] = most[1] = e->in_doubt + e->squares / n;
    if (e->hidden < CSREC_LEAST_LEFT_OUT) most[0] = most[1] = INFINITY;
}

void csrec_squares_tell(const csrec_estimator *e, bool unknown, double squares[2], double most[2]) {
    double distance;
    squares[0] = unknown ? unknown_square(e) : 0.0;
    squares[1] = sampled_square(e);
    find_most(e, squares, most);
    if (!is_vague(e)) squares[0] = fmin(squares[0], most[0]); /* gross errors mislead a method */
    if (!csrec_squares_are_near(e, &distance)) return;
    most[0] = INFINITY;
    squares[0] *= e->grid ? NAN : e->raised * (double)e->m->channels / e->unknown;
}
