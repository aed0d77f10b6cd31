/* SPDX-License-Identifier: BSD-3-Clause */
/* interval.c - intervals that hold a share of the errors, by split conformal prediction: a score is
 * an error at a sample left out by the error expected there, and the quantile of the scores times
 * the error expected elsewhere is half of an interval. Scores count by how many unknown entries
 * have samples as dense around them. */
#include "recover/interval.h"

#include <float.h>
#include <math.h>

#include "base/unravel.h"
#include "measurement/left_out.h"

/* Classes of density: half octaves around the mean; 0: holes, and where samples are thin. */
enum { CLASSES = 16, MEAN_CLASS = 8 };

/* Samples that a box has on average, by which the density around an entry is told. In a random
 * pattern less than one box in 10^9 has a quarter of what it should less SPARE: there is a hole. */
static const double IN_BOX = 64.0, SPARE = 4.0;

/* Samples of class 0 by entries of it, as a share of all: below it is a hole. */
static const double LEAST_DENSITY = 0.05;

/* A squared error that is less than this share of the noise is not seen in it. */
static const double LEAST_OF_NOISE = 0.01;

/* ------------------------------------------------------------------ expected squares */

csrec_line csrec_line_fit(int64_t n, const csrec_missed *missed) {
    double unit = DBL_MIN, sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) {
        unit += missed[i].square / (double)n;
        sum += missed[i].variance;
        squares += missed[i].square - missed[i].noise;
    }
    csrec_line l = {0.0, 0.0};
    if (sum > 0.0) l.b = fmax(squares, CSREC_LEAST_SIGNAL * unit * (double)n) / sum;
    for (int round = 0; round < 8; round++) {
        double s = 0.0, x = 0.0, xx = 0.0, t = 0.0, xt = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const double v = missed[i].variance / unit;
            const double is = (missed[i].square - missed[i].noise) / unit;
            const double sd = l.a / unit + l.b * v + fabs(missed[i].noise) / unit + 1e-6;
            const double w = 1.0 / (sd * sd);
            s += w, x += w * v, xx += w * v * v, t += w * is, xt += w * v * is;
        }
        const double det = s * xx - x * x;
        const bool flat = !(det > 1e-9 * s * xx);
        double a = flat ? 1.0 : (t * xx - xt * x) / det, b = flat ? 0.0 : (s * xt - x * t) / det;
        if (!(a > 0.0)) a = 0.0, b = xt / xx;
        if (!(b > 0.0)) a = t / s, b = 0.0;
        l = (csrec_line){unit * fmax(a, 0.0), b};
    }
    return l;
}

/* ------------------------------------------------------------------ weights */

static int64_t radius_of(const csrec_shape *shape, double rate) {
    for (int64_t radius = 1;; radius++) {
        double volume = 1.0;
        bool all = true;
        for (int a = 0; a < shape->dims; a++) {
            volume *= (double)(2 * radius + 1 < shape->dim[a] ? 2 * radius + 1 : shape->dim[a]);
            all = all && 2 * radius + 1 >= shape->dim[a];
        }
        if (all || volume * rate >= IN_BOX) return radius;
    }
}

/* The class of each entry, by the other samples around it. */
static csrec_status classify(const csrec_glance *whole, uint8_t *class, csrec_error *error) {
    const csrec_shape *shape = &whole->m.shape;
    const int64_t entries = whole->values / whole->m.channels;
    const double rate = (double)whole->m.n / (double)entries;
    csrec_pool pool = {0};
    double *count = CSREC_TAKE(&pool, count, entries), *room = CSREC_TAKE(&pool, room, entries);
    int64_t longest = 1;
    for (int a = 0; a < shape->dims; a++)
        if (shape->dim[a] > longest) longest = shape->dim[a];
    double *line = CSREC_TAKE(&pool, line, longest);
    const csrec_status status =
        pool.lacks ? csrec_fail(error, CSREC_MEMORY, "out of memory") : CSREC_OK;
    for (int64_t i = 0; i < entries && !status; i++)
        room[i] = 1.0, count[i] = whole->state[i] != CSREC_UNKNOWN;
    for (int k = 0; k < 2 && !status; k++)
        csrec_boxes_sum(shape, 1, radius_of(shape, rate), line, k ? room : count);
    for (int64_t i = 0; i < entries && !status; i++) {
        const double due = room[i] * rate, has = count[i] - (whole->state[i] != CSREC_UNKNOWN);
        const double octaves = floor(2.0 * log2(fmax(has, 0.5) / due));
        class[i] = has < 0.25 * due - SPARE
                       ? 0
                       : (uint8_t)fmin(fmax(MEAN_CLASS + octaves, 1.0), CLASSES - 1.0);
    }
    csrec_pool_clear(&pool);
    return status;
}

/* Of classes with too few samples left out the next denser one is asked, at the end the last that
 * has enough. to [CLASSES]: where each went. */
static void join(double *asked, double *left, int *to) {
    int last = CLASSES - 1;
    for (int k = 0; k < CLASSES; k++) to[k] = k;
    for (int k = 1; k < CLASSES - 1; k++)
        if (left[k] < CSREC_LEAST_LEFT_OUT) {
            left[k + 1] += left[k], asked[k + 1] += asked[k];
            left[k] = asked[k] = 0.0;
            to[k] = k + 1;
        }
    if (left[last] < CSREC_LEAST_LEFT_OUT) {
        int k = last - 1;
        while (k > 1 && !(left[k] > 0.0)) k--;
        if (left[k] > 0.0) left[k] += left[last], asked[k] += asked[last], to[last] = k;
    }
    for (int k = CLASSES - 2; k > 0; k--)
        if (to[k] != k && to[k] > k) to[k] = to[to[k]];
}

/* ------------------------------------------------------------------ quantiles */

typedef struct scores {
    int64_t n;
    double *score, *weight;
    int64_t *place;
    uint8_t *class; /* [entries] */
    double at[CLASSES];
} scores;

static void weigh(const csrec_estimator *e, const csrec_glance *whole, scores *s) {
    const int64_t C = e->m->channels;
    double asked[CLASSES] = {0.0}, left[CLASSES] = {0.0}, all = 0.0;
    int to[CLASSES];
    for (int64_t i = 0; i < whole->values / C; i++) {
        asked[s->class[i]] += whole->state[i] != CSREC_KEPT;
        all += whole->state[i] != CSREC_KEPT;
    }
    for (int64_t i = 0; i < s->n; i++) left[s->class[e->missed[i].at / C]] += 1.0 / (double)C;
    const bool thin = left[0] >= CSREC_LEAST_LEFT_OUT &&
                      left[0] * all >= LEAST_DENSITY * asked[0] * (double)s->n / (double)C;
    join(asked, left, to);
    for (int64_t i = 0; i < s->n; i++) {
        const int k = to[s->class[e->missed[i].at / C]];
        s->weight[i] = k || thin ? asked[k] / left[k] : 0.0;
    }
    for (int k = 0; k < CLASSES; k++) {
        const double own = left[to[k]] > 0.0 ? asked[to[k]] / left[to[k]] : 1.0;
        s->at[k] = k || thin ? csrec_score_at(s->n, s->score, s->weight, s->place, own * (double)C,
                                              e->interval / 100.0)
                             : INFINITY;
    }
}

/* ------------------------------------------------------------------ intervals */

/* At noisy samples: those left out, with what is expected there with them. The noise that the
 * result follows is not in y - q (Stein 1981). */
static csrec_line line_at_samples(csrec_estimator *e, const csrec_glance *whole) {
    const double h = e->surprise > 0.0 ? fmin(fmax(e->answers / e->surprise, 0.0), 1.0) : 0.0;
    for (int64_t i = 0; i < e->n_missed; i++) {
        csrec_missed *one = &e->missed[i];
        one->square = one->result;
        one->noise *= 1.0 - 2.0 * h;
        one->variance = whole->variance[one->at];
    }
    return csrec_line_fit(e->n_missed, e->missed);
}

static csrec_status find_scores(const csrec_estimator *e, const csrec_glance *whole,
                                csrec_line line, double least, scores *s, csrec_pool *pool,
                                csrec_error *error) {
    s->n = e->n_missed;
    CSREC_TAKE(pool, s->score, s->n);
    CSREC_TAKE(pool, s->weight, s->n);
    CSREC_TAKE(pool, s->place, s->n);
    CSREC_TAKE(pool, s->class, whole->values / e->m->channels);
    if (pool->lacks) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t i = 0; i < s->n; i++) {
        const csrec_missed *one = &e->missed[i];
        s->score[i] = one->square / (line.a + line.b * one->variance + one->noise + least);
    }
    csrec_status status = classify(whole, s->class, error);
    if (!status && csrec_scores_sort(s->n, s->score, s->place))
        status = csrec_fail(error, CSREC_MEMORY, "out of memory");
    if (!status) weigh(e, whole, s);
    return status;
}

csrec_status csrec_interval_fill(csrec_estimator *e, const csrec_glance *whole, double scale,
                                 double *half, double *unpromised, csrec_error *error) {
    const int64_t C = e->m->channels;
    /* The method's own variance has fallen with more samples. */
    const double fall = whole->told ? 1.0 : csrec_left_out_fall(e->share);
    csrec_pool pool = {0};
    scores s;
    csrec_line line =
        e->noise > 0.0 ? csrec_line_fit(e->n_missed, e->missed) : (csrec_line){0.0, scale};
    const double least = DBL_MIN + 1e-6 * e->squares / (double)(e->n_missed + 1);
    csrec_status status = find_scores(e, whole, line, least, &s, &pool, error);
    const csrec_line sampled = status ? line : line_at_samples(e, whole);
    for (int64_t i = 0; i < whole->values && !status; i++) {
        const double d = e->signal[i] - whole->signal[i], v = whole->variance[i];
        const double cheap = fall * (line.a + line.b * v + least);
        const int state = whole->state[i / C];
        double square = state == CSREC_SHOWN
                            ? sampled.a + sampled.b * v
                            : fmax(cheap + e->excess * d * d, CSREC_LEAST_EXPECTED * cheap);
        square = fmax(square, LEAST_OF_NOISE * e->noise);
        half[i] = isnan(d)                      ? NAN
                  : state == CSREC_KEPT         ? 0.0
                  : isinf(s.at[s.class[i / C]]) ? INFINITY
                                                : sqrt(s.at[s.class[i / C]] * square);
        *unpromised += isinf(half[i]);
    }
    csrec_pool_clear(&pool);
    return status;
}
