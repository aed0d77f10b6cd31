/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.h - boxes, lines and words as SVG. */
#ifndef CSREC_SAMPLES_SVG_H
#define CSREC_SAMPLES_SVG_H

#include <stdio.h>

/* Begins a picture on white, so that it can be read on a dark page too. */
FILE *svg_open(const char *folder, const char *name, int width, int height, const char *alt);
void svg_close(FILE *svg);

void svg_box(FILE *svg, double x, double y, double width, double height, const char *fill);
void svg_line(FILE *svg, double x1, double y1, double x2, double y2, const char *colour);
void svg_disc(FILE *svg, double x, double y, double radius, const char *fill);

/* printf of a line of text, centred at x, its middle at y. */
void svg_text(FILE *svg, double x, double y, int size, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
