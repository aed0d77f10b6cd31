/* SPDX-License-Identifier: BSD-3-Clause */
/* interval.c - intervals that hold a share of the errors, by split conformal prediction: a score is
 * an error at a sample left out by the error expected there, and the quantile of the scores times
 * the error expected elsewhere is half of an interval. Scores count by how many unknown entries
 * have samples as dense around them. Noise in the scores is told apart by a mixture. */
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

/* Weights whose mean squared, by the mean of their squares, is less are of samples that follow a
 * density. */
static const double LEVEL = 0.998;

/* Of distances, unknown entries' by those of samples left out: below it samples are even. Of a
 * uniform draw it is 1, and the variance is taken as the method tells it, whose errors have not
 * chosen it. */
static const double EVEN = 0.95;

/* A squared error that is less than this share of the noise is not seen in it, and one that is less
 * than this share of the mean is none. */
static const double LEAST_OF_NOISE = 0.015, LEAST_OF_MEAN = 1e-6;

/* Of classes of squares: the least number, and how they follow their means (interval.h). */
static const int64_t IN_CLASS = 64;
static const double FOLLOWS = 0.7;

csrec_status csrec_rise_fit(int64_t n, const csrec_missed *missed, double least, csrec_rise *rise,
                            csrec_error *error) {
    double upto[CSREC_RISE_MOST + 1] = {0.0};
    const int64_t classes = (n + IN_CLASS - 1) / IN_CLASS;
    const int64_t K = classes < CSREC_RISE_MOST ? classes : CSREC_RISE_MOST;
    csrec_pool pool = {0};
    double *v = CSREC_TAKE(&pool, v, n);
    int64_t *place = CSREC_TAKE(&pool, place, n);
    *rise = (csrec_rise){.square = {0.0, least}};
    for (int64_t i = 0; i < n && !pool.lacks; i++) v[i] = fmax(missed[i].variance, 0.0);
    const bool sorted = !pool.lacks && !csrec_scores_sort(n, v, place);
    for (int64_t k = 0; k < K && sorted; k++) {
        const int64_t from = n * k / K, end = n * (k + 1) / K;
        double sum = 0.0;
        for (int64_t i = from; i < end; i++)
            sum += (missed[place[i]].square - missed[place[i]].noise) /
                   (missed[place[i]].far * (double)(end - from));
        rise->v[rise->n++] = v[place[(from + end) / 2]];
        upto[rise->n] = upto[rise->n - 1] + sum;
    }
    for (int k = 0; k < rise->n; k++) {
        rise->square[k] = least;
        for (int i = 0; i <= k; i++) {
            double low = INFINITY;
            for (int j = k + 1; j <= rise->n; j++) low = fmin(low, (upto[j] - upto[i]) / (j - i));
            rise->square[k] = fmax(rise->square[k], low);
        }
    }
    csrec_pool_clear(&pool);
    return sorted ? CSREC_OK : csrec_memory_fail(error, NULL);
}

/* Between the classes and their mean. */
static csrec_rise soften(csrec_rise rise) {
    double mean = 0.0;
    for (int k = 0; k < rise.n; k++) mean += rise.square[k] / rise.n;
    for (int k = 0; k < rise.n; k++) rise.square[k] = mean * pow(rise.square[k] / mean, FOLLOWS);
    return rise;
}

double csrec_rise_at(const csrec_rise *rise, double v) {
    const double *at = rise->v, *square = rise->square;
    int k = 1;
    if (!rise->n) return square[0] * v + square[1];
    while (k < rise->n && at[k] <= v) k++;
    if (k >= rise->n || v <= at[k - 1]) return square[k - 1];
    return square[k - 1] + (square[k] - square[k - 1]) * ((v - at[k - 1]) / (at[k] - at[k - 1]));
}

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
    const csrec_status status = pool.lacks ? csrec_memory_fail(error, NULL) : CSREC_OK;
    for (int64_t i = 0; i < entries && !status; i++)
        room[i] = 1.0, count[i] = whole->state[i] != CSREC_UNKNOWN;
    for (int k = 0; k < 2 && !status; k++)
        csrec_boxes_sum(shape, 1, radius_of(shape, rate), line, k ? room : count);
    for (int64_t i = 0; i < entries && !status; i++) {
        const double due = room[i] * rate, has = count[i] - (whole->state[i] != CSREC_UNKNOWN);
        const double octaves = round(2.0 * log2(fmax(has, 0.5) / due));
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

typedef struct scores {
    int64_t n;
    double *score, *weight;
    int64_t *place;
    uint8_t *class;                 /* [entries] */
    double at[CLASSES], beneath[2]; /* by classes of density; under noise by mean, rise */
    csrec_rise mean, rise;          /* rise: what is expected */
} scores;

/* Weights; at [CLASSES]: those of a further value, INFINITY where nothing is promised. */
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
        s->at[k] = k || thin ? own * (double)C : INFINITY;
    }
}

/* Whether samples are as dense everywhere, and more even than a uniform draw. */
static bool is_even(const csrec_estimator *e, const scores *s) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < s->n; i++) {
        sum += s->weight[i];
        squares += s->weight[i] * s->weight[i];
    }
    return sum * sum >= LEVEL * squares * (double)s->n && e->nearer < EVEN * (double)e->hidden;
}

/* Normal errors of variances 2^-7 to 2^6 times the expected. Rounds that end early, from variances
 * around a half, keep the mixture smooth; measured: docs/notebook/uncertainty.md. */
enum { WIDTHS = 14, NARROWEST = -7, ROUNDS = 30, ROWS_MOST = 65536 };

static double expect(const csrec_rise *rise, const csrec_missed *one) {
    return one->far * csrec_rise_at(rise, one->variance);
}

/* How likely [WIDTHS] a square is by the mixture's parts, with its noise. */
static void weigh_widths(const csrec_missed *one, double expected, double *likely) {
    double most = -INFINITY;
    const double widest = ldexp(expected, NARROWEST + WIDTHS - 1) + fmax(one->noise, 0.0);
    for (int j = 0; j < WIDTHS; j++) {
        const double variance = ldexp(expected, NARROWEST + j) + fmax(one->noise, 0.0);
        likely[j] = -0.5 * (one->square / variance + log(variance / widest));
        most = fmax(most, likely[j]);
    }
    for (int j = 0; j < WIDTHS; j++) likely[j] = exp(likely[j] - most);
}

/* The share of the mixture's errors below a score of what `by` expects; weight: of classes. */
static double share_below(const double *part, const csrec_rise *rise, const csrec_rise *by,
                          const double *weight, double score) {
    double below = 0.0, all = 0.0;
    for (int k = 0; k < rise->n; k++)
        for (int j = 0; j < WIDTHS; j++) {
            const double square = score * (by->square[k] / rise->square[k]);
            below += weight[k] * part[j] * erf(sqrt(0.5 * ldexp(square, -NARROWEST - j)));
            all += weight[k] * part[j];
        }
    return below / all;
}

static double score_of_share(const double *part, const csrec_rise *rise, const csrec_rise *by,
                             const double *weight, double share) {
    double low = -20.0, high = 20.0; /* of the score's logarithm */
    for (int round = 0; round < 60; round++) {
        const double middle = 0.5 * (low + high);
        const bool above = share_below(part, rise, by, weight, exp2(middle)) < share;
        *(above ? &low : &high) = middle;
    }
    return exp2(low);
}

/* The scores, by the mean and by what is expected (soft; NULL: that is the mean), that have the
 * interval's share of the errors without noise below them: of the mixture that is likely by
 * expectation maximisation (Kiefer and Wolfowitz 1956). */
static csrec_status find_beneath(const csrec_estimator *e, const csrec_rise *rise,
                                 const csrec_rise *soft, const double *weight, double score[2],
                                 csrec_error *error) {
    const int64_t step = 1 + (e->n_missed - 1) / ROWS_MOST, n = (e->n_missed - 1) / step + 1;
    double part[WIDTHS], of_class[CSREC_RISE_MOST] = {0.0};
    csrec_pool pool = {0};
    double *likely = CSREC_TAKE(&pool, likely, n * WIDTHS);
    if (pool.lacks) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < n; i++)
        weigh_widths(&e->missed[i * step], expect(rise, &e->missed[i * step]), likely + i * WIDTHS);
    for (int j = 0; j < WIDTHS; j++) part[j] = exp(-0.5 * pow((NARROWEST + j + 0.4) / 1.4, 2.0));
    for (int round = 0; round < ROUNDS; round++) {
        double sum[WIDTHS] = {0.0};
        for (int64_t i = 0; i < n; i++) {
            double all = 0.0;
            for (int j = 0; j < WIDTHS; j++) all += part[j] * likely[i * WIDTHS + j];
            for (int j = 0; j < WIDTHS && all > 0.0; j++)
                sum[j] += weight[i * step] * likely[i * WIDTHS + j] / all;
        }
        for (int j = 0; j < WIDTHS; j++) part[j] *= sum[j];
    }
    for (int64_t i = 0; i < e->n_missed; i++) {
        int k = 0;
        while (k + 1 < rise->n && rise->v[k] + rise->v[k + 1] <= 2.0 * e->missed[i].variance) k++;
        of_class[k] += weight[i];
    }
    score[0] = score_of_share(part, rise, rise, of_class, e->interval / 100.0);
    score[1] = soft ? score_of_share(part, rise, soft, of_class, e->interval / 100.0) : score[0];
    csrec_pool_clear(&pool);
    return CSREC_OK;
}

/* At noisy samples: those left out, with what is expected there with them. The noise that the
 * result follows is not in y - q (Stein 1981). */
static csrec_status rise_at_samples(csrec_estimator *e, const csrec_glance *whole, double least,
                                    csrec_rise *rise, csrec_error *error) {
    const double h = e->surprise > 0.0 ? fmin(fmax(e->answers / e->surprise, 0.0), 1.0) : 0.0;
    for (int64_t i = 0; i < e->n_missed; i++) {
        csrec_missed *one = &e->missed[i];
        one->square = one->result;
        one->noise *= 1.0 - 2.0 * h;
        one->variance = whole->variance[one->at];
        one->far = 1.0;
    }
    return csrec_rise_fit(e->n_missed, e->missed, least, rise, error);
}

/* The power of squared distances that squared errors grow as: less with noise, which is everywhere
 * (docs/notebook/uncertainty.md). */
static double growth(const csrec_estimator *e) {
    const double noise = e->noise * (double)e->n_missed;
    return fmax(0.425 - 0.5 * noise / (e->squares + DBL_MIN), 0.25);
}

static csrec_status find_scores(const csrec_estimator *e, const csrec_glance *whole, double least,
                                scores *s, csrec_pool *pool, csrec_error *error) {
    for (int64_t i = 0; i < e->n_missed; i++) e->missed[i].far = pow(e->missed[i].far, growth(e));
    csrec_status status = csrec_rise_fit(e->n_missed, e->missed, least, &s->mean, error);
    s->rise = s->mean;
    s->n = e->n_missed;
    CSREC_TAKE(pool, s->score, s->n);
    CSREC_TAKE(pool, s->weight, s->n);
    CSREC_TAKE(pool, s->place, s->n);
    CSREC_TAKE(pool, s->class, whole->values / e->m->channels);
    if (status || pool->lacks) return status ? status : csrec_memory_fail(error, NULL);
    status = classify(whole, s->class, error);
    if (!status) weigh(e, whole, s);
    const bool soft = !status && is_even(e, s);
    if (soft)
        s->rise = soften(s->mean);
    else if (e->noise == 0.0)
        s->rise = (csrec_rise){.square = {csrec_squares_factor(e), least}};
    for (int64_t i = 0; i < s->n; i++) {
        const csrec_missed *one = &e->missed[i];
        s->score[i] = one->square / (expect(&s->rise, one) + one->noise);
    }
    if (!status && csrec_scores_sort(s->n, s->score, s->place))
        status = csrec_memory_fail(error, NULL);
    for (int k = 0; k < CLASSES && !status; k++)
        if (isfinite(s->at[k]))
            s->at[k] =
                csrec_score_at(s->n, s->score, s->weight, s->place, s->at[k], e->interval / 100.0);
    if (status || e->noise == 0.0 || s->n == 0) return status;
    status = find_beneath(e, &s->mean, soft ? &s->rise : NULL, s->weight, s->beneath, error);
    for (int k = 0; k < CLASSES && !status; k++)
        if (isfinite(s->at[k])) s->at[k] = s->beneath[1];
    return status;
}

csrec_status csrec_interval_fill(csrec_estimator *e, const csrec_glance *whole, double *half,
                                 double *unpromised, csrec_error *error) {
    const int64_t C = e->m->channels;
    /* The method's own variance has fallen with more samples. */
    const double fall = whole->told ? 1.0 : csrec_left_out_fall(e->share);
    csrec_pool pool = {0};
    scores s;
    csrec_rise sampled = {.n = 0};
    const double least = DBL_MIN + LEAST_OF_MEAN * e->squares / (double)(e->n_missed + 1) +
                         LEAST_OF_NOISE * e->noise;
    csrec_status status = find_scores(e, whole, least, &s, &pool, error);
    if (!status && e->noise > 0.0) status = rise_at_samples(e, whole, least, &sampled, error);
    for (int64_t i = 0; i < whole->values && !status; i++) {
        const double v = whole->variance[i], at = s.at[s.class[i / C]];
        const int state = whole->state[i / C];
        half[i] =
            isnan(e->signal[i]) || isnan(whole->signal[i]) ? NAN
            : state == CSREC_KEPT                          ? 0.0
            : isinf(at)                                    ? INFINITY
            : state == CSREC_SHOWN
                ? sqrt(s.beneath[0] * csrec_rise_at(&sampled, v))
                : sqrt(at * fall * pow(whole->far[i / C], growth(e)) * csrec_rise_at(&s.rise, v));
        *unpromised += isinf(half[i]);
    }
    csrec_pool_clear(&pool);
    return status;
}
