/* SPDX-License-Identifier: BSD-3-Clause */
/* recover.c - recoveries for JavaScript, and what tells of their errors. */
#include "module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In module.js: calls the page's function; not 0: stop. */
extern int web_progress(const char *stage, double done, double total);

static bool report_progress(const csrec_progress *progress, void *context) {
    (void)context;
    return web_progress(progress->stage, (double)progress->done, (double)progress->total) != 0;
}

/* The samples of entries where keep is not 0; NULL: all. index and y, rays and deviation are its
 * own. */
static csrec_status choose(const web_scan *scan, const uint8_t *keep, csrec_measurement *m,
                           csrec_error *error) {
    const csrec_measurement *all = &scan->m;
    const size_t n = (size_t)all->n + 1, channels = (size_t)all->channels;
    *m = *all;
    m->n = 0;
    m->pattern = CSREC_PATTERN_NONE;
    m->index = malloc(n * sizeof *m->index);
    m->y = malloc(n * channels * sizeof *m->y);
    m->rays = all->rays ? malloc(n * sizeof *m->rays) : NULL;
    m->deviation = all->deviation ? malloc(n * channels * sizeof *m->deviation) : NULL;
    if (!m->index || !m->y || (all->rays && !m->rays) || (all->deviation && !m->deviation))
        return web_fail(error, CSREC_MEMORY, "samples: out of memory; use a smaller picture");
    for (int64_t k = 0; k < all->n; k++) {
        if (keep && !keep[all->index[k]]) continue;
        const int64_t to = m->n++;
        m->index[to] = all->index[k];
        memcpy(m->y + to * all->channels, all->y + k * all->channels, channels * sizeof *m->y);
        if (m->rays) m->rays[to] = all->rays[k];
        if (m->deviation)
            memcpy(m->deviation + to * all->channels, all->deviation + k * all->channels,
                   channels * sizeof *m->deviation);
    }
    if (m->n == 0)
        return web_fail(error, CSREC_DATA,
                        "mask: no known value is kept; keep some, as a lower rate of loss does");
    return csrec_measurement_check(m, "samples", error);
}

static void drop(csrec_measurement *m) {
    free(m->index);
    free(m->y);
    free(m->rays);
    free(m->deviation);
}

static csrec_status take_options(const web_options *from, csrec_measurement *m,
                                 csrec_recover_options *to, csrec_error *error) {
    const char *name;
    int i = 0;
    while ((name = csrec_recover_preset(i, NULL, NULL)) && strcmp(name, from->quality) != 0) i++;
    if (!name)
        return web_fail(error, CSREC_ARGUMENT,
                        "quality: '%.40s' is none of fast, balanced, best, max", from->quality);
    if (!isnan(from->sigma)) m->sigma = from->sigma;
    csrec_recover_defaults(to);
    (from->labels ? csrec_labels_preset : csrec_recover_preset)(i, m, to);
    to->labels = from->labels;
    to->range[0] = from->low;
    to->range[1] = from->high;
    to->threads = 1;
    to->solve.progress = report_progress;
    return CSREC_OK;
}

/* signal: [entries * channels]. */
EMSCRIPTEN_KEEPALIVE csrec_status web_recover(const web_scan *scan, const uint8_t *keep,
                                              const web_options *options, double *signal,
                                              web_report *report, csrec_error *error) {
    csrec_measurement m;
    csrec_recover_options own;
    csrec_recover_report told;
    csrec_status status = choose(scan, keep, &m, error);
    if (!status) status = take_options(options, &m, &own, error);
    if (!status) status = csrec_recover(&m, &own, signal, NULL, &told, error);
    if (!status)
        *report = (web_report){.method = told.method,
                               .choice = told.choice,
                               .remark = told.remark,
                               .outcome = csrec_outcome_text(told.outcome),
                               .seconds = told.seconds_total,
                               .samples = (double)m.n,
                               .interrupted = told.outcome == CSREC_INTERRUPTED};
    drop(&m);
    return status;
}

/* Expected errors of a recovery [entries * channels], and their root mean square. */
EMSCRIPTEN_KEEPALIVE csrec_status web_expect(const web_scan *scan, const uint8_t *keep,
                                             const web_options *options, const double *signal,
                                             double *errors, double *expected, csrec_error *error) {
    csrec_measurement m;
    csrec_recover_options own;
    csrec_status status = choose(scan, keep, &m, error);
    if (!status) status = take_options(options, &m, &own, error);
    if (!status) status = csrec_uncertainty(&m, &own, signal, errors, expected, error);
    drop(&m);
    return status;
}

/* Seconds that a recovery would take on the machine whose rates the library has, and bytes. */
EMSCRIPTEN_KEEPALIVE csrec_status web_plan(const web_scan *scan, const uint8_t *keep,
                                           const web_options *options, double plan[2],
                                           csrec_error *error) {
    csrec_measurement m;
    csrec_recover_options own;
    csrec_plan made;
    csrec_status status = choose(scan, keep, &m, error);
    if (!status) status = take_options(options, &m, &own, error);
    if (!status) status = csrec_recover_plan(&m, &own, CSREC_RESULT_SIGNAL, &made, error);
    if (!status) {
        plan[0] = made.estimate.seconds;
        plan[1] = (double)made.estimate.bytes;
    }
    drop(&m);
    return status;
}

static void take_channel(const double *from, int64_t n, int64_t channels, int64_t channel,
                         double *to) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i * channels + channel];
}

/* quality: PSNR in dB of all values, and the mean SSIM of the channels, NaN where there is none, as
 * csrecover --reference prints them. */
EMSCRIPTEN_KEEPALIVE csrec_status web_compare(const web_scan *scan, const double *truth,
                                              const double *signal, double peak, double quality[2],
                                              csrec_error *error) {
    const csrec_measurement *m = &scan->m;
    const int64_t n = web_entries(scan), channels = m->channels;
    double *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b), sum = 0.0;
    csrec_status status = a && b ? CSREC_OK : web_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t c = 0; c < channels && !status; c++) {
        double ssim = NAN;
        take_channel(truth, n, channels, c, a);
        take_channel(signal, n, channels, c, b);
        if (m->shape.dims != 2 ||
            csrec_ssim(m->shape.dim[0], m->shape.dim[1], a, b, peak, &ssim) != CSREC_OK)
            ssim = NAN;
        sum += ssim / (double)channels;
    }
    quality[0] = csrec_psnr(n * channels, truth, signal, peak);
    quality[1] = sum;
    free(a);
    free(b);
    return status;
}

/* The measurement file of the samples that are kept, for csrecover. */
EMSCRIPTEN_KEEPALIVE csrec_status web_save(const web_scan *scan, const uint8_t *keep,
                                           const char *path, csrec_error *error) {
    csrec_measurement m;
    csrec_status status = choose(scan, keep, &m, error);
    if (!status) status = csrec_measurement_write(path, &m, false, error);
    drop(&m);
    return status;
}
