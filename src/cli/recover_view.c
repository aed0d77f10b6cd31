/* recover_view.c - samples, recovery, reference and error map as 8-bit pictures. */
#include "recover_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1024 };

static void set_tones(const cli_job *job, cli_view *view) {
    const csrec_measurement *m = &job->measurement;
    view->black = job->tones.scale[0];
    view->white = job->tones.scale[1];
    if (view->black != view->white) return;
    view->black = view->white = m->y[0];
    for (int64_t i = 0; i < m->n * m->channels; i++) {
        view->black = fmin(view->black, m->y[i]);
        view->white = fmax(view->white, m->y[i]);
    }
    if (view->black == view->white) view->white += 1.0;
}

bool cli_view_of(const cli_job *job, cli_view *view) {
    const csrec_measurement *m = &job->measurement;
    const csrec_shape *shape = &m->shape;
    if (shape->dims < 2) return false;
    *view = (cli_view){.height = shape->dim[shape->dims - 2],
                       .width = shape->dim[shape->dims - 1],
                       .shown = m->channels == 3 ? 3 : 1};
    int64_t stride = view->height * view->width;
    for (int a = shape->dims - 3; a >= 0; stride *= shape->dim[a--])
        view->base += shape->dim[a] / 2 * stride;
    int64_t longest = view->height > view->width ? view->height : view->width;
    view->factor = (longest + LARGEST - 1) / LARGEST;
    set_tones(job, view);
    return true;
}

/* Sums over the plane's pixels that become one pixel, and their number. */
typedef struct sums {
    int64_t height, width;
    double *sum;    /* [height][width][shown] */
    int64_t *count; /* [height][width] */
} sums;

static void clear(sums *s) {
    free(s->sum);
    free(s->count);
}

static csrec_status create(const cli_view *view, sums *s) {
    s->height = (view->height + view->factor - 1) / view->factor;
    s->width = (view->width + view->factor - 1) / view->factor;
    size_t pixels = (size_t)(s->height * s->width);
    s->sum = calloc(pixels * (size_t)view->shown, sizeof *s->sum);
    s->count = calloc(pixels, sizeof *s->count);
    if (s->sum && s->count) return CSREC_OK;
    clear(s);
    return CSREC_MEMORY;
}

/* Pixel of the picture that a pixel of the plane belongs to. */
static int64_t pixel_of(const cli_view *view, const sums *s, int64_t place) {
    return place / view->width / view->factor * s->width + place % view->width / view->factor;
}

static void add_samples(const cli_job *job, const cli_view *view, sums *s) {
    const csrec_measurement *m = &job->measurement;
    for (int64_t i = 0; i < m->n; i++) {
        int64_t place = m->index[i] - view->base;
        if (place < 0 || place >= view->height * view->width) continue;
        int64_t pixel = pixel_of(view, s, place);
        s->count[pixel]++;
        for (int64_t c = 0; c < view->shown; c++)
            s->sum[pixel * view->shown + c] += m->y[i * m->channels + c];
    }
}

static void add_signal(const cli_job *job, const cli_view *view, const double *signal, sums *s) {
    int64_t channels = job->measurement.channels;
    for (int64_t place = 0; place < view->height * view->width; place++) {
        int64_t pixel = pixel_of(view, s, place);
        const double *at = signal + (view->base + place) * channels;
        s->count[pixel]++;
        for (int64_t c = 0; c < view->shown; c++) s->sum[pixel * view->shown + c] += at[c];
    }
}

/* view->shown is 1 here. */
static void add_errors(const cli_job *job, const cli_view *view, sums *s) {
    int64_t channels = job->measurement.channels;
    for (int64_t place = 0; place < view->height * view->width; place++) {
        int64_t pixel = pixel_of(view, s, place), first = (view->base + place) * channels;
        s->count[pixel]++;
        for (int64_t c = first; c < first + channels; c++)
            s->sum[pixel] += fabs(job->signal[c] - job->truth[c]) / (double)channels;
    }
}

static uint8_t tone(const cli_view *view, double value) {
    double share = (value - view->black) / (view->white - view->black);
    return (uint8_t)lround(255.0 * fmin(fmax(share, 0.0), 1.0));
}

/* From black over blue, violet and orange to white: brighter is worse, also for colour-blind
 * readers. */
void cli_error_color(double share, uint8_t rgb[3]) {
    static const double stops[6][3] = {{0, 0, 8},     {40, 20, 100},  {120, 30, 120},
                                       {210, 70, 80}, {250, 160, 40}, {255, 255, 220}};
    double at = 5.0 * fmin(fmax(share, 0.0), 1.0);
    int k = at < 4.0 ? (int)at : 4;
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)lround(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
}

static csrec_status make_tones(const cli_view *view, const sums *s, bool holes,
                               csrec_image *image) {
    csrec_shape shape = {3, {s->height, s->width, view->shown}};
    csrec_status status = csrec_array_create(CSREC_U8, &shape, &image->pixels);
    if (!status && holes && !(image->alpha = calloc((size_t)(s->height * s->width), 1)))
        status = CSREC_MEMORY;
    if (status) return status;
    uint8_t *to = image->pixels.data;
    for (int64_t k = 0; k < s->height * s->width; k++) {
        if (holes) image->alpha[k] = s->count[k] > 0;
        for (int64_t c = k * view->shown; c < (k + 1) * view->shown; c++)
            to[c] = s->count[k] ? tone(view, s->sum[c] / (double)s->count[k]) : 0;
    }
    return CSREC_OK;
}

static csrec_status make_errors(cli_view *view, const sums *s, csrec_image *image) {
    csrec_shape shape = {3, {s->height, s->width, 3}};
    csrec_status status = csrec_array_create(CSREC_U8, &shape, &image->pixels);
    view->error_most = 0.0;
    for (int64_t k = 0; k < s->height * s->width; k++)
        view->error_most = fmax(view->error_most, s->sum[k] / (double)s->count[k]);
    double most = view->error_most > 0.0 ? view->error_most : 1.0;
    for (int64_t k = 0; !status && k < s->height * s->width; k++)
        cli_error_color(s->sum[k] / (double)s->count[k] / most,
                        (uint8_t *)image->pixels.data + 3 * k);
    return status;
}

csrec_status cli_view_encode(const cli_job *job, cli_view *view, cli_view_kind kind,
                             uint8_t **bytes, size_t *n, csrec_error *error) {
    sums s;
    csrec_image image = {.bits = 8};
    cli_view own = *view;
    if (kind == CLI_VIEW_ERROR) own.shown = 1;
    snprintf(error->text, sizeof error->text, "%s: out of memory for its report", job->input);
    csrec_status status = create(&own, &s);
    if (status) return status;
    if (kind == CLI_VIEW_SAMPLES)
        add_samples(job, &own, &s);
    else if (kind == CLI_VIEW_ERROR)
        add_errors(job, &own, &s);
    else
        add_signal(job, &own, kind == CLI_VIEW_RECOVERY ? job->signal : job->truth, &s);
    status = kind == CLI_VIEW_ERROR ? make_errors(&own, &s, &image)
                                    : make_tones(&own, &s, kind == CLI_VIEW_SAMPLES, &image);
    view->error_most = own.error_most;
    if (!status) status = csrec_image_encode(&image, bytes, n, error);
    csrec_image_clear(&image);
    clear(&s);
    return status;
}
