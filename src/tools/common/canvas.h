/* SPDX-License-Identifier: BSD-3-Clause */
/* canvas.h - the surface that charts are drawn on: SVG text, or pixels for a PNG. Coordinates are
 * the chart's, with y downwards. */
#ifndef CSREC_TOOLS_COMMON_CANVAS_H
#define CSREC_TOOLS_COMMON_CANVAS_H

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

/* <svg> of a size, in a page or, if `alone`, as a complete file with the colours of both schemes.
 */
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

/* Row `row` (0 at the top, 7 of them) of a character's 5 columns, the left one highest (font.c). */
unsigned cli_font_row(char character, int row);

/* Rows of a character below the baseline. */
int cli_font_drop(char character);

#endif
