/* SPDX-License-Identifier: BSD-3-Clause */
/* noise.c - what the samples themselves say about their noise and gross errors: --sigma,
 * --robust, and hints at them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recover.h"

/* More is not given to a recovery, nor hinted at. */
static const double SIGMA_MOST = 1e300;

int cli_sigma_check(cli_request *request) {
    const char *text = request->a.sigma;
    char *end;
    if (!text || strcmp(text, "auto") == 0) return CLI_CONTINUE;
    request->sigma = strtod(text, &end);
    if (end != text && !*end && request->sigma >= 0.0 && request->sigma <= SIGMA_MOST)
        return CLI_CONTINUE;
    return cli_usage(request->tool, "--sigma: '%s' is neither a number from 0 on nor auto", text);
}

const char *cli_sigma_source(const cli_job *job) {
    if (!job->a->sigma) return job->in.measurement.sigma > 0.0 ? "file" : NULL;
    return strcmp(job->a->sigma, "auto") == 0 ? "estimate" : "option";
}

/* A hint looks at so many samples at most, of the middle: it should cost nothing. */
static csrec_measurement part_of(const csrec_measurement *m) {
    const int64_t most = 1 << 15;
    csrec_measurement part = *m;
    if (m->n <= most) return part;
    int64_t first = (m->n - most) / 2;
    part.n = most;
    part.index += first;
    part.y += first * m->channels;
    return part;
}

/* The order of the others stays; they are no longer those that a pattern draws. */
static void drop_samples(csrec_measurement *m, const uint8_t *outlier) {
    int64_t kept = 0, channels = m->channels;
    for (int64_t i = 0; i < m->n; i++) {
        if (outlier[i]) continue;
        m->index[kept] = m->index[i];
        memmove(m->y + kept * channels, m->y + i * channels, (size_t)channels * sizeof *m->y);
        kept++;
    }
    m->n = kept;
    m->count = 0;
    m->pattern = CSREC_PATTERN_NONE;
}

static csrec_status drop_outliers(cli_job *job, csrec_error *error) {
    csrec_measurement *m = &job->in.measurement;
    uint8_t *outlier = malloc((size_t)m->n);
    if (!outlier) return cli_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status =
        csrec_outliers_find(m, (int)job->a->threads, outlier, &job->in.dropped, error);
    if (!status && !job->a->quiet)
        cli_note(job->tool, "%s: %lld of %lld samples are outliers and not used", job->input,
                 (long long)job->in.dropped, (long long)m->n);
    if (!status && job->in.dropped) drop_samples(m, outlier);
    free(outlier);
    return status;
}

static void suspect_noise(const cli_job *job) {
    const csrec_measurement part = part_of(&job->in.measurement);
    double sigma;
    if (!csrec_noise_likely(&part, &sigma, NULL) && sigma > 0.0 && sigma <= SIGMA_MOST)
        cli_note(job->tool,
                 "note: %s: the samples look noisy (sigma about %.2g); give --sigma auto",
                 job->input, sigma);
}

int cli_job_noise(cli_job *job) {
    csrec_error error;
    csrec_measurement *m = &job->in.measurement;
    const char *source = cli_sigma_source(job);
    csrec_status status = CSREC_OK;
    if (job->a->robust) status = drop_outliers(job, &error);
    if (!status && job->a->sigma) m->sigma = job->request->sigma;
    if (!status && source && strcmp(source, "estimate") == 0)
        status = csrec_noise_estimate(m, &m->sigma, &error);
    if (status) return cli_job_fail(job, "%s: %s", job->input, error.text);
    if (!source && !job->a->quiet && !job->a->labels && cli_job_has_points(job)) suspect_noise(job);
    return CLI_CONTINUE;
}
