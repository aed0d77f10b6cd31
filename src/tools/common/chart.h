/* SPDX-License-Identifier: BSD-3-Clause */
/* chart.h - charts of a few series, and the surface that they are drawn on: SVG text, or pixels for
 * a PNG. Its coordinates are the chart's, with y downwards. */
#pragma once

#include <stdio.h>

#include "csrec.h"

typedef enum cli_ink { CLI_INK_TEXT, CLI_INK_GRID, CLI_INK_SERIES /* and the next ones */ } cli_ink;

enum { CLI_SERIES_INKS = 9 };

typedef enum cli_anchor { CLI_LEFT, CLI_MIDDLE, CLI_RIGHT } cli_anchor;

typedef struct cli_canvas cli_canvas;
struct cli_canvas {
    void (*line)(cli_canvas *canvas, const double from[2], const double to[2], int ink,
                 bool dashed);
    /* Connects n points. */
    void (*curve)(cli_canvas *canvas, int64_t n, const double (*at)[2], int ink);
    /* A datum: a dot at `at` (size NULL), or a bar with that corner and size. SVG stores its values
     * x and y. */
    void (*datum)(cli_canvas *canvas, const double at[2], const double *size, int ink, double x,
                  double y);
    /* Darkens a rectangle: share 0 is paper, 1 nearly the colour of text. */
    void (*shade)(cli_canvas *canvas, const double at[2], const double size[2], double share);
    /* Text at a point of its baseline, 13 units high. */
    void (*text)(cli_canvas *canvas, const double at[2], cli_anchor anchor, const char *text);
    /* Begins a named group, closed by end. Nested groups start at 0, 0. */
    void (*begin)(cli_canvas *canvas, const char *name, double x, double y, double width,
                  double height);
    void (*end)(cli_canvas *canvas);
};

/* Writes to a page or file that the caller opened; texts are escaped. */
typedef struct cli_svg {
    cli_canvas canvas;
    FILE *file;
} cli_svg;

void cli_svg_open(cli_svg *svg, FILE *file);
/* <svg> of a size, in a page or, if `alone`, a complete file with the colours of both schemes. */
void cli_svg_begin(cli_svg *svg, double width, double height, const char *title, bool alone);
void cli_svg_end(cli_svg *svg);

/* Rules for the classes of the drawing, for <style>. */
extern const char cli_svg_style[];

/* Pixels, two to a unit. */
typedef struct cli_raster {
    cli_canvas canvas;
    csrec_image image; /* 8-bit RGB */
    double origin[2];  /* origin of the open group */
    int depth;
} cli_raster;

/* A white sheet. CSREC_MEMORY. Free with csrec_image_clear(&raster->image). */
csrec_status cli_raster_open(cli_raster *raster, double width, double height);

/* Row `row` (0 at the top, 7 of them) of a character's 5 columns, the left one highest. */
unsigned cli_font_row(char character, int row);
/* Rows of a character below the baseline. */
int cli_font_drop(char character);

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
    bool fractions;    /* the horizontal axis has ticks between whole numbers */
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
