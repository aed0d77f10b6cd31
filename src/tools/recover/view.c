/* SPDX-License-Identifier: BSD-3-Clause */
/* view.c - planes of samples, signals and errors, their pictures, and their
 * values as whole numbers. */
#include "page.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1024 };

static void set_tones(const cli_job *job, cli_view *view) {
    view->black = job->in.tones.scale[0];
    view->white = job->in.tones.scale[1];
    view->light = job->in.tones.light;
    const csrec_measurement *m = &job->in.measurement;
    if (job->a->labels && m->y) cli_range_of(m->n * m->channels, m->y, &view->black, &view->white);
    if (view->light && view->black == view->white) view->white = view->black + 1.0;
    if (view->black != view->white) return;
    cli_job_range(job, &view->black, &view->white);
    if (view->black == view->white) view->white += 1.0;
}

bool cli_view_of(const cli_job *job, cli_view *view) {
    const csrec_measurement *m = &job->in.measurement;
    const csrec_shape *shape = &m->shape;
    if (shape->dims < 2) return false;
    *view = (cli_view){.height = shape->dim[shape->dims - 2],
                       .width = shape->dim[shape->dims - 1],
                       .row = shape->dim[shape->dims - 1],
                       .shown = m->channels == 3 ? 3 : 1};
    int64_t stride = view->height * view->width;
    for (int a = shape->dims - 3; a >= 0; stride *= shape->dim[a--])
        view->base += shape->dim[a] / 2 * stride;
    int64_t longest = view->height > view->width ? view->height : view->width;
    view->factor = (longest + LARGEST - 1) / LARGEST;
    set_tones(job, view);
    return true;
}

static csrec_status create_plane(int64_t height, int64_t width, int64_t channels,
                                 cli_plane *plane) {
    size_t pixels = (size_t)(height * width);
    *plane = (cli_plane){height, width, channels, NULL, NULL};
    plane->value = calloc(pixels * (size_t)channels, sizeof *plane->value);
    plane->count = calloc(pixels, sizeof *plane->count);
    if (plane->value && plane->count) return CSREC_OK;
    cli_plane_clear(plane);
    return CSREC_MEMORY;
}

void cli_plane_clear(cli_plane *plane) {
    free(plane->value);
    free(plane->count);
    *plane = (cli_plane){0};
}

static csrec_status create(const cli_view *view, int64_t channels, cli_plane *plane) {
    int64_t f = view->factor;
    return create_plane((view->height + f - 1) / f, (view->width + f - 1) / f, channels, plane);
}

static int64_t entry_of(const cli_view *view, int64_t place) {
    return view->base + place / view->width * view->row + place % view->width;
}

/* Pixel of the picture that a pixel of the plane belongs to. */
static int64_t pixel_of(const cli_view *view, const cli_plane *plane, int64_t place) {
    return place / view->width / view->factor * plane->width + place % view->width / view->factor;
}

static void add(cli_plane *plane, int64_t pixel, const double *values) {
    plane->count[pixel]++;
    for (int64_t c = 0; c < plane->channels; c++) /* what is not measured is drawn as 0 */
        if (!isnan(values[c])) plane->value[pixel * plane->channels + c] += values[c];
}

static void divide(cli_plane *plane) {
    for (int64_t k = 0; k < plane->height * plane->width; k++)
        for (int64_t c = 0; c < plane->channels && plane->count[k]; c++)
            plane->value[k * plane->channels + c] /= (double)plane->count[k];
}

csrec_status cli_plane_samples(const csrec_measurement *m, const cli_view *view, cli_plane *plane) {
    CLI_TRY(create(view, view->shown, plane));
    for (int64_t i = 0; i < m->n; i++) {
        /* The place of an entry; -1: it is outside. */
        const int64_t at = m->index[i] - view->base, y = at / view->row, x = at % view->row;
        int64_t place = at >= 0 && y < view->height && x < view->width ? y * view->width + x : -1;
        if (place >= 0) add(plane, pixel_of(view, plane, place), m->y + i * m->channels);
    }
    divide(plane);
    return CSREC_OK;
}

csrec_status cli_plane_signal(const csrec_measurement *m, const cli_view *view,
                              const double *signal, cli_plane *plane) {
    int64_t channels = m->channels;
    CLI_TRY(create(view, view->shown, plane));
    for (int64_t place = 0; place < view->height * view->width; place++)
        add(plane, pixel_of(view, plane, place), signal + entry_of(view, place) * channels);
    divide(plane);
    return CSREC_OK;
}

/* Finite, also of -1e308 and 1e308; of what is measured nowhere 0. */
static double difference(const double *a, const double *b, int64_t i) {
    return isnan(a[i]) ? 0.0 : fmin(fabs(a[i] - (b ? b[i] : 0.0)), DBL_MAX);
}

csrec_status cli_plane_errors(const csrec_measurement *m, const cli_view *view, const double *a,
                              const double *b, cli_plane *plane) {
    const int64_t channels = m->channels, n = view->height * view->width * channels;
    double unit = DBL_MIN; /* in which no square overflows */
    CLI_TRY(create(view, 1, plane));
    for (int64_t i = 0; i < n; i++)
        unit = fmax(unit, difference(a, b, entry_of(view, i / channels) * channels + i % channels));
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = entry_of(view, i / channels) * channels + i % channels;
        const double error = difference(a, b, at) / unit, square = error * error;
        add(plane, pixel_of(view, plane, i / channels), &square);
    }
    divide(plane);
    for (int64_t k = 0; k < plane->height * plane->width; k++)
        plane->value[k] = unit * sqrt(plane->value[k]);
    return CSREC_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

csrec_status cli_plane_range(const cli_plane *plane, double *percentile, double *largest) {
    int64_t n = plane->height * plane->width * plane->channels;
    double *sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) return CSREC_MEMORY;
    memcpy(sorted, plane->value, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    double rank = 0.99 * (double)(n - 1);
    int64_t below = (int64_t)rank, above = below + 1 < n ? below + 1 : below;
    double share = rank - (double)below;
    *percentile = (1.0 - share) * sorted[below] + share * sorted[above];
    *largest = sorted[n - 1];
    free(sorted);
    return CSREC_OK;
}

static uint8_t tone(const cli_view *view, double value) {
    double share = fmin(fmax((value - view->black) / (view->white - view->black), 0.0), 1.0);
    return (uint8_t)lround(255.0 * (view->light ? cli_srgb(share) : share));
}

static csrec_status create_image(const cli_plane *plane, int64_t channels, csrec_image *image) {
    csrec_shape shape = {3, {plane->height, plane->width, channels}};
    *image = (csrec_image){.bits = 8};
    return csrec_array_create(CSREC_U8, &shape, &image->pixels);
}

csrec_status cli_plane_tones(const cli_plane *plane, const cli_view *view, csrec_image *image) {
    int64_t pixels = plane->height * plane->width, n = plane->channels;
    bool holes = false;
    csrec_status status = create_image(plane, n, image);
    for (int64_t k = 0; k < pixels; k++) holes = holes || !plane->count[k];
    if (!status && holes && !(image->alpha = calloc((size_t)pixels, 1))) status = CSREC_MEMORY;
    if (status) return status;
    uint8_t *to = image->pixels.data;
    for (int64_t k = 0; k < pixels; k++) {
        if (holes) image->alpha[k] = plane->count[k] > 0;
        for (int64_t c = k * n; c < (k + 1) * n; c++)
            to[c] = plane->count[k] ? tone(view, plane->value[c]) : 0;
    }
    return CSREC_OK;
}

csrec_status cli_plane_colors(const cli_plane *plane, double most, csrec_image *image) {
    csrec_status status = create_image(plane, 3, image);
    for (int64_t k = 0; !status && k < plane->height * plane->width; k++)
        cli_colormap_color(cli_colormap_info(0), plane->value[k] / most,
                           (uint8_t *)image->pixels.data + 3 * k);
    return status;
}

/* As fine as the size of the page allows: of large planes as 8-bit pictures. Steps are powers of
 * two from a multiple on, so that samples in the recovery, and whole numbers, are alike in all. */
cli_levels cli_levels_of(int64_t values, double low, double high) {
    const double most = values <= 1 << 16 ? 65532.0 : values <= 1 << 18 ? 4094.0 : 255.0;
    const double least = high / most - low / most;
    if (!(least > 0.0) || !isfinite(least)) /* all are the same */
        return (cli_levels){low, low == 0.0 ? 1.0 : fmax(1e-6 * fabs(low), DBL_MIN)};
    const double step = exp2(ceil(log2(least)));
    return (cli_levels){step * floor(low / step), step};
}

cli_levels cli_view_levels(const cli_job *job, const cli_view *view) {
    const int64_t channels = job->in.measurement.channels, f = view->factor;
    const int64_t values = (view->height / f + 1) * (view->width / f + 1) * view->shown;
    double low, high;
    cli_job_range(job, &low, &high);
    for (int64_t place = 0; place < view->height * view->width; place++)
        for (int64_t c = 0; c < view->shown; c++) {
            const int64_t at = entry_of(view, place) * channels + c;
            low = fmin(low, job->result.signal[at]);
            high = fmax(high, job->result.signal[at]);
            if (job->result.truth) low = fmin(low, job->result.truth[at]);
            if (job->result.truth) high = fmax(high, job->result.truth[at]);
        }
    return cli_levels_of(values, low, high);
}

csrec_status cli_plane_levels(const cli_plane *plane, cli_levels levels, csrec_image *image) {
    const int64_t n = plane->channels;
    const csrec_shape shape = {3, {plane->height, plane->width, n}};
    *image = (csrec_image){.bits = 16};
    csrec_status status = csrec_array_create(CSREC_U16, &shape, &image->pixels);
    for (int64_t i = 0; !status && i < image->pixels.count; i++) {
        const double level = plane->value[i] / levels.step - levels.low / levels.step;
        const bool known = plane->count[i / n] && isfinite(plane->value[i]);
        ((uint16_t *)image->pixels.data)[i] =
            known ? (uint16_t)(1 + lround(fmin(fmax(level, 0.0), 65534.0))) : 0;
    }
    return status;
}
