/* SPDX-License-Identifier: BSD-3-Clause */
/* adaptive.c - csrec_adaptive: rounds of measuring where a recovery expects errors. */
#include "csrec/sampling.h"
#include "files/measurement.h"
#include "csrec/adaptive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ROUNDS = 8, FIRST_SHARE = 5 };

typedef struct measuring {
    csrec_adaptive_options o;
    csrec_measure_fn measure;
    void *instrument;
    csrec_measurement *m;
    csrec_recover_options recover;
    int64_t entries;
    double *density; /* [entries] */
    double *signal;  /* [entries * channels] with a goal, or NULL */
    double expected;
    bool stopped;
} measuring;

static bool report(measuring *j) {
    csrec_progress now = {"measuring", j->m->n, j->o.budget, j->expected};
    j->stopped = j->stopped || (j->o.progress && j->o.progress(&now, j->o.context));
    return j->stopped;
}

/* Between rounds only a wish to stop is passed on. */
static bool poll(const csrec_progress *now, void *context) {
    (void)now;
    return report(context);
}

static csrec_status check(measuring *j, csrec_error *error) {
    const csrec_adaptive_options *o = &j->o;
    if (csrec_shape_count(&j->m->shape, &j->entries) || j->m->channels < 1)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "an adaptive measurement needs a shape and channels");
    if (o->budget < 1 || o->budget > j->entries)
        return csrec_fail(error, CSREC_ARGUMENT, "budget = %lld; must be 1 to %lld",
                          (long long)o->budget, (long long)j->entries);
    if (o->first < 0 || o->first > o->budget || o->rounds < 0 || !(o->goal >= 0.0))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "first = %lld, rounds = %d, goal = %g; must be 0 to the budget, at least "
                          "0, at least 0",
                          (long long)o->first, o->rounds, o->goal);
    return j->m->n ? csrec_measurement_check_points(j->m, "measurement", error) : CSREC_OK;
}

static csrec_status prepare(measuring *j, csrec_error *error) {
    csrec_adaptive_options *o = &j->o;
    CSREC_TRY(check(j, error));
    if (!o->rounds) o->rounds = ROUNDS;
    if (!o->first) o->first = (o->budget + FIRST_SHARE - 1) / FIRST_SHARE;
    if (o->recover)
        j->recover = *o->recover;
    else
        csrec_recover_defaults(&j->recover);
    j->recover.history = NULL;
    j->recover.solve.progress = poll;
    j->recover.solve.context = j;
    size_t values = (size_t)(j->entries * j->m->channels);
    j->density = malloc((size_t)j->entries * sizeof *j->density);
    if (o->goal > 0.0) j->signal = malloc(values * sizeof *j->signal);
    if (j->density && (j->signal || o->goal == 0.0)) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for the expected errors");
}

static csrec_status find_density(measuring *j, csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (j->signal) status = csrec_recover(j->m, &j->recover, j->signal, NULL, NULL, error);
    if (!status && j->signal)
        status = csrec_uncertainty(j->m, &j->recover, j->signal, NULL, &j->expected, error);
    return status ? status : csrec_uncertainty_density(j->m, &j->recover, j->density, error);
}

static csrec_status grow(csrec_measurement *m, int64_t n, csrec_error *error) {
    int64_t *index = realloc(m->index, (size_t)n * sizeof *index);
    if (index) m->index = index;
    double *y = index ? realloc(m->y, (size_t)(n * m->channels) * sizeof *y) : NULL;
    if (y) m->y = y;
    return y ? CSREC_OK
             : csrec_fail(error, CSREC_MEMORY, "out of memory for %lld samples", (long long)n);
}

/* Measures at the positions, and keeps what is measured if all of it is finite. */
static csrec_status take(measuring *j, const csrec_sampling *next, csrec_error *error) {
    csrec_measurement *m = j->m;
    CSREC_TRY(grow(m, m->n + next->n, error));
    double *y = m->y + m->n * m->channels;
    memcpy(m->index + m->n, next->index, (size_t)next->n * sizeof *m->index);
    csrec_status status = j->measure(next->n, next->index, y, j->instrument);
    if (status) return csrec_fail(error, status, "the instrument could not measure");
    for (int64_t i = 0; i < next->n * m->channels; i++)
        if (!isfinite(y[i]))
            return csrec_fail(error, CSREC_DATA,
                              "the value measured at position %lld is not finite",
                              (long long)next->index[i / m->channels]);
    m->n += next->n;
    return CSREC_OK;
}

static csrec_status run_round(measuring *j, int64_t until, const double *density,
                              csrec_error *error) {
    const csrec_next_options options = {.count = until - j->m->n,
                                        .seed = j->o.seed,
                                        .allowed = j->o.allowed,
                                        .progress = poll,
                                        .context = j};
    csrec_sampling next = {0};
    csrec_status status = csrec_where_next(j->m, density, &options, &next, error);
    if (!status) status = csrec_path_order(&j->m->shape, next.n, next.index, poll, j, NULL, error);
    if (!status) status = take(j, &next, error);
    csrec_sampling_clear(&next);
    return status;
}

static csrec_status run_rounds(measuring *j, csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int k = 0; k <= j->o.rounds && !status && !report(j); k++) {
        /* Samples at the end of round k, 0 being the even one. */
        double share = (double)k / j->o.rounds;
        int64_t until = j->o.first + (int64_t)llround(share * (double)(j->o.budget - j->o.first));
        if (until <= j->m->n) continue;
        bool even = j->m->n == 0;
        if (!even) status = find_density(j, error);
        if (j->stopped || (!status && !even && j->expected < j->o.goal)) break;
        if (!status) status = run_round(j, until, even ? NULL : j->density, error);
    }
    return status == CSREC_STOPPED ? CSREC_OK : status;
}

csrec_status csrec_adaptive(const csrec_adaptive_options *options, csrec_measure_fn measure,
                            void *instrument, csrec_measurement *measurement, double *expected,
                            csrec_error *error) {
    measuring j = {.o = *options,
                   .measure = measure,
                   .instrument = instrument,
                   .m = measurement,
                   .expected = NAN};
    csrec_status status = prepare(&j, error);
    if (!status) status = run_rounds(&j, error);
    free(j.density);
    free(j.signal);
    if (!status && expected) *expected = j.expected;
    return status;
}
