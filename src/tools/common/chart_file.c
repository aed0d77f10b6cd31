/* chart_file.c - charts side by side as a file: SVG, or pixels. */
#include <stdio.h>
#include <stdlib.h>

#include "chart.h"
#include "fingerprint.h"

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
