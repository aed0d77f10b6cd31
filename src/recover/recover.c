/* SPDX-License-Identifier: BSD-3-Clause */
/* recover.c - csrec_recover: makes a plan and runs it. */
#include "recover/recover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measurement/channels.h"
#include "measurement/cut.h"
#include "measurement/guides.h"
#include "measurement/law.h"
#include "measurement/through.h"
#include "method/history.h"

/* The most ranks that share the work without tiles; 1: it cannot be shared. */
static int64_t sharers(const csrec_layout *layout, const csrec_measurement *m,
                       csrec_device_kind kind) {
    const csrec_method_type *method = layout->method;
    return layout->tiling.tiles == 1 && method->shares && csrec_measurement_even(m)
               ? method->shares(&layout->resolved.options, m->n, kind)
               : 1;
}

static csrec_status run_whole_or_tiles(const csrec_layout *layout, csrec_recovery *recovery,
                                       csrec_error *error) {
    const csrec_recover_options *options = recovery->options;
    bool ranks = csrec_comm_size(options->comm) > 1;
    bool shared = ranks && sharers(layout, recovery->measurement, recovery->context->kind) > 1;
    csrec_tiling tiling = layout->tiling;
    csrec_runner alone = {.comm = options->comm};
    csrec_status status = CSREC_OK;
    if (options->model)
        status = csrec_model_check_scales(recovery->measurement, options->model, error);
    if (!status && ranks && !shared)
        status = csrec_ranks_tell(options->comm, CSREC_TAG_TILING, &tiling, sizeof tiling, error);
    if (status) return status;
    if (tiling.tiles > 1) return csrec_recover_tiles(layout->method, recovery, &tiling, error);
    /* What cannot be shared the first process does. */
    if (shared || csrec_comm_rank(options->comm) == 0)
        status = csrec_channels_run(layout->method, recovery, NULL, error);
    return status || !ranks ? status : csrec_runner_report(&alone, recovery->report, error);
}

/* The arguments of csrec_recover, and its plan. */
typedef struct recover_job {
    csrec_layout_job of; /* its own */
    const csrec_measurement *measurement;
    double *signal;
    double *variance;
    double *common; /* the first rank's signal, of several devices; else NULL */
    csrec_atoms *atoms;
    csrec_wanted wanted;
    csrec_layout layout;
    csrec_recover_report report;
} recover_job;

/* The caller's progress, which may use another device. */
typedef struct outside {
    const csrec_context *context;
    csrec_progress_fn progress;
    void *caller;
} outside;

static bool go_outside(const csrec_progress *now, void *context) {
    const outside *o = context;
    bool stops = o->progress(now, o->caller);
    csrec_context_enter(o->context);
    return stops;
}

/* Back to the units of y; NaN in channels that are measured nowhere. */
static csrec_status deliver(const csrec_normal *normal, const recover_job *j,
                            const csrec_whole *whole, csrec_error *error) {
    const csrec_measurement *m = &normal->m;
    /* What nobody wants may be longer than any memory. */
    const int64_t values = j->signal || j->variance ? csrec_measurement_signal_values(m) : 0;
    csrec_status status = csrec_normal_deliver(normal, j->signal, j->atoms, error);
    for (int64_t c = 0; c < m->channels && !status; c++) {
        const bool unknown = !m->through && isnan(whole->least[c]);
        const bool blank = unknown && !j->layout.method->uneven;
        if (!blank && normal->unit == 1.0) continue;
        for (int64_t i = c; i < values; i += m->channels) {
            if (j->variance) j->variance[i] *= blank ? NAN : normal->unit * normal->unit;
            if (j->signal && blank) j->signal[i] = NAN;
        }
    }
    for (int64_t c = 0; status && j->atoms && c < m->channels; c++) csrec_atoms_clear(&j->atoms[c]);
    return status;
}

static csrec_status recover_normal(csrec_normal *normal, const csrec_context *context,
                                   recover_job *j, csrec_error *error) {
    double start = csrec_seconds();
    csrec_history *history = normal->options.history;
    csrec_recover_report *report = &j->report;
    csrec_solve_options *solve = &normal->options.solve;
    outside caller = {context, solve->progress, solve->context};
    csrec_whole whole;
    csrec_recovery recovery = {.measurement = &normal->m,
                               .whole = &whole,
                               .options = &normal->options,
                               .context = context,
                               .unit = normal->unit,
                               .signal = j->signal,
                               .variance = j->variance,
                               .common = j->common,
                               .atoms = j->atoms,
                               .report = report};
    if (solve->progress && context->kind != CSREC_DEVICE_CPU) {
        solve->progress = go_outside;
        solve->context = &caller;
    }
    csrec_history_begin(history, &normal->m, normal->unit);
    csrec_status status = csrec_whole_of(&normal->m, &whole, error);
    if (!status) status = run_whole_or_tiles(&j->layout, &recovery, error);
    csrec_layout_report(&j->layout, report);
    report->seconds_total = csrec_seconds() - start;
    if (!status && csrec_comm_rank(normal->options.comm) == 0) {
        if (!j->signal)
            report->residual = report->unexplained;
        else if (!normal->m.through)
            report->residual = csrec_samples_residual(&normal->m, j->signal);
        csrec_history_end(history, j->signal, report);
        status = deliver(normal, j, &whole, error);
    }
    csrec_whole_clear(&whole);
    return status;
}

/* Ranks share tiles, or what the method shares by itself. On a device a history has the result
 * alone, which the first rank has. */
static csrec_status check_shared(const recover_job *j, csrec_device_kind kind, csrec_error *error) {
    const bool by_method = sharers(&j->layout, j->measurement, kind) > 1;
    const bool steps = kind == CSREC_DEVICE_CPU && j->layout.resolved.options.history;
    if (!j->signal && !j->atoms && csrec_comm_rank(j->layout.resolved.options.comm) == 0)
        return csrec_fail(error, CSREC_ARGUMENT, "the first of several processes needs a signal");
    if (((j->atoms || j->variance) && !by_method) || steps)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "several processes give the signal, not atoms, a history or "
                          "uncertainties; omit them or use one process");
    if (!by_method && !j->layout.parts)
        return csrec_fail(
            error, CSREC_ARGUMENT, "method %s needs the whole signal in one process; use %s",
            j->layout.method->info.name,
            j->measurement->through ? "one process, or a file for each"
                                    : "a preset that works in tiles: fast, balanced, best");
    return CSREC_OK;
}

static csrec_status recover_on(const csrec_context *context, void *job, csrec_error *error) {
    recover_job *j = job;
    const csrec_measurement *m = j->measurement;
    j->report = (csrec_recover_report){0};
    CSREC_TRY(csrec_layout_make(m, j->wanted, context, &j->layout, error));
    CSREC_TRY(csrec_layout_check(&j->layout, error));
    if (csrec_comm_size(j->layout.resolved.options.comm) > 1)
        CSREC_TRY(check_shared(j, context->kind, error));
    double unit = csrec_unit_of(csrec_largest(csrec_measurement_values(m), m->y));
    csrec_normal normal;
    csrec_status status = csrec_normal_create(m, &j->layout.resolved.options, unit, &normal, error);
    if (!status) status = recover_normal(&normal, context, j, error);
    csrec_normal_clear(&normal);
    return status;
}

/* The number of the list's devices that can share the job, once it is planned. */
static int devices_for(const recover_job *j, const csrec_device_list *list) {
    int64_t most = sharers(&j->layout, j->measurement, list->kind);
    if (most <= 1) most = j->layout.tiling.tiles;
    if (check_shared(j, list->kind, NULL) || most < 1) return 1;
    return most < list->n ? (int)most : list->n;
}

/* A csrec_rank_run. The results are the first rank's. */
static csrec_status recover_rank(const csrec_context *context, const csrec_recover_options *options,
                                 void *job, csrec_error *error) {
    recover_job *all = job, own = *all;
    const bool first = csrec_comm_rank(options->comm) == 0;
    own.layout.resolved.options = *options;
    own.common = all->signal;
    if (!first) {
        own.signal = own.variance = NULL;
        own.atoms = NULL;
        own.layout.resolved.options.history = NULL;
    }
    csrec_status status = recover_on(context, &own, error);
    if (first) all->report = own.report;
    return status;
}

static csrec_status recover_alone(csrec_device_list *list, int device, recover_job *j,
                                  csrec_error *error) {
    csrec_context context;
    CSREC_TRY(csrec_context_create_at(list, device, &context, error));
    list->n = 1;
    list->ordinal[0] = context.ordinal;
    csrec_status status = recover_on(&context, j, error);
    csrec_context_destroy(&context);
    return status;
}

/* Of several processes of a machine each has one of its devices. */
static csrec_status recover_on_many(csrec_device_list *list, void *job, csrec_error *error) {
    recover_job *j = job;
    const csrec_context kind = {.kind = list->kind};
    const csrec_recover_options options = j->layout.resolved.options;
    if (csrec_comm_size(options.comm) > 1)
        return recover_alone(list, csrec_comm_local_rank(options.comm) % list->n, j, error);
    CSREC_TRY(csrec_layout_make(j->measurement, j->wanted, &kind, &j->layout, error));
    list->n = devices_for(j, list);
    return list->n > 1 ? csrec_recover_devices(list, &options, recover_rank, j, error)
                       : recover_alone(list, 0, j, error);
}

/* On the device or devices; fills the report, but for what curve and range do. */
static csrec_status run_there(recover_job *j, const csrec_measurement *m, csrec_error *error) {
    static const csrec_device_work work = {
        .device_faster = csrec_layout_faster, .run = recover_on, .run_many = recover_on_many};
    csrec_device_ran ran;
    j->measurement = m;
    j->of = (csrec_layout_job){m, &j->layout};
    CSREC_TRY(csrec_device_run(j->layout.resolved.options.backend, &work, j, &ran, error));
    j->report.given_up = ran.given_up;
    if (ran.list.kind == CSREC_DEVICE_CPU) return CSREC_OK;
    j->report.n_devices = ran.list.n;
    memcpy(j->report.device, ran.list.ordinal, sizeof j->report.device);
    return CSREC_OK;
}

/* Back to the values of the samples; plain: the signal without the curve, then its variance. Of a
 * history in a curve the result counts. */
static void finish(recover_job *j, const csrec_measurement *m, const csrec_curved *curved,
                   const double *plain, csrec_history *history) {
    const bool in_curve = curved->floor > 0.0;
    j->report.curve = in_curve ? CSREC_CURVE_LOG : CSREC_CURVE_NONE;
    j->report.curve_choice = curved->choice;
    if (!j->signal || csrec_comm_rank(j->layout.resolved.options.comm) > 0) return;
    const int64_t values = csrec_measurement_signal_values(m);
    const csrec_cut cut = csrec_cut_of(m);
    const bool is_cut = cut.sigma > 0.0 && !in_curve && !j->atoms;
    if (in_curve) csrec_curve_back(curved, m->y, plain, j->signal, j->variance);
    if (is_cut) csrec_cut_back(&cut, values, j->signal, j->variance);
    /* Known samples stay outside of the range. */
    j->report.clamped = csrec_range_clamp(j->layout.resolved.options.range, values, j->signal);
    if (j->report.clamped && !m->through) csrec_samples_restore(m, j->signal);
    if (in_curve || is_cut) j->report.residual = csrec_samples_residual(m, j->signal);
    if (!in_curve) return;
    csrec_history_begin(history, m, 1.0);
    csrec_history_end(history, j->signal, &j->report);
}

/* What csrec_curve_back needs where the curve is not for all values; half of the time. */
static csrec_status run_plain(recover_job *j, const csrec_measurement *m, double **plain,
                              csrec_error *error) {
    csrec_recover_options *o = &j->layout.resolved.options;
    const char *journal = o->journal;
    const size_t bytes = (size_t)csrec_measurement_signal_values(m) * sizeof **plain;
    o->seconds *= 0.5;
    o->journal = NULL; /* its tiles are those in the curve */
    csrec_status status = run_there(j, m, error);
    o->journal = journal;
    if (status || !j->signal) return status;
    *plain = malloc(2 * bytes);
    if (!*plain) return csrec_memory_fail(error, NULL);
    memcpy(*plain, j->signal, bytes);
    if (j->variance) memcpy((char *)*plain + bytes, j->variance, bytes);
    return CSREC_OK;
}

static csrec_status run_in_curve(recover_job *j, const csrec_measurement *m, csrec_error *error) {
    csrec_recover_options *o = &j->layout.resolved.options;
    csrec_history *history = o->history;
    csrec_curved curved;
    double *plain = NULL;
    csrec_status status = csrec_curve_choose(m, o, &curved, error);
    if (curved.floor > 0.0) o->history = NULL;
    if (!status && curved.floor > 0.0 && isfinite(curved.above))
        status = run_plain(j, m, &plain, error);
    if (plain && j->report.outcome == CSREC_INTERRUPTED)
        curved.floor = 0.0; /* it is the result */
    else if (!status)
        status = run_there(j, curved.floor > 0.0 ? &curved.m : m, error);
    if (!status) finish(j, m, &curved, plain, history);
    free(curved.m.y);
    free(plain);
    return status;
}

/* Methods that do without guides and frames do not see them; true: there were some. */
static bool leave_beside(const csrec_method_type *method, csrec_measurement *m) {
    const bool left = (m->guides || m->sequence) && !method->film;
    if (method->film) return false;
    m->guides = NULL;
    m->sequence = false;
    m->bands_apart = true;
    return left;
}

/* A step of csrec_graded. Tiles that are kept would be those of another step. */
static csrec_status run_step(void *job, const csrec_measurement *m, int left, csrec_error *error) {
    recover_job *j = job;
    csrec_recover_options *o = &j->layout.resolved.options;
    csrec_history *history = o->history;
    double *variance = j->variance, seconds = o->seconds;
    o->journal = NULL;
    o->seconds /= left + 1.0;
    if (left) {
        o->history = NULL;
        j->variance = NULL;
    }
    csrec_status status = run_in_curve(j, m, error);
    o->history = history;
    o->seconds = seconds - o->seconds;
    j->variance = variance;
    return status;
}

/* all: the measurement with its guides. */
static csrec_status run_graded(recover_job *j, const csrec_measurement *all,
                               const csrec_measurement *seen, csrec_error *error) {
    csrec_comm *comm = j->layout.resolved.options.comm;
    const csrec_graded graded = {.measurement = all,
                                 .seen = seen,
                                 .steps = csrec_comm_size(comm) == 1,
                                 .bounds = j->layout.method->bounds,
                                 .signal = csrec_comm_rank(comm) == 0 ? j->signal : NULL,
                                 .report = &j->report,
                                 .run = run_step,
                                 .context = j};
    const bool each = all->rays || all->deviation;
    if (!each || seen->sequence || j->layout.method->graded) return run_in_curve(j, seen, error);
    return csrec_graded_run(&graded, error);
}

static csrec_status run(recover_job *j, const csrec_recover_options *options,
                        csrec_recover_report *report, csrec_error *error) {
    csrec_measurement real = csrec_measurement_real(j->measurement), all = real;
    bool others = csrec_comm_rank(options->comm) > 0; /* whose signal the first process has */
    j->wanted =
        (csrec_wanted){.signal = j->signal || (others && !j->atoms), .atoms = j->atoms != NULL};
    csrec_status status = CSREC_OK;
    if (j->atoms && j->measurement->is_complex)
        status = csrec_fail(error, CSREC_UNSUPPORTED,
                            "coefficients are those of real samples, and these are complex; "
                            "recover real and imaginary parts each, or omit the coefficients");
    if (!status) status = csrec_layout_resolve(&real, options, j->wanted, &j->layout, error);
    const bool left = !status && leave_beside(j->layout.method, &real);
    if (!status) status = run_graded(j, &all, &real, error);
    if (left && !j->report.remark)
        j->report.remark = "guides, and the time of a sequence, are used by methods beside and "
                           "rendered alone; name no method, or a quality";
    if (!status && !j->report.remark && csrec_guides_repeat(&real))
        j->report.remark = "A guide equals the samples up to scale. If it was made from them, as a "
                           "filling is, the result is worse and errs more than expected: "
                           "leave it out.";
    if (!status && report) *report = j->report;
    return status;
}

csrec_status csrec_recover(const csrec_measurement *measurement,
                           const csrec_recover_options *options, double *signal, csrec_atoms *atoms,
                           csrec_recover_report *report, csrec_error *error) {
    recover_job j = {.measurement = measurement, .signal = signal, .atoms = atoms};
    if (csrec_law_is_on(&options->law))
        return csrec_law_recover(measurement, options, signal, atoms != NULL, report, error);
    if (options->labels)
        return csrec_labels_recover(measurement, options, (csrec_wanted){signal, atoms, false},
                                    signal, report, NULL, error);
    const csrec_status status = csrec_measurement_check(measurement, "measurement", error);
    return status ? status : run(&j, options, report, error);
}

csrec_status csrec_recover_variance(const csrec_measurement *measurement,
                                    const csrec_recover_options *options, double *signal,
                                    double *variance, csrec_recover_report *report,
                                    csrec_error *error) {
    recover_job j = {.measurement = measurement, .signal = signal, .variance = variance};
    return run(&j, options, report, error);
}
