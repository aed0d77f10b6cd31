/* SPDX-License-Identifier: BSD-3-Clause */
/* share.c - recovers inputs with the same sampled positions together, as channels: rows are
 * sorted and trees and operators made once for all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover.h"

/* Whether plans of the same command line for two measurements agree. */
static bool same_plan(const csrec_plan *a, const csrec_plan *b) {
    return a->method.name == b->method.name && a->options.shifts == b->options.shifts &&
           a->options.curve == CSREC_CURVE_NONE && b->options.curve == CSREC_CURVE_NONE &&
           memcmp(a->options.range, b->options.range, sizeof a->options.range) == 0;
}

static bool same_places(const csrec_measurement *a, const csrec_measurement *b) {
    return a->n == b->n && a->sigma == b->sigma && csrec_shape_equal(&a->shape, &b->shape) &&
           memcmp(a->index, b->index, (size_t)a->n * sizeof *a->index) == 0;
}

bool cli_jobs_share(const cli_job *a, const cli_job *b) {
    return cli_job_has_points(a) && cli_job_has_points(b) && !a->setup.model && !a->a->labels &&
           !a->setup.options.memory && !a->result.atoms && !a->result.history && a->result.signal &&
           b->result.signal && a->setup.plan.by_channels &&
           same_plan(&a->setup.plan, &b->setup.plan) &&
           same_places(&a->in.measurement, &b->in.measurement);
}

/* Copies channels first .. first + channels - 1 of `all` to `one`, or back. */
static void move_channels(double *all, int64_t entries, int64_t stride, int64_t first,
                          int64_t channels, double *one, bool out) {
    for (int64_t i = 0; i < entries; i++)
        for (int64_t c = 0; c < channels; c++) {
            double *in_all = all + i * stride + first + c, *in_one = one + i * channels + c;
            *(out ? in_one : in_all) = *(out ? in_all : in_one);
        }
}

static csrec_status recover_together(cli_job *const *jobs, int n, csrec_recover_report *report,
                                     csrec_error *error) {
    csrec_measurement all = jobs[0]->in.measurement;
    csrec_recover_options options = jobs[0]->setup.options;
    int64_t entries = cli_entries(&all), first = 0;
    memcpy(options.range, jobs[0]->setup.plan.options.range, sizeof options.range);
    options.curve = CSREC_CURVE_NONE;
    all.channels = 0;
    for (int k = 0; k < n; k++) all.channels += jobs[k]->in.measurement.channels;
    all.y = malloc((size_t)(all.n * all.channels) * sizeof *all.y);
    double *signal = malloc((size_t)(entries * all.channels) * sizeof *signal);
    csrec_status status =
        all.y && signal ? CSREC_OK : cli_fail(error, CSREC_MEMORY, "out of memory");
    for (int k = 0; k < n && !status; first += jobs[k++]->in.measurement.channels)
        move_channels(all.y, all.n, all.channels, first, jobs[k]->in.measurement.channels,
                      jobs[k]->in.measurement.y, false);
    if (!status) status = csrec_recover(&all, &options, signal, NULL, report, error);
    first = 0;
    for (int k = 0; k < n && !status; first += jobs[k++]->in.measurement.channels)
        move_channels(signal, entries, all.channels, first, jobs[k]->in.measurement.channels,
                      jobs[k]->result.signal, true);
    free(all.y);
    free(signal);
    return status;
}

/* Magnitudes are what is shown and compared. */
static void take_magnitudes(cli_job *job) {
    const int64_t n = cli_signal_values(&job->in.measurement);
    for (int64_t i = 0; i < n && job->result.pairs; i++)
        job->result.signal[i] = hypot(job->result.pairs[2 * i], job->result.pairs[2 * i + 1]);
}

static void take_quality(cli_job *job) {
    if (!job->result.truth ||
        !cli_quality_of(&job->in.measurement, &job->in.tones, job->result.truth, job->result.signal,
                        &job->result.quality))
        return;
    job->result.quality = (cli_quality){NAN, NAN, NAN, NAN};
    cli_result_lose(&job->result, CSREC_MEMORY, "%s: out of memory for the comparison",
                    job->out.reference);
}

/* Every recovery has a track. */
static void check_history(cli_job *job) {
    const char *name, *unit;
    const csrec_history_step *steps;
    int64_t n;
    if (job->result.history &&
        !csrec_history_track(job->result.history, 0, &name, &unit, &n, &steps))
        cli_result_lose(&job->result, CSREC_MEMORY, "%s: out of memory for the history",
                        job->input);
}

/* A note at a terminal before long work. */
static void announce(const cli_job *job) {
    enum { LONG = 10 };
    const csrec_estimate *e = &job->setup.plan.estimate;
    if (job->a->quiet || !isatty(STDERR_FILENO)) return;
    if (!e->method || e->seconds < LONG || e->bytes > e->memory) return;
    cli_note(job->tool, "%s: about %.0f s and %.0f MiB expected%s", job->input, e->seconds,
             (double)e->bytes / 1048576.0, e->tiles > 1 ? ", in tiles" : "");
}

static csrec_status take_all(cli_job *job, csrec_error *error) {
    take_magnitudes(job);
    take_quality(job);
    check_history(job);
    cli_job_expect(job);
    return cli_job_leave(job, error);
}

int cli_jobs_recover(cli_job *const *jobs, int n) {
    csrec_error error;
    cli_job *one = jobs[0];
    announce(one);
    if (one->large.on) { /* recovered while it is written */
        one->result.expected = NAN;
        one->result.shared = 1;
        return CLI_CONTINUE;
    }
    csrec_recover_report report;
    csrec_status status =
        n > 1 ? recover_together(jobs, n, &report, &error)
              : csrec_recover(&one->in.measurement, &one->setup.options,
                              one->result.pairs ? one->result.pairs : one->result.signal,
                              one->result.atoms, &report, &error);
    cli_progress_finish(one->progress);
    int code = CLI_CONTINUE;
    for (int k = 0; k < n; k++) {
        int own =
            status ? cli_job_fail(jobs[k], "%s: %s", jobs[k]->input, error.text) : CLI_CONTINUE;
        jobs[k]->result.report = report;
        jobs[k]->result.shared = n;
        if (csrec_comm_rank(one->setup.options.comm) > 0) continue; /* rank 0 has the signal */
        if (own == CLI_CONTINUE && take_all(jobs[k], &error))
            own = cli_job_fail(jobs[k], "%s: %s", jobs[k]->input, error.text);
        if (own != CLI_CONTINUE) code = own;
    }
    return code;
}
