/* SPDX-License-Identifier: BSD-3-Clause */
/* compare.c - what a page shows the recovery beside: interpolation of the same samples; how the
 * errors of both are distributed; and the window in which the recovery is worst. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

const char *cli_simple_name(const cli_job *job) {
    return job->in.measurement.shape.dims == 1 ? "linear interpolation" : "interpolation";
}

const char *cli_simple_words(const cli_job *job) {
    return job->in.measurement.shape.dims == 1
               ? "straight lines between the samples"
               : "every value that is not known is the mean of its neighbours";
}

/* About a second for a million values; of larger signals the page goes without it. */
static bool is_comparable(const cli_job *job) {
    return job->out.page && job->result.signal && cli_job_has_points(job) && !job->a->labels &&
           !cli_job_is_empty(job) && !cli_interrupted() &&
           job->result.report.outcome != CSREC_INTERRUPTED &&
           cli_signal_values(&job->in.measurement) <= (int64_t)1 << 22;
}

/* Linear of one axis, harmonic of more: what a reader would do without this program. */
static csrec_status interpolate(const cli_job *job, const csrec_measurement *m, cli_simple *simple,
                                csrec_error *error) {
    const csrec_recover_options *own = &job->setup.options;
    csrec_setting kind = {"kind", 1.0};
    csrec_recover_options options;
    csrec_recover_report report;
    csrec_recover_defaults(&options);
    options.method = "smooth";
    options.solve.settings = &kind;
    options.solve.n_settings = 1;
    options.solve.progress = cli_is_interrupted;
    /* The result does not depend on it; threads of a busy machine wait for each other. */
    options.threads = cli_signal_values(m) < 1 << 18 ? 1 : own->threads;
    options.memory = own->memory;
    options.times = own->times;
    memcpy(options.range, own->range, sizeof options.range);
    csrec_status status = csrec_recover(m, &options, simple->signal, NULL, &report, error);
    if (!status && report.outcome == CSREC_INTERRUPTED) status = CSREC_STOPPED;
    if (status) return status;
    /* Of fewer samples, of which a quarter is left out, expectations would not be scaled; and
     * beside holes among known values those that are left out are nearer to others than the holes
     * are. */
    const bool scattered = 2 * m->n <= cli_entries(m) && job->in.doubts.unreached == 0.0;
    if (m->n >= 64 && scattered)
        status = csrec_uncertainty(m, &options, simple->signal, NULL, &simple->expected, error);
    if (status) simple->expected = NAN;
    return status == CSREC_MEMORY ? status : CSREC_OK;
}

void cli_job_compare(cli_job *job) {
    cli_simple *simple = &job->result.simple;
    csrec_error error;
    if (!is_comparable(job)) return;
    csrec_measurement m = job->in.measurement; /* without what interpolation does not use */
    m.guides = NULL;
    m.sequence = false;
    const double start = cli_seconds();
    *simple = (cli_simple){.expected = NAN, .quality = {NAN, NAN, NAN, NAN, 0.0}};
    simple->signal = malloc((size_t)cli_signal_values(&m) * sizeof *simple->signal);
    csrec_status status = simple->signal ? interpolate(job, &m, simple, &error) : CSREC_MEMORY;
    if (!status && cli_job_leaves(job))
        status = csrec_signal_leave(&m, &job->in.fill, simple->signal, &(int64_t){0}, &error);
    if (!status && job->result.truth)
        status = cli_quality_of(&m, &job->in.tones, job->result.truth, simple->signal,
                                cli_job_leaves(job), &simple->quality);
    simple->seconds = cli_seconds() - start;
    if (!status && !cli_interrupted()) return;
    free(simple->signal);
    simple->signal = NULL;
    if (status == CSREC_MEMORY)
        cli_result_lose(&job->result, status, "%s: out of memory for its report", job->input);
}

enum { BINS = 40 };

/* Counts of values from `low` on, in bins of a width. */
typedef struct bins {
    double low, width;
    int64_t count[BINS], all, beyond;
} bins;

static void count(bins *b, double value) {
    const double at = floor((value - b->low) / b->width);
    if (isnan(value)) return;
    b->all++;
    if (at >= 0.0 && at < BINS)
        b->count[(int)at]++;
    else
        b->beyond++;
}

static bool add_bins(const bins *b, const char *name, cli_chart *chart) {
    cli_series *series = &chart->series[chart->n_series++];
    snprintf(series->name, sizeof series->name, "%s", name);
    if (!cli_series_create(series, BINS)) return false;
    series->plain = true;
    for (int k = 0; k < BINS; k++) {
        if (b->count[k] == 0 && chart->log_y) continue;
        series->x[series->n] = b->low + (k + 0.5) * b->width;
        series->y[series->n++] = 100.0 * (double)b->count[k] / fmax((double)b->all, 1.0);
    }
    return true;
}

/* [entries], 1 where a sample is; NULL: out of memory. */
static uint8_t *sampled_of(const cli_job *job) {
    const csrec_measurement *m = &job->in.measurement;
    uint8_t *sampled = calloc((size_t)cli_entries(m), 1);
    for (int64_t i = 0; sampled && cli_job_has_points(job) && i < m->n; i++)
        sampled[m->index[i]] = 1;
    return sampled;
}

/* Of a - b, or of a alone if b is NULL, where nothing was sampled. */
static bins bins_of(const cli_job *job, const uint8_t *sampled, const double *a, const double *b,
                    double low, double width) {
    const int64_t channels = job->in.measurement.channels;
    bins made = {.low = low, .width = width};
    for (int64_t i = 0; i < cli_signal_values(&job->in.measurement); i++)
        if (!sampled[i / channels]) count(&made, a[i] - (b ? b[i] : 0.0));
    return made;
}

/* Four times the root mean square, to both sides. */
static double reach_of(const cli_job *job, const uint8_t *sampled) {
    const cli_result *r = &job->result;
    const int64_t n = cli_signal_values(&job->in.measurement);
    double sum = 0.0, most = 0.0, known = 0.0;
    for (int64_t i = 0; i < n; i++)
        if (!sampled[i / job->in.measurement.channels] && !isnan(r->signal[i]))
            most = fmax(most, fabs(r->signal[i] - r->truth[i]));
    for (int64_t i = 0; i < n && most > 0.0; i++)
        if (!sampled[i / job->in.measurement.channels] && !isnan(r->signal[i])) {
            const double share = (r->signal[i] - r->truth[i]) / most;
            sum += share * share;
            known++;
        }
    return known > 0.0 ? fmin(4.0 * sqrt(sum / known), 1.0) * most : 0.0;
}

/* Neither no width, nor at the ends of what numbers can say. */
static bool is_drawable(double width) {
    return width > 1e-300 && width < 1e300;
}

static bool make_errors(const cli_job *job, const uint8_t *sampled, cli_chart *chart,
                        double *beyond) {
    const cli_result *r = &job->result;
    const double reach = reach_of(job, sampled), width = 2.0 * reach / BINS;
    *chart = (cli_chart){.title = "Errors",
                         .x_label = "recovered less reference",
                         .y_label = "% of the values, log scale",
                         .log_y = true,
                         .fractions = true};
    if (cli_job_has_points(job)) strcat(chart->title, " where nothing was sampled");
    if (!is_drawable(width)) return true;
    const bins own = bins_of(job, sampled, r->signal, r->truth, -reach, width);
    *beyond = 100.0 * (double)own.beyond / fmax((double)own.all, 1.0);
    if (!add_bins(&own, "recovery", chart)) return false;
    if (!r->simple.signal) return true;
    const bins other = bins_of(job, sampled, r->simple.signal, r->truth, -reach, width);
    return add_bins(&other, cli_simple_name(job), chart);
}

/* Of integers a bin has whole numbers only, so that all bins have as many. */
static bool make_values(const cli_job *job, const uint8_t *sampled, cli_chart *chart) {
    const csrec_measurement *m = &job->in.measurement;
    double low, high;
    *chart = (cli_chart){.title = "Values of the samples and of the rest",
                         .x_label = "value",
                         .y_label = "% of the values",
                         .from_zero = true,
                         .fractions = true};
    cli_job_range(job, &low, &high);
    for (int64_t i = 0; i < cli_signal_values(m); i++) {
        low = fmin(low, job->result.signal[i]);
        high = fmax(high, job->result.signal[i]);
    }
    bins samples = {.low = low, .width = (high - low) / BINS * (1.0 + 1e-9)};
    if (m->dtype < CSREC_F32) {
        samples.low = floor(low) - 0.5;
        samples.width = ceil((high - low + 1.0) / BINS);
    }
    if (!is_drawable(samples.width)) return true;
    const bins rest = bins_of(job, sampled, job->result.signal, NULL, samples.low, samples.width);
    for (int64_t i = 0; i < m->n * m->channels && cli_job_has_points(job); i++)
        count(&samples, m->y[i]);
    return (samples.all == 0 || add_bins(&samples, "samples", chart)) &&
           (rest.all == 0 || add_bins(&rest, "recovered", chart));
}

bool cli_page_histogram(const cli_job *job, cli_chart *chart, double *beyond) {
    uint8_t *sampled = job->a->labels ? NULL : sampled_of(job);
    *chart = (cli_chart){.n_series = 0};
    *beyond = 0.0;
    if (job->a->labels) return true;
    const bool made = sampled && (job->result.truth ? make_errors(job, sampled, chart, beyond)
                                                    : make_values(job, sampled, chart));
    free(sampled);
    if (!made) cli_chart_clear(chart);
    return made;
}

/* A sum of squares, by sums over all that is above and to the left. */
static double sum_of(const double *sums, int64_t stride, int64_t y, int64_t x, int64_t side) {
    const double *top = sums + y * stride + x, *bottom = top + side * stride;
    return bottom[side] - bottom[0] - top[side] + top[0];
}

static void find(const double *sums, int64_t height, int64_t width, cli_window *window) {
    const int64_t side = window->side;
    double most = -1.0;
    for (int64_t y = 0; y + side <= height; y++)
        for (int64_t x = 0; x + side <= width; x++) {
            const double sum = sum_of(sums, width + 1, y, x, side);
            if (!(sum > most)) continue;
            most = sum;
            window->row = y;
            window->column = x;
        }
}

/* errors: a plane of one channel. */
static csrec_status find_in(const cli_plane *errors, cli_window *window) {
    const int64_t height = errors->height, width = errors->width, stride = width + 1;
    double largest = 0.0;
    double *sums = calloc((size_t)(height + 1) * (size_t)stride, sizeof *sums);
    if (!sums) return CSREC_MEMORY;
    for (int64_t k = 0; k < height * width; k++) largest = fmax(largest, errors->value[k]);
    for (int64_t y = 0; y < height && largest > 0.0; y++)
        for (int64_t x = 0; x < width; x++) {
            const double share = errors->value[y * width + x] / largest;
            double *to = sums + (y + 1) * stride + x + 1;
            *to = share * share + to[-1] + to[-stride] - to[-stride - 1];
        }
    find(sums, height, width, window);
    const double own = sum_of(sums, stride, window->row, window->column, window->side);
    const double pixels = (double)(window->side * window->side);
    window->error = largest * sqrt(fmax(own, 0.0) / pixels);
    window->all = largest * sqrt(sums[(height + 1) * stride - 1] / (double)(height * width));
    free(sums);
    return CSREC_OK;
}

csrec_status cli_page_worst(const cli_job *job, const cli_view *view, cli_window *window) {
    enum { LEAST = 8, MOST = 48 };
    const cli_result *r = &job->result;
    const int64_t shorter = view->height < view->width ? view->height : view->width;
    cli_view whole = *view;
    cli_plane errors;
    *window = (cli_window){.side = shorter / 4 < MOST ? shorter / 4 : MOST};
    if (window->side < LEAST || !(r->truth || r->uncertainty)) return CSREC_OK;
    whole.factor = 1;
    CLI_TRY(cli_plane_errors(&job->in.measurement, &whole, r->truth ? r->signal : r->uncertainty,
                             r->truth, &errors));
    csrec_status status = find_in(&errors, window);
    cli_plane_clear(&errors);
    return status;
}
