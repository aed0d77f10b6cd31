/* lines.c - charts of a signal along its last axis: the values, and the errors. Of a signal
 * of several axes they show the line in the middle. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "page.h"

enum { POINTS = 400 };

/* Axes reach so far: differences of such values, and rounder numbers above them, are finite. */
static const double MOST = 1e300;

static cli_series *add_series(cli_chart *chart, const char *name) {
    cli_series *series = &chart->series[chart->n_series++];
    snprintf(series->name, sizeof series->name, "%s", name);
    return cli_series_create(series, POINTS) ? series : NULL;
}

static void add_point(cli_series *series, int64_t x, double y) {
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

int cli_job_lines(const cli_job *job, cli_chart charts[CLI_JOB_LINES]) {
    int n = 1 + (job->result.truth || job->result.uncertainty);
    bool made = make_values(job, &charts[0]) && (n == 1 || make_errors(job, &charts[1]));
    if (made) return n;
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
    int n = cli_job_lines(p->job, charts);
    if (n < 0) return cli_page_no_memory(p);
    fputs("<div class=\"charts\">\n", p->file);
    for (int i = 0; i < n; i++) {
        cli_page_chart(p, &charts[i], false);
        cli_chart_clear(&charts[i]);
    }
    fputs("</div>\n", p->file);
    return CSREC_OK;
}
