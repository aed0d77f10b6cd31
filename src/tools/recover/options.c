/* options.c - the options of csrec_recover from those of the command line. */
#include <stdio.h>
#include <string.h>

#include "recover.h"

const char *cli_format_name(int i) {
    const csrec_format *format = cli_format_with(CSREC_USE_WRITE, i);
    return format ? format->name : NULL;
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

/* settings: as of cli_job. measurement NULL: not known. */
static void set_options(const cli_request *request, const csrec_measurement *measurement,
                        csrec_setting *settings, csrec_recover_options *o) {
    const cli_recover_arguments *a = &request->a;
    csrec_recover_defaults(o);
    if (a->quality >= 0) csrec_recover_preset(a->quality, measurement, o);
    if (a->method >= 0) o->method = cli_method_name(a->method);
    if (a->solver >= 0) o->solve.solver = cli_solver_name(a->solver);
    if (a->basis >= 0) o->basis = cli_basis_name(a->basis);
    memcpy(settings, request->settings, sizeof request->settings);
    if (a->set.n) cli_settings_add(a->set.n, settings, o);
    if (a->columns >= 0) o->columns = (csrec_columns)a->columns;
    if (a->order >= 0) o->order = (csrec_order)a->order;
    if (a->backend >= 0) o->backend = cli_backend_name(a->backend);
    if (*request->backend) o->backend = request->backend;
    if (a->epsilon >= 0.0) o->solve.stop.epsilon = a->epsilon;
    if (a->min_coefficient >= 0.0) o->solve.stop.min_coefficient = a->min_coefficient;
    if (a->atoms) o->solve.stop.atoms = a->atoms;
    o->shifts = a->shifts;
    o->seconds = 60.0 * a->minutes;
    if (a->seed_given) o->seed = a->seed;
    o->threads = (int)a->threads;
    o->memory = (uint64_t)a->memory << 20;
    o->tile = a->tile;
    o->solve.reference = a->reference_pursuit;
    o->comm = request->tiles;
}

/* A method that needs a model of this kind uses the prior instead, if it has none. */
static bool may_use_prior(const cli_request *request) {
    csrec_setting settings[CLI_TEXTS_MOST + CLI_PRESET_SETTINGS];
    csrec_recover_options given;
    csrec_method method;
    const cli_recover_arguments *a = &request->a;
    set_options(request, NULL, settings, &given);
    if (a->info || a->model || a->quality == 0) return false; /* 0: fast */
    for (int i = 0; csrec_method_info(i, &method); i++) {
        csrec_recover_options o = given;
        if (!method.model || strcmp(method.model, "net") != 0) continue;
        if (a->quality > 0) return true;
        if (a->method >= 0 && strcmp(o.method, method.name) != 0) continue;
        o.method = method.name;
        if (!csrec_recover_options_check(&o, false, a->coefficients != NULL, NULL)) return true;
    }
    return false;
}

static csrec_status read_prior(char text[CLI_CONTENTS_ROOM], csrec_error *error) {
    char path[2][4096];
    const char *const paths[] = {path[0], path[1]};
    if (csrec_prior_installed(1, sizeof path[0], path[0]) &&
        csrec_prior_installed(3, sizeof path[1], path[1]))
        return cli_contents_of(2, paths, text, error);
    snprintf(text, CLI_CONTENTS_ROOM, "none");
    return CSREC_OK;
}

const char *cli_prior_find(const cli_request *request, csrec_error *error) {
    cli_prior *prior = request->prior;
    if (!may_use_prior(request)) return "";
    pthread_mutex_lock(&prior->lock);
    if (!prior->found) prior->found = !read_prior(prior->text, error);
    const bool found = prior->found;
    pthread_mutex_unlock(&prior->lock);
    return found ? prior->text : NULL;
}

int cli_request_conflicts(const cli_request *request) {
    csrec_setting settings[CLI_TEXTS_MOST + CLI_PRESET_SETTINGS];
    csrec_recover_options options;
    csrec_error error;
    const cli_recover_arguments *a = &request->a;
    const char *beside = a->method >= 0   ? "--method"
                         : a->solver >= 0 ? "--solver"
                         : a->basis >= 0  ? "--basis"
                                          : NULL;
    if (a->quality >= 0 && beside)
        return cli_usage(request->tool, "--quality chooses a method; omit --quality or %s", beside);
    set_options(request, NULL, settings, &options);
    return csrec_recover_options_check(&options, a->model != NULL, false, &error)
               ? cli_usage(request->tool, "%s", error.text)
               : CLI_CONTINUE;
}

int cli_job_options(cli_job *job) {
    csrec_error error;
    csrec_recover_options *o = &job->setup.options;
    set_options(job->request, &job->in.measurement, job->setup.settings, o);
    o->model = job->setup.model;
    o->solve.progress = cli_progress_report;
    o->solve.context = job->progress;
    if (job->a->resume && job->out.known) {
        o->journal = job->out.journal;
        o->journal_key = job->out.fingerprint;
    }
    if (job->large.on) return CLI_CONTINUE;
    csrec_results results = !job->a->coefficients       ? CSREC_RESULT_SIGNAL
                            : cli_job_wants_signal(job) ? CSREC_RESULT_SIGNAL_AND_ATOMS
                                                        : CSREC_RESULT_ATOMS;
    return csrec_recover_plan(&job->in.measurement, o, results, &job->setup.plan, &error)
               ? cli_job_fail(job, "%s: %s", job->input, error.text)
               : CLI_CONTINUE;
}
