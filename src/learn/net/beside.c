/* SPDX-License-Identifier: BSD-3-Clause */
/* beside.c - models of kind beside: checks, the planes that their network takes, and its passes. */
#include "learn/net/beside.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "learn/net/pyramid.h"

static int integer_of(const csrec_model *model, const char *array) {
    return (int)*(const int64_t *)csrec_model_array(model, array)->data;
}

static int planes_of(int frames, int guides) {
    return 3 * frames + 2 + guides;
}

csrec_status csrec_beside_check(const csrec_model *model, const char *name, csrec_error *error) {
    const int64_t frames = *(const int64_t *)csrec_model_array(model, "frames")->data;
    const int64_t guides = *(const int64_t *)csrec_model_array(model, "guides")->data;
    if (frames < 1 || frames > CSREC_BESIDE_FRAMES || frames % 2 == 0)
        return csrec_model_fail(name, "frames", error, "is %lld; must be odd, 1 to %d",
                                (long long)frames, CSREC_BESIDE_FRAMES);
    if (guides < 0 || guides > CSREC_GUIDED_MOST)
        return csrec_model_fail(name, "guides", error, "is %lld; must be 0 to %d",
                                (long long)guides, CSREC_GUIDED_MOST);
    return csrec_prior_check_layers(model, planes_of((int)frames, (int)guides), 2, name, error);
}

static csrec_status open_network(csrec_beside *b, const csrec_prior_from *from,
                                 const csrec_context *context, const csrec_net_options *options,
                                 csrec_error *error) {
    CSREC_TRY(csrec_prior_begin(from, 0, &b->use, error));
    b->frames = integer_of(b->use.model, "frames");
    b->guides = integer_of(b->use.model, "guides");
    CSREC_TRY(csrec_prior_start(&b->use, planes_of(b->frames, b->guides), context, options, error));
    b->net = b->use.net;
    csrec_net_info(b->net, NULL, &b->multiple, NULL);
    return CSREC_OK;
}

static int64_t work_of(int64_t height, int64_t width, int guides) {
    const int64_t spread = csrec_pyramid_work(height, width),
                  fit = guides ? csrec_guided_work(height, width, guides) : 0;
    return spread > fit ? spread : fit;
}

csrec_status csrec_beside_create(const csrec_prior_from *from, bool network, int guides,
                                 const csrec_context *context, const csrec_net_options *options,
                                 int64_t height, int64_t width, csrec_beside *b,
                                 csrec_error *error) {
    *b = (csrec_beside){
        .height = height, .width = width, .multiple = 1, .frames = 1, .guides = guides};
    csrec_status status = CSREC_OK;
    if (network) status = open_network(b, from, context, options, error);
    if (status) return status;
    const int64_t n = height * width;
    const int64_t padded =
        csrec_prior_padded(height, b->multiple) * csrec_prior_padded(width, b->multiple);
    b->n_planes = planes_of(b->frames, b->guides);
    CSREC_TAKE(&b->pool, b->planes, b->n_planes * n);
    CSREC_TAKE(&b->pool, b->work, work_of(height, width, b->guides));
    if (network) {
        CSREC_TAKE(&b->pool, b->turned, b->n_planes * padded);
        CSREC_TAKE(&b->pool, b->out, 2 * padded);
    }
    return csrec_pass_room(&b->pool, height, width, error);
}

void csrec_beside_clear(csrec_beside *b) {
    csrec_prior_end(&b->use);
    csrec_pool_clear(&b->pool);
}

/* Mean and variance of the samples of all frames, by differences from the first. */
static void measure(csrec_beside *b, const csrec_beside_window *w) {
    double first = 0.0, sum = 0.0, squares = 0.0, n = 0.0;
    for (int t = 0; t < w->frames; t++)
        for (int64_t i = 0; i < b->height * b->width && w->known[t]; i++) {
            if (!w->known[t][i]) continue;
            if (n == 0.0) first = (double)w->values[t][i];
            const double off = (double)w->values[t][i] - first;
            sum += off;
            squares += off * off;
            n += 1.0;
        }
    n = fmax(n, 1.0);
    b->mean = first + sum / n;
    b->unit =
        sqrt(fmax(squares / n - sum / n * (sum / n), 0.0) + (double)w->tone * (double)w->tone);
}

static void look_at_frame(csrec_beside *b, const csrec_beside_window *w, int t) {
    const int64_t n = b->height * b->width;
    float *spread = b->planes + t * n, *z = spread + b->frames * n, *known = z + b->frames * n;
    if (!w->known[t]) {
        memset(spread, 0, (size_t)n * sizeof *spread);
        memset(z, 0, (size_t)n * sizeof *z);
        memset(known, 0, (size_t)n * sizeof *known);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(n, w->threads))
    for (int64_t i = 0; i < n; i++) {
        known[i] = w->known[t][i] ? 1.0f : 0.0f;
        z[i] = w->known[t][i] ? (float)(((double)w->values[t][i] - b->mean) / b->unit) : 0.0f;
    }
    csrec_pyramid_fill(b->height, b->width, w->threads, z, known, b->work, spread);
}

/* In normal values of its own; false: it is constant. */
static bool look_at_guide(const csrec_beside *b, const float *guide, float *own) {
    const int64_t n = b->height * b->width;
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double off = (double)guide[i] - (double)guide[0];
        sum += off;
        squares += off * off;
    }
    const double mean = sum / (double)n,
                 spread = sqrt(fmax(squares / (double)n - mean * mean, 0.0));
    const double least = 1e-7 * fmax(fabs((double)guide[0]), fabs((double)guide[0] + mean));
    for (int64_t i = 0; i < n; i++) {
        const double off = (double)guide[i] - (double)guide[0] - mean;
        own[i] = spread > least
                     ? fminf(fmaxf((float)(off / spread), -CSREC_GUIDED_LIMIT), CSREC_GUIDED_LIMIT)
                     : 0.0f;
    }
    return spread > least;
}

/* F of the middle frame: the fit, and the rest of its samples spread. */
static void fit(csrec_beside *b, const csrec_beside_window *w, const float *guide) {
    const int64_t n = b->height * b->width;
    const int middle = b->frames / 2;
    const float *z = b->planes + (b->frames + middle) * n, *known = z + b->frames * n;
    float *F = b->planes + (b->n_planes - 1) * n, *rest = b->planes + middle * n;
    csrec_guided_fit(b->height, b->width, b->guides, guide, z, known, w->threads, b->work, F);
    float *spread = b->work, *work = b->work + n;
    for (int64_t i = 0; i < n; i++) spread[i] = known[i] > 0.0f ? z[i] - F[i] : 0.0f;
    csrec_pyramid_fill(b->height, b->width, w->threads, spread, known, work, rest);
    for (int64_t i = 0; i < n; i++) F[i] += rest[i];
    csrec_pyramid_fill(b->height, b->width, w->threads, z, known, b->work, rest);
}

void csrec_beside_look(csrec_beside *b, const csrec_beside_window *w) {
    const int64_t n = b->height * b->width;
    float *level = b->planes + 3 * b->frames * n, *guide = level + n, *F = guide + b->guides * n;
    bool guided = false;
    measure(b, w);
    for (int t = 0; t < b->frames; t++) look_at_frame(b, w, t);
    const float sigma = (float)((double)w->sigma / b->unit);
    for (int64_t i = 0; i < n; i++) level[i] = sigma;
    for (int g = 0; g < b->guides; g++)
        if (g < w->guides)
            guided = look_at_guide(b, w->guide + g * n, guide + g * n) || guided;
        else
            memset(guide + g * n, 0, (size_t)n * sizeof *guide);
    if (guided)
        fit(b, w, guide);
    else
        memcpy(F, b->planes + b->frames / 2 * n, (size_t)n * sizeof *F);
}

csrec_status csrec_beside_add(csrec_beside *b, int turn, int threads, csrec_call *call,
                              float *result, float *squares, csrec_error *error) {
    const int64_t n = b->height * b->width;
    const csrec_turn t = {turn, b->width, 0, 0, b->height, b->width};
    const int64_t rows = csrec_turned_rows(&t), columns = csrec_turned_columns(&t);
    const int64_t height = csrec_prior_padded(rows, b->multiple),
                  width = csrec_prior_padded(columns, b->multiple);
    const float *F = b->planes + (b->n_planes - 1) * n;
    csrec_status status = CSREC_OK;
    if (b->net) {
        csrec_turn_planes(&t, b->n_planes, b->planes, height, width, threads, b->turned);
        status = csrec_net_run(b->net, height, width, b->turned, b->out, 0, call, error);
    }
    if (status) return status;
    const bool made = b->net && !csrec_call_stopped(call);
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(n, threads))
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            const int64_t to = csrec_turn_source(&t, r, c), at = r * width + c;
            const float z = made ? F[to] + b->out[at] : F[to];
            result[to] += (float)(b->mean + b->unit * (double)z);
            if (made && squares)
                squares[to] += csrec_prior_square(b->unit, b->out[height * width + at]);
        }
    return CSREC_OK;
}

static int64_t room(const void *of, int64_t rows, int64_t columns) {
    const csrec_beside *b = ((const csrec_beside_part *)of)->beside;
    const int64_t n = rows * columns, floats = b->n_planes + b->frames + b->guides;
    return floats * n + work_of(rows, columns, b->guides) + (b->frames * n + 3) / 4;
}

/* The part of a picture as it is, of entries of so many bytes. */
static void *cut(const csrec_turn *t, const void *picture, size_t size, void *to) {
    for (int64_t y = 0; y < t->rows; y++)
        memcpy((char *)to + (size_t)(y * t->columns) * size,
               (const char *)picture + (size_t)((t->top + y) * t->width + t->left) * size,
               (size_t)t->columns * size);
    return to;
}

/* Planes of the part as it is are then turned, as those of a pass. */
static void make_part(const void *of, const csrec_turn *t, const uint8_t *shown, uint64_t key,
                      float *work, float *X, float *target) {
    (void)key;
    const csrec_beside_part *whole = of;
    const csrec_turn turn = {t->turn, t->columns, 0, 0, t->rows, t->columns};
    const int64_t n = t->rows * t->columns, rows = csrec_turned_rows(t),
                  columns = csrec_turned_columns(t), middle = whole->beside->frames / 2;
    csrec_beside b = *whole->beside;
    csrec_beside_window w = *whole->window;
    float *values = work + b.n_planes * n, *guide = values + b.frames * n;
    b.height = t->rows;
    b.width = t->columns;
    b.planes = work;
    b.work = guide + b.guides * n;
    uint8_t *known = (uint8_t *)(b.work + work_of(t->rows, t->columns, b.guides));
    for (int k = 0; k < b.frames; k++) {
        if (!w.known[k]) continue;
        w.values[k] = cut(t, w.values[k], sizeof *values, values + k * n);
        w.known[k] = cut(t, w.known[k], sizeof *known, known + k * n);
    }
    for (int g = 0; g < w.guides; g++)
        cut(t, w.guide + g * whole->beside->height * whole->beside->width, sizeof *guide,
            guide + g * n);
    w.guide = guide;
    for (int64_t i = 0; i < n; i++)
        known[middle * n + csrec_turn_source(&turn, i / columns, i % columns)] = shown[i];
    csrec_beside_look(&b, &w);
    const int64_t height = csrec_prior_padded(rows, b.multiple),
                  width = csrec_prior_padded(columns, b.multiple);
    csrec_turn_planes(&turn, b.n_planes, b.planes, height, width, w.threads, X);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = csrec_turn_source(&turn, i / columns, i % columns);
        target[i / columns * width + i % columns] =
            (float)(((double)values[middle * n + from] - b.mean) / b.unit);
    }
}

csrec_fit_source csrec_beside_source(const csrec_beside_part *part, const uint8_t *known) {
    const csrec_beside *b = part->beside;
    return (csrec_fit_source){.of = part,
                              .height = b->height,
                              .width = b->width,
                              .known = known,
                              .channels = 1,
                              .takes = b->n_planes,
                              .makes = 2,
                              .first = b->n_planes - 1,
                              .room = room,
                              .make = make_part};
}
