/* SPDX-License-Identifier: BSD-3-Clause */
/* chart.h - charts of a few series, drawn on a canvas. */
#ifndef CSREC_TOOLS_COMMON_CHART_H
#define CSREC_TOOLS_COMMON_CHART_H

#include "canvas.h"

typedef struct cli_series {
    char name[64];
    int64_t n;
    double *x, *y;   /* [n], finite; x ascending */
    double (*at)[2]; /* [n], where they are drawn */
    bool level;      /* n = 1: a dashed line at y */
    bool dots;       /* no curve through them */
    bool plain;      /* a curve without dots */
} cli_series;

enum { CLI_SERIES_MOST = 12 };

typedef struct cli_chart {
    char title[64], x_label[48], y_label[48];
    bool log_x, log_y; /* values are above 0 */
    bool bars;         /* the one series is bars over 0, a category each */
    bool from_zero;    /* the vertical axis has 0, unless it is logarithmic */
    bool unit;         /* both axes are 0 to 1 */
    /* NULL, or shares 0 to 1 that darken the cells of a unit chart, [columns][rows] from below. */
    double *map;
    int64_t map_columns, map_rows;
    cli_series series[CLI_SERIES_MOST];
    int n_series;
} cli_chart;

/* Size of every chart. */
extern const double cli_chart_width, cli_chart_height;

/* Room for n points, none of them set yet. false: out of memory. cli_chart_clear frees it. */
bool cli_series_create(cli_series *series, int64_t n);
void cli_series_clear(cli_series *series);

void cli_chart_draw(const cli_chart *chart, cli_canvas *canvas, double x, double y);
void cli_chart_clear(cli_chart *chart);

/* Adds the file of n >= 1 charts, `across` of them side by side: a picture of any format that has
 * CSREC_USE_PICTURE, else an SVG, with the fingerprint as a comment unless it is NULL. */
csrec_status cli_charts_add(csrec_files *files, const char *path, const cli_chart *charts, int n,
                            int across, const char *title, const char *fingerprint,
                            csrec_error *error);

#endif
