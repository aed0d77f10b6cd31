/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.c - boxes, lines and words as SVG. */
#include "svg.h"

#include <stdarg.h>

FILE *svg_open(const char *folder, const char *name, int width, int height, const char *alt) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *svg = fopen(path, "w");
    if (!svg) return NULL;
    fprintf(svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" role=\"img\">\n<title>%s</title>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            width, height, width, height, alt, width, height);
    return svg;
}

void svg_close(FILE *svg) {
    fprintf(svg, "</svg>\n");
    fclose(svg);
}

void svg_box(FILE *svg, double x, double y, double width, double height, const char *fill) {
    fprintf(svg,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" fill=\"%s\" "
            "stroke=\"#444\" stroke-width=\"0.7\"/>\n",
            x, y, width, height, fill);
}

void svg_line(FILE *svg, double x1, double y1, double x2, double y2, const char *colour) {
    fprintf(svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1,
            x2, y2, colour);
}

void svg_disc(FILE *svg, double x, double y, double radius, const char *fill) {
    fprintf(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"#444\"/>\n", x, y,
            radius, fill);
}

void svg_text(FILE *svg, double x, double y, int size, const char *format, ...) {
    va_list values;
    va_start(values, format);
    fprintf(svg,
            "<text x=\"%.1f\" y=\"%.1f\" dy=\"0.35em\" font-size=\"%d\" text-anchor=\"middle\">", x,
            y, size);
    vfprintf(svg, format, values);
    fprintf(svg, "</text>\n");
    va_end(values);
}
