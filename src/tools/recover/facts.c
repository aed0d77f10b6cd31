/* SPDX-License-Identifier: BSD-3-Clause */
/* facts.c - describes a recovery in words: command, settings, seconds. */
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/input.h"

/* ------------------------------------------------------------------ command ----------------- */

static void put_word(FILE *file, const char *word) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,+@%-";
    fputc(' ', file);
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, file);
        return;
    }
    fputc('\'', file);
    for (; *word; word++) *word == '\'' ? fputs("'\\''", file) : fputc(*word, file);
    fputc('\'', file);
}

/* Operands point into the words. */
static bool is_other_input(const cli_job *job, const char *word) {
    const cli_operands *inputs = &job->a->inputs;
    for (int i = 0; i < inputs->n; i++)
        if (inputs->text[i] == word) return word != job->input;
    return false;
}

char *cli_job_command(const cli_job *job) {
    cli_text text;
    if (!cli_text_open(&text)) return NULL;
    fputs(job->request->all->name, text.file);
    for (int i = 1; i < job->request->n_words; i++)
        if (job->a->merge || !is_other_input(job, job->request->words[i]))
            put_word(text.file, job->request->words[i]);
    return cli_text_close(&text) ? text.bytes : NULL;
}

/* ------------------------------------------------------------------ facts ------------------- */

typedef struct facts {
    cli_fact *list;
    int n;
} facts;

static void add(facts *f, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(facts *f, const char *name, const char *format, ...) {
    if (f->n == CLI_FACTS_MOST) return;
    cli_fact *fact = &f->list[f->n++];
    va_list values;
    snprintf(fact->name, sizeof fact->name, "%s", name);
    va_start(values, format);
    vsnprintf(fact->value, sizeof fact->value, format, values);
    va_end(values);
}

int cli_job_measured(const cli_job *job, cli_fact list[CLI_FACTS_MOST]) {
    const csrec_measurement *m = &job->in.measurement;
    facts f = {list, 0};
    char shape[192];
    const int64_t entries = cli_entries(m);
    add(&f, "shape", "%.150s", cli_shape_text(&m->shape, shape));
    add(&f, "channels", "%lld", (long long)m->channels);
    add(&f, m->through ? "rows" : "samples", "%lld of %lld %s (%.4g %%)", (long long)m->n,
        (long long)entries, m->through ? "entries" : "positions",
        100.0 * (double)m->n / (double)entries);
    if (m->through)
        add(&f, "operator", "%s", m->through->name);
    else if (m->pattern == CSREC_PATTERN_NONE)
        add(&f, "pattern", "explicit positions");
    else
        add(&f, "pattern", "%s, seed %llu", csrec_pattern_name(m->pattern),
            (unsigned long long)m->seed);
    const char *source = cli_sigma_source(job);
    add(&f, "noise, sigma", source ? "%g (%s)" : "not given", m->sigma, source);
    if (job->a->robust) add(&f, "outliers dropped", "%lld", (long long)job->in.dropped);
    add(&f, "black and white",
        job->in.tones.scale[0] != job->in.tones.scale[1] ? "%g to %g" : "not given",
        job->in.tones.scale[0], job->in.tones.scale[1]);
    return f.n;
}

/* Whether the method of the plan takes an option. */
static bool takes(const csrec_plan *plan, csrec_accepts option) {
    return plan->method.accepts >> option & 1u;
}

static void add_options(facts *f, const cli_job *job) {
    const csrec_plan *plan = &job->setup.plan;
    const csrec_recover_options *o = &plan->options;
    const csrec_stop *stop = &o->solve.stop;
    add(f, "method", "%s", plan->method.name);
    if (o->model) add(f, "model", "%.150s", job->a->model);
    if (o->solve.solver) add(f, "solver", "%s", o->solve.solver);
    if (o->basis) add(f, "basis", "%s", o->basis);
    if (takes(plan, CSREC_ACCEPTS_SHIFTS)) add(f, "grids", "%lld", (long long)o->shifts);
    if (takes(plan, CSREC_ACCEPTS_COLUMNS)) add(f, "columns", "%s", csrec_columns_name(o->columns));
    if (takes(plan, CSREC_ACCEPTS_ORDER)) add(f, "order", "%s", csrec_order_name(o->order));
    if (stop->epsilon > 0.0) add(f, "epsilon", "%g", stop->epsilon);
    if (stop->atoms) add(f, "atoms", "at most %lld", (long long)stop->atoms);
    if (o->seconds > 0.0) add(f, "minutes", "at most %g", o->seconds / 60.0);
    if (stop->min_coefficient > 0.0) add(f, "min-coefficient", "%g", stop->min_coefficient);
    for (int i = 0; i < o->solve.n_settings; i++)
        add(f, o->solve.settings[i].name, "%g", o->solve.settings[i].value);
}

int cli_job_settings(const cli_job *job, cli_fact list[CLI_FACTS_MOST]) {
    const csrec_recover_options *o = &job->setup.options;
    const csrec_recover_report *r = &job->result.report;
    facts f = {list, 0};
    char devices[256];
    if (job->a->quality >= 0) add(&f, "quality", "%s", cli_quality_name(job->a->quality));
    add_options(&f, job);
    add(&f, "seed", "%llu", (unsigned long long)o->seed);
    add(&f, "threads", o->threads ? "%d" : "all cores", o->threads);
    add(&f, "backend", "%s", cli_devices_text(r, devices, sizeof devices));
    add(&f, "outcome", "%s", csrec_outcome_text(r->outcome));
    if (job->setup.plan.method.iterates) {
        add(&f, "pursuits", "%lld", (long long)r->pursuits);
        add(&f, "iterations", "%lld", (long long)r->iterations);
    }
    if (job->a->labels) add(&f, "classes", "%lld", (long long)r->classes);
    add(&f, "residual", "%.6g", r->residual);
    add(&f, "library", "csrec %s", csrec_version());
    return f.n;
}

void cli_job_stages(const cli_job *job, cli_stage stages[CLI_STAGES]) {
    const csrec_recover_report *r = &job->result.report;
    double rest = r->seconds_total - r->seconds_tree - r->seconds_pursuit - r->seconds_synthesis;
    const cli_stage all[CLI_STAGES] = {{"read", job->in.seconds},
                                       {"tree and operators", r->seconds_tree},
                                       {"pursuit", r->seconds_pursuit},
                                       {"synthesis", r->seconds_synthesis},
                                       {"other work, history", fmax(rest, 0.0)},
                                       {"expected errors", job->result.seconds_expected}};
    memcpy(stages, all, sizeof all);
}
