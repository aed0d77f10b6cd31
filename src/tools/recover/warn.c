/* SPDX-License-Identifier: BSD-3-Clause */
/* warn.c - warnings: what lets a result be worthless; remarks: what else to know of it. */
#include <math.h>
#include <string.h>

#include "recover.h"

static void add(cli_sentences *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(cli_sentences *s, const char *format, ...) {
    va_list values;
    if (s->n == (int)(sizeof s->text / sizeof *s->text)) return;
    va_start(values, format);
    vsnprintf(s->text[s->n++], sizeof *s->text, format, values);
    va_end(values);
}

static void tell(const cli_job *job, const cli_sentences *s, int from) {
    for (int i = from; i < s->n && !job->a->quiet; i++)
        fprintf(stderr, "warning: %s: %s\n", job->input, s->text[i]);
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
    if (cli_unknown_values(&job->in.measurement, &nowhere) == 0)
        add(s, "No value is unknown: the result is a copy.");
    if (nowhere > 0)
        add(s, "%lld of %lld channels are known nowhere and stay unknown.", (long long)nowhere,
            (long long)job->in.measurement.channels);
    if (job->in.facts.soft > 0)
        add(s,
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
    add_unknown(job, &s);
    if (loses_overviews(job))
        add(&s, "The overviews are not written: they would be of the old values; make new ones of "
                "the result, as with gdaladdo.");
    if (*job->in.facts.remark.text) add(&s, "%s", job->in.facts.remark.text);
    if (cli_samples_contradict(&job->in, s.text[s.n])) s.n++;
    if (csrec_doubt_basis(&job->in.measurement, &job->setup.options, s.text[s.n])) s.n++;
    for (int i = 0; csrec_doubts_text(&job->in.doubts, i, s.text[s.n]); i++) s.n++;
    return s;
}

int cli_job_doubt(cli_job *job) {
    csrec_error error;
    if (cli_job_has_points(job) &&
        csrec_doubts_find(&job->in.measurement, (int)job->a->threads, &job->in.doubts, &error))
        return cli_job_fail(job, "%s: %s", job->input, error.text);
    if (job->a->robust || job->a->labels)
        job->in.doubts.outliers = 0.0; /* what is left is the signal's own */
    const cli_sentences s = of_samples(job);
    tell(job, &s, 0);
    return CLI_CONTINUE;
}

cli_sentences cli_job_warnings(const cli_job *job) {
    cli_sentences s = of_samples(job);
    if (csrec_doubt_result(&job->result.report, s.text[s.n])) s.n++;
    if (job->result.report.remark) add(&s, "%s", job->result.report.remark);
    return s;
}

void cli_job_warn(const cli_job *job) {
    const cli_sentences all = cli_job_warnings(job), samples = of_samples(job);
    tell(job, &all, samples.n); /* those of the samples were told before the work */
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
    const int64_t entries = cli_entries(m);
    double rate = (double)m->n / (double)entries, clamped = clamped_share(job);
    if (r->choice) add(&s, "Chosen: %s.", r->choice);
    if (r->curve_choice) add(&s, "Chosen: %s.", r->curve_choice);
    if (r->clamped)
        add(&s, "%lld values were outside of the range; they are its ends.", (long long)r->clamped);
    if (r->outcome == CSREC_INTERRUPTED) add(&s, "Interrupted: this is the best result so far.");
    if ((r->outcome == CSREC_EXHAUSTED || r->outcome == CSREC_UNMET) && !r->remark)
        add(&s, "A pursuit ended above its tolerance (%s); try another solver.",
            csrec_outcome_text(r->outcome));
    if (r->outcome == CSREC_STEP_LIMIT && job->a->atoms)
        add(&s, "A pursuit stopped at --atoms %lld, above its tolerance.",
            (long long)job->a->atoms);
    if (rate < 0.02 && cli_job_has_points(job))
        add(&s, "Only %.2g %% of the positions were sampled; details are uncertain.", 100.0 * rate);
    if (cli_job_leaves(job))
        add(&s, "%lld unknown values were left unknown.", (long long)job->result.left);
    if (clamped > 0.0)
        add(&s,
            "%.2g %% of the values lie outside black and white; pictures clamp them, .npy keeps "
            "them.",
            100.0 * clamped);
    if (job->in.tones.scale[0] == job->in.tones.scale[1] && m->shape.dims > 1 &&
        !job->in.tones.light)
        add(&s,
            "The file has no scale: black and white are the smallest and largest %s; give --scale "
            "LOW,HIGH.",
            cli_job_has_points(job) ? "sample" : "value");
    if (job->out.output && cli_format_has(job->out.format, CSREC_USE_LOSSY))
        add(&s, CLI_LOSSY ".", job->out.output);
    if (strcmp(r->backend, "cpu") != 0)
        add(&s, "On a device only the result is recorded; --backend cpu records every step.");
    return s;
}
