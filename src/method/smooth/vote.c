/* SPDX-License-Identifier: BSD-3-Clause */
/* vote.c - which way fills a series best, by samples left out in holes like the real ones. A
 * left-out error counts as often as missing entries are as far from a sample as it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/random.h"
#include "csrec/sampling.h"
#include "method/smooth/series.h"

enum { WAYS = CSREC_SERIES_WAYS, FOLDS = 6, FEW = 8, MANY = 60, BINS = 8, ORDER = 16 };
enum { LINEAR, CUBIC, PROCESS, AUTOREGRESSIVE, SINUSOIDS, SPLINE };

typedef struct vote {
    csrec_pool pool;
    const csrec_series *s;
    csrec_series_process process;
    double noise;
    uint64_t seed, draws;
    uint8_t *fold; /* [m]: the fold that leaves a sample out; FOLDS: none */
    int64_t *at;   /* [m]: of the samples that a fold keeps */
    double *v, *x; /* [m], [n] */
    double *y;     /* [WAYS][m]: what each way gives where a sample was left out */
    int64_t *far;  /* [m]: then the distance to the nearest sample kept */
    int folds;
    bool use[WAYS];
} vote;

static csrec_status run(const vote *j, int way, const csrec_series *s, double *x) {
    csrec_status status = CSREC_OK;
    const int sixteenth = (int)(s->m / 16 < 24 ? s->m / 16 : 24);
    if (way == LINEAR) csrec_series_linear(s, x);
    if (way == CUBIC) csrec_series_cubic(s, x);
    if (way == PROCESS) status = csrec_series_process_fill(s, &j->process, x);
    if (way == AUTOREGRESSIVE) status = csrec_series_autoregressive(s, ORDER, j->noise, x);
    if (way == SINUSOIDS) status = csrec_series_sinusoids(s, sixteenth, x);
    if (way == SPLINE) status = csrec_series_spline(s, x);
    for (int64_t i = 0; i < s->n && !status; i++)
        if (!isfinite(x[i])) {
            csrec_series_linear(s, x);
            break;
        }
    return status;
}

static uint64_t draw(vote *j, uint64_t below) {
    return csrec_random_below(csrec_random_u64(j->seed, CSREC_STREAM_NEXT, j->draws++), below);
}

/* Holes are runs of missing entries: of each missing entry its run, so that a hole is drawn as
 * often as it is long. Returns how many entries are missing; lengths [n]. */
static int64_t holes(const csrec_series *s, int64_t *lengths) {
    int64_t count = 0, from = 0;
    for (int64_t k = 0; k <= s->m; k++) {
        const int64_t to = k < s->m ? s->at[k] : s->n, length = to - from;
        for (int64_t i = 0; i < length; i++) lengths[count++] = length;
        from = to + 1;
    }
    return count;
}

/* Leaves samples out until about `want` are. */
static void make_fold(vote *j, int fold, int64_t want, const int64_t *lengths, int64_t missing) {
    const csrec_series *s = j->s;
    int64_t out = 0;
    for (int tries = 0; tries < 200 && out < want; tries++) {
        const int64_t length = lengths[draw(j, (uint64_t)missing)];
        const int64_t first = (int64_t)draw(j, (uint64_t)s->n + 1) - (length + 1) / 2;
        if (length > 2 * want && out > 0) continue;
        for (int64_t k = 0; k < s->m; k++)
            if (s->at[k] >= first && s->at[k] < first + length && j->fold[k] == FOLDS) {
                j->fold[k] = (uint8_t)fold;
                out++;
            }
    }
    if (s->m - out >= 4) return;
    for (int64_t k = 0; k < s->m; k++) /* nearly all: half of them */
        if (j->fold[k] == fold && draw(j, 2)) j->fold[k] = FOLDS;
}

static csrec_status make_folds(vote *j) {
    const csrec_series *s = j->s;
    const bool many = s->m >= MANY;
    int64_t *lengths = malloc((size_t)s->n * sizeof *lengths);
    if (!lengths) return CSREC_MEMORY;
    const int64_t missing = holes(s, lengths);
    int64_t want = many ? (int64_t)(0.12 * (double)s->m) : s->m / FOLDS;
    if (want < (many ? 3 : 1)) want = many ? 3 : 1;
    memset(j->fold, FOLDS, (size_t)s->m);
    j->folds = many ? 4 : FOLDS;
    for (int f = 0; f < j->folds; f++) make_fold(j, f, want, lengths, missing);
    free(lengths);
    return CSREC_OK;
}

static int64_t distance(const csrec_series *s, int64_t i, int64_t *k) {
    while (*k + 1 < s->m && s->at[*k + 1] <= i) ++*k;
    int64_t far = llabs(i - s->at[*k]);
    if (*k + 1 < s->m && s->at[*k + 1] - i < far) far = s->at[*k + 1] - i;
    return far;
}

/* Fills the line from the samples that a fold keeps, by every way. */
static csrec_status run_fold(vote *j, int fold) {
    const csrec_series *s = j->s;
    csrec_series kept = {.n = s->n, .at = j->at, .v = j->v, .t = s->t, .call = s->call};
    for (int64_t k = 0; k < s->m; k++)
        if (j->fold[k] != fold) {
            j->at[kept.m] = s->at[k];
            j->v[kept.m++] = s->v[k];
        }
    for (int way = 0; way < WAYS && kept.m < s->m; way++) {
        int64_t near = 0;
        if (!j->use[way] || csrec_call_poll(s->call)) continue;
        CSREC_TRY(run(j, way, &kept, j->x));
        for (int64_t k = 0; k < s->m; k++) {
            if (j->fold[k] != fold) continue;
            j->y[way * s->m + k] = j->x[s->at[k]];
            j->far[k] = distance(&kept, s->at[k], &near);
        }
    }
    return CSREC_OK;
}

/* Sums of absolute errors of a fold. */
static double fold_error(const vote *j, int fold, int way) {
    double sum = 0.0;
    for (int64_t k = 0; k < j->s->m; k++)
        if (j->fold[k] == fold) sum += fabs(j->y[way * j->s->m + k] - j->s->v[k]);
    return sum;
}

/* Sinusoids fit by chance what is left out here and there, and splines swing: they must be far
 * better in every fold, and are tried no more after the first in which they are not. */
static bool wins(const vote *j, int fold, int way, double factor) {
    return !(fold_error(j, fold, way) * factor > fold_error(j, fold, LINEAR));
}

/* 1, 2, 3 to 4, 5 to 8, ..., above 64. */
static int bin_of(int64_t far) {
    int bin = 0;
    while (bin < BINS - 1 && far > (int64_t)1 << bin) bin++;
    return bin;
}

/* counts[b]: how often a left-out error at that distance counts. */
static void count_bins(const vote *j, double counts[BINS]) {
    const csrec_series *s = j->s;
    double missing[BINS] = {0}, left[BINS] = {0}, all = 0.0, out = 0.0;
    for (int64_t i = 0, k = 0, near = 0; i < s->n; i++) {
        if (k < s->m && s->at[k] == i) {
            k++;
            continue;
        }
        missing[bin_of(distance(s, i, &near))] += 1.0;
        all += 1.0;
    }
    for (int64_t k = 0; k < s->m; k++)
        if (j->fold[k] < FOLDS) {
            left[bin_of(j->far[k])] += 1.0;
            out += 1.0;
        }
    for (int b = 0; b < BINS; b++) {
        counts[b] = left[b] > 0.0 ? missing[b] / all / (left[b] / out) : 0.0;
        counts[b] = fmax(0.1, fmin(counts[b], 8.0));
    }
}

/* Mean absolute errors: of squares one jump would decide. */
static void judge(const vote *j, double floor, double error[WAYS]) {
    double counts[BINS], whole = 0.0;
    count_bins(j, counts);
    for (int way = 0; way < WAYS; way++) error[way] = floor;
    for (int64_t k = 0; k < j->s->m; k++) {
        if (j->fold[k] == FOLDS) continue;
        const double count = counts[bin_of(j->far[k])];
        whole += count;
        for (int way = 0; way < WAYS; way++)
            if (j->use[way]) error[way] += count * fabs(j->y[way * j->s->m + k] - j->s->v[k]);
    }
    for (int way = 0; way < WAYS; way++)
        error[way] = floor + (error[way] - floor) / fmax(whole, 1.0);
}

static void limits(const csrec_series *s, double *least, double *most) {
    *least = *most = s->v[0];
    for (int64_t k = 1; k < s->m; k++) {
        *least = fmin(*least, s->v[k]);
        *most = fmax(*most, s->v[k]);
    }
}

/* Whether x leaves the samples' range by a quarter in a hole: sinusoids and splines swing there. */
static bool swings(const csrec_series *s, const double *x, double least, double most) {
    const double room = 0.25 * (most - least);
    for (int64_t i = 0, k = 0; i < s->n; i++) {
        if (k < s->m && s->at[k] == i)
            k++;
        else if (x[i] < least - room || x[i] > most + room)
            return true;
    }
    return false;
}

static csrec_status blend(vote *j, double *all, double *x, double share[WAYS]) {
    const csrec_series *s = j->s;
    double least, most, error[WAYS], best = INFINITY, sum = 0.0;
    csrec_status status = CSREC_OK;
    limits(s, &least, &most);
    for (int f = 0; f < j->folds && !status; f++) {
        status = run_fold(j, f);
        for (int way = SINUSOIDS; way < WAYS && !status; way++)
            j->use[way] = j->use[way] && wins(j, f, way, 2.0);
    }
    for (int way = 0; way < WAYS && !status; way++) {
        if (csrec_call_poll(s->call)) return CSREC_OK;
        if (j->use[way]) status = run(j, way, s, all + way * s->n);
        if (way >= SINUSOIDS && j->use[way] && !status)
            j->use[way] = !swings(s, all + way * s->n, least, most);
    }
    if (status || csrec_call_stopped(s->call)) return status;
    judge(j, 1e-7 * (most - least), error);
    for (int way = 0; way < WAYS; way++)
        if (j->use[way]) best = fmin(best, error[way]);
    for (int way = 0; way < WAYS; way++) {
        share[way] = j->use[way] ? pow(best / error[way], 12.0) : 0.0;
        sum += share[way];
    }
    memset(x, 0, (size_t)s->n * sizeof *x);
    for (int way = 0; way < WAYS; way++) {
        share[way] /= sum;
        for (int64_t i = 0; i < s->n && share[way] > 0.0; i++)
            x[i] += share[way] * all[way * s->n + i];
    }
    return CSREC_OK;
}

csrec_status csrec_series_vote(const csrec_series *s, int ways, uint64_t seed, double *x,
                               double share[WAYS]) {
    double least, most, *all, own[WAYS] = {1.0};
    vote j = {.s = s, .seed = seed};
    for (int way = 0; way < ways; way++)
        j.use[way] = way < AUTOREGRESSIVE || way == SPLINE || !s->t;
    if (s->n > CSREC_SERIES_LONG) j.use[SINUSOIDS] = false;
    limits(s, &least, &most);
    csrec_series_linear(s, x);
    if (s->m >= FEW && s->m < s->n && most > least) {
        const size_t m = (size_t)s->m, n = (size_t)s->n;
        j.process = csrec_series_process_fit(s);
        j.noise = j.process.s * j.process.noise;
        CSREC_TAKE(&j.pool, j.fold, m);
        CSREC_TAKE(&j.pool, j.at, m);
        CSREC_TAKE(&j.pool, j.far, m);
        CSREC_TAKE(&j.pool, j.v, m);
        CSREC_TAKE(&j.pool, j.y, WAYS * m);
        CSREC_TAKE(&j.pool, j.x, n);
        CSREC_TAKE(&j.pool, all, WAYS * n);
        csrec_status status = j.pool.lacks ? CSREC_MEMORY : make_folds(&j);
        if (!status) status = blend(&j, all, x, own);
        csrec_pool_clear(&j.pool);
        if (status) return status;
    }
    if (share) memcpy(share, own, sizeof own);
    return CSREC_OK;
}
