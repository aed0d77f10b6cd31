/* SPDX-License-Identifier: BSD-3-Clause */
/* expect.c - the expected errors of a recovery: --uncertainty, the page, the summary,
 * --json. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "recover.h"

/* Seconds that an estimate nobody asked for may take. */
static const double MOST_SECONDS = 1.0;

static bool is_interrupted(const csrec_progress *now, void *context) {
    (void)now;
    (void)context;
    return cli_interrupted();
}

/* Whether someone reads the number, and it is cheap. */
static bool is_worth_it(const cli_job *job) {
    const cli_recover_arguments *a = job->a;
    const csrec_estimate *e = &job->setup.plan.estimate;
    bool read = a->json || a->verbose || (!a->quiet && isatty(STDERR_FILENO));
    double entries =
        (double)cli_signal_values(&job->in.measurement) / (double)job->in.measurement.channels;
    double seconds = 4.0 * e->seconds * fmin(1.0, 65536.0 / entries);
    return read && (job->setup.plan.method.predicts_error || (e->method && seconds < MOST_SECONDS));
}

static void drop_map(cli_result *result) {
    free(result->uncertainty);
    result->uncertainty = NULL;
}

void cli_job_expect(cli_job *job) {
    csrec_error error;
    csrec_recover_options options = job->setup.options;
    bool asked = job->out.map != NULL, shown = asked || job->out.page;
    job->result.expected = NAN;
    /* Without points no sample can be left out to be compared with. */
    if (!cli_job_has_points(job) || !job->result.signal || job->a->labels ||
        job->result.report.outcome == CSREC_INTERRUPTED || cli_interrupted() ||
        (!shown && !is_worth_it(job)))
        return;
    if (shown)
        job->result.uncertainty = malloc((size_t)cli_signal_values(&job->in.measurement) *
                                         sizeof *job->result.uncertainty);
    if (shown && !job->result.uncertainty) {
        cli_result_lose(&job->result, CSREC_MEMORY, "%s: out of memory for the expected errors",
                        job->input);
        return;
    }
    options.history = NULL;
    options.comm = NULL;
    options.solve.progress = is_interrupted;
    double start = cli_seconds();
    csrec_status status = csrec_uncertainty(&job->in.measurement, &options, job->result.signal,
                                            job->result.uncertainty, &job->result.expected, &error);
    job->result.seconds_expected = cli_seconds() - start;
    bool known = !status && !cli_interrupted();
    if (!known) job->result.expected = NAN;
    if (!known || (!asked && !isfinite(job->result.expected)))
        drop_map(&job->result); /* a page goes without it */
    /* too few samples, say, to leave some out */
    if (status && !cli_interrupted() && (asked || status == CSREC_MEMORY))
        cli_result_lose(&job->result, status, "%s: expected errors: %s", job->input, error.text);
}

double cli_job_expected_psnr(const cli_job *job) {
    double peak =
        cli_peak_of(&job->in.tones, cli_signal_values(&job->in.measurement), job->result.signal);
    return 20.0 * log10(peak / job->result.expected);
}

csrec_status cli_job_map(const cli_job *job, csrec_files *files, csrec_error *error) {
    cli_form form = {.tones = {.bits = 8},
                     .dtype = -1,
                     .unknown = 0.0,
                     .channels_first = job->a->channels_first,
                     .colors = cli_colormap_info((int)job->a->colormap),
                     .like = job->input,
                     .placement = &job->in.placement};
    int64_t n = cli_signal_values(&job->in.measurement);
    double *white = &form.tones.scale[1];
    for (int64_t i = 0; i < n; i++) *white = fmax(*white, job->result.uncertainty[i]);
    if (*white == 0.0) *white = 1.0;
    const csrec_format *format = csrec_format_of(job->out.map);
    if (cli_format_has(format, CSREC_USE_TYPES)) form.dtype = CSREC_F32; /* not the samples' */
    return cli_signal_write(files, job->out.map, format, &form, &job->in.measurement,
                            job->result.uncertainty, error);
}
