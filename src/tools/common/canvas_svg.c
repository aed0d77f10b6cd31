/* SPDX-License-Identifier: BSD-3-Clause */
/* canvas_svg.c - charts as SVG. */
#include "chart.h"
#include "report.h"

/* Plain colours, because not every SVG reader supports variables. */
const char cli_svg_style[] =
    "svg text{font:13px system-ui,sans-serif;fill:#1a1a1a;stroke:none}.k0{stroke:#1a1a1a}"
    ".k1{stroke:#d0d0d0}.k2{stroke:#0060b0;fill:#0060b0}.k3{stroke:#c04000;fill:#c04000}"
    ".k4{stroke:#2e7d32;fill:#2e7d32}.k5{stroke:#8e24aa;fill:#8e24aa}"
    ".k6{stroke:#ad1457;fill:#ad1457}.k7{stroke:#00796b;fill:#00796b}"
    ".k8{stroke:#795548;fill:#795548}.k9{stroke:#9a7d0a;fill:#9a7d0a}"
    ".k10{stroke:#5c6bc0;fill:#5c6bc0}.shade{fill:#1a1a1a;stroke:none}"
    "svg .curve{fill:none;stroke-width:1.5}"
    "@media (prefers-color-scheme:dark){svg text{fill:#e8e8e8}.k0{stroke:#e8e8e8}"
    ".k1{stroke:#454545}.k2{stroke:#64b5f6;fill:#64b5f6}.k3{stroke:#ffab70;fill:#ffab70}"
    ".k4{stroke:#81c784;fill:#81c784}.k5{stroke:#ce93d8;fill:#ce93d8}"
    ".k6{stroke:#f48fb1;fill:#f48fb1}.k7{stroke:#4db6ac;fill:#4db6ac}"
    ".k8{stroke:#bcaaa4;fill:#bcaaa4}.k9{stroke:#e6c84c;fill:#e6c84c}"
    ".k10{stroke:#9fa8da;fill:#9fa8da}.shade{fill:#e8e8e8}}";

static FILE *file_of(cli_canvas *canvas) {
    return ((cli_svg *)canvas)->file;
}

static void line(cli_canvas *canvas, const double from[2], const double to[2], int ink,
                 bool dashed) {
    fprintf(file_of(canvas),
            "<line class=\"k%d\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"%s/>\n", ink,
            from[0], from[1], to[0], to[1], dashed ? " stroke-dasharray=\"6 4\"" : "");
}

static void curve(cli_canvas *canvas, int64_t n, const double (*at)[2], int ink) {
    FILE *file = file_of(canvas);
    fprintf(file, "<polyline class=\"k%d curve\" points=\"", ink);
    for (int64_t i = 0; i < n; i++) fprintf(file, "%s%.2f,%.2f", i ? " " : "", at[i][0], at[i][1]);
    fprintf(file, "\"/>\n");
}

static void datum(cli_canvas *canvas, const double at[2], const double *size, int ink, double x,
                  double y) {
    FILE *file = file_of(canvas);
    if (size)
        fprintf(file, "<rect class=\"k%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
                ink, at[0], at[1], size[0], size[1]);
    else
        fprintf(file, "<circle class=\"k%d\" cx=\"%.2f\" cy=\"%.2f\" r=\"2\"", ink, at[0], at[1]);
    fprintf(file, " data-x=\"%.17g\" data-y=\"%.17g\"><title>%.6g: %.6g</title></%s>\n", x, y, x, y,
            size ? "rect" : "circle");
}

static void shade(cli_canvas *canvas, const double at[2], const double size[2], double share) {
    fprintf(file_of(canvas),
            "<rect class=\"shade\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "fill-opacity=\"%.2f\"/>\n",
            at[0], at[1], size[0], size[1], 0.85 * share);
}

static void text(cli_canvas *canvas, const double at[2], cli_anchor anchor, const char *words) {
    static const char *const anchors[] = {"start", "middle", "end"};
    FILE *file = file_of(canvas);
    fprintf(file, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", at[0], at[1], anchors[anchor]);
    cli_html_text(file, words);
    fprintf(file, "</text>\n");
}

static void begin(cli_canvas *canvas, const char *name, double x, double y, double width,
                  double height) {
    FILE *file = file_of(canvas);
    (void)width, (void)height;
    fprintf(file, "<g transform=\"translate(%.2f %.2f)\" data-name=\"", x, y);
    cli_html_text(file, name);
    fprintf(file, "\">\n");
}

static void end(cli_canvas *canvas) {
    fprintf(file_of(canvas), "</g>\n");
}

void cli_svg_open(cli_svg *svg, FILE *file) {
    *svg = (cli_svg){{line, curve, datum, shade, text, begin, end}, file};
}

void cli_svg_begin(cli_svg *svg, double width, double height, const char *title, bool alone) {
    if (alone) fprintf(svg->file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    fprintf(svg->file, "<svg%s viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"",
            alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height);
    cli_html_text(svg->file, title);
    fprintf(svg->file, "\"");
    if (alone) fprintf(svg->file, " width=\"%g\" height=\"%g\"", 1.5 * width, 1.5 * height);
    fprintf(svg->file, ">\n<title>");
    cli_html_text(svg->file, title);
    fprintf(svg->file, "</title>\n");
    if (!alone) return;
    fprintf(svg->file,
            "<style>%s.paper{fill:#fff}@media (prefers-color-scheme:dark){.paper{fill:#1c1c1c}}"
            "</style>\n<rect class=\"paper\" width=\"%g\" height=\"%g\"/>\n",
            cli_svg_style, width, height);
}

void cli_svg_end(cli_svg *svg) {
    fprintf(svg->file, "</svg>\n");
}
