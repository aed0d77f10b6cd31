/* chart.c - the charts of a recovery: residual, PSNR and levels of atoms; --plot. */
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double (*value_of)(const csrec_history_step *step);

static double residual_of(const csrec_history_step *step) {
    return step->residual;
}

static double psnr_of(const csrec_history_step *step) {
    return step->psnr;
}

/* Leaves out steps whose value is unknown or not finite. */
static bool fill(const csrec_history_step *steps, int64_t n, value_of value, cli_series *series) {
    if (!cli_series_create(series, n)) return false;
    for (int64_t k = 0; k < n; k++) {
        if (!isfinite(value(&steps[k]))) continue;
        series->x[series->n] = (double)steps[k].iteration;
        series->y[series->n++] = value(&steps[k]);
    }
    return true;
}

/* A series for every track with values; the last track, the result, is a horizontal line. */
static bool add_tracks(const csrec_history *history, value_of value, cli_chart *chart) {
    const char *name, *unit;
    const csrec_history_step *steps;
    int64_t n;
    for (int i = 0; csrec_history_track(history, i, &name, &unit, &n, &steps); i++) {
        if (chart->n_series == CLI_SERIES_MOST) return true;
        cli_series *series = &chart->series[chart->n_series++];
        bool result = strcmp(name, "result") == 0;
        if (!fill(steps, n, value, series)) return false;
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
    *chart = (cli_chart){.from_zero = true, .x_label = "iterations"};
    snprintf(chart->title, sizeof chart->title,
             residual ? "Residual at the samples" : "PSNR against the reference");
    snprintf(chart->y_label, sizeof chart->y_label, residual ? "residual / samples" : "PSNR, dB");
    if (!add_tracks(history, residual ? residual_of : psnr_of, chart)) return false;
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

/* ------------------------------------------------------------------ --plot ------------------ */

csrec_status cli_job_plot(const cli_job *job, csrec_files *files, csrec_error *error) {
    const char *path = job->out.plot;
    cli_chart charts[CLI_JOB_LINES + CLI_JOB_CHARTS] = {{.n_series = 0}};
    int n = cli_job_lines(job, charts),
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
