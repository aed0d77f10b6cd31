/* SPDX-License-Identifier: BSD-3-Clause */
/* expect.c - expected errors of frames: those of the network, scaled by the errors at samples that
 * the vote leaves out. */
#include <float.h>
#include <math.h>

#include "measurement/cut.h"
#include "measurement/left_out.h"
#include "method/beside/beside.h"

/* A network's small expected errors are too small and the large ones too large (docs/beside.md), so
 * that it is their power that is scaled. */
static const double SURE = 0.75;

typedef struct left_out {
    const csrec_measurement *m;
    const double *ways[2], *variance;
    csrec_cut cut;
} left_out;

/* At sample i of those left out: the squared error of the result, of what is expected the power
 * that a scale is for, and the noise; false: the first two are not known. */
static bool compare(const csrec_film *f, const left_out *p, int64_t i, int64_t c,
                    double squares[3]) {
    const int64_t at = p->m->index[i], to = at * f->channels + c;
    const double share = csrec_film_share(f, at / f->width, at % f->width), alone = p->ways[1][to];
    double v = alone + share * (p->ways[0][to] - alone);
    squares[0] = pow(p->m->y[i * f->channels + c] - v, 2.0);
    squares[1] = pow(p->variance[to], SURE);
    squares[2] = p->m->sigma * p->m->sigma;
    csrec_cut_back(&p->cut, 1, &v, NULL);
    if (p->cut.sigma > 0.0) squares[2] = csrec_cut_see(&p->cut, v).variance;
    return isfinite(squares[0]) && squares[1] > 0.0;
}

/* Adds to sums: how many, and their squares, noise, and what is expected, with weights. */
static void add_left_out(const csrec_film *f, const left_out *p, int64_t c, double scale,
                         double sums[4]) {
    for (int64_t i = 0; i < p->m->n; i++) {
        double squares[3];
        if (!compare(f, p, i, c, squares)) continue;
        const double weight = scale > 0.0 ? 1.0 / (scale * squares[1] + squares[2]) : 1.0;
        sums[0] += 1.0;
        sums[1] += weight * squares[0];
        sums[2] += weight * squares[2];
        sums[3] += weight * squares[1];
    }
}

/* The quantile of squared errors by those expected and the noise. */
static csrec_status find_beyond(csrec_film *f, const left_out *p, int64_t c, double scale) {
    csrec_pool pool = {0};
    double *score = CSREC_TAKE(&pool, score, p->m->n);
    int64_t *place = CSREC_TAKE(&pool, place, p->m->n), n = 0;
    csrec_status status = csrec_pool_status(&pool);
    for (int64_t i = 0; i < p->m->n && !status; i++) {
        double squares[3];
        if (compare(f, p, i, c, squares))
            score[n++] = squares[0] / (scale * squares[1] + squares[2]);
    }
    if (!status) status = csrec_scores_sort(n, score, place);
    if (!status)
        f->beyond[c] = fmax(
            csrec_score_at(n, score, NULL, place, 1.0, f->r.options->interval / 100.0), DBL_MIN);
    csrec_pool_clear(&pool);
    return status;
}

/* Makes the mean of squared errors by those expected 1 (of noisy samples by those and the noise,
 * which takes a first scale of the sums). A vote counts half as much at the next. */
csrec_status csrec_film_scale(csrec_film *f, const csrec_measurement *out, double *const ways[2],
                              const double *variance, double share) {
    csrec_status status = CSREC_OK;
    const left_out p = {out, {ways[0], ways[1]}, variance, csrec_cut_of(out)};
    for (int64_t c = 0; c < f->channels && !status; c++) {
        double first[4] = {0.0}, *sums = f->left_out + 4 * c;
        add_left_out(f, &p, c, 0.0, first);
        if (first[0] < CSREC_LEAST_LEFT_OUT || !(first[1] > 0.0)) continue;
        for (int k = 0; k < 4; k++) sums[k] *= 0.5;
        add_left_out(f, &p, c,
                     csrec_left_out_factor((int64_t)first[0], first[1], first[2], first[3]), sums);
        const double scale = csrec_left_out_factor((int64_t)sums[0], sums[1], sums[2], sums[3]);
        const bool intervals =
            f->r.options->interval > 0.0; /* what is expected has fallen itself */
        f->scale[c] = intervals ? scale : csrec_left_out_fall(share) * scale;
        if (intervals) status = find_beyond(f, &p, c, scale);
    }
    return status;
}

const char *csrec_film_remark(int64_t values, const double *signal) {
    for (int64_t i = 0; i < values; i++)
        if (isnan(signal[i]))
            return "frames stay unknown (NaN) of which, and of the frames around them, there are "
                   "no samples";
    return NULL;
}

void csrec_film_expect(const csrec_film *f, double *variance) {
    const int64_t values = f->height * f->width * f->channels;
    const bool intervals = f->r.options->interval > 0.0;
    for (int64_t i = 0; i < values; i++) {
        const int64_t c = i % f->channels;
        if (!(variance[i] > 0.0)) continue;
        if (f->voted && f->scale[c] > 0.0) variance[i] = f->scale[c] * pow(variance[i], SURE);
        if (intervals)
            variance[i] = f->beyond && f->beyond[c] > 0.0 ? f->beyond[c] * variance[i] : INFINITY;
    }
}
