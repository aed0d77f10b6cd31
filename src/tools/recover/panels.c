/* SPDX-License-Identifier: BSD-3-Clause */
/* panels.c - the pictures of the report page: what was measured, recovered and is true, and the
 * errors with their scales. */
#include <stdlib.h>

#include "page.h"

typedef struct panel {
    const char *id, *title, *alt;
    bool look; /* the recovery can be compared with this picture */
} panel;

/* Opens the figure and its caption. */
static csrec_status open_panel(const cli_page *p, const panel *own, const csrec_image *image) {
    enum { SMALL = 128 }; /* width below which pixels are shown as squares */
    uint8_t *bytes = NULL;
    size_t n = 0;
    int64_t height = image->pixels.shape.dim[0], width = image->pixels.shape.dim[1];
    csrec_status status = csrec_image_encode(image, &bytes, &n, p->error);
    if (status) return status;
    fprintf(p->file, "<figure id=\"%s\"%s>\n<div class=\"frame\" style=\"--ratio:%.6g\"><img",
            own->id, own->look ? " data-look=\"1\"" : "", (double)width / (double)height);
    fprintf(p->file, " class=\"%s%s\" alt=\"%s\" width=\"%lld\" height=\"%lld\" ",
            width < SMALL ? "small" : "large", image->alpha ? " holes" : "", own->alt,
            (long long)width, (long long)height);
    cli_html_png(p->file, bytes, n);
    fprintf(p->file, "/></div>\n<figcaption><b>%s</b>\n", own->title);
    free(bytes);
    return CSREC_OK;
}

static void close_panel(const cli_page *p) {
    fputs("</figcaption>\n</figure>\n", p->file);
}

/* Takes the plane over. */
static csrec_status put_tones(const cli_page *p, const panel *own, const cli_view *view,
                              cli_plane *plane) {
    csrec_image image = {0};
    csrec_status status = cli_plane_tones(plane, view, &image);
    cli_plane_clear(plane);
    if (status) cli_page_no_memory(p);
    if (!status) status = open_panel(p, own, &image);
    csrec_image_clear(&image);
    return status;
}

/* ------------------------------------------------------------------ samples, signals -------- */

/* Blended: a picture's only; elsewhere they have neighbours outside of the plane. */
static csrec_status put_samples(const cli_page *p, const cli_view *view, bool blended) {
    static const panel own[2] = {
        {"samples", "Samples", "The samples; other pixels are not known", true},
        {"blend", "Samples, blended", "The samples, blended linearly", true}};
    cli_plane plane;
    if (blended && p->job->in.measurement.shape.dims > 2) return CSREC_OK;
    if (cli_plane_samples(&p->job->in.measurement, view, &plane)) return cli_page_no_memory(p);
    if (blended && cli_plane_blend(&plane)) {
        cli_plane_clear(&plane);
        return cli_page_no_memory(p);
    }
    csrec_status status = put_tones(p, &own[blended], view, &plane);
    if (status) return status;
    fputs(blended ? "linearly, without a recovery\n" : "<span class=\"key\"></span> not sampled\n",
          p->file);
    close_panel(p);
    return CSREC_OK;
}

static csrec_status put_signal(const cli_page *p, const panel *own, const cli_view *view,
                               const double *signal) {
    cli_plane plane;
    if (cli_plane_signal(&p->job->in.measurement, view, signal, &plane))
        return cli_page_no_memory(p);
    csrec_status status = put_tones(p, own, view, &plane);
    if (!status) close_panel(p);
    return status;
}

/* ------------------------------------------------------------------ errors ------------------ */

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
    fputs(p->job->in.measurement.channels > 1
              ? "root mean square over all channels, in units of the samples\n"
              : "in units of the samples\n",
          p->file);
    put_bar(p, most, cut);
    if (cut)
        fprintf(p->file, "The scale ends at the 99th percentile, %.4g; the largest is %.4g.\n",
                percentile, largest);
    else
        fprintf(p->file, "The largest is %.4g.\n", largest);
    close_panel(p);
    return CSREC_OK;
}

static csrec_status put_errors(const cli_page *p, const panel *own, const cli_view *view,
                               const double *a, const double *b) {
    cli_plane plane;
    if (cli_plane_errors(&p->job->in.measurement, view, a, b, &plane)) return cli_page_no_memory(p);
    csrec_status status = put_error_plane(p, own, &plane);
    cli_plane_clear(&plane);
    return status;
}

/* What needs the script stays hidden without it. */
static void put_tools(const cli_page *p) {
    fputs("<div class=\"tools\" id=\"tools\" hidden=\"hidden\">\n"
          "<button type=\"button\" id=\"out\" aria-label=\"Smaller\">−</button>\n"
          "<output id=\"zoom\">1 ×</output>\n"
          "<button type=\"button\" id=\"in\" aria-label=\"Larger\">+</button>\n"
          "<button type=\"button\" id=\"whole\">Whole</button>\n"
          "<span>All pictures together: click to magnify, drag or use the arrow keys to move."
          "</span>\n</div>\n"
          "<figure id=\"compare\" hidden=\"hidden\">\n<div class=\"frame\"></div>\n<figcaption>\n"
          "<input type=\"range\" id=\"cut\" min=\"0\" max=\"100\" value=\"50\" "
          "aria-label=\"Where the recovery begins\"/>\n"
          "<span class=\"sides\"><label>Left: <select id=\"left\"></select></label>"
          "<span>Right: Recovery</span></span>\n</figcaption>\n</figure>\n",
          p->file);
}

static void put_notes(const cli_page *p, const cli_view *view) {
    const csrec_measurement *m = &p->job->in.measurement;
    if (m->shape.dims > 2)
        fputs("<p>The middle plane of the last two axes is shown.</p>\n", p->file);
    if (m->channels != 1 && m->channels != 3)
        fprintf(p->file, "<p>The first of %lld channels is shown; errors are those of all.</p>\n",
                (long long)m->channels);
    if (view->factor > 1)
        fprintf(p->file,
                "<p>A pixel is the mean of %lld x %lld, of errors the root mean square.</p>\n",
                (long long)view->factor, (long long)view->factor);
}

/* Of those that are the same for every signal. */
enum { RECOVERY, REFERENCE, ERROR, EXPECTED };
static const panel panels[] = {
    {"recovery", "Recovery", "The recovered signal", false},
    {"reference", "Reference", "The reference", true},
    {"error", "True error", "Where the recovery differs from the reference", false},
    {"expected", "Expected error", "Where the recovery is expected to be wrong", false}};

static csrec_status put_all(const cli_page *p, const cli_view *view) {
    const cli_job *job = p->job;
    csrec_status status = CSREC_OK;
    if (cli_job_has_points(job)) {
        status = put_samples(p, view, false);
        if (!status) status = put_samples(p, view, true);
    }
    if (!status) status = put_signal(p, &panels[RECOVERY], view, job->result.signal);
    if (!status && job->result.truth)
        status = put_signal(p, &panels[REFERENCE], view, job->result.truth);
    if (!status && job->result.truth)
        status = put_errors(p, &panels[ERROR], view, job->result.signal, job->result.truth);
    if (!status && job->result.uncertainty)
        status = put_errors(p, &panels[EXPECTED], view, job->result.uncertainty, NULL);
    return status;
}

csrec_status cli_page_panels(const cli_page *p) {
    const cli_job *job = p->job;
    cli_view view;
    cli_view_of(job, &view);
    const int samples = cli_job_has_points(job) ? 1 + (job->in.measurement.shape.dims == 2) : 0;
    int count = 1 + samples + (job->result.truth ? 2 : 0) + (job->result.uncertainty != NULL);
    put_notes(p, &view);
    put_tools(p);
    fprintf(p->file, "<div class=\"panels of-%d\">\n", count);
    csrec_status status = put_all(p, &view);
    fputs("</div>\n", p->file);
    return status;
}
