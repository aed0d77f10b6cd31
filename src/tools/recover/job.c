/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c - a recovery: load, recover, write. */
#include <stdlib.h>
#include <string.h>

#include "page.h"

static int end_ranks(cli_job *job) {
    csrec_comm *comm = job->request->tiles;
    cli_progress *progress = job->progress;
    csrec_error why;
    double all;
    const cli_tool *tool = job->tool;
    if (cli_interrupted() && !progress->lost)
        snprintf(job->failure, sizeof job->failure,
                 "%s: stopped by a signal, as launchers send it to all ranks when one is killed",
                 job->input);
    if (csrec_comm_poll(comm, 0.0, &all, &why)) { /* another failed before */
        snprintf(job->failure, sizeof job->failure, "%s", why.text);
        tool = job->request->all;
    } else {
        csrec_comm_fail(comm, job->failure);
    }
    cli_progress_lose(progress, job->failure);
    return csrec_comm_rank(comm) > 0 ? CLI_FAILURE : cli_failure(tool, "%s", job->failure);
}

int cli_job_fail(cli_job *job, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(job->failure, sizeof job->failure, format, values);
    va_end(values);
    const size_t used = strlen(job->failure);
    if (job->in.placement.list.dims && strstr(job->failure, "memory")) /* the grid may be chosen */
        snprintf(job->failure + used, sizeof job->failure - used, "; --grid gives fewer cells");
    return job->request->tiles ? end_ranks(job) : cli_failure(job->tool, "%s", job->failure);
}

void cli_result_lose(cli_result *result, csrec_status status, const char *format, ...) {
    va_list values;
    if (result->lost_status) return;
    result->lost_status = status;
    va_start(values, format);
    vsnprintf(result->lost.text, sizeof result->lost.text, format, values);
    va_end(values);
}

static void set_tones(cli_job *job) {
    job->in.tones = cli_tones_of(&job->in.measurement);
    job->in.tones.light = job->in.facts.linear;
    if (job->a->scale) memcpy(job->in.tones.scale, job->request->scale, sizeof job->request->scale);
    if (job->a->bits) job->in.tones.bits = (int)job->a->bits;
    if (!job->a->labels) return;
    job->in.tones.scale[0] = 0.0; /* classes are written as they are */
    job->in.tones.scale[1] = job->in.tones.bits == 16 ? 65535.0 : 255.0;
}

/* Whether the steps are recorded. */
static bool wants_history(const cli_job *job) {
    return job->a->history ||
           (!job->a->labels && !cli_job_is_sequence(job) && (job->out.page || job->out.plot));
}

static int begin_history(cli_job *job) {
    if (!wants_history(job)) return CLI_CONTINUE;
    const int64_t n = cli_signal_values(&job->in.measurement);
    /* The truth is that of magnitudes. */
    const double *truth =
        csrec_measurement_signal_values(&job->in.measurement) == n ? job->result.truth : NULL;
    double peak = truth ? cli_peak_of(&job->in.tones, n, truth) : 1.0;
    if (csrec_history_create(truth, peak, &job->result.history))
        return cli_job_fail(job, "%s: out of memory", job->input);
    job->setup.options.history = job->result.history;
    return CLI_CONTINUE;
}

bool cli_job_wants_signal(const cli_job *job) {
    return !job->a->coefficients || job->out.output || job->result.truth || job->out.map ||
           wants_history(job);
}

/* Atoms alone need no memory for the signal, which may be longer than the memory. */
static int allocate(cli_job *job) {
    if (job->large.on) return CLI_CONTINUE;
    if (job->a->coefficients) {
        job->result.atoms = calloc((size_t)job->in.measurement.channels, sizeof *job->result.atoms);
        if (!job->result.atoms) return cli_job_fail(job, "%s: out of memory", job->input);
    }
    if (!cli_job_wants_signal(job)) return CLI_CONTINUE;
    const int64_t n = cli_signal_values(&job->in.measurement) * cli_job_slices(job);
    const double bytes = (double)n * 2.0 * sizeof *job->result.signal;
    const bool fits = bytes < (double)(SIZE_MAX / 2);
    const bool pairs = csrec_measurement_signal_values(&job->in.measurement) !=
                       cli_signal_values(&job->in.measurement);
    if (fits) job->result.signal = malloc((size_t)n * sizeof *job->result.signal);
    if (fits && pairs) job->result.pairs = malloc(2 * (size_t)n * sizeof *job->result.pairs);
    if (!job->result.signal || (pairs && !job->result.pairs))
        return cli_job_fail(job,
                            "%s: out of memory for the recovered signal, %.3g GiB; "
                            "--coefficients alone needs none",
                            job->input, bytes / 0x1p30);
    return CLI_CONTINUE;
}

bool cli_job_is_empty(const cli_job *job) {
    return job->request->frames && !job->large.on && job->in.measurement.n == 0;
}

void cli_job_range(const cli_job *job, double *low, double *high) {
    const csrec_measurement *m = &job->in.measurement;
    if (cli_job_has_points(job) && !cli_job_is_empty(job))
        cli_range_of(m->n * m->channels, m->y, low, high);
    else
        cli_range_of(cli_signal_values(m) * cli_job_slices(job), job->result.signal, low, high);
}

static void tell_tones(const cli_job *job) {
    const csrec_measurement *m = &job->in.measurement;
    const double *scale = job->in.tones.scale;
    if (scale[0] != scale[1] || job->a->quiet || !job->out.output || !cli_job_has_points(job) ||
        cli_job_is_empty(job) || !cli_format_has(job->out.format, CSREC_USE_PICTURE))
        return;
    cli_tones tones = cli_job_tones(job);
    int64_t beyond = 0;
    for (int64_t i = 0; tones.light && i < m->n * m->channels; i++) beyond += m->y[i] > 1.0;
    if (tones.light)
        cli_note(job->tool,
                 "note: %s: light from 0 to 1, in the encoding of sRGB; %.3g %% of the values of "
                 "samples are above and become white; --scale LOW,HIGH gives other ends",
                 job->out.output, 100.0 * (double)beyond / (double)(m->n * m->channels));
    else
        cli_note(job->tool,
                 "note: %s: black is %.6g and white %.6g, the smallest and largest sample; --scale "
                 "LOW,HIGH gives others",
                 job->out.output, tones.scale[0], tones.scale[1]);
}

static const char *colormap_refusal(const cli_job *job) {
    bool picture =
        (job->out.output && cli_format_has(job->out.format, CSREC_USE_PICTURE)) ||
        (job->out.map && cli_format_has(csrec_format_of(job->out.map), CSREC_USE_PICTURE));
    if (!picture) return "colours are for a .png; leave out --colormap, or write one";
    return job->in.measurement.channels == 1 ? NULL : "has several channels; --colormap needs one";
}

/* Refuses everything that can be refused before the recovery. */
static int check_output(cli_job *job) {
    static const cli_tones any = {.scale = {0.0, 1.0}, .bits = 8};
    const char *refusal = job->out.output ? cli_job_refusal(job, job->out.format, &any) : NULL;
    if (job->out.output && job->a->dtype >= 0 && cli_format_has(job->out.format, CSREC_USE_PICTURE))
        refusal = "a picture has 8 or 16 bits; leave out --dtype, or write another format";
    if (job->out.output && job->a->bits == 16 && cli_format_has(job->out.format, CSREC_USE_LOSSY))
        refusal = "has 8 bits; leave out --bits, or write a .png";
    if (job->out.output && job->a->labels && cli_format_has(job->out.format, CSREC_USE_LOSSY))
        refusal = "compression changes values, and classes are exact; write a .png";
    if (refusal)
        return cli_job_fail(job, "%s: %s",
                            cli_is_dash(job->out.output) ? "stdout" : job->out.output, refusal);
    if (!refusal && job->a->colormap >= 0) refusal = colormap_refusal(job);
    if (refusal) return cli_job_fail(job, "%s: %s", job->input, refusal);
    if (job->out.map && !cli_job_has_points(job))
        return cli_job_fail(job, "%s: --uncertainty is for samples of entries; leave it out",
                            job->input);
    if (job->out.map) refusal = cli_job_refusal(job, csrec_format_of(job->out.map), &any);
    return refusal ? cli_job_fail(job, "%s: %s", job->out.map, refusal) : CLI_CONTINUE;
}

static int read_samples(cli_job *job) {
    csrec_error error;
    if (job->large.on) return CLI_CONTINUE;
    cli_progress_next(job->progress, "", 0.0);
    csrec_status status = cli_job_read(job, &error);
    if (!status) status = cli_guides_read(&job->a->guides, &job->in.measurement, &error);
    cli_progress_finish(job->progress);
    if (status) cli_job_fail(job, "%s", error.text);
    return !status ? CLI_CONTINUE : status == CSREC_STOPPED ? CLI_INTERRUPTED : CLI_FAILURE;
}

/* The prior is for pictures: then it belongs to the fingerprint, as its last entry. */
static int add_prior(cli_job *job) {
    csrec_error error;
    if (job->in.measurement.shape.dims != 2 && !cli_job_is_sequence(job)) return CLI_CONTINUE;
    if (cli_prior_find(job->request, job->out.prior, &error))
        return cli_job_fail(job, "%s", error.text);
    job->out.fingerprint = cli_fingerprint_add_prior(job->out.fingerprint, job->out.prior);
    return job->out.fingerprint ? CLI_CONTINUE : cli_job_fail(job, "%s: out of memory", job->input);
}

static int load(cli_job *job) {
    csrec_error error;
    int code = cli_job_find_large(job);
    if (code == CLI_CONTINUE) code = read_samples(job);
    if (code != CLI_CONTINUE) return code;
    const char *obstacle = job->a->slice_given ? "--slice"
                           : job->a->sequence  ? "--sequence"
                                               : cli_job_obstacle(job);
    if (job->a->slices && obstacle)
        return cli_job_fail(job, "%s: --slices recovers one after the other; leave out %s",
                            job->input, obstacle);
    set_tones(job);
    cli_job_tell_reading(job);
    if (job->a->info) return cli_job_doubt(job);
    if (!job->large.on) code = cli_job_noise(job);
    if (code == CLI_CONTINUE) code = cli_job_paths(job);
    if (code == CLI_CONTINUE && !(job->out.command = cli_job_command(job)))
        code = cli_job_fail(job, "%s: out of memory", job->input);
    if (code == CLI_CONTINUE) code = check_output(job);
    if (code == CLI_CONTINUE) code = cli_job_read_fill(job);
    if (code != CLI_CONTINUE) return code;
    if (job->out.reference &&
        cli_truth_read(job->out.reference, &job->in.measurement, job->a->channels_first,
                       &job->in.tones, &job->result.truth, &error))
        return cli_job_fail(job, "%s", error.text);
    if (job->a->model && csrec_model_read(job->a->model, &job->setup.model, &error))
        return cli_job_fail(job, "%s", error.text);
    code = add_prior(job);
    if (code == CLI_CONTINUE) code = cli_job_options(job);
    if (code != CLI_CONTINUE || !job->large.on) return code;
    code = cli_job_begin_large(job);
    if (code != CLI_CONTINUE || job->large.on) return code;
    job->in.measurement = (csrec_measurement){.n = 0};
    code = read_samples(job);
    if (code == CLI_CONTINUE) set_tones(job);
    if (code == CLI_CONTINUE) code = cli_job_noise(job);
    return code == CLI_CONTINUE ? cli_job_options(job) : code;
}

static bool is_lost(const cli_job *job, csrec_error *error) {
    const char *const files[] = {job->input, job->a->mask, job->a->model, job->out.reference,
                                 job->a->fill};
    for (int i = 0; i < job->a->guides.n; i++) {
        const char *guide = cli_named_path(job->a->guides.text[i], NULL);
        if (cli_files_lost(1, &guide, error)) return true;
    }
    return cli_files_lost(sizeof files / sizeof *files, files, error) ||
           cli_files_lost(job->a->merge ? job->a->inputs.n : 0, job->a->inputs.text, error);
}

/* The fingerprint is that of the bytes that were read, so files must not change meanwhile. */
static int load_unchanged(cli_job *job) {
    bool known;
    char *after = NULL;
    csrec_error error;
    if (job->a->info) return load(job);
    job->out.fingerprint = cli_recover_fingerprint(job->request, job->input, &job->out.known);
    job->out.prior[0] = '\0';
    if (!job->out.fingerprint) return cli_job_fail(job, "%s: out of memory", job->input);
    int code = load(job);
    if (code != CLI_CONTINUE) return code;
    after = cli_fingerprint_add_prior(cli_recover_fingerprint(job->request, job->input, &known),
                                      job->out.prior);
    if (!after)
        code = cli_job_fail(job, "%s: out of memory", job->input);
    else if (strcmp(after, job->out.fingerprint) != 0 && is_lost(job, &error))
        code = cli_job_fail(job, "%s", error.text);
    else if (strcmp(after, job->out.fingerprint) != 0)
        code = cli_job_fail(job,
                            "%s: it, or a file that belongs to it, changed while it was read; "
                            "run again when it is complete",
                            job->input);
    free(after);
    return code;
}

/* Of fitting, which --minutes ends. */
static double steps_of(const csrec_plan *plan) {
    for (int k = 0; k < plan->n_parameters; k++)
        if (strcmp(plan->parameter[k].name, "steps") == 0) return plan->parameter[k].value;
    return 0.0;
}

/* Who starts minutes of work that can be cut short should know. */
static void tell_long(const cli_job *job) {
    const csrec_plan *plan = &job->setup.plan;
    if (!plan->estimate.method || plan->estimate.seconds < 20.0 || job->a->quiet) return;
    cli_note(job->tool, "%s: about %.0f s, by %s with %d threads%s", job->input,
             plan->estimate.seconds, plan->method.name, plan->estimate.threads,
             steps_of(plan) > 0.0 ? "; --minutes shortens it" : "");
}

/* A file's axis of time is used without being asked for. */
static void tell_time(const cli_job *job) {
    const int time = job->in.facts.time;
    if (job->a->quiet || job->a->sequence || !time) return;
    if (job->large.on)
        cli_note(job->tool,
                 "note: %s: its axis %d is time, but it is recovered in slabs, as a volume; frames "
                 "need them in the memory, or in files (--sequence)",
                 job->input, time - 1);
    else if (cli_job_is_sequence(job))
        cli_note(job->tool,
                 "note: %s: its axis %d is time, so it is recovered as frames (--sequence); "
                 "--volume makes it a volume",
                 job->input, time - 1);
}

int cli_job_load(cli_job *job) {
    double start = cli_seconds();
    int code = load_unchanged(job);
    if (code != CLI_CONTINUE || job->a->info) return code;
    code = begin_history(job);
    if (code == CLI_CONTINUE) code = allocate(job);
    if (code == CLI_CONTINUE && !job->large.on) code = cli_job_doubt(job);
    if (code == CLI_CONTINUE) tell_time(job);
    if (code == CLI_CONTINUE) tell_tones(job);
    if (code == CLI_CONTINUE && job->out.output &&
        cli_format_has(job->out.format, CSREC_USE_LOSSY) && !job->a->quiet)
        cli_note(job->tool, "note: " CLI_LOSSY, job->out.output);
    if (code == CLI_CONTINUE) tell_long(job);
    job->in.seconds = cli_seconds() - start;
    return code;
}

void cli_job_clear(cli_job *job) {
    for (int64_t c = 0; job->result.atoms && c < job->in.measurement.channels; c++)
        csrec_atoms_clear(&job->result.atoms[c]);
    free(job->result.atoms);
    for (int i = 0; i < CLI_OUTPUTS; i++) csrec_file_lock_drop(job->out.locks[i]);
    free(job->in.fill.at);
    free(job->out.fingerprint);
    free(job->out.journal);
    free(job->out.output);
    free(job->out.reference);
    free(job->out.page);
    free(job->out.plot);
    free(job->out.map);
    free(job->out.command);
    csrec_history_destroy(job->result.history);
    csrec_slabs_destroy(job->large.slabs);
    csrec_slab_file_close(job->large.samples);
    free(job->result.signal);
    free(job->result.pairs);
    free(job->result.truth);
    free(job->result.uncertainty);
    free(job->result.simple.signal);
    csrec_model_destroy(job->setup.model);
    csrec_measurement_clear(&job->in.measurement);
}
