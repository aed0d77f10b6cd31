/* SPDX-License-Identifier: BSD-3-Clause */
/* chart.c - axes, ticks, curves, bars and legends; charts side by side as a file, SVG or pixels. */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fingerprint.h"

const double cli_chart_width = 420.0, cli_chart_height = 300.0;

/* TOP: of the title and the vertical label; the legend is below, with rows of height ROW. */
enum { LEFT = 56, RIGHT = 28, TOP = 52, BOTTOM = 44, ROW = 18, TICKS = 24 };

/* Width of a character, about, and of the line of a legend; the base of a number below the axis,
 * so far that it is below the lowest number beside it. */
static const double LETTER = 7.5, LINE = 24.0, BELOW = 18.0;

/* One direction of the chart: values become positions. */
typedef struct axis {
    double low, high;       /* values at the ends, or their logarithms */
    double at_low, at_high; /* positions */
    bool logarithmic;
    double tick[TICKS]; /* values */
    int ticks;
} axis;

static double place(const axis *a, double value) {
    double v = a->logarithmic ? log10(value) : value;
    return a->at_low + (a->at_high - a->at_low) * (v - a->low) / (a->high - a->low);
}

static bool add_tick(axis *a, double value) {
    if (a->ticks == TICKS) return false;
    a->tick[a->ticks++] = value;
    return true;
}

/* whole: ticks at whole numbers only. */
static void set_linear(axis *a, int count, bool whole) {
    /* 1, 2 or 5 times a power of ten, so that there are about `count` steps. */
    double raw = (a->high - a->low) / count, power = pow(10.0, floor(log10(raw))),
           share = raw / power;
    double step = power * (share <= 1.0 ? 1.0 : share <= 2.0 ? 2.0 : share <= 5.0 ? 5.0 : 10.0);
    if (whole) step = fmax(step, 1.0);
    a->low = step * floor(a->low / step + 1e-9);
    a->high = step * ceil(a->high / step - 1e-9);
    for (double k = round(a->low / step); k * step <= a->high + 0.5 * step; k++)
        if (!add_tick(a, k * step)) return;
}

/* Powers of ten, with 2 and 5 between where there are few of them. */
static void set_logarithmic(axis *a, int count) {
    double span = a->high - a->low, every = ceil(span / count);
    if (every < 1.0) every = 1.0;
    for (double d = floor(a->low); d <= a->high + 1e-9; d += every)
        for (int k = 0; k < (span < 2.5 ? 3 : 1); k++) {
            double value = (k == 0 ? 1.0 : k == 1 ? 2.0 : 5.0) * pow(10.0, d), v = log10(value);
            if (v >= a->low - 1e-9 && v <= a->high + 1e-9 && !add_tick(a, value)) return;
        }
}

/* All values are the same, but for rounding: a range around them that does not magnify it. */
static void widen(axis *a) {
    double most = fmax(fabs(a->low), fabs(a->high));
    if (a->high - a->low > 1e-6 * most) return;
    double margin = a->logarithmic ? 0.3 : 0.5 * most;
    a->low -= margin;
    a->high += margin > 0.0 ? margin : 1.0;
}

static void set_range(const cli_chart *chart, bool vertical, axis *a) {
    bool first = true;
    a->high = 1.0;
    if (chart->unit) return;
    a->logarithmic = vertical ? chart->log_y : chart->log_x;
    for (int s = 0; s < chart->n_series; s++) {
        const cli_series *series = &chart->series[s];
        for (int64_t i = 0; i < series->n; i++) {
            if (!vertical && series->level) continue;
            double value = vertical ? series->y[i] : series->x[i];
            if (a->logarithmic) value = log10(value);
            a->low = first ? value : fmin(a->low, value);
            a->high = first ? value : fmax(a->high, value);
            first = false;
        }
    }
    if (vertical && (chart->bars || chart->from_zero) && !a->logarithmic) {
        a->low = fmin(a->low, 0.0);
        a->high = fmax(a->high, 0.0);
    }
    if (chart->bars && !vertical) {
        a->low -= 0.6;
        a->high += 0.6;
    }
    widen(a);
}

static void put_number(char *text, size_t size, double value) {
    double magnitude = fabs(value);
    if (magnitude > 0.0 && (magnitude >= 1e6 || magnitude < 1e-3))
        snprintf(text, size, "%.3g", value);
    else
        snprintf(text, size, "%.6g", fabs(value) < 1e-12 ? 0.0 : value);
}

static void draw_axes(const cli_chart *chart, cli_canvas *canvas, const axis *x, const axis *y) {
    char number[32];
    double end = 0.0; /* of the last number below the axis: the next that it meets is left out */
    for (int k = 0; k < y->ticks; k++) {
        double at = place(y, y->tick[k]);
        canvas->line(canvas, (double[]){x->at_low, at}, (double[]){x->at_high, at}, CLI_INK_GRID,
                     false);
        put_number(number, sizeof number, y->tick[k]);
        canvas->text(canvas, (double[]){x->at_low - 6, at + 4}, CLI_RIGHT, number);
    }
    for (int k = 0; k < x->ticks; k++) {
        double at = place(x, x->tick[k]);
        if (!chart->bars)
            canvas->line(canvas, (double[]){at, y->at_low}, (double[]){at, y->at_high},
                         CLI_INK_GRID, false);
        put_number(number, sizeof number, x->tick[k]);
        const double half = 0.5 * LETTER * (double)strlen(number);
        if (at - half < end) continue;
        canvas->text(canvas, (double[]){at, y->at_low + BELOW}, CLI_MIDDLE, number);
        end = at + half;
    }
    canvas->line(canvas, (double[]){x->at_low, y->at_low}, (double[]){x->at_high, y->at_low},
                 CLI_INK_TEXT, false);
    canvas->line(canvas, (double[]){x->at_low, y->at_low}, (double[]){x->at_low, y->at_high},
                 CLI_INK_TEXT, false);
    canvas->text(canvas, (double[]){8, 18}, CLI_LEFT, chart->title);
    canvas->text(canvas, (double[]){8, 36}, CLI_LEFT, chart->y_label);
    canvas->text(canvas, (double[]){(x->at_low + x->at_high) / 2, cli_chart_height - 8}, CLI_MIDDLE,
                 chart->x_label);
}

/* Cells of equal share above each other are one rectangle. */
static void draw_map(const cli_chart *chart, cli_canvas *canvas, const axis *x, const axis *y) {
    double columns = (double)chart->map_columns, rows = (double)chart->map_rows;
    for (int64_t c = 0; c < chart->map_columns && chart->map; c++)
        for (int64_t r = 0, end; r < chart->map_rows; r = end) {
            const double *share = chart->map + c * chart->map_rows;
            for (end = r + 1; end < chart->map_rows && share[end] == share[r];) end++;
            double at[2] = {place(x, (double)c / columns), place(y, (double)end / rows)};
            double size[2] = {place(x, (double)(c + 1) / columns) - at[0],
                              place(y, (double)r / rows) - at[1]};
            if (share[r] > 0.0) canvas->shade(canvas, at, size, share[r]);
        }
}

static void draw_curve(const cli_series *series, int ink, cli_canvas *canvas, const axis *x,
                       const axis *y) {
    double(*at)[2] = series->at;
    for (int64_t i = 0; i < series->n; i++) {
        at[i][0] = place(x, series->x[i]);
        at[i][1] = place(y, series->y[i]);
    }
    if (series->n > 1 && !series->dots)
        canvas->curve(canvas, series->n, (const double(*)[2])at, ink);
    for (int64_t i = 0; i < series->n && !series->plain; i++)
        canvas->datum(canvas, at[i], NULL, ink, series->x[i], series->y[i]);
}

/* A dashed line with its datum at the end. */
static void draw_level(const cli_series *series, int ink, cli_canvas *canvas, const axis *x,
                       const axis *y) {
    double at = place(y, series->y[0]), end[2] = {x->at_high, at};
    canvas->line(canvas, (double[]){x->at_low, at}, end, ink, true);
    canvas->datum(canvas, end, NULL, ink, series->x[0], series->y[0]);
}

static void draw_bars(const cli_series *series, cli_canvas *canvas, const axis *x, const axis *y) {
    double width = 0.8 * (place(x, 1.0) - place(x, 0.0)), ground = place(y, 0.0);
    for (int64_t i = 0; i < series->n; i++) {
        double top = place(y, series->y[i]);
        canvas->datum(canvas, (double[]){place(x, series->x[i]) - width / 2, top},
                      (double[]){width, ground - top}, CLI_INK_SERIES, series->x[i], series->y[i]);
    }
}

/* Places of the names of the series, from left to right in rows; returns the number of rows. A
 * single series needs no name: the title says what it is. */
static int place_legend(const cli_chart *chart, double at[][2]) {
    double left = LEFT;
    int rows = 1;
    if (chart->n_series < 2) return 0;
    for (int s = 0; s < chart->n_series; s++) {
        double width = LINE + 6 + LETTER * (double)strlen(chart->series[s].name);
        if (left > LEFT && left + width > cli_chart_width - RIGHT) {
            left = LEFT;
            rows++;
        }
        at[s][0] = left;
        at[s][1] = TOP + ROW * (rows - 1) + 8;
        left += width + 16;
    }
    return rows;
}

static void draw_legend(const cli_chart *chart, double at[][2], cli_canvas *canvas) {
    for (int s = 0; s < chart->n_series; s++) {
        const cli_series *series = &chart->series[s];
        int ink = CLI_INK_SERIES + s % CLI_SERIES_INKS;
        double from[2] = {at[s][0], at[s][1] - 4}, to[2] = {from[0] + LINE, from[1]};
        if (series->dots)
            canvas->curve(canvas, 2, (const double[2][2]){{to[0] - 3, to[1]}, {to[0], to[1]}}, ink);
        else
            canvas->line(canvas, from, to, ink, series->level);
        canvas->text(canvas, (double[]){to[0] + 6, at[s][1]}, CLI_LEFT, series->name);
    }
}

static void draw_series(const cli_chart *chart, int s, cli_canvas *canvas, const axis *x,
                        const axis *y) {
    const cli_series *series = &chart->series[s];
    int ink = CLI_INK_SERIES + s % CLI_SERIES_INKS;
    canvas->begin(canvas, series->name, 0, 0, 0, 0);
    if (chart->bars)
        draw_bars(series, canvas, x, y);
    else if (series->level)
        draw_level(series, ink, canvas, x, y);
    else
        draw_curve(series, ink, canvas, x, y);
    canvas->end(canvas);
}

void cli_chart_draw(const cli_chart *chart, cli_canvas *canvas, double left, double top) {
    double names[CLI_SERIES_MOST][2];
    int rows = place_legend(chart, names);
    axis x = {.at_low = LEFT, .at_high = cli_chart_width - RIGHT};
    axis y = {.at_low = cli_chart_height - BOTTOM, .at_high = TOP + ROW * rows};
    set_range(chart, false, &x);
    set_range(chart, true, &y);
    if (chart->bars) {
        for (double k = 0; k <= x.high; k += x.high > 20 ? 2 : 1) add_tick(&x, k);
    } else {
        x.logarithmic ? set_logarithmic(&x, 6)
                      : set_linear(&x, 6, !chart->unit && !chart->fractions);
    }
    y.logarithmic ? set_logarithmic(&y, 6) : set_linear(&y, 6, chart->bars);
    canvas->begin(canvas, chart->title, left, top, cli_chart_width, cli_chart_height);
    draw_map(chart, canvas, &x, &y);
    draw_axes(chart, canvas, &x, &y);
    for (int s = 0; s < chart->n_series; s++) draw_series(chart, s, canvas, &x, &y);
    if (rows > 0) draw_legend(chart, names, canvas);
    canvas->end(canvas);
}

bool cli_series_create(cli_series *series, int64_t n) {
    size_t room = (size_t)(n > 0 ? n : 1);
    series->x = malloc(room * sizeof *series->x);
    series->y = malloc(room * sizeof *series->y);
    series->at = malloc(room * sizeof *series->at);
    return series->x && series->y && series->at;
}

void cli_series_clear(cli_series *series) {
    free(series->x);
    free(series->y);
    free(series->at);
    *series = (cli_series){0};
}

void cli_chart_clear(cli_chart *chart) {
    for (int s = 0; s < chart->n_series; s++) cli_series_clear(&chart->series[s]);
    free(chart->map);
    *chart = (cli_chart){0};
}

typedef struct sheet {
    const cli_chart *charts;
    int n, across;
    double width, height;
} sheet;

static void draw_all(const sheet *s, cli_canvas *canvas) {
    for (int i = 0; i < s->n; i++)
        cli_chart_draw(&s->charts[i], canvas, i % s->across * cli_chart_width,
                       (double)(i / s->across) * cli_chart_height);
}

static csrec_status add_picture(csrec_files *files, const char *path, const csrec_format *format,
                                const sheet *s, csrec_error *error) {
    cli_raster raster;
    if (cli_raster_open(&raster, s->width, s->height))
        return cli_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    draw_all(s, &raster.canvas);
    csrec_status status = csrec_files_add_signal(files, path, format, &raster.image, NULL, error);
    csrec_image_clear(&raster.image);
    return status;
}

static csrec_status add_svg(csrec_files *files, const char *path, const sheet *s, const char *title,
                            const char *fingerprint, csrec_error *error) {
    cli_text text;
    cli_svg svg;
    cli_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    if (!cli_text_open(&text)) return CSREC_MEMORY;
    cli_svg_open(&svg, text.file);
    cli_svg_begin(&svg, s->width, s->height, title, true);
    draw_all(s, &svg.canvas);
    cli_svg_end(&svg);
    if (fingerprint) cli_fingerprint_comment(text.file, fingerprint);
    if (!cli_text_close(&text)) return CSREC_MEMORY;
    csrec_status status = csrec_files_add_bytes(files, path, text.bytes, text.size, error);
    free(text.bytes);
    return status;
}

csrec_status cli_charts_add(csrec_files *files, const char *path, const cli_chart *charts, int n,
                            int across, const char *title, const char *fingerprint,
                            csrec_error *error) {
    const csrec_format *format = csrec_format_of(path);
    int columns = n < across ? n : across, rows = (n + across - 1) / across;
    const sheet s = {charts, n, columns, columns * cli_chart_width, rows * cli_chart_height};
    return format ? add_picture(files, path, format, &s, error)
                  : add_svg(files, path, &s, title, fingerprint, error);
}
