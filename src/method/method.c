/* SPDX-License-Identifier: BSD-3-Clause */
/* method.c - the table of methods, and the selection of a row. */
#include "method/method.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const csrec_method_type *const types[] = {
#define CSREC_METHOD_LISTED(name) &csrec_method_##name,
    CSREC_METHODS(CSREC_METHOD_LISTED)
#undef CSREC_METHOD_LISTED
};

enum { TYPES = sizeof types / sizeof *types };

const csrec_method_type *csrec_method_at(int i) {
    return i >= 0 && i < TYPES ? types[i] : NULL;
}

bool csrec_method_info(int i, csrec_method *method) {
    if (!csrec_method_at(i)) return false;
    *method = types[i]->info;
    return true;
}

static const csrec_param *param_at(const csrec_param *params, int i) {
    for (; params && params->name; params++)
        if (i-- == 0) return params;
    return NULL;
}

const csrec_param *csrec_method_param(int method, int i) {
    return csrec_method_at(method) && i >= 0 ? param_at(types[method]->params, i) : NULL;
}

void csrec_method_owners(const csrec_recover_options *options, csrec_owner owner[3]) {
    const csrec_method_type *method = csrec_method_of(options);
    const csrec_solver_type *solver =
        options->solve.solver ? csrec_solver_find(options->solve.solver) : NULL;
    const csrec_operator_type *basis = csrec_operator_find(options->basis);
    owner[0] = (csrec_owner){CSREC_OF_METHOD, method->info.name, method->params, NULL};
    owner[1] = (csrec_owner){CSREC_OF_SOLVER, solver ? solver->name : NULL,
                             solver ? solver->params : NULL, solver ? solver->reals : NULL};
    owner[2] = (csrec_owner){CSREC_OF_BASIS, basis ? basis->name : NULL,
                             basis ? basis->params : NULL, NULL};
}

static bool same(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

static const csrec_method_type *find_name(const char *name) {
    for (int i = 0; i < TYPES; i++)
        if (same(types[i]->info.name, name)) return types[i];
    return NULL;
}

static bool has_setting(const csrec_method_type *row) {
    for (const csrec_setting *set = row->cheap_settings; set && set->name; set++)
        if (!csrec_param_find(row->params, set->name)) return false;
    return true;
}

csrec_status csrec_method_check_row(const csrec_method_type *row, csrec_error *error) {
    const csrec_method *info = &row->info;
    const bool model = info->accepts & CSREC_ACCEPTS(MODEL);
    const csrec_rule rules[] = {
        {csrec_is_name(info->name) && csrec_is_own(find_name(info->name), row), "info.name",
         CSREC_MUST_NAME},
        {csrec_is_line(info->brief), "info.brief", CSREC_MUST_LINE},
        {csrec_is_line(info->source), "info.source", CSREC_MUST_LINE},
        {!info->topic || csrec_is_line(info->topic), "info.topic", CSREC_MUST_LINE},
        {row->run, "run", "the function that recovers"},
        {csrec_is_params(row->params), "params", CSREC_MUST_PARAMS},
        {model == (info->model != NULL), "info.model", "set with CSREC_ACCEPTS(MODEL) only"},
        {model || !row->needs_model, "needs_model", "false without CSREC_ACCEPTS(MODEL)"},
        {!row->works_with || info->accepts & (CSREC_ACCEPTS(SOLVER) | CSREC_ACCEPTS(BASIS)),
         "works_with", "NULL without CSREC_ACCEPTS(SOLVER) or CSREC_ACCEPTS(BASIS)"},
        {row->suits ? csrec_is_line(row->wants) : !row->wants, "wants", "what suits asks for"},
        {row->on_device ? csrec_is_line(info->device) : !info->device, "info.device",
         "what a device computes, where there is on_device"},
        {row->on_device || !row->device_faster, "device_faster", "NULL without on_device"},
        {has_setting(row), "cheap_settings", "settings of its own parameters"}};
    return csrec_rules_check("method", info->name, CSREC_RULES(rules), error);
}

csrec_status csrec_method_run(const csrec_method_type *method, const csrec_recovery *recovery,
                              csrec_error *error) {
    csrec_recover_report *report = recovery->report;
    const double start = csrec_seconds();
    csrec_words_begin(error);
    csrec_status status = method->run(recovery, error);
    if (!status) report->backend = csrec_device_name(recovery->context->kind);
    if (report->seconds_tree + report->seconds_pursuit + report->seconds_synthesis == 0.0)
        report->seconds_pursuit = csrec_seconds() - start;
    return csrec_words_end(status, "method", method->info.name, error);
}

/* As tv: of a method that keeps several copies of the signal and takes some hundred steps. */
csrec_need csrec_method_need(const csrec_method_type *method, const csrec_task *task) {
    const double signal = csrec_signal_bytes(task);
    if (method->need) return method->need(task);
    return (csrec_need){.bytes = 12.0 * signal, .seconds = 1e-6 * signal};
}

const csrec_method_type *csrec_method_of(const csrec_recover_options *options) {
    return find_name(options->method);
}

static bool fits(const csrec_method_type *method, const csrec_measurement *measurement) {
    if (!measurement) return true;
    return (method->through || !measurement->through) &&
           (!method->suits || method->suits(measurement));
}

/* The first with models of the kind that suits the measurement, or else the first. */
static const csrec_method_type *find_model(const char *kind, const csrec_measurement *measurement) {
    const csrec_method_type *first = NULL;
    for (int i = 0; i < TYPES; i++) {
        if (!same(types[i]->info.model, kind)) continue;
        if (fits(types[i], measurement)) return types[i];
        if (!first) first = types[i];
    }
    return first;
}

static const csrec_method_type *find_solver(const char *solver) {
    for (int i = 0; i < TYPES; i++)
        if (same(types[i]->info.solver, solver)) return types[i];
    return NULL;
}

static const csrec_method_type *find_chosen(const csrec_measurement *measurement,
                                            const csrec_recover_options *options) {
    for (int i = 0; i < TYPES; i++)
        if (types[i]->chosen && fits(types[i], measurement) && types[i]->chosen(options))
            return types[i];
    return NULL;
}

/* The first method that can use the solver and the basis. */
static const csrec_method_type *find_taker(const csrec_measurement *measurement,
                                           const csrec_recover_options *options) {
    for (int i = 0; i < TYPES; i++)
        if (types[i]->info.accepts & CSREC_ACCEPTS(SOLVER) && fits(types[i], measurement) &&
            (!types[i]->works_with || types[i]->works_with(options->solve.solver, options->basis)))
            return types[i];
    return NULL;
}

/* Names of the methods that take all these options. */
static void list_takers(unsigned bits, size_t room, char *text) {
    *text = '\0';
    for (int i = 0; i < TYPES; i++)
        if (!(bits & ~types[i]->info.accepts))
            snprintf(text + strlen(text), room - strlen(text), "%s%s", *text ? ", " : "",
                     types[i]->info.name);
}

const char *csrec_method_instead(const char *former) {
    static const struct {
        const char *name, *instead;
    } gone[] = {{"adaptive", "gaussian, or frames where speed counts"}, {"mixture", "gaussian"}};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (same(gone[i].name, former)) return gone[i].instead;
    return NULL;
}

static csrec_status unknown_method(const char *method, csrec_error *error) {
    csrec_names names = {.given = method};
    const char *instead = csrec_method_instead(method);
    if (instead)
        return csrec_fail(error, CSREC_ARGUMENT, "method '%s' is no longer there; use %s", method,
                          instead);
    for (int i = 0; i < TYPES; i++) csrec_names_add(&names, types[i]->info.name);
    return csrec_names_unknown(&names, "method", error);
}

/* NULL without an error: the options request no method. */
static csrec_status find(const csrec_measurement *measurement, const csrec_recover_options *options,
                         bool atoms, const csrec_method_type **method, csrec_error *error) {
    *method = NULL;
    if (options->method) {
        *method = find_name(options->method);
        return *method ? CSREC_OK : unknown_method(options->method, error);
    }
    if (options->model) {
        const char *kind = csrec_model_kind(options->model);
        *method = find_model(kind, measurement);
        return *method ? CSREC_OK
                       : csrec_fail(error, CSREC_UNSUPPORTED,
                                    "no method recovers with models of kind %s", kind);
    }
    *method = find_solver(options->solve.solver);
    if (!*method) *method = find_chosen(measurement, options);
    if (!*method && measurement && measurement->through && options->solve.solver)
        *method = find_taker(measurement, options);
    /* Options that choose a method for entries are not ignored: check_suits refuses it. */
    if (!*method && measurement && measurement->through) *method = find_chosen(NULL, options);
    if (!*method && atoms) *method = &csrec_method_grids;
    return CSREC_OK;
}

static unsigned given(const csrec_recover_options *o, const csrec_method_type *method, bool model,
                      bool atoms) {
    const csrec_stop *stop = &o->solve.stop;
    const char *solver = method ? method->info.solver : NULL;
    const bool is[] = {[CSREC_ACCEPTS_MODEL] = model || o->model,
                       [CSREC_ACCEPTS_SOLVER] = o->solve.solver && !same(o->solve.solver, solver),
                       [CSREC_ACCEPTS_BASIS] = o->basis != NULL,
                       [CSREC_ACCEPTS_SHIFTS] = o->shifts != 0,
                       [CSREC_ACCEPTS_ORDER] = o->order != CSREC_ORDER_UNSET,
                       [CSREC_ACCEPTS_COLUMNS] = o->columns != CSREC_COLUMNS_UNSET,
                       [CSREC_ACCEPTS_REFERENCE] = o->solve.reference,
                       [CSREC_ACCEPTS_EPSILON] = stop->epsilon != CSREC_EPSILON_UNSET,
                       [CSREC_ACCEPTS_ATOMS] = stop->atoms != 0,
                       [CSREC_ACCEPTS_MIN_COEFFICIENT] = stop->min_coefficient != 0.0,
                       [CSREC_ACCEPTS_SIGMA] = stop->sigma != 0.0,
                       [CSREC_ACCEPTS_STAGNATION] = stop->stagnation != 0.0,
                       [CSREC_ACCEPTS_SECONDS] = o->seconds != 0.0,
                       [CSREC_ACCEPTS_START] = o->solve.start != NULL,
                       [CSREC_ACCEPTS_TIMES] = o->times != NULL,
                       [CSREC_ACCEPTS_COEFFICIENTS] = atoms};
    unsigned bits = 0;
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) bits |= (unsigned)is[i] << i;
    return bits;
}

static const char *first_word(unsigned bits) {
    static const char *const words[] = {
#define CSREC_TAKES_TEXT(name, text) text,
        CSREC_ACCEPTS_LIST(CSREC_TAKES_TEXT)
#undef CSREC_TAKES_TEXT
    };
    int i = 0;
    while (!(bits >> i & 1u)) i++;
    return words[i];
}

static csrec_status check_taken(const csrec_method_type *method, unsigned bits,
                                csrec_error *error) {
    unsigned wrong = bits & ~method->info.accepts;
    char takers[160];
    if (!wrong) return CSREC_OK;
    if (wrong & CSREC_ACCEPTS(COEFFICIENTS)) {
        list_takers(CSREC_ACCEPTS(COEFFICIENTS), sizeof takers, takers);
        return csrec_fail(
            error, CSREC_UNSUPPORTED,
            "method %s recovers whole signals, not coefficients; omit them or choose method %s",
            method->info.name, takers);
    }
    list_takers(wrong & (~wrong + 1u), sizeof takers, takers);
    return csrec_fail(error, CSREC_ARGUMENT,
                      "method %s has no option %s (%s have it); omit it or choose another method",
                      method->info.name, first_word(wrong), takers);
}

/* If the kind of model is not known yet, some method with models must take all given options. */
static csrec_status check_some_model(unsigned bits, csrec_error *error) {
    const csrec_method_type *last = NULL;
    for (int i = 0; i < TYPES; i++) {
        if (!types[i]->info.model) continue;
        last = types[i];
        if (!(bits & ~last->info.accepts)) return CSREC_OK;
    }
    const unsigned wrong = bits & ~last->info.accepts;
    if (wrong & CSREC_ACCEPTS(COEFFICIENTS)) return check_taken(last, bits, error);
    return csrec_fail(error, CSREC_ARGUMENT,
                      "no method with a model has option %s; omit it or the model",
                      first_word(wrong));
}

static csrec_status unknown_solver(const char *solver, csrec_error *error) {
    csrec_names names = {.given = solver};
    csrec_solver_names(&names);
    for (int i = 0; i < TYPES; i++)
        if (types[i]->info.solver) csrec_names_add(&names, types[i]->info.solver);
    return csrec_names_unknown(&names, "solver", error);
}

static csrec_status unknown_basis(const char *basis, csrec_error *error) {
    csrec_names names = {.given = basis};
    const char *name, *brief;
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++)
        if (csrec_operator_is_basis(i)) csrec_names_add(&names, name);
    return csrec_names_unknown(&names, "basis", error);
}

static csrec_status check_names(const csrec_method_type *method, const csrec_recover_options *o,
                                csrec_error *error) {
    const char *solver = same(o->solve.solver, method->info.solver) ? NULL : o->solve.solver;
    if (solver && !csrec_solver_find(solver)) return unknown_solver(solver, error);
    if (o->basis && !csrec_operator_find_basis(o->basis)) return unknown_basis(o->basis, error);
    if (o->solve.reference && solver && !csrec_solver_find(solver)->reference)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "solver %s has no reference pursuit; omit one of them", solver);
    if (!method->works_with || method->works_with(solver, o->basis)) return CSREC_OK;
    return csrec_fail(
        error, CSREC_ARGUMENT, "method %s does not work with %s%s%s%s%s; omit one of them",
        method->info.name, solver ? "solver " : "", solver ? solver : "",
        solver && o->basis ? " and " : "", o->basis ? "basis " : "", o->basis ? o->basis : "");
}

static csrec_status check_suits(const csrec_method_type *method,
                                const csrec_measurement *measurement, csrec_error *error) {
    if (fits(method, measurement)) return CSREC_OK;
    if (measurement->through && !method->through)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "method %s recovers from entries of a signal, but this is measured "
                          "through an operator (%s); use another method",
                          method->info.name, measurement->through->name);
    return csrec_fail(error, CSREC_ARGUMENT, "method %s needs %s; use another method",
                      method->info.name, method->wants);
}

/* model: there is one, which may be unread. */
static csrec_status check_model(const csrec_method_type *method, bool model,
                                const csrec_recover_options *options, csrec_error *error) {
    const char *kind = options->model ? csrec_model_kind(options->model) : NULL;
    if (method->needs_model && !model && !kind)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "method %s needs a model of kind %s; give one, which cslearn makes, "
                          "or use another method",
                          method->info.name, method->info.model);
    if (kind && !same(kind, method->info.model))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "method %s takes no model of kind %s; omit one of them",
                          method->info.name, kind);
    return CSREC_OK;
}

csrec_status csrec_method_resolve(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, bool model, bool atoms,
                                  const csrec_method_type **method, csrec_error *error) {
    csrec_status status = find(measurement, options, atoms, method, error);
    if (status) return status;
    bool unread = model && !options->model && !options->method;
    unsigned bits = given(options, *method, model, atoms);
    if (unread) return check_some_model(bits, error);
    if (*method) status = check_taken(*method, bits, error);
    if (*method && !status) status = check_names(*method, options, error);
    if (*method && !status) status = check_model(*method, model, options, error);
    if (*method && !status) status = check_suits(*method, measurement, error);
    return status;
}

void csrec_recover_defaults(csrec_recover_options *options) {
    *options = (csrec_recover_options){.columns = CSREC_COLUMNS_UNSET,
                                       .order = CSREC_ORDER_UNSET,
                                       .solve.stop.epsilon = CSREC_EPSILON_UNSET,
                                       .seed = 1,
                                       .backend = "auto"};
}

csrec_recover_options csrec_options_within(const csrec_recover_options *from, csrec_call *call) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.seed = from->seed;
    options.threads = from->threads;
    options.priors = from->priors;
    options.solve.progress = from->solve.progress;
    options.solve.context = from->solve.context;
    if (!call || !call->progress) return options;
    options.solve.progress = csrec_call_hear;
    options.solve.context = call;
    return options;
}

csrec_status csrec_recover_within(const csrec_recovery *recovery, csrec_recover_options *options,
                                  csrec_error *error) {
    const csrec_method_type *method = csrec_method_of(options);
    csrec_recovery own = *recovery;
    own.variance = NULL; /* a part's is not the whole's */
    if (method->complete) method->complete(recovery->measurement, false, options);
    own.options = options;
    return csrec_method_run(method, &own, error);
}

csrec_status csrec_recover_start(const csrec_recovery *recovery, csrec_recover_options *options,
                                 csrec_error *error) {
    csrec_recovery own = *recovery;
    csrec_status status = csrec_recover_within(&own, options, error);
    if (status != CSREC_UNSUPPORTED) return status;
    own.context = &csrec_context_cpu;
    return csrec_recover_within(&own, options, error);
}
