/* SPDX-License-Identifier: BSD-3-Clause */
/* facts.c - describes a recovery in words: command, settings, seconds; a measurement as text or
 * JSON; warnings: what lets a result be worthless; remarks: what else to know of it. */
#include <math.h>
#include <string.h>

#include "page.h"

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

/* Operands point into the words, in their order; of several files each has its own command. */
char *cli_job_command(const cli_job *job) {
    const cli_operands *inputs = &job->a->inputs;
    const bool own = !job->a->merge && !job->request->frames;
    cli_text text;
    if (!cli_text_open(&text)) return NULL;
    fputs(job->request->all->name, text.file);
    for (int i = 1, next = 0; i < job->request->n_words; i++) {
        const char *word = job->request->words[i];
        const bool input = own && next < inputs->n && word == inputs->text[next];
        next += input;
        if (!input || word == job->input) put_word(text.file, word);
    }
    return cli_text_close(&text) ? text.bytes : NULL;
}

typedef struct facts {
    cli_fact *list;
    int n;
} facts;

__attribute__((format(printf, 3, 4))) static void add(facts *f, const char *name,
                                                      const char *format, ...) {
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
    if (cli_job_is_sequence(job))
        add(&f, "time", "%s", job->request->frames ? "frames in files" : "frames of one array");
    if (m->guides) add(&f, "guides", "%.150s", cli_guides_text(m, shape));
    if (cli_rays_text(m, shape)) add(&f, "rays", "%s", shape);
    const char *source = cli_sigma_source(job);
    if (csrec_noise_text(&job->in.law, shape))
        add(&f, "noise", "%s (%s)", shape, source);
    else if (cli_noise_text(m, source, shape))
        add(&f, "noise, sigma", "%s", shape);
    else
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
    add(f, "method", "%s: %.130s", plan->method.name, plan->method.brief);
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
        add(&f, "runs of the solver", "%lld", (long long)r->pursuits);
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
    const cli_stage all[CLI_STAGES] = {{"reading", job->in.seconds},
                                       {"preparing", r->seconds_tree},
                                       {"solving", r->seconds_pursuit},
                                       {"making the signal", r->seconds_synthesis},
                                       {"other work", fmax(rest, 0.0)},
                                       {"expected errors", job->result.seconds_expected},
                                       {"interpolation", job->result.simple.seconds}};
    memcpy(stages, all, sizeof all);
}

typedef struct {
    int64_t entries;
    double least, most, mean;
} summary;

static summary summarize(const csrec_measurement *measurement) {
    summary s = {.entries = cli_entries(measurement)};
    int64_t count = csrec_measurement_values(measurement), known = 0;
    cli_range_of(count, measurement->y, &s.least, &s.most);
    for (int64_t i = 0; i < count; i++) known += !isnan(measurement->y[i]);
    for (int64_t i = 0; i < count; i++)
        if (!isnan(measurement->y[i])) s.mean += measurement->y[i] / (double)known;
    return s;
}

const char *cli_dtype_name(int i) {
    static const char *const names[] = {"bool",  "uint8",  "int8",  "uint16",  "int16",  "uint32",
                                        "int32", "uint64", "int64", "float32", "float64"};
    return i < (int)(sizeof names / sizeof *names) ? names[i] : NULL;
}

static const char *dtype_name(const csrec_measurement *m) {
    if (m->is_complex) return m->dtype == CSREC_F32 ? "complex64" : "complex128";
    return cli_dtype_name((int)m->dtype);
}

csrec_estimate cli_process_estimate(const csrec_measurement *m, const csrec_estimate *recovery) {
    const double values = (double)csrec_measurement_signal_values(m), n = (double)m->n;
    const bool wide = csrec_dtype_size(m->dtype) > 2 && m->dtype != CSREC_F32;
    csrec_estimate e = *recovery;
    double own = 18.0 * 1048576.0 + 8.0 * n; /* the program, index, y, guides */
    own += (m->deviation ? 16.0 : 8.0) * (double)csrec_measurement_values(m);
    if (m->guides) own += 4.0 * (double)(m->guides->n * cli_entries(m));
    const double most = fmax((double)e.bytes, (wide ? 16.0 : 12.0) * values);
    e.bytes = (uint64_t)fmin(own + most, 0x1p63); /* of atoms alone signals may be longer */
    e.seconds += 0.06 + 4.2e-8 * values + 8e-8 * n;
    if (e.memory < UINT64_MAX / 2)
        e.memory += (uint64_t)fmin(own, 0x1p62); /* which the process has already */
    return e;
}

/* Name and estimate of preset i; NULL past the end. */
static const char *preset_estimate(const csrec_measurement *m, int64_t threads, int i,
                                   csrec_estimate *e) {
    csrec_recover_options options;
    csrec_plan plan;
    const char *name = csrec_recover_preset(i, m, &options);
    options.backend = "cpu";
    options.threads = (int)threads;
    if (!name || csrec_priors_create(&options.priors, NULL)) return NULL;
    const csrec_status status = csrec_recover_plan(m, &options, false, &plan, NULL);
    csrec_priors_destroy(options.priors);
    if (status) return NULL;
    *e = cli_process_estimate(m, &plan.estimate);
    return name;
}

void cli_describe_json(const csrec_measurement *m, int64_t threads, cli_json *json) {
    summary s = summarize(m);
    bool drawn = m->pattern != CSREC_PATTERN_NONE;
    cli_json_integers(json, "shape", m->shape.dims, m->shape.dim);
    cli_json_integer(json, "entries", s.entries);
    cli_json_integer(json, "samples", m->n);
    cli_json_real(json, "rate", (double)m->n / (double)s.entries);
    cli_json_integer(json, "channels", m->channels);
    cli_guides_json(m, json);
    cli_json_text(json, "dtype", dtype_name(m));
    if (m->through) cli_json_text(json, "operator", m->through->name);
    cli_json_text(json, "pattern", drawn ? csrec_pattern_name(m->pattern) : NULL);
    if (drawn) cli_json_unsigned(json, "seed", m->seed);
    cli_json_real(json, "min", s.least);
    cli_json_real(json, "max", s.most);
    cli_json_real(json, "mean", s.mean);
    cli_json_real(json, "sigma", m->sigma);
    cli_each_json(m, json);
    if (m->scale[0] != m->scale[1]) cli_json_reals(json, "scale", 2, m->scale);
    csrec_estimate e;
    const char *name;
    cli_json_begin(json, "estimates");
    for (int i = 0; (name = preset_estimate(m, threads, i, &e)); i++) {
        cli_json_begin(json, name);
        cli_json_unsigned(json, "bytes", e.bytes);
        cli_json_real(json, "seconds", e.seconds);
        cli_json_integer(json, "tiles", e.tiles);
        cli_json_end(json);
    }
    cli_json_end(json);
}

bool cli_describe(const char *path, const csrec_measurement *m, int64_t threads) {
    summary s = summarize(m);
    char shape[192];
    printf("file      %s\n", path);
    printf("shape     %s (%lld entries)\n", cli_shape_text(&m->shape, shape), (long long)s.entries);
    printf("%s   %lld (%.4g %%)\n", m->through ? "rows   " : "samples", (long long)m->n,
           100.0 * (double)m->n / (double)s.entries);
    printf("channels  %lld\n", (long long)m->channels);
    printf("dtype     %s\n", dtype_name(m));
    if (m->sequence) printf("time      the first axis: frames\n");
    if (m->guides) printf("guides    %s\n", cli_guides_text(m, shape));
    if (cli_rays_text(m, shape)) printf("rays      %s\n", shape);
    if (m->through)
        printf("operator  %s%s%s%s%s%s%s\n", m->through->name, m->through->ordering ? ", " : "",
               m->through->ordering ? m->through->ordering : "",
               m->through->scrambled ? ", scrambled" : "", m->through->centred ? ", centred" : "",
               m->through->norm ? ", " : "", m->through->norm ? m->through->norm : "");
    else if (m->pattern == CSREC_PATTERN_NONE)
        printf("pattern   explicit positions\n");
    else
        printf("pattern   %s, seed %llu\n", csrec_pattern_name(m->pattern),
               (unsigned long long)m->seed);
    printf("values    %g to %g, mean %g\n", s.least, s.most, s.mean);
    if (cli_noise_text(m, m->sigma > 0.0 ? "" : NULL, shape))
        printf("sigma     %s\n", shape);
    else if (m->sigma > 0.0)
        printf("sigma     %g\n", m->sigma);
    else
        printf("sigma     not given\n");
    if (m->scale[0] != m->scale[1])
        printf("scale     %g to %g\n", m->scale[0], m->scale[1]);
    else
        printf("scale     not given\n");
    csrec_estimate e;
    const char *name;
    for (int i = 0; (name = preset_estimate(m, threads, i, &e)); i++)
        printf("%-9s about %.3g s and %.1f MiB%s\n", name, e.seconds, (double)e.bytes / 1048576.0,
               e.bytes > e.memory ? ", more than is available"
               : e.tiles > 1      ? ", in tiles"
                                  : "");
    return fflush(stdout) == 0 && !ferror(stdout);
}

__attribute__((format(printf, 2, 3))) static void say(cli_sentences *s, const char *format, ...) {
    va_list values;
    if (s->n == (int)(sizeof s->text / sizeof *s->text)) return;
    va_start(values, format);
    vsnprintf(s->text[s->n++], sizeof *s->text, format, values);
    va_end(values);
}

static void print(const cli_job *job, const cli_sentences *s, int from) {
    char text[CSREC_DOUBT_SIZE];
    for (int i = from; i < s->n && (!job->a->quiet || i < s->grave); i++) {
        cli_spell(job->tool, s->text[i], text, sizeof text);
        fprintf(stderr, "warning: %s: %s\n", job->input, text);
    }
}

/* Values of entries that are not known; *nowhere: the number of channels without any. */
int64_t cli_unknown_values(const csrec_measurement *m, int64_t *nowhere) {
    int64_t known = 0;
    if (nowhere) *nowhere = 0;
    for (int64_t c = 0; c < m->channels; c++) {
        int64_t own = 0;
        for (int64_t k = 0; k < m->n; k++) own += !isnan(m->y[k * m->channels + c]);
        if (nowhere) *nowhere += own == 0;
        known += own;
    }
    return cli_entries(m) * m->channels - known;
}

static void add_unknown(const cli_job *job, cli_sentences *s) {
    int64_t nowhere = 0;
    if (!cli_job_has_points(job) || job->large.on) return;
    const csrec_measurement *m = &job->in.measurement;
    char text[CSREC_NOISE_TEXT];
    const bool law = csrec_noise_text(&job->in.law, text);
    if (cli_unknown_values(m, &nowhere) == 0 && !(m->sigma > 0.0) && !m->deviation && !law)
        say(s, "No value is unknown: the result is a copy.");
    if (nowhere > 0)
        say(s, "%lld of %lld channels are known nowhere and stay unknown.", (long long)nowhere,
            (long long)job->in.measurement.channels);
    if (job->a->mask && csrec_doubt_mask(m, s->text[s->n])) s->n++;
    if (*job->in.lacking) say(s, "Columns without any value stay unknown: %s.", job->in.lacking);
    if (job->in.facts.soft > 0)
        say(s,
            "The mask has %lld values between black and white, of which the upper half counts as "
            "known.",
            (long long)job->in.facts.soft);
}

/* A new file has none; one of another format never does. */
static bool loses_overviews(const cli_job *job) {
    const csrec_format *in = csrec_format_of(job->input);
    return job->in.facts.reduced && in && in == job->out.format;
}

static cli_sentences of_samples(const cli_job *job) {
    cli_sentences s = {.n = 0};
    s.n = s.grave = csrec_doubt_prior(&job->in.measurement, &job->setup.options, s.text[0]);
    add_unknown(job, &s);
    if (loses_overviews(job))
        say(&s, "The overviews are not written: they would be of the old values; make new ones of "
                "the result, as with gdaladdo.");
    if (job->in.facts.lost > 0)
        say(&s, "Pixels with rays that are NaN or infinite are left out: %lld of them.",
            (long long)job->in.facts.lost);
    if (*job->in.facts.remark.text) say(&s, "%s", job->in.facts.remark.text);
    if (cli_samples_contradict(&job->in, s.text[s.n])) s.n++;
    if (csrec_doubt_basis(&job->in.measurement, &job->setup.options, s.text[s.n])) s.n++;
    for (int i = 0; csrec_doubts_text(&job->in.doubts, i, s.text[s.n]); i++) s.n++;
    return s;
}

int cli_job_doubt(cli_job *job) {
    csrec_error error;
    if (cli_job_is_empty(job)) return CLI_CONTINUE;
    if (cli_job_has_points(job) &&
        csrec_doubts_find(&job->in.measurement, (int)job->a->threads, &job->in.doubts, &error))
        return cli_job_fail(job, "%s: %s", job->input, error.text);
    if (job->a->robust || job->a->labels)
        job->in.doubts.outliers = 0.0; /* what is left is the signal's own */
    const cli_sentences s = of_samples(job);
    print(job, &s, 0);
    return CLI_CONTINUE;
}

cli_sentences cli_job_warnings(const cli_job *job) {
    cli_sentences s = of_samples(job);
    if (csrec_doubt_result(&job->result.report, s.text[s.n])) s.n++;
    if (job->result.uncertainty && job->result.unpromised > 0.0)
        say(&s,
            "The interval promises nothing for %.3g %% of the values, where it is inf: inside of "
            "holes, or as too few samples could be left out.",
            100.0 * job->result.unpromised);
    if (job->result.report.remark) say(&s, "%s", job->result.report.remark);
    const double units = job->result.quality.units;
    if (units > 0.0)
        say(&s,
            "The reference is about %.3g times %s than the result; give it in the units of the "
            "samples; those of a picture are by --scale LOW,HIGH.",
            fmax(units, 1.0 / units), units > 1.0 ? "smaller" : "larger");
    return s;
}

void cli_job_warn(const cli_job *job) {
    const cli_sentences all = cli_job_warnings(job), samples = of_samples(job);
    print(job, &all, samples.n); /* those of the samples were told before the work */
}

static double clamped_share(const cli_job *job) {
    const cli_tones tones = job->in.tones.light ? cli_job_tones(job) : job->in.tones;
    double low = fmin(tones.scale[0], tones.scale[1]), high = fmax(tones.scale[0], tones.scale[1]);
    int64_t values = cli_signal_values(&job->in.measurement), outside = 0;
    if (!job->result.signal || low == high) return 0.0;
    /* Half a step of an 8-bit picture does not count. */
    double margin = (high - low) / 510.0;
    for (int64_t i = 0; i < values; i++)
        outside += job->result.signal[i] < low - margin || job->result.signal[i] > high + margin;
    return (double)outside / (double)values;
}

cli_sentences cli_job_remarks(const cli_job *job) {
    const csrec_measurement *m = &job->in.measurement;
    const csrec_recover_report *r = &job->result.report;
    cli_sentences s = {.n = 0};
    double rate = (double)m->n / (double)cli_entries(m), clamped = clamped_share(job);
    if (r->choice) say(&s, "Chosen: %s.", r->choice);
    if (r->curve_choice) say(&s, "Chosen: %s.", r->curve_choice);
    if (r->clamped)
        say(&s, "%lld values were outside of the range; they are its ends.", (long long)r->clamped);
    if (r->outcome == CSREC_INTERRUPTED) say(&s, "Interrupted: this is the best result so far.");
    if ((r->outcome == CSREC_EXHAUSTED || r->outcome == CSREC_UNMET) && !r->remark)
        say(&s, "The solver ended above its tolerance (%s); try another solver.",
            csrec_outcome_text(r->outcome));
    if (r->outcome == CSREC_STEP_LIMIT && job->a->atoms)
        say(&s, "The solver stopped at --atoms %lld, above its tolerance.",
            (long long)job->a->atoms);
    if (rate < 0.02 && cli_job_has_points(job))
        say(&s, "Only %.2g %% of the positions were sampled; details are uncertain.", 100.0 * rate);
    if (cli_job_leaves(job))
        say(&s, "%lld unknown values were left unknown.", (long long)job->result.left);
    if (clamped > 0.0)
        say(&s,
            "%.2g %% of the values lie outside black and white; pictures clamp them, .npy keeps "
            "them.",
            100.0 * clamped);
    if (job->in.tones.scale[0] == job->in.tones.scale[1] && m->shape.dims > 1 &&
        !job->in.tones.light)
        say(&s,
            "The file has no scale: black and white are the smallest and largest %s; give --scale "
            "LOW,HIGH.",
            cli_job_has_points(job) ? "sample" : "value");
    if (job->out.output && cli_format_has(job->out.format, CSREC_USE_LOSSY))
        say(&s, CLI_LOSSY ".", job->out.output);
    if (strcmp(r->backend, "cpu") != 0)
        say(&s, "On a device only the result is recorded; --backend cpu records every step.");
    return s;
}
