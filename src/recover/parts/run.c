/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c - the one loop over tiles: the samples of each, its recovery, and where it goes. */
#include <math.h>
#include <stdlib.h>

#include "operator/mask.h"
#include "recover/parts/parts.h"
#include "solver/threshold.h"

/* A run of the loop, with what is the same for all its tiles. */
typedef struct run {
    csrec_runner *r;
    const csrec_measurement *m;
    bool ascend;                   /* its positions */
    csrec_recovery tile;           /* all but the measurement, the signal and the report */
    csrec_recover_options options; /* of a tile */
} run;

static csrec_status guess_channel(const csrec_measurement *part, const csrec_mask *mask,
                                  int64_t channel, double *y, double *guess, double *out) {
    for (int64_t k = 0; k < part->n; k++) y[k] = part->y[k * part->channels + channel];
    csrec_status status = csrec_threshold_start(mask, y, guess);
    for (int64_t i = 0; i < mask->entries && !status; i++)
        out[i * part->channels + channel] = guess[i];
    return status;
}

static csrec_status guess(const csrec_measurement *part, int64_t entries, double *out,
                          csrec_error *error) {
    csrec_operator_spec spec = {.shape = &part->shape, .m = part->n, .index = part->index};
    csrec_mask mask;
    CSREC_TRY(csrec_mask_create(&spec, "mask", &mask, error));
    double *y = malloc((size_t)(part->n + entries) * sizeof *y);
    csrec_status status = y ? CSREC_OK : CSREC_MEMORY;
    for (int64_t c = 0; c < part->channels && !status; c++)
        status = guess_channel(part, &mask, c, y, y + part->n, out);
    free(y);
    csrec_mask_clear(&mask);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

/* Counts this process's tiles; the method's own reports only check for a stop. */
bool csrec_runner_stops(csrec_runner *r, double residual) {
    csrec_progress now = {"tiles", r->done - r->first, r->tiling ? r->tiling->tiles : 0, residual};
    const csrec_solve_options *solve = r->given ? &r->given->solve : NULL;
    if (solve && solve->progress && !r->stopped) r->stopped = solve->progress(&now, solve->context);
    return r->stopped;
}

static bool pass_progress(const csrec_progress *progress, void *context) {
    return csrec_runner_stops(context, progress->residual);
}

csrec_status csrec_runner_stopped(csrec_error *error) {
    return csrec_fail(error, CSREC_STOPPED, "stopped before the whole was recovered");
}

/* one->outcome tells whether it is whole. */
static csrec_status recover(run *u, const csrec_measurement *part, double *values,
                            csrec_recover_report *one, csrec_error *error) {
    csrec_runner *r = u->r;
    const int64_t C = part->channels;
    int64_t entries = 0;
    csrec_status status = CSREC_OK;
    csrec_shape_count(&part->shape, &entries);
    for (int64_t i = 0; part->n == 0 && i < entries * C; i++) values[i] = r->survey->mean[i % C];
    if (part->n == 0) return CSREC_OK;
    if (r->stopped) {
        status = guess(part, entries, values, error);
    } else {
        u->tile.measurement = part;
        u->tile.signal = values;
        u->tile.report = one;
        status = csrec_channels_run(r->method, &u->tile, r->survey->mean, error);
    }
    if (!status) one->residual = csrec_samples_residual(part, values);
    if (!status && r->stopped) one->outcome = CSREC_INTERRUPTED;
    return status;
}

/* From its samples; it is kept if it is whole. */
static csrec_status make(run *u, int64_t number, csrec_boxed *values, csrec_recover_report *one,
                         csrec_error *error) {
    csrec_measurement part;
    csrec_status status = csrec_samples_select(u->m, u->r->tiling, &values->box, u->ascend,
                                               u->options.threads, &part);
    if (status)
        csrec_fail(error, status, "out of memory for a tile");
    else
        status = recover(u, &part, values->values, one, error);
    if (!status && one->outcome != CSREC_INTERRUPTED)
        csrec_journal_keep(u->r->journal, number, values, one);
    csrec_measurement_clear(&part);
    return status;
}

static csrec_status run_tile(run *u, int64_t number, csrec_recover_report *report,
                             csrec_error *error) {
    csrec_runner *r = u->r;
    csrec_recover_report one = {0};
    csrec_boxed values = {csrec_tiling_tile(r->tiling, number).box, NULL};
    csrec_status status = CSREC_OK;
    values.values = malloc((size_t)(csrec_box_entries(&values.box) * r->channels) * sizeof(double));
    if (!values.values) return csrec_fail(error, CSREC_MEMORY, "out of memory for a tile");
    if (!csrec_journal_take(r->journal, number, &values, &one))
        status = make(u, number, &values, &one, error);
    if (!status) status = csrec_runner_add(r, number, &values, error);
    if (!status) csrec_report_add(&one, report);
    free(values.values);
    return status;
}

static void begin(run *u, csrec_runner *r, const csrec_recovery *recovery) {
    *u =
        (run){.r = r, .m = recovery->measurement, .tile = *recovery, .options = *recovery->options};
    u->options.history = NULL; /* which has the whole signal alone */
    u->options.solve.progress = pass_progress;
    u->options.solve.context = r;
    u->tile.whole = &r->survey->whole;
    u->tile.variance = NULL; /* of a tile, which has other indices */
    u->tile.options = &u->options;
    u->options.by_samples = false; /* large holes may lie in several parts */
    recovery->report->backend = csrec_device_name(recovery->context->kind);
}

csrec_status csrec_runner_run(csrec_runner *r, const csrec_recovery *recovery, int64_t end,
                              csrec_error *error) {
    run u;
    csrec_status status = CSREC_OK;
    begin(&u, r, recovery);
    u.ascend = csrec_samples_ascend(u.m, u.options.threads);
    while (r->done < end && !status) {
        status = run_tile(&u, r->done, recovery->report, error);
        r->done += !status;
    }
    if (r->stopped) recovery->report->outcome = CSREC_INTERRUPTED;
    return status;
}

/* Source and sink are the caller's. */
static csrec_status run_alone(csrec_runner *r, const csrec_recovery *recovery, csrec_error *error) {
    run u;
    csrec_recover_report one = {0};
    begin(&u, r, recovery);
    csrec_status status = recover(&u, u.m, recovery->signal, &one, error);
    if (!status) csrec_report_add(&one, recovery->report);
    if (r->stopped) recovery->report->outcome = CSREC_INTERRUPTED;
    return status;
}

csrec_status csrec_runner_run_in_unit(csrec_runner *r, const csrec_recovery *given, int64_t end,
                                      csrec_error *error) {
    csrec_recovery own = *given;
    csrec_normal normal;
    csrec_status status =
        csrec_normal_create(given->measurement, given->options, given->unit, &normal, error);
    own.measurement = &normal.m;
    own.options = &normal.options;
    if (!status && own.options->model && normal.m.n > 0)
        status = csrec_model_check_scales(&normal.m, own.options->model, error);
    if (!status)
        status = own.signal ? run_alone(r, &own, error) : csrec_runner_run(r, &own, end, error);
    csrec_normal_clear(&normal);
    return status;
}

csrec_status csrec_survey_deliver(const csrec_survey *survey, double unit, int64_t entries,
                                  double *values, csrec_error *error) {
    const int64_t C = survey->channels;
    if (csrec_scale_back(entries * C, unit, values) >= 0)
        return csrec_fail(error, CSREC_DATA,
                          "a value of the recovery is beyond the range of a double; scale the "
                          "samples down");
    for (int64_t c = 0; c < C; c++)
        for (int64_t i = 0; i < entries && isnan(survey->whole.least[c]); i++)
            values[i * C + c] = NAN;
    return CSREC_OK;
}

csrec_status csrec_runner_open(csrec_runner *r, int64_t channels, double unit, double *signal,
                               csrec_error *error) {
    const csrec_recover_options *o = r->given;
    const int rank = csrec_comm_rank(o->comm);
    r->comm = o->comm;
    r->channels = channels;
    r->first = r->done = csrec_ranks_first(r->comm, r->tiling->tiles, rank);
    r->end = csrec_ranks_first(r->comm, r->tiling->tiles, rank + 1);
    csrec_status status = csrec_journal_open(o->journal, o->journal_key, r->tiling, channels, unit,
                                             r->comm, &r->journal, error);
    return status ? status : csrec_mosaic_create(r->tiling, channels, signal, &r->mosaic, error);
}

void csrec_runner_close(csrec_runner *r) {
    csrec_journal_close(r->journal);
    csrec_mosaic_destroy(r->mosaic);
}

csrec_status csrec_recover_tiles(const csrec_method_type *method, const csrec_recovery *recovery,
                                 const csrec_tiling *tiling, csrec_error *error) {
    const csrec_measurement *m = recovery->measurement;
    csrec_comm *comm = recovery->options->comm;
    csrec_survey *survey = NULL;
    csrec_runner r = {.method = method,
                      .tiling = tiling,
                      .given = recovery->options,
                      .common = recovery->common != NULL};
    csrec_status status = csrec_survey_of(m, tiling, &survey, error);
    if (!status) {
        csrec_survey_end(survey, &m->shape, 1.0);
        r.survey = survey;
        double *signal = csrec_comm_rank(comm) == 0 ? recovery->signal : recovery->common;
        status = csrec_runner_open(&r, m->channels, recovery->unit, signal, error);
    }
    if (!status) status = csrec_runner_run(&r, recovery, r.end, error);
    if (!status && comm) status = csrec_runner_collect(&r, error);
    if (!status && comm) status = csrec_runner_report(&r, recovery->report, error);
    csrec_runner_close(&r);
    free(survey);
    return status;
}
