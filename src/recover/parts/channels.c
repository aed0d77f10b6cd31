/* SPDX-License-Identifier: BSD-3-Clause */
/* channels.c - a recovery of channels that are measured at positions of their own: each group of
 * channels with the same positions by itself. */
#include <math.h>

#include "measurement/channels.h"
#include "method/smooth/holes.h"
#include "recover/parts/parts.h"

/* What a group is recovered with. */
typedef struct group_job {
    const csrec_method_type *method;
    const csrec_recovery *all;
    int64_t entries;
    csrec_recover_options options;
    csrec_whole whole;         /* of the group */
    double *signal, *variance; /* of it, room for all channels; NULL: not wanted */
    csrec_atoms *atoms;
    csrec_pool pool;
} group_job;

static csrec_status prepare(group_job *j, csrec_error *error) {
    const csrec_recovery *all = j->all;
    const int64_t C = all->measurement->channels;
    csrec_shape_count(&all->measurement->shape, &j->entries);
    j->options = *all->options;
    j->options.history = NULL; /* whose truth is that of all channels */
    CSREC_TAKE(&j->pool, j->whole.least, 2 * C);
    if (all->signal) CSREC_TAKE(&j->pool, j->signal, j->entries * C);
    if (all->variance) CSREC_TAKE(&j->pool, j->variance, j->entries * C);
    if (all->atoms) CSREC_ZEROS(&j->pool, j->atoms, C);
    j->whole.most = j->whole.least + C;
    return j->pool.lacks ? csrec_memory_fail(error, NULL) : CSREC_OK;
}

/* Channels that are measured nowhere have no group. mean: NULL or [channels]. */
static void fill(const group_job *j, const double *mean) {
    const int64_t C = j->all->measurement->channels;
    for (int64_t i = 0; i < j->entries * C && j->signal; i++)
        j->all->signal[i] = mean ? mean[i % C] : 0.0;
}

/* The group's share of the samples of the whole is that of this part. */
static void set_whole(group_job *j, const csrec_groups *g, int64_t k,
                      const csrec_measurement *part) {
    const csrec_whole *all = j->all->whole;
    const double share = (double)part->n / (double)g->m->n;
    csrec_groups_copy(g, k, 1, j->whole.least, true, all->least);
    csrec_groups_copy(g, k, 1, j->whole.most, true, all->most);
    j->whole.entries = all->entries;
    j->whole.n = llround(share * (double)all->n);
}

static void deliver(group_job *j, const csrec_groups *g, int64_t k) {
    const csrec_recovery *all = j->all;
    const int64_t *channel = g->channel + g->first[k];
    if (j->signal) csrec_groups_copy(g, k, j->entries, j->signal, false, all->signal);
    if (j->variance && j->variance[0] >= 0.0)
        csrec_groups_copy(g, k, j->entries, j->variance, false, all->variance);
    for (int64_t c = 0; j->atoms && c < csrec_groups_channels(g, k); c++) {
        all->atoms[channel[c]] = j->atoms[c];
        j->atoms[c] = (csrec_atoms){0};
    }
}

/* A csrec_recover_fn. */
static csrec_status run_method(const csrec_recovery *recovery, void *context, csrec_error *error) {
    const csrec_method_type *method = context;
    const csrec_status status = csrec_method_run(method, recovery, error);
    int kind = -1;
    return status ? status : csrec_holes_fill(method, recovery, &kind, error);
}

/* Methods of frames and guides have units of their own, by the frames of a window. */
static csrec_status run(const csrec_method_type *method, const csrec_recovery *recovery,
                        csrec_error *error) {
    return method->film ? csrec_method_run(method, recovery, error)
                        : csrec_units_run(method, recovery, run_method, (void *)method, error);
}

/* A csrec_group_fn. */
static csrec_status run_group(void *job, const csrec_groups *g, int64_t k,
                              const csrec_measurement *part, const int64_t *sample,
                              csrec_error *error) {
    group_job *j = job;
    csrec_recover_report one = {0};
    csrec_recovery own = *j->all;
    (void)sample;
    set_whole(j, g, k, part);
    own.measurement = part;
    own.whole = &j->whole;
    own.options = &j->options;
    own.signal = j->signal;
    own.variance = j->variance;
    own.common = NULL;
    own.atoms = j->atoms;
    own.report = &one;
    if (j->variance) j->variance[0] = -1.0;
    CSREC_TRY(run(j->method, &own, error));
    deliver(j, g, k);
    csrec_report_add(&one, j->all->report);
    return CSREC_OK;
}

csrec_status csrec_channels_run(const csrec_method_type *method, const csrec_recovery *recovery,
                                const double *mean, csrec_error *error) {
    group_job j = {.method = method, .all = recovery};
    const csrec_measurement *m = recovery->measurement;
    if (method->uneven || (method->film && m->sequence) || csrec_measurement_even(m))
        return run(method, recovery, error);
    csrec_status status = prepare(&j, error);
    if (!status) {
        fill(&j, mean);
        status = csrec_groups_each(m, run_group, &j, error);
    }
    csrec_pool_clear(&j.pool);
    return status;
}
