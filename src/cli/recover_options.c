/* recover_options.c - the options of csrec_recover from those of the command line. */
#include <string.h>

#include "recover.h"

const char *cli_format_name(int i) {
    const csrec_format *format = cli_format_with(CSREC_USE_WRITE, i);
    return format ? format->name : NULL;
}

const char *cli_solver_name(int i) {
    const char *name, *brief, *source;
    return csrec_solver_info(i, &name, &brief, &source) ? name : NULL;
}

const char *cli_columns_name(int i) {
    return i < 2 ? csrec_columns_name((csrec_columns)i) : NULL;
}

const char *cli_order_name(int i) {
    return i < 3 ? csrec_order_name((csrec_order)i) : NULL;
}

const char *cli_quality_name(int i) {
    return csrec_recover_preset(i, NULL, NULL);
}

/* Adaptive grids (0 shifts) run every pursuit to its end; these options speak of one that stops. */
static bool steers_pursuit(const cli_recover_arguments *a) {
    return a->set.n || a->columns >= 0 || a->order >= 0 || a->epsilon >= 0.0 ||
           a->min_coefficient >= 0.0 || a->atoms || a->reference_pursuit || a->solver >= 0;
}

void cli_job_options(cli_job *job) {
    const cli_recover_arguments *a = job->a;
    csrec_recover_options *o = &job->options;
    csrec_recover_defaults(&job->measurement, o);
    if (a->quality >= 0) csrec_recover_preset(a->quality, &job->measurement, o);
    if (a->solver >= 0) o->solve.solver = cli_solver_name(a->solver);
    if (a->basis >= 0) o->basis = cli_basis_name(a->basis);
    memcpy(job->settings, job->request->settings, sizeof job->request->settings);
    if (a->set.n) cli_settings_add(a->set.n, job->settings, o);
    if (a->columns >= 0) o->columns = (csrec_columns)a->columns;
    if (a->order >= 0) o->order = (csrec_order)a->order;
    if (a->backend >= 0) o->backend = cli_backend_name(a->backend);
    if (a->epsilon >= 0.0) o->solve.stop.epsilon = a->epsilon;
    if (a->min_coefficient >= 0.0) o->solve.stop.min_coefficient = a->min_coefficient;
    if (a->atoms) o->solve.stop.atoms = a->atoms;
    if (a->shifts)
        o->shifts = a->shifts;
    else if (a->coefficients)
        o->shifts = 1;
    else if (o->shifts == 0 && cli_on_grids(o) && steers_pursuit(a))
        o->shifts = 64;
    /* The mean over grids gains nothing from residuals that its spread hides (docs/pictures.md). */
    if (o->shifts > 1 && cli_on_grids(o) && a->epsilon < 0.0) o->solve.stop.epsilon = 0.01;
    if (a->seed_given) o->seed = a->seed;
    o->threads = (int)a->threads;
    o->memory = (uint64_t)a->memory << 20;
    o->solve.reference = a->reference_pursuit;
    o->solve.progress = cli_progress_report;
    o->solve.context = job->progress;
}
