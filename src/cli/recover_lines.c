/* recover_lines.c - charts of a signal of one axis: the values, and the errors. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "recover_page.h"

enum { POINTS = 400 };

static cli_series *add_series(cli_chart *chart, const char *name) {
    cli_series *series = &chart->series[chart->n_series++];
    snprintf(series->name, sizeof series->name, "%s", name);
    return cli_series_create(series, POINTS) ? series : NULL;
}

static void add_point(cli_series *series, int64_t x, double y) {
    series->x[series->n] = (double)x;
    series->y[series->n++] = y;
}

/* Entries or samples behind a point of a chart. */
static int64_t step_of(int64_t n) {
    return (n + POINTS - 1) / POINTS;
}

static bool add_samples(const cli_job *job, cli_chart *chart) {
    const csrec_measurement *m = &job->measurement;
    cli_series *series = add_series(chart, "samples");
    if (!series) return false;
    series->dots = true;
    for (int64_t i = 0; i < m->n; i += step_of(m->n))
        add_point(series, m->index[i], m->y[i * m->channels]);
    return true;
}

static bool add_values(const cli_job *job, const char *name, const double *signal,
                       cli_chart *chart) {
    int64_t n = job->measurement.shape.dim[0];
    if (!signal) return true;
    cli_series *series = add_series(chart, name);
    if (!series) return false;
    series->plain = true;
    for (int64_t i = 0; i < n; i += step_of(n))
        add_point(series, i, signal[i * job->measurement.channels]);
    return true;
}

/* Root mean squares of a - b, b NULL: of a, over the entries of a point and all channels. */
static bool add_errors(const cli_job *job, const char *name, const double *a, const double *b,
                       cli_chart *chart) {
    int64_t n = job->measurement.shape.dim[0], step = step_of(n);
    int64_t channels = job->measurement.channels;
    cli_series *series = add_series(chart, name);
    if (!series) return false;
    series->plain = true;
    for (int64_t i = 0; i < n; i += step) {
        int64_t end = (i + step < n ? i + step : n) * channels;
        double root = sqrt((double)(end - i * channels)), mean = 0.0;
        for (int64_t k = i * channels; k < end; k++) {
            double error = fmin(fabs(a[k] - (b ? b[k] : 0.0)), DBL_MAX);
            mean = fmin(hypot(mean, error / root), DBL_MAX); /* finite, also of 1e308 */
        }
        add_point(series, i, mean);
    }
    return true;
}

/* Clears the chart. */
static csrec_status put(const cli_page *p, bool made, cli_chart *chart) {
    if (made) cli_page_chart(p, chart, false);
    cli_chart_clear(chart);
    return made ? CSREC_OK : cli_page_no_memory(p);
}

static csrec_status put_values(const cli_page *p) {
    const cli_job *job = p->job;
    cli_chart chart = {.title = "Signal", .x_label = "position", .y_label = "value"};
    bool made = (!cli_job_has_points(job) || add_samples(job, &chart)) &&
                add_values(job, "reference", job->truth, &chart) &&
                add_values(job, "recovery", job->signal, &chart);
    return put(p, made, &chart);
}

static csrec_status put_errors(const cli_page *p) {
    const cli_job *job = p->job;
    cli_chart chart = {.title = "Error, root mean square",
                       .x_label = "position",
                       .y_label = "units of the samples",
                       .from_zero = true};
    if (!job->truth && !job->uncertainty) return CSREC_OK;
    bool made = !job->truth || add_errors(job, "true", job->signal, job->truth, &chart);
    if (made && job->uncertainty)
        made = add_errors(job, "expected", job->uncertainty, NULL, &chart);
    return put(p, made, &chart);
}

csrec_status cli_page_lines(const cli_page *p) {
    int64_t step = step_of(p->job->measurement.shape.dim[0]);
    if (step > 1)
        fprintf(p->file,
                "<p>A point of the charts stands for %lld entries: the first, of errors their root "
                "mean square.</p>\n",
                (long long)step);
    fputs("<div class=\"charts\">\n", p->file);
    csrec_status status = put_values(p);
    if (!status) status = put_errors(p);
    fputs("</div>\n", p->file);
    return status;
}
