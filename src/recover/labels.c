/* SPDX-License-Identifier: BSD-3-Clause */
/* labels.c - label maps: each class is recovered as a signal of 0 and 1, and the class of the
 * largest value wins. */
#include <math.h>
#include <string.h>

#include "recover/recover.h"
#include "measurement/each.h"

/* Values nearer than this are equal: then the smaller class wins. */
static const double TIE = 1e-6;

/* Steps of the progress for a class. */
enum { STEPS = 1000 };

/* The label map of one channel after the other. */
typedef struct label_job {
    csrec_pool pool;
    const csrec_measurement *m;
    csrec_recover_options options; /* of a class */
    csrec_solve_options asked;     /* with the caller's progress, */
    const char *journal;           /* and the caller's */
    int64_t entries, done;         /* done: of the progress, in steps */
    csrec_measurement one;         /* a class of a channel: 1 or 0 at each of its samples */
    double *label;                 /* [one.n] */
    double *share, *best;          /* [entries]: of the class, and of the largest before it */
    double class[CSREC_LABELS_MOST];
    int n, k; /* classes, and the one that is recovered */
} label_job;

/* Never goes back, whatever stages a class has. */
static bool tell(const csrec_progress *now, void *context) {
    label_job *j = context;
    const double part = now->total > 0 ? (double)now->done / (double)now->total : 0.0;
    j->done = (int64_t)fmax((double)j->done, STEPS * (j->k + part));
    const csrec_progress all = {"classes", j->done, (int64_t)STEPS * j->n, -1.0};
    return j->asked.progress(&all, j->asked.context);
}

/* What a label map cannot be recovered from, or with. */
static csrec_status check(const csrec_measurement *m, const csrec_recover_options *options,
                          csrec_wanted wanted, csrec_error *error) {
    csrec_status status = csrec_measurement_check(m, "measurement", error);
    const double *range = options->range;
    const bool open = range[0] == range[1] || (isnan(range[0]) && isnan(range[1]));
    const char *vain = m->through                      ? "are not known through an operator"
                       : m->is_complex                 ? "are no complex numbers"
                       : wanted.atoms                  ? "have no atoms; omit the coefficients"
                       : !wanted.signal                ? "need a signal"
                       : csrec_measurement_is_noisy(m) ? "have no noise of a deviation; omit sigma"
                       : options->history              ? "have no history; omit it"
                       : !open || options->curve == CSREC_CURVE_LOG
                           ? "are those of the samples; omit range and curve"
                       : csrec_comm_size(options->comm) > 1
                           ? "are recovered by one process; omit comm"
                           : NULL;
    if (!status && vain) status = csrec_fail(error, CSREC_UNSUPPORTED, "labels: classes %s", vain);
    for (int64_t i = 0; !status && i < m->n * m->channels; i++)
        if (!isnan(m->y[i]) && m->y[i] != floor(m->y[i]))
            status = csrec_fail(error, CSREC_DATA,
                                "labels: a sample is %.9g, and classes are integers; omit labels "
                                "for quantities, or number the classes",
                                m->y[i]);
    return status;
}

/* The measurement of a class, without samples, and how it is recovered. A journal is of one signal,
 * not of classes. */
static csrec_status begin(label_job *j, const csrec_measurement *m,
                          const csrec_recover_options *options, csrec_wanted wanted,
                          csrec_error *error) {
    const csrec_method_type *method;
    CSREC_TRY(check(m, options, wanted, error));
    *j = (label_job){.m = m,
                     .options = *options,
                     .asked = options->solve,
                     .journal = options->journal,
                     .one = *m};
    csrec_shape_count(&m->shape, &j->entries);
    j->one.channels = 1;
    j->one.dtype = CSREC_U8;
    j->one.scale[0] = 0.0;
    j->one.scale[1] = 1.0;
    j->one.pattern = CSREC_PATTERN_NONE;
    j->options.labels = false;
    j->options.journal = NULL;
    j->options.by_samples = false;
    if (j->asked.progress) j->options.solve.progress = tell;
    j->options.solve.context = j;
    CSREC_TAKE(&j->pool, j->one.index, m->n);
    CSREC_ZEROS(&j->pool, j->one.y, m->n);
    CSREC_TAKE(&j->pool, j->label, m->n);
    CSREC_TAKE(&j->pool, j->share, j->entries);
    CSREC_TAKE(&j->pool, j->best, j->entries);
    if (j->pool.lacks) return csrec_fail(error, CSREC_MEMORY, "labels: out of memory");
    csrec_status status = csrec_method_resolve(&j->one, &j->options, false, false, &method, error);
    if (!status && !method) csrec_labels_default(m, false, &j->options);
    return status;
}

/* The samples of a channel, and its classes, which ascend. */
static csrec_status take_channel(label_job *j, int64_t c, csrec_error *error) {
    const csrec_measurement *m = j->m;
    j->one.n = j->n = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const double label = m->y[i * m->channels + c];
        if (isnan(label)) continue;
        j->one.index[j->one.n] = m->index[i];
        j->label[j->one.n++] = label;
        int at = j->n;
        while (at > 0 && j->class[at - 1] >= label) at--;
        if (at < j->n && j->class[at] == label) continue;
        if (j->n == CSREC_LABELS_MOST)
            return csrec_fail(error, CSREC_DATA,
                              "labels: the samples have more than %d distinct values; omit labels "
                              "for quantities, or join classes",
                              CSREC_LABELS_MOST);
        memmove(j->class + at + 1, j->class + at, (size_t)(j->n++ - at) * sizeof *j->class);
        j->class[at] = label;
    }
    return CSREC_OK;
}

static void add_report(const csrec_recover_report *one, csrec_recover_report *all) {
    const csrec_recover_report before = *all;
    *all = *one;
    all->residual = 0.0; /* samples are kept */
    all->classes = before.classes + 1;
    all->pursuits += before.pursuits;
    all->iterations += before.iterations;
    all->seconds_total += before.seconds_total;
    if (before.outcome > all->outcome) all->outcome = before.outcome;
    if (before.remark) all->remark = before.remark;
}

/* After an interruption no further class is looked at. */
static csrec_status recover_channel(label_job *j, int64_t c, double *signal,
                                    csrec_recover_report *all, csrec_error *error) {
    const int64_t C = j->m->channels;
    csrec_recover_report report;
    csrec_status status = take_channel(j, c, error);
    j->done = 0;
    for (int64_t i = 0; i < j->entries; i++) signal[i * C + c] = j->n ? j->class[0] : NAN;
    for (int k = 0; k < j->n && !status && all->outcome != CSREC_INTERRUPTED; k++) {
        j->k = k;
        for (int64_t i = 0; i < j->one.n; i++) j->one.y[i] = j->label[i] == j->class[k];
        CSREC_TRY(csrec_recover(&j->one, &j->options, j->share, NULL, &report, error));
        add_report(&report, all);
        for (int64_t i = 0; i < j->entries; i++) {
            if (k > 0 && j->share[i] <= j->best[i] + TIE) continue;
            j->best[i] = j->share[i];
            signal[i * C + c] = j->class[k];
        }
    }
    for (int64_t i = 0; i < j->one.n && !status; i++) signal[j->one.index[i] * C + c] = j->label[i];
    return status;
}

/* The estimate of a class becomes that of all. */
static void widen(const label_job *j, int64_t classes, csrec_estimate *e) {
    e->seconds *= (double)classes;
    e->bytes += 8 * (uint64_t)(j->entries * j->m->channels + 3 * j->m->n);
    e->n_stages = 0;
}

/* Of one that has a class, times all classes. */
static csrec_status plan_classes(label_job *j, csrec_plan *plan, csrec_error *error) {
    const int64_t C = j->m->channels;
    int64_t classes = 0;
    for (int64_t c = 0; c < C; c++) {
        CSREC_TRY(take_channel(j, c, error));
        if (j->n && !classes)
            CSREC_TRY(csrec_recover_plan(&j->one, &j->options, CSREC_RESULT_SIGNAL, plan, error));
        classes += j->n;
    }
    plan->options.labels = true;
    plan->options.journal = j->journal;
    plan->options.solve.progress = j->asked.progress;
    plan->options.solve.context = j->asked.context;
    widen(j, classes, &plan->estimate);
    return CSREC_OK;
}

csrec_status csrec_labels_recover(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, csrec_wanted wanted,
                                  double *signal, csrec_recover_report *report, csrec_plan *plan,
                                  csrec_error *error) {
    label_job j = {.n = 0};
    csrec_recover_report all = {.classes = 0};
    csrec_plan planned = {.n_parameters = 0};
    csrec_status status = begin(&j, measurement, options, wanted, error);
    if (!status && plan) status = plan_classes(&j, &planned, error);
    for (int64_t c = 0; !status && !plan && c < measurement->channels; c++)
        status = recover_channel(&j, c, signal, &all, error);
    if (!status && all.estimate.method) widen(&j, all.classes, &all.estimate);
    csrec_pool_clear(&j.pool);
    if (!status && plan) *plan = planned;
    if (!status && report) *report = all;
    return status;
}
