/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - the options of csrec_recover from those of the command line; lists the tables of
 * methods, solvers, operators and formats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recover.h"

static void print_params(FILE *out, const csrec_param *(*param_of)(int number, int i), int number) {
    const csrec_param *param;
    for (int i = 0; (param = param_of(number, i)); i++)
        fprintf(out, "    --set %s=%g  %s\n", param->name, param->value, param->help);
}

static bool measures(const char *operator) {
    const char *name;
    for (int i = 0; (name = csrec_through_info(i)); i++)
        if (strcmp(name, operator) == 0) return true;
    return false;
}

/* Of those that are no bases. */
static void print_operators(FILE *out, bool measuring) {
    const char *name, *brief;
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++)
        if (!csrec_operator_is_basis(i) && measures(name) == measuring)
            fprintf(out, "  %-10s %s\n", name, brief);
}

static void print_formats(FILE *out) {
    static const struct {
        int use;
        const char *text;
    } uses[] = {{CSREC_USE_READ, " read"},
                {CSREC_USE_WRITE, " written"},
                {CSREC_USE_NAMED, " written if named"},
                {CSREC_USE_SAMPLES, " measurements"},
                {CSREC_USE_ARRAYS, " models and atoms"},
                {CSREC_USE_SLABS, " slabs"}};
    const csrec_format *format;
    fprintf(out, "Formats (by their endings; --format NAME):\n");
    for (int i = 0; (format = csrec_format_info(i)); i++) {
        fprintf(out, "  %-10s %s (%s):", format->name, format->what, format->endings);
        const char *between = "";
        for (size_t k = 0; k < sizeof uses / sizeof *uses; k++)
            if (format->uses & uses[k].use) {
                fprintf(out, "%s%s", between, uses[k].text);
                between = ",";
            }
        if (!format->uses) fprintf(out, " not built in, needs %s", format->needs);
        fprintf(out, "\n");
    }
}

const char *cli_method_name(int i) {
    csrec_method method;
    return csrec_method_info(i, &method) ? method.name : NULL;
}

/* Solvers, then the methods that --solver may name. */
const char *cli_solver_name(int i) {
    const char *name, *brief, *source;
    csrec_method method;
    int k = 0;
    for (; csrec_solver_info(k, &name, &brief, &source); k++)
        if (k == i) return name;
    i -= k;
    for (k = 0; csrec_method_info(k, &method); k++)
        if (method.solver && i-- == 0) return method.solver;
    return NULL;
}

const char *cli_basis_name(int i) {
    const char *name, *brief;
    for (int k = 0; csrec_operator_info(k, &name, &brief); k++)
        if (csrec_operator_is_basis(k) && i-- == 0) return name;
    return NULL;
}

static const char *topic_of(int i) {
    csrec_method method;
    return (csrec_method_info(i, &method) && method.topic) ? method.topic : "other things";
}

static void print_methods(FILE *out, const char *topic) {
    csrec_method method;
    fprintf(out, "Methods for %s (--method NAME):\n", topic);
    for (int i = 0; csrec_method_info(i, &method); i++) {
        if (strcmp(topic_of(i), topic) != 0) continue;
        fprintf(out, "  %-10s %s (%s)\n", method.name, method.brief, method.source);
        print_params(out, csrec_method_param, i);
        fprintf(out, "    --backend cuda: %s\n", method.device ? method.device : "none");
    }
}

/* What a preset is for such samples, and what it is expected to take. */
static void print_preset(FILE *out, int i, const csrec_measurement *m) {
    csrec_recover_options o;
    csrec_plan plan;
    const char *name = csrec_recover_preset(i, m, &o);
    o.threads = 1;
    o.backend = "cpu";
    if (csrec_recover_plan(m, &o, CSREC_RESULT_SIGNAL, &plan, NULL)) return;
    fprintf(out, "  %-10s --method %s", name, plan.method.name);
    for (int k = 0; k < o.solve.n_settings; k++)
        fprintf(out, " --set %s=%g", o.solve.settings[k].name, o.solve.settings[k].value);
    const double seconds = plan.estimate.seconds;
    fprintf(out, ", up to about %.*f s\n", seconds < 1.0 ? 2 : 0, seconds);
}

/* Seconds hardly depend on the number of samples: a few need no memory. */
static void print_presets(FILE *out) {
    enum { SIDE = 256 };
    const csrec_operator_spec rows = {.name = "hadamard", .scrambled = true};
    int64_t index[SIDE];
    double y[SIDE];
    csrec_measurement m = {
        .shape = {2, {SIDE, SIDE}}, .channels = 1, .n = SIDE, .index = index, .y = y};
    for (int i = 0; i < SIDE; i++) {
        index[i] = i * SIDE + 101 * i % SIDE;
        y[i] = i;
    }
    for (int k = 0; k < 2; k++) {
        fprintf(out, "Presets (--quality NAME) for %s, seconds of 256 x 256 pixels on one core:\n",
                k ? "measurements through operators" : "samples of pictures");
        if (k) m.through = (csrec_operator_spec *)(uintptr_t)&rows;
        for (int i = 0; cli_quality_name(i); i++) print_preset(out, i, &m);
    }
}

/* Topics in the order in which the table begins them. */
void cli_methods_list(FILE *out) {
    const char *name, *brief, *source;
    csrec_method method;
    print_presets(out);
    fprintf(out, "--set method.KEY=, solver.KEY= or basis.KEY= says whose parameter it is.\n");
    for (int i = 0; csrec_method_info(i, &method); i++) {
        int first = 0;
        while (strcmp(topic_of(first), topic_of(i)) != 0) first++;
        if (first == i) print_methods(out, topic_of(i));
    }
    fprintf(out, "Solvers (--solver NAME), of methods that take one:\n");
    for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++) {
        fprintf(out, "  %-10s %s (%s)\n", name, brief, source);
        print_params(out, csrec_solver_param, i);
    }
    fprintf(out, "Bases (--basis NAME):\n");
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++) {
        if (!csrec_operator_is_basis(i)) continue;
        fprintf(out, "  %-10s %s\n", name, brief);
        print_params(out, csrec_operator_param, i);
    }
    fprintf(out, "Operators (cssample --operator NAME):\n");
    print_operators(out, true);
    fprintf(out, "Operators of the library alone (csrec_operator_create):\n");
    print_operators(out, false);
    print_formats(out);
}

/* Parameter i of all methods, solvers and operators, repeats included. */
static const char *any_key(int i) {
    const char *name, *brief, *source;
    const csrec_param *param;
    csrec_method method;
    for (int k = 0; csrec_method_info(k, &method); k++)
        for (int p = 0; (param = csrec_method_param(k, p)); p++)
            if (i-- == 0) return param->name;
    for (int k = 0; csrec_solver_info(k, &name, &brief, &source); k++)
        for (int p = 0; (param = csrec_solver_param(k, p)); p++)
            if (i-- == 0) return param->name;
    for (int k = 0; csrec_operator_info(k, &name, &brief); k++)
        for (int p = 0; (param = csrec_operator_param(k, p)); p++)
            if (i-- == 0) return param->name;
    return NULL;
}

const char *cli_setting_key(int i) {
    const char *key;
    for (int k = 0; (key = any_key(k)); k++) {
        int first = 0;
        while (strcmp(any_key(first), key) != 0) first++;
        if (first == k && i-- == 0) return key;
    }
    return NULL;
}

int cli_settings_read(const cli_tool *tool, const cli_texts *texts, char names[][32],
                      csrec_setting *settings) {
    for (int i = 0; i < texts->n; i++) {
        const char *text = texts->text[i], *equals = strchr(text, '=');
        char *end;
        double value = equals ? strtod(equals + 1, &end) : 0.0;
        if (!equals || equals == text || equals - text > 31 || end == equals + 1 || *end ||
            !isfinite(value))
            return cli_usage(tool, "--set: '%s' is not KEY=NUMBER; see %s --list", text,
                             tool->name);
        memcpy(names[i], text, (size_t)(equals - text));
        names[i][equals - text] = '\0';
        settings[i] = (csrec_setting){names[i], value};
    }
    return CLI_CONTINUE;
}

/* The n settings read into settings [n + CLI_PRESET_SETTINGS] become those of the options, after
 * those of a preset. */
static void add_settings(int n, csrec_setting *settings, csrec_recover_options *options) {
    csrec_solve_options *solve = &options->solve;
    int before = solve->n_settings < CLI_PRESET_SETTINGS ? solve->n_settings : CLI_PRESET_SETTINGS;
    memmove(settings + before, settings, (size_t)n * sizeof *settings);
    for (int i = 0; i < before; i++) settings[i] = solve->settings[i];
    solve->settings = settings;
    solve->n_settings = before + n;
}

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

const char *cli_curve_name(int i) {
    return csrec_curve_name((csrec_curve)i);
}

const char *cli_quality_name(int i) {
    return csrec_recover_preset(i, NULL, NULL);
}

/* settings: as of cli_job. measurement NULL: not known. */
static void set_options(const cli_request *request, const csrec_measurement *measurement,
                        csrec_setting *settings, csrec_recover_options *o) {
    const cli_recover_arguments *a = &request->a;
    csrec_recover_defaults(o);
    if (a->quality >= 0)
        (a->labels     ? csrec_labels_preset
         : a->sequence ? csrec_sequence_preset
                       : csrec_recover_preset)(a->quality, measurement, o);
    o->labels = a->labels;
    if (a->method >= 0) o->method = cli_method_name(a->method);
    if (a->solver >= 0) o->solve.solver = cli_solver_name(a->solver);
    if (a->basis >= 0) o->basis = cli_basis_name(a->basis);
    memcpy(settings, request->settings, sizeof request->settings);
    if (a->set.n) add_settings(a->set.n, settings, o);
    if (a->columns >= 0) o->columns = (csrec_columns)a->columns;
    if (a->order >= 0) o->order = (csrec_order)a->order;
    if (a->curve >= 0) o->curve = (csrec_curve)a->curve;
    memcpy(o->range, request->range, sizeof o->range);
    o->interval = a->interval;
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
        const bool learned = method.model && (strcmp(method.model, "net") == 0 ||
                                              strcmp(method.model, "beside") == 0 ||
                                              strcmp(method.model, "rendered") == 0);
        if (!learned) continue;
        if (a->quality > 0) return true;
        if (a->method >= 0 && strcmp(o.method, method.name) != 0) continue;
        o.method = method.name;
        if (!csrec_recover_options_check(&o, false, a->coefficients != NULL, NULL)) return true;
    }
    return false;
}

csrec_status cli_prior_find(const cli_request *request, char text[CLI_CONTENTS_ROOM],
                            csrec_error *error) {
    enum { KINDS = 5 };
    static const int64_t kinds[KINDS] = {1, 3, CSREC_PRIOR_BESIDE, CSREC_PRIOR_RENDERED,
                                         CSREC_PRIOR_NOISE};
    char path[KINDS][4096];
    const char *paths[KINDS];
    int n = 0;
    text[0] = '\0';
    if (!may_use_prior(request)) return CSREC_OK;
    for (int i = 0; i < KINDS; i++) {
        paths[n] = path[n];
        n += csrec_prior_installed(kinds[i], sizeof path[n], path[n]);
    }
    if (n > 0) return cli_archives_of(n, paths, text, error);
    snprintf(text, CLI_CONTENTS_ROOM, "none");
    return CSREC_OK;
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
    csrec_status status = csrec_recover_options_check(&options, a->model != NULL, false, &error);
    csrec_sequence *sequence = NULL;
    if (!request->frames && options.curve == CSREC_CURVE_LOG)
        options.curve = CSREC_CURVE_AUTO; /* one array has it */
    if (!status && a->sequence) status = csrec_sequence_create(&options, &sequence, &error);
    csrec_sequence_destroy(sequence);
    if (!status) return CLI_CONTINUE;
    /* A preset's method depends on the input, which is not read yet. */
    if (a->quality < 0 || strncmp(error.text, "method ", 7) != 0)
        return cli_usage(request->tool, "%s", error.text);
    return cli_usage(request->tool, "--quality %s %s", cli_quality_name(a->quality),
                     strchr(error.text + 7, ' ') + 1);
}

/* Where the lower end of the range is the value for unknown, it is the least sample instead. */
static void bound_below(const cli_job *job, csrec_recover_options *o) {
    double low, high;
    const bool given = o->range[0] != o->range[1] && !isnan(o->range[0]);
    if (job->large.on || job->a->labels || cli_job_is_sequence(job) || !cli_job_has_points(job) ||
        !cli_job_avoids(job))
        return;
    cli_job_range(job, &low, &high);
    const bool depth = !given && cli_job_unknown(job) == 0.0 && low > 0.0 && low <= high / 16.0;
    if (!depth && !(given && o->range[0] == cli_job_unknown(job))) return;
    if (o->range[0] == o->range[1]) o->range[1] = NAN;
    o->range[0] = low;
}

int cli_job_options(cli_job *job) {
    csrec_error error;
    csrec_recover_options *o = &job->setup.options;
    csrec_measurement stack = job->in.measurement;
    if ((job->a->sequence || cli_job_is_stack(job)) && cli_stack_make(job, &stack, &error)) {
        cli_stack_drop(job, &stack);
        return cli_job_fail(job, "%s: %s", job->input, error.text);
    }
    set_options(job->request, &stack, job->setup.settings, o);
    o->model = job->setup.model;
    o->priors = job->request->priors;
    o->law = job->in.law;
    bound_below(job, o);
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
    csrec_status status = csrec_recover_plan(&stack, o, results, &job->setup.plan, &error);
    cli_stack_drop(job, &stack);
    return status ? cli_job_fail(job, "%s: %s", job->input, error.text) : CLI_CONTINUE;
}
