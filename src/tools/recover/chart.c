/* SPDX-License-Identifier: BSD-3-Clause */
/* chart.c - the charts of a recovery: residual, PSNR and levels of atoms; the signal along its last
 * axis, values and errors, of several axes the line in the middle; --plot. */
#include "page.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Residual or PSNR, without steps where it is unknown or not finite. */
static bool fill(const csrec_history_step *steps, int64_t n, bool residual, cli_series *series) {
    if (!cli_series_create(series, n)) return false;
    for (int64_t k = 0; k < n; k++) {
        const double value = residual ? steps[k].residual : steps[k].psnr;
        if (!isfinite(value)) continue;
        series->x[series->n] = (double)steps[k].iteration;
        series->y[series->n++] = value;
    }
    return true;
}

/* A series for every track with values; the last track, the result, is a horizontal line. */
static bool add_tracks(const csrec_history *history, bool residual, cli_chart *chart) {
    const char *name, *unit;
    const csrec_history_step *steps;
    int64_t n;
    for (int i = 0; csrec_history_track(history, i, &name, &unit, &n, &steps); i++) {
        if (chart->n_series == CLI_SERIES_MOST) return true;
        cli_series *series = &chart->series[chart->n_series++];
        bool result = strcmp(name, "result") == 0;
        if (!fill(steps, n, residual, series)) return false;
        series->level = result && i > 0;
        snprintf(series->name, sizeof series->name, "%s", name);
        if (!result)
            snprintf(chart->x_label, sizeof chart->x_label, "%s%s", unit,
                     strcmp(unit, "pass") == 0 ? "es" : "s");
        if (series->n > 0) continue;
        chart->n_series--;
        cli_series_clear(series);
    }
    return true;
}

static void choose_axes(bool residual, cli_chart *chart) {
    double least = INFINITY, most = 0.0, last = 1.0;
    for (int s = 0; s < chart->n_series; s++)
        for (int64_t i = 0; i < chart->series[s].n; i++) {
            least = fmin(least, chart->series[s].y[i]);
            most = fmax(most, chart->series[s].y[i]);
            if (!chart->series[s].level) last = fmax(last, chart->series[s].x[i]);
        }
    chart->log_x = last > 100.0;
    chart->log_y = residual && least > 0.0 && most > 10.0 * least;
    if (chart->log_x) strcat(chart->x_label, ", log scale");
    if (chart->log_y) strcat(chart->y_label, ", log scale");
}

/* A result with the samples put back has no residual, so it is left out. */
static void drop_zero_result(cli_chart *chart) {
    cli_series *last = &chart->series[chart->n_series - 1];
    if (chart->n_series < 2 || !last->level || last->y[0] > 0.0) return;
    cli_series_clear(last);
    chart->n_series--;
}

/* Samples are put back in every step. */
static bool is_zero(const cli_chart *chart) {
    for (int s = 0; s < chart->n_series; s++)
        for (int64_t i = 0; i < chart->series[s].n; i++)
            if (chart->series[s].y[i] != 0.0) return false;
    return true;
}

static bool make_curves(const csrec_history *history, bool residual, cli_chart *chart) {
    *chart = (cli_chart){.x_label = "iterations"};
    snprintf(chart->title, sizeof chart->title,
             residual ? "Residual at the samples" : "PSNR against the reference");
    snprintf(chart->y_label, sizeof chart->y_label, residual ? "residual / samples" : "PSNR, dB");
    if (!add_tracks(history, residual, chart)) return false;
    if (chart->n_series > 0) drop_zero_result(chart);
    choose_axes(residual, chart);
    if (residual && is_zero(chart)) cli_chart_clear(chart);
    return true;
}

static bool make_levels(const csrec_history *history, cli_chart *chart) {
    int64_t count[64];
    int levels = csrec_history_levels(history, count);
    *chart = (cli_chart){.bars = true, .title = "Atoms by level"};
    if (levels == 0) return true;
    cli_series *series = &chart->series[chart->n_series++];
    snprintf(chart->x_label, sizeof chart->x_label, "k: blocks of 2^k, 0: the mean");
    snprintf(chart->y_label, sizeof chart->y_label, "atoms");
    snprintf(series->name, sizeof series->name, "atoms");
    if (!cli_series_create(series, levels + 1)) return false;
    for (int k = 0; k <= levels; k++) {
        series->x[series->n] = k;
        series->y[series->n++] = (double)count[k];
    }
    return true;
}

int cli_result_charts(const cli_result *result, cli_chart charts[CLI_JOB_CHARTS]) {
    int n = 0;
    for (int i = 0; i < CLI_JOB_CHARTS; i++) {
        cli_chart *chart = &charts[n++];
        bool made = i < 2 ? make_curves(result->history, i == 0, chart)
                          : make_levels(result->history, chart);
        if (!made) {
            while (n > 0) cli_chart_clear(&charts[--n]);
            return -1;
        }
        if (chart->n_series == 0) cli_chart_clear(&charts[--n]);
    }
    return n;
}

enum { POINTS = 400 };

/* Axes reach so far: differences of such values, and rounder numbers above them, are finite. */
static const double MOST = 1e300;

static cli_series *add_series(cli_chart *chart, const char *name) {
    cli_series *series = &chart->series[chart->n_series++];
    snprintf(series->name, sizeof series->name, "%s", name);
    return cli_series_create(series, POINTS) ? series : NULL;
}

static void add_point(cli_series *series, int64_t x, double y) {
    if (isnan(y)) return; /* not measured */
    series->x[series->n] = (double)x;
    series->y[series->n++] = fmin(fmax(y, -MOST), MOST);
}

/* Entries or samples behind a point of a chart. */
static int64_t step_of(int64_t n) {
    return (n + POINTS - 1) / POINTS;
}

/* The first entry of the line. */
static int64_t base_of(const csrec_shape *shape) {
    int64_t base = 0, stride = shape->dim[shape->dims - 1];
    for (int a = shape->dims - 2; a >= 0; stride *= shape->dim[a--])
        base += shape->dim[a] / 2 * stride;
    return base;
}

static int64_t length_of(const csrec_shape *shape) {
    return shape->dim[shape->dims - 1];
}

static bool add_samples(const cli_job *job, cli_chart *chart) {
    const csrec_measurement *m = &job->in.measurement;
    const int64_t base = base_of(&m->shape), n = length_of(&m->shape);
    int64_t here = 0, met = 0;
    cli_series *series = add_series(chart, "samples");
    if (!series) return false;
    series->dots = true;
    for (int64_t i = 0; i < m->n; i++) here += m->index[i] >= base && m->index[i] < base + n;
    for (int64_t i = 0; i < m->n; i++)
        if (m->index[i] >= base && m->index[i] < base + n && met++ % step_of(here) == 0)
            add_point(series, m->index[i] - base, m->y[i * m->channels]);
    if (here > 0) return true;
    cli_series_clear(series);
    chart->n_series--;
    return true;
}

static bool add_values(const cli_job *job, const char *name, const double *signal,
                       cli_chart *chart) {
    const int64_t base = base_of(&job->in.measurement.shape),
                  n = length_of(&job->in.measurement.shape);
    if (!signal) return true;
    cli_series *series = add_series(chart, name);
    if (!series) return false;
    series->plain = n > 1;
    for (int64_t i = 0; i < n; i += step_of(n))
        add_point(series, i, signal[(base + i) * job->in.measurement.channels]);
    return true;
}

/* Root mean squares of a - b, b NULL: of a, over the entries of a point and all channels. */
static bool add_errors(const cli_job *job, const char *name, const double *a, const double *b,
                       cli_chart *chart) {
    const int64_t base = base_of(&job->in.measurement.shape),
                  n = length_of(&job->in.measurement.shape), step = step_of(n);
    int64_t channels = job->in.measurement.channels;
    if (!a) return true;
    cli_series *series = add_series(chart, name);
    if (!series) return false;
    series->plain = n > 1;
    for (int64_t i = 0; i < n; i += step) {
        int64_t first = (base + i) * channels;
        int64_t end = (base + (i + step < n ? i + step : n)) * channels;
        double root = sqrt((double)(end - first)), mean = 0.0;
        for (int64_t k = first; k < end; k++) {
            double error = fmin(fabs(a[k] - (b ? b[k] : 0.0)), DBL_MAX);
            mean = fmin(hypot(mean, error / root), DBL_MAX); /* finite, also of 1e308 */
        }
        add_point(series, i, mean);
    }
    return true;
}

/* "Signal", or which line and channel of it. */
static void set_title(const csrec_measurement *m, const char *what, bool one_channel,
                      cli_chart *chart) {
    bool line = m->shape.dims > 1;
    bool channel = one_channel && m->channels > 1;
    snprintf(chart->title, sizeof chart->title, "%s%s%s", what, line ? ", the middle line" : "",
             channel ? ", first channel" : "");
}

static bool make_values(const cli_job *job, cli_chart *chart) {
    *chart = (cli_chart){.x_label = "position", .y_label = "value"};
    set_title(&job->in.measurement, "Signal", true, chart);
    return (!cli_job_has_points(job) || add_samples(job, chart)) &&
           add_values(job, "reference", job->result.truth, chart) &&
           add_values(job, cli_simple_name(job), job->result.simple.signal, chart) &&
           add_values(job, "recovery", job->result.signal, chart);
}

static bool make_errors(const cli_job *job, cli_chart *chart) {
    *chart =
        (cli_chart){.x_label = "position", .y_label = "units of the samples", .from_zero = true};
    set_title(&job->in.measurement, "Error, root mean square", false, chart);
    return add_errors(job, "true", job->result.truth ? job->result.signal : NULL, job->result.truth,
                      chart) &&
           add_errors(job, "expected", job->result.uncertainty, NULL, chart);
}

/* The charts, samples, reference and recovery, and true and expected errors, if any are known; as
 * cli_result_charts. */
static int make_lines(const cli_job *job, cli_chart charts[CLI_JOB_LINES]) {
    int n = 1 + (job->result.truth || job->result.uncertainty);
    if (make_values(job, &charts[0]) && (n == 1 || make_errors(job, &charts[1]))) return n;
    while (n > 0) cli_chart_clear(&charts[--n]);
    return -1;
}

csrec_status cli_page_lines(const cli_page *p) {
    cli_chart charts[CLI_JOB_LINES] = {{.n_series = 0}};
    int64_t step = step_of(length_of(&p->job->in.measurement.shape));
    if (step > 1)
        fprintf(p->file,
                "<p>A point of the charts stands for %lld entries: the first, of errors their root "
                "mean square.</p>\n",
                (long long)step);
    int n = make_lines(p->job, charts);
    if (n < 0) return cli_page_no_memory(p);
    fputs("<div class=\"charts\">\n", p->file);
    for (int i = 0; i < n; i++) {
        cli_page_chart(p, &charts[i], NULL);
        cli_chart_clear(&charts[i]);
    }
    fputs("</div>\n", p->file);
    cli_page_scores(p);
    return CSREC_OK;
}

csrec_status cli_job_plot(void *context, csrec_files *files, csrec_error *error) {
    const cli_job *job = context;
    const char *path = job->out.plot;
    cli_chart charts[CLI_JOB_LINES + CLI_JOB_CHARTS] = {{.n_series = 0}};
    int n = make_lines(job, charts),
        more = n < 0 ? -1 : cli_result_charts(&job->result, charts + n);
    csrec_status status = CSREC_MEMORY;
    cli_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    if (more >= 0) {
        n += more;
        status = cli_charts_add(files, path, charts, n, 1, job->input, job->out.fingerprint, error);
    }
    while (n > 0) cli_chart_clear(&charts[--n]);
    return status;
}
