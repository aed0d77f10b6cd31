/* SPDX-License-Identifier: BSD-3-Clause */
/* panels.c - the pictures of the report page: what was measured, recovered and is true, and the
 * errors with their scales. */
#include <math.h>
#include <stdlib.h>

#include "page.h"

typedef struct panel {
    const char *id, *title, *alt;
    bool look; /* the recovery can be compared with this picture */
} panel;

static void put_image(const cli_page *p, const csrec_image *image, const uint8_t *bytes, size_t n,
                      const char *alt) {
    enum { SMALL = 128 }; /* width below which pixels are shown as squares */
    const int64_t height = image->pixels.shape.dim[0], width = image->pixels.shape.dim[1];
    fprintf(p->file, "<img class=\"%s%s\" alt=\"%s\" width=\"%lld\" height=\"%lld\" ",
            width < SMALL ? "small" : "large", image->alpha ? " holes" : "", alt, (long long)width,
            (long long)height);
    cli_html_png(p->file, "src", bytes, n);
    fputs("/>", p->file);
}

/* Height and width of a frame: long and narrow pictures are stretched. */
static const double LEAST_RATIO = 1.0 / 3.0, MOST_RATIO = 12.0;

static double ratio_of(double height, double width) {
    return fmin(fmax(width / height, LEAST_RATIO), MOST_RATIO);
}

/* Opens the figure and its caption. */
static csrec_status open_panel(const cli_page *p, const panel *own, const csrec_image *image) {
    uint8_t *bytes = NULL;
    size_t n = 0;
    CLI_TRY(csrec_image_encode(image, &bytes, &n, p->error));
    fprintf(p->file, "<figure id=\"%s\"%s>\n<div class=\"frame\" style=\"--ratio:%.6g\">", own->id,
            own->look ? " data-look=\"1\"" : "",
            ratio_of((double)image->pixels.shape.dim[0], (double)image->pixels.shape.dim[1]));
    put_image(p, image, bytes, n, own->alt);
    fprintf(p->file, "</div>\n<figcaption><b>%s</b>\n", own->title);
    free(bytes);
    return CSREC_OK;
}

static void close_panel(const cli_page *p) {
    fputs("</figcaption>\n</figure>\n", p->file);
}

/* The values for the pointer and for downloads, which the script reads. */
static csrec_status put_levels(const cli_page *p, const cli_plane *plane, cli_levels levels) {
    csrec_image image = {0};
    uint8_t *bytes = NULL;
    size_t n = 0;
    csrec_status status = cli_plane_levels(plane, levels, &image);
    if (status) cli_page_no_memory(p);
    if (!status) status = csrec_image_encode(&image, &bytes, &n, p->error);
    csrec_image_clear(&image);
    if (status) return status;
    fprintf(p->file, "<data hidden=\"hidden\" data-low=\"%.17g\" data-step=\"%.17g\" ", levels.low,
            levels.step);
    cli_html_png(p->file, "value", bytes, n);
    fputs("></data>\n", p->file);
    free(bytes);
    return CSREC_OK;
}

static csrec_status get_plane(const cli_page *p, const cli_view *view, const double *signal,
                              cli_plane *plane) {
    const csrec_measurement *m = &p->job->in.measurement;
    csrec_status status =
        signal ? cli_plane_signal(m, view, signal, plane) : cli_plane_samples(m, view, plane);
    return status ? cli_page_no_memory(p) : CSREC_OK;
}

/* Clear both, whatever it returns. */
static csrec_status get_tones(const cli_page *p, const cli_view *view, const double *signal,
                              cli_plane *plane, csrec_image *image) {
    CLI_TRY(get_plane(p, view, signal, plane));
    return cli_plane_tones(plane, view, image) ? cli_page_no_memory(p) : CSREC_OK;
}

/* signal NULL: the samples. levels NULL: without values. */
static csrec_status put_signal(const cli_page *p, const panel *own, const cli_view *view,
                               const double *signal, const cli_levels *levels, const char *words) {
    csrec_image image = {0};
    cli_plane plane = {0};
    csrec_status status = get_tones(p, view, signal, &plane, &image);
    if (!status) status = open_panel(p, own, &image);
    if (!status) fputs(words, p->file);
    if (!status && levels) status = put_levels(p, &plane, *levels);
    if (!status) close_panel(p);
    csrec_image_clear(&image);
    cli_plane_clear(&plane);
    return status;
}

/* The false colours as a strip, with numbers below. */
static void put_bar(const cli_page *p, double most, bool cut) {
    enum { NUMBERS = 5, STOPS = 10 };
    uint8_t rgb[3];
    fputs("<span class=\"bar\" role=\"presentation\" style=\"background:linear-gradient(90deg",
          p->file);
    for (int k = 0; k <= STOPS; k++) {
        cli_colormap_color(cli_colormap_info(0), (double)k / STOPS, rgb);
        fprintf(p->file, ",rgb(%d %d %d)", rgb[0], rgb[1], rgb[2]);
    }
    fputs(")\"></span>\n<span class=\"numbers\">", p->file);
    for (int k = 0; k < NUMBERS; k++)
        fprintf(p->file, "<span>%s%.3g</span>", cut && k == NUMBERS - 1 ? "≥ " : "",
                most * k / (NUMBERS - 1));
    fputs("</span>\n", p->file);
}

static void put_scale(const cli_page *p, double most, double largest, bool cut) {
    fputs(p->job->in.measurement.channels > 1
              ? "root mean square over all channels, in units of the samples\n"
              : "in units of the samples\n",
          p->file);
    put_bar(p, most, cut);
    if (cut)
        fprintf(p->file, "The scale ends at the 99th percentile, %.4g; the largest is %.4g.\n",
                most, largest);
    else
        fprintf(p->file, "The largest is %.4g.\n", largest);
}

/* The colours end at the 99th percentile, so that a few large errors do not darken the rest; at the
 * largest if hardly a pixel has an error. */
static csrec_status put_error_plane(const cli_page *p, const panel *own, const cli_plane *plane) {
    double percentile, largest;
    csrec_image image = {0};
    if (cli_plane_range(plane, &percentile, &largest)) return cli_page_no_memory(p);
    bool cut = percentile > 0.0 && percentile < largest;
    double most = cut ? percentile : largest > 0.0 ? largest : 1.0;
    csrec_status status = cli_plane_colors(plane, most, &image);
    if (status) cli_page_no_memory(p);
    if (!status) status = open_panel(p, own, &image);
    csrec_image_clear(&image);
    if (status) return status;
    put_scale(p, most, largest, cut);
    status = put_levels(p, plane, cli_levels_of(plane->height * plane->width, 0.0, largest));
    close_panel(p);
    return status;
}

static csrec_status put_errors(const cli_page *p, const panel *own, const cli_view *view,
                               const double *a, const double *b) {
    cli_plane plane;
    if (cli_plane_errors(&p->job->in.measurement, view, a, b, &plane)) return cli_page_no_memory(p);
    csrec_status status = put_error_plane(p, own, &plane);
    cli_plane_clear(&plane);
    return status;
}

static csrec_status put_crop(const cli_page *p, const cli_view *view, const char *title,
                             const double *signal) {
    csrec_image image = {0};
    cli_plane plane = {0};
    uint8_t *bytes = NULL;
    size_t n = 0;
    csrec_status status = get_tones(p, view, signal, &plane, &image);
    if (!status) status = csrec_image_encode(&image, &bytes, &n, p->error);
    if (!status) {
        fputs("<figure>", p->file);
        put_image(p, &image, bytes, n, title);
        fprintf(p->file, "<figcaption>%s</figcaption></figure>\n", title);
    }
    csrec_image_clear(&image);
    cli_plane_clear(&plane);
    free(bytes);
    return status;
}

/* All of its pixels, even where the pictures above show means. */
static csrec_status put_crops(const cli_page *p, const cli_view *whole, const cli_window *w) {
    const cli_result *r = &p->job->result;
    cli_view view = *whole;
    view.factor = 1;
    view.height = view.width = w->side;
    view.base += w->row * view.row + w->column;
    csrec_status status = CSREC_OK;
    if (cli_job_has_points(p->job)) status = put_crop(p, &view, "Samples, enlarged", NULL);
    if (!status && r->simple.signal)
        status = put_crop(p, &view, "Interpolation, enlarged", r->simple.signal);
    if (!status) status = put_crop(p, &view, "Recovery, enlarged", r->signal);
    if (!status && r->truth) status = put_crop(p, &view, "Reference, enlarged", r->truth);
    return status;
}

static csrec_status put_worst(const cli_page *p, const cli_view *view) {
    cli_window w;
    const bool known = p->job->result.truth != NULL;
    if (cli_page_worst(p->job, view, &w)) return cli_page_no_memory(p);
    if (!(w.error > 0.0)) return CSREC_OK;
    fprintf(p->file,
            "<h3>Where the %s is largest</h3>\n<p id=\"worst\" data-row=\"%lld\" "
            "data-column=\"%lld\" data-side=\"%lld\">Rows %lld to %lld, columns %lld to %lld: "
            "%.3g, root mean square; %.3g in all of the picture.</p>\n<div class=\"crops\">\n",
            known ? "error" : "expected error", (long long)w.row, (long long)w.column,
            (long long)w.side, (long long)w.row, (long long)(w.row + w.side - 1),
            (long long)w.column, (long long)(w.column + w.side - 1), w.error, w.all);
    csrec_status status = put_crops(p, view, &w);
    fputs("</div>\n", p->file);
    return status;
}

/* What needs the script stays hidden without it. */
static void put_tools(const cli_page *p) {
    fputs("<div class=\"tools\" id=\"tools\" hidden=\"hidden\">\n"
          "<button type=\"button\" id=\"out\" aria-label=\"Smaller\">−</button>\n"
          "<output id=\"zoom\">1 ×</output>\n"
          "<button type=\"button\" id=\"in\" aria-label=\"Larger\">+</button>\n"
          "<button type=\"button\" id=\"whole\">Whole</button>\n"
          "<output id=\"values\">Point at a picture or tap it for its values.</output>\n</div>\n",
          p->file);
}

static void put_notes(const cli_page *p, const cli_view *view) {
    const csrec_measurement *m = &p->job->in.measurement;
    const double ratio = (double)view->width / (double)view->height;
    if (m->shape.dims > 2)
        fputs("<p>The middle plane of the last two axes is shown.</p>\n", p->file);
    if (m->channels != 1 && m->channels != 3)
        fprintf(p->file, "<p>The first of %lld channels is shown; errors are those of all.</p>\n",
                (long long)m->channels);
    if (view->factor > 1)
        fprintf(p->file,
                "<p>A pixel is the mean of %lld x %lld, of errors the root mean square.</p>\n",
                (long long)view->factor, (long long)view->factor);
    if (ratio < LEAST_RATIO || ratio > MOST_RATIO)
        fputs("<p>The picture is long and narrow, so it is stretched.</p>\n", p->file);
}

/* Of those that are the same for every signal. */
enum { SAMPLES, SIMPLE, RECOVERY, REFERENCE, ERROR, EXPECTED, INTERVAL };
static const panel panels[] = {
    {"samples", "Samples", "The samples; other pixels are not known", true},
    {"simple", "Interpolation", "The samples, interpolated", true},
    {"recovery", "Recovery", "The recovered signal", false},
    {"reference", "Reference", "The reference", true},
    {"error", "True error", "Where the recovery differs from the reference", false},
    {"expected", "Expected error", "Where the recovery is expected to be wrong", false},
    {"expected", "Interval", "Half of the width of the interval", false}};

static csrec_status put_all(const cli_page *p, const cli_view *view) {
    const cli_result *r = &p->job->result;
    const cli_levels levels = cli_view_levels(p->job, view);
    csrec_status status = CSREC_OK;
    if (cli_job_has_points(p->job))
        status = put_signal(p, &panels[SAMPLES], view, NULL, &levels,
                            "<span class=\"key\"></span> not sampled\n");
    if (!status && r->simple.signal)
        status = put_signal(p, &panels[SIMPLE], view, r->simple.signal, NULL,
                            "the mean of the neighbours\n");
    if (!status) status = put_signal(p, &panels[RECOVERY], view, r->signal, &levels, "");
    if (!status && r->truth)
        status = put_signal(p, &panels[REFERENCE], view, r->truth, &levels, "");
    if (!status && r->truth) status = put_errors(p, &panels[ERROR], view, r->signal, r->truth);
    if (!status && r->uncertainty)
        status = put_errors(p, &panels[p->job->a->interval > 0.0 ? INTERVAL : EXPECTED], view,
                            r->uncertainty, NULL);
    return status;
}

csrec_status cli_page_panels(const cli_page *p) {
    const cli_result *r = &p->job->result;
    cli_view view;
    cli_view_of(p->job, &view);
    const int count = 1 + cli_job_has_points(p->job) + (r->simple.signal != NULL) +
                      (r->truth ? 2 : 0) + (r->uncertainty != NULL);
    /* Axes before those of the plane, for the script to tell where the pointer is. */
    const csrec_shape *shape = &p->job->in.measurement.shape;
    fprintf(p->file, "<div id=\"pictures\" data-factor=\"%lld\" data-plane=\"",
            (long long)view.factor);
    for (int a = 0; a < shape->dims - 2; a++)
        fprintf(p->file, "%lld, ", (long long)shape->dim[a] / 2);
    fputs("\">\n", p->file);
    fputs("<div class=\"lead\">\n", p->file);
    fputs("<figure id=\"compare\" hidden=\"hidden\">\n<div class=\"frame\"></div>\n<figcaption>\n"
          "<input type=\"range\" id=\"cut\" min=\"0\" max=\"100\" value=\"50\" "
          "aria-label=\"Where the recovery begins\"/>\n"
          "<span class=\"sides\"><label>Left: <select id=\"left\"></select></label>"
          "<span>Right: Recovery</span></span>\n</figcaption>\n</figure>\n",
          p->file);
    cli_page_scores(p);
    fputs("</div>\n", p->file);
    put_notes(p, &view);
    fprintf(p->file, "<div class=\"panels of-%d\">\n", count);
    csrec_status status = put_all(p, &view);
    fputs("</div>\n", p->file);
    if (!status) put_tools(p);
    if (!status) status = put_worst(p, &view);
    fputs("</div>\n", p->file);
    return status;
}
