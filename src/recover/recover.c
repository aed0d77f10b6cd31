/* recover.c - csrec_recover: makes a plan and runs it. */
#include "recover/recover.h"

#include "base/clock.h"
#include "method/history.h"
#include "method/model.h"
#include "method/normal.h"
#include "method/tones.h"
#include "recover/plan.h"
#include "solver/units.h"

void csrec_recover_defaults(csrec_recover_options *options) {
    *options = (csrec_recover_options){.columns = CSREC_COLUMNS_UNSET,
                                       .order = CSREC_ORDER_UNSET,
                                       .solve.stop.epsilon = CSREC_EPSILON_UNSET,
                                       .seed = 1,
                                       .backend = "auto"};
}

static csrec_status run_whole_or_tiles(const csrec_layout *layout, csrec_recovery *recovery,
                                       csrec_error *error) {
    const csrec_recover_options *options = recovery->options;
    csrec_status status = CSREC_OK;
    if (options->model)
        status = csrec_model_check_scales(recovery->measurement, options->model, error);
    if (status) return status;
    return layout->tiling.tiles > 1 || csrec_comm_size(options->comm) > 1
               ? csrec_recover_tiles(layout->method, recovery, &layout->tiling, error)
               : layout->method->run(recovery, error);
}

/* The arguments of csrec_recover, and its plan. */
typedef struct recover_job {
    const csrec_measurement *measurement;
    double *signal;
    double *variance;
    csrec_atoms *atoms;
    csrec_wanted wanted;
    csrec_layout layout;
    csrec_recover_report report;
} recover_job;

static csrec_status recover_normal(const csrec_normal *normal, const csrec_context *context,
                                   recover_job *j, csrec_error *error) {
    double start = csrec_seconds();
    csrec_history *history = normal->options.history;
    csrec_recover_report *report = &j->report;
    csrec_whole whole;
    csrec_recovery recovery = {.measurement = &normal->m,
                               .whole = &whole,
                               .options = &normal->options,
                               .context = context,
                               .unit = normal->unit,
                               .signal = j->signal,
                               .variance = j->variance,
                               .atoms = j->atoms,
                               .report = report};
    csrec_history_begin(history, &normal->m, normal->unit);
    csrec_status status = csrec_whole_of(&normal->m, &whole, error);
    if (!status) status = run_whole_or_tiles(&j->layout, &recovery, error);
    csrec_whole_clear(&whole);
    report->method = j->layout.method->shown.name;
    report->estimate = j->layout.plan.estimate;
    report->seconds_total = csrec_seconds() - start;
    if (status || csrec_comm_rank(normal->options.comm) > 0) return status;
    status = csrec_history_end(history, j->signal, report, error);
    if (!status) status = csrec_normal_deliver(normal, j->signal, j->atoms, error);
    if (!status && j->variance) {
        const csrec_measurement *m = &normal->m;
        int64_t entries = 0;
        csrec_shape_count(&m->shape, &entries);
        for (int64_t i = 0; i < entries * m->channels; i++)
            j->variance[i] *= normal->unit * normal->unit;
    }
    for (int64_t c = 0; status && j->atoms && c < normal->m.channels; c++)
        csrec_atoms_clear(&j->atoms[c]);
    return status;
}

/* Processes share tiles. */
static csrec_status check_shared(const recover_job *j, csrec_error *error) {
    if (j->atoms || j->variance || j->layout.plan.options.history)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "several processes give the signal, not atoms, a history or "
                          "uncertainties; omit them or use one process");
    if (!j->layout.parts)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "method %s needs the whole signal in one process; use a preset that "
                          "works in tiles: fast, balanced, best",
                          j->layout.method->shown.name);
    return CSREC_OK;
}

static csrec_status recover_on(const csrec_context *context, void *job, csrec_error *error) {
    recover_job *j = job;
    const csrec_measurement *m = j->measurement;
    j->report = (csrec_recover_report){0};
    csrec_status status = csrec_layout_make(m, j->wanted, context, &j->layout, error);
    if (!status) status = csrec_layout_check(&j->layout, error);
    if (!status && csrec_comm_size(j->layout.plan.options.comm) > 1)
        status = check_shared(j, error);
    if (status) return status;
    double unit = csrec_unit_of(csrec_largest(m->n * m->channels, m->y));
    csrec_normal normal;
    status = csrec_normal_create(m, &j->layout.plan.options, unit, &normal, error);
    if (!status) status = recover_normal(&normal, context, j, error);
    csrec_normal_clear(&normal);
    return status;
}

static bool recover_pays(csrec_device_kind kind, const void *job) {
    const recover_job *j = job;
    (void)kind;
    return csrec_layout_pays(j->measurement, &j->layout);
}

static csrec_status run(recover_job *j, const csrec_recover_options *options,
                        csrec_recover_report *report, csrec_error *error) {
    static const csrec_device_work work = {.pays = recover_pays, .run = recover_on};
    csrec_device_ran ran;
    j->wanted = (csrec_wanted){.signal = j->signal || csrec_comm_rank(options->comm) > 0,
                               .atoms = j->atoms != NULL};
    csrec_status status = csrec_measurement_check(j->measurement, "measurement", error);
    if (!status)
        status = csrec_layout_resolve(j->measurement, options, j->wanted, &j->layout, error);
    if (!status) status = csrec_device_run(options->backend, &work, j, &ran, error);
    if (status || !report) return status;
    *report = j->report;
    report->given_up = ran.given_up;
    return CSREC_OK;
}

csrec_status csrec_recover(const csrec_measurement *measurement,
                           const csrec_recover_options *options, double *signal, csrec_atoms *atoms,
                           csrec_recover_report *report, csrec_error *error) {
    recover_job j = {.measurement = measurement, .signal = signal, .atoms = atoms};
    return run(&j, options, report, error);
}

csrec_status csrec_recover_variance(const csrec_measurement *measurement,
                                    const csrec_recover_options *options, double *signal,
                                    double *variance, csrec_recover_report *report,
                                    csrec_error *error) {
    recover_job j = {.measurement = measurement, .signal = signal, .variance = variance};
    return run(&j, options, report, error);
}
