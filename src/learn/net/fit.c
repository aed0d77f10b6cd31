/* SPDX-License-Identifier: BSD-3-Clause */
/* fit.c - fits a network further to the samples of a picture (docs/prior.md). */
#include "learn/net/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/sampling.h"
#include "base/clock.h"
#include "base/threads.h"

/* Shares of the samples that are shown, and the mean of weights. */
static const double SHOWN_LEAST = 0.60, SHOWN_MOST = 0.95, AVERAGE = 0.95;

/* Rates where one copy is shown, and where several are. */
static const double RATE_ONE = 1e-4, RATE_MANY = 3e-5;

/* Of a network of 32 to 256 channels, by 16.9 GMAC for 256 x 256 pixels (bench/cuda.py). */
static const double STEP = 9e-6, STEP_WEIGHTS = 0.17, FIT_WEIGHTS = 1.55e8, FIT_BYTES = 2800.0;

enum { COPIES = 6 };

enum { TRIES = 8, STREAM_STEP = 1 << 20, STREAM_PIXEL };

/* The parts of a step. */
typedef struct batch {
    float *X, *dY;   /* of all copies; dY: first the target */
    uint8_t *hidden; /* [copies][plane] */
} batch;

typedef struct fit {
    csrec_net *net;
    const csrec_fit_source *s;
    const csrec_fit_options *o;
    int64_t multiple, plane; /* plane: pixels of a padded part */
    int64_t rows, columns;   /* of a part */
    int64_t room;            /* floats of work of a part */
    batch batches[2];        /* of this step and of the next */
    float *Y;                /* of all copies */
    float *work;             /* [copies][room] */
    uint8_t *shown;          /* [copies][rows * columns] */
    csrec_pool pool;         /* of all arrays */
} fit;

static csrec_status allocate(fit *f, csrec_error *error) {
    const int64_t copies = f->o->copies, planes = copies * f->plane;
    for (int k = 0; k < (f->o->ahead ? 2 : 1); k++) {
        CSREC_TAKE(&f->pool, f->batches[k].X, planes * f->s->takes);
        CSREC_TAKE(&f->pool, f->batches[k].dY, planes * f->s->makes);
        CSREC_TAKE(&f->pool, f->batches[k].hidden, planes);
    }
    CSREC_TAKE(&f->pool, f->Y, planes * f->s->makes);
    CSREC_TAKE(&f->pool, f->work, copies * f->room);
    CSREC_TAKE(&f->pool, f->shown, copies * f->rows * f->columns);
    if (!f->pool.lacks) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY,
                      "out of memory to fit a network to %d parts of a picture", f->o->copies);
}

static double draw(const fit *f, int64_t step, int i) {
    return csrec_random_uniform(f->o->seed, STREAM_STEP, (uint64_t)(step * 4096 + i));
}

/* Draw i of a step: a part, whose transposition all copies share. */
static csrec_turn draw_part(const fit *f, int64_t step, int i) {
    csrec_turn t = {.width = f->s->width, .rows = f->rows, .columns = f->columns};
    t.top = (int64_t)(draw(f, step, i) * (double)(f->s->height - t.rows + 1));
    t.left = (int64_t)(draw(f, step, i + 1) * (double)(f->s->width - t.columns + 1));
    t.turn = (int)(4.0 * draw(f, step, i + 2)) + (step % 2 ? 4 : 0);
    return t;
}

/* Shows a share of the part's samples and hides the others; returns the smaller number of both. */
static int64_t show(const fit *f, const csrec_turn *t, double share, uint64_t key, uint8_t *known,
                    uint8_t *hidden) {
    int64_t rows = csrec_turned_rows(t), columns = csrec_turned_columns(t), shown = 0, hid = 0;
    int64_t across = csrec_prior_padded(columns, f->multiple);
    memset(hidden, 0, (size_t)f->plane);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            int64_t at = r * columns + c;
            bool sample = !f->s->known || f->s->known[csrec_turn_source(t, r, c)] != 0;
            bool shows = sample && (!f->s->known ||
                                    csrec_random_uniform(key, STREAM_PIXEL, (uint64_t)at) < share);
            bool counts = sample && (!f->s->known || !shows);
            known[at] = shows;
            hidden[r * across + c] = counts;
            shown += shows;
            hid += counts;
        }
    return shown < hid ? shown : hid;
}

static const batch *batch_of(const fit *f, int64_t step) {
    return &f->batches[f->o->ahead ? step % 2 : 0];
}

/* The target of hidden pixels into dY, the planes into X. A part without samples to hide or to show
 * counts for nothing. */
static void make_copy(const fit *f, int64_t step, int copy) {
    const batch *made = batch_of(f, step);
    uint8_t *known = f->shown + copy * f->rows * f->columns;
    uint8_t *hidden = made->hidden + copy * f->plane;
    float *X = made->X + copy * f->s->takes * f->plane,
          *target = made->dY + copy * f->s->makes * f->plane;
    csrec_turn t;
    uint64_t key = 0;
    int64_t least = 0;
    for (int i = 0; i < TRIES && least < 1; i++) {
        int first = 4 * (copy * TRIES + i);
        t = draw_part(f, step, first);
        double share = SHOWN_LEAST + (SHOWN_MOST - SHOWN_LEAST) * draw(f, step, first + 3);
        key = csrec_random_u64(f->o->seed, STREAM_STEP + 2, (uint64_t)(step * 4096 + first));
        least = show(f, &t, share, key, known, hidden);
    }
    memset(target, 0, (size_t)(f->s->makes * f->plane) * sizeof *target);
    if (least < 1) {
        memset(X, 0, (size_t)(f->s->takes * f->plane) * sizeof *X);
        memset(hidden, 0, (size_t)f->plane);
        return;
    }
    f->s->make(f->s->of, &t, known, key, f->work + copy * f->room, X, target);
}

/* dY = gradient of the mean squared error at hidden pixels: 2 (F + D - z) / their number. */
static void set_gradient(const fit *f, const batch *of) {
    int64_t hidden = 0, all = f->o->copies * f->plane;
#pragma omp parallel for schedule(static) num_threads(f->o->threads) reduction(+ : hidden)
    for (int64_t i = 0; i < all; i++) hidden += of->hidden[i];
    float scale = hidden ? 2.0f / (float)(hidden * f->s->channels) : 0.0f;
#pragma omp parallel for schedule(static) num_threads(f->o->threads)
    for (int b = 0; b < f->o->copies; b++)
        for (int64_t k = 0; k < f->s->makes; k++) {
            const int64_t added_to = k < f->s->channels ? f->s->first + k : 0;
            const float *F = of->X + (b * f->s->takes + added_to) * f->plane;
            const float *D = f->Y + (b * f->s->makes + k) * f->plane;
            float *dY = of->dY + (b * f->s->makes + k) * f->plane;
            for (int64_t i = 0; i < f->plane; i++) {
                bool counts = k < f->s->channels && of->hidden[b * f->plane + i];
                dY[i] = counts ? scale * (F[i] + D[i] - dY[i]) : 0.0f;
            }
        }
}

static csrec_status take_step(fit *f, int64_t step, csrec_error *error) {
    const batch *of = batch_of(f, step);
    const double left = 1.0 - (double)step / (double)f->o->steps;
    csrec_net_adam adam = {.rate = f->o->rate * (f->o->falls ? left : 1.0), .average = AVERAGE};
    int64_t height = csrec_prior_padded(step % 2 ? f->columns : f->rows, f->multiple);
    CSREC_TRY(
        csrec_net_forward(f->net, f->o->copies, height, f->plane / height, of->X, f->Y, error));
    set_gradient(f, of);
    csrec_status status = csrec_net_backward(f->net, of->dY, NULL, NULL, error);
    return status ? status : csrec_net_step(f->net, &adam, error);
}

static void make_copies(const fit *f, int64_t step) {
#pragma omp parallel for schedule(static) num_threads(f->o->threads)
    for (int b = 0; b < f->o->copies; b++) make_copy(f, step, b);
}

/* While this thread waits for the device, the others make the next step's parts; it makes what they
 * have left. */
static csrec_status take_step_ahead(fit *f, int64_t step, csrec_error *error) {
    const int copies = step + 1 < f->o->steps ? f->o->copies : 0;
    csrec_status status = CSREC_OK;
    if (step == 0) make_copies(f, step);
#pragma omp parallel num_threads(f->o->threads)
    {
#pragma omp master
        status = take_step(f, step, error);
#pragma omp for schedule(dynamic, 1)
        for (int b = 0; b < copies; b++) make_copy(f, step + 1, b);
    }
    return status;
}

static csrec_status use_mean(csrec_net *net, csrec_error *error) {
    int64_t count;
    csrec_net_info(net, &count, NULL, NULL);
    float *weights = malloc((size_t)count * sizeof *weights);
    if (!weights)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for the weights of a network");
    csrec_status status = csrec_net_weights(net, true, weights, error);
    if (!status) status = csrec_net_set_weights(net, weights, error);
    free(weights);
    return status;
}

csrec_fit_options csrec_fit_usual(const csrec_context *context, int64_t steps, int copies,
                                  int threads) {
    csrec_fit_options o = {.steps = steps, .copies = copies, .threads = csrec_threads(threads)};
    o.ahead = context->kind != CSREC_DEVICE_CPU;
    if (copies == 0) o.copies = context->kind != CSREC_DEVICE_CPU ? COPIES : 1;
    o.rate = o.copies > 1 ? RATE_MANY : RATE_ONE;
    return o;
}

csrec_status csrec_fit_check(int64_t steps, double seconds, csrec_error *error) {
    if (steps > 0 || !(seconds > 0.0)) return CSREC_OK;
    return csrec_fail(error, CSREC_ARGUMENT,
                      "minutes end the fitting, but steps = 0; set steps=200, use preset max, or "
                      "omit the minutes");
}

/* Copies times the pixels of a part. */
static double shown_pixels(double pixels, double copies) {
    return fmax(copies, 1.0) * fmin(pixels, (double)CSREC_FIT_SIDE * CSREC_FIT_SIDE);
}

double csrec_fit_bytes(double pixels, double copies) {
    return FIT_WEIGHTS + FIT_BYTES * shown_pixels(pixels, copies);
}

double csrec_fit_seconds(double pixels, double copies) {
    return STEP_WEIGHTS + STEP * shown_pixels(pixels, copies);
}

csrec_status csrec_net_fit(csrec_net *net, const csrec_fit_source *source,
                           const csrec_fit_options *options, csrec_call *call, int64_t *done,
                           csrec_error *error) {
    fit f = {.net = net, .s = source, .o = options};
    double began = csrec_seconds();
    *done = 0;
    csrec_net_info(net, NULL, &f.multiple, NULL);
    /* The extents of all parts of a picture, padded; the turned ones have as many pixels. */
    f.rows = f.s->height < CSREC_FIT_SIDE ? f.s->height : CSREC_FIT_SIDE;
    f.columns = f.s->width < CSREC_FIT_SIDE ? f.s->width : CSREC_FIT_SIDE;
    f.room = f.s->room(f.s->of, f.rows, f.columns);
    f.plane = csrec_prior_padded(f.rows, f.multiple) * csrec_prior_padded(f.columns, f.multiple);
    csrec_status status = allocate(&f, error);
    while (!status && *done < options->steps) {
        csrec_progress now = {"fitting the network", *done, options->steps, -1.0};
        if (csrec_call_report(call, &now)) break;
        if (options->seconds > 0.0 && csrec_seconds() - began >= options->seconds) break;
        if (!options->ahead) make_copies(&f, *done);
        status = options->ahead ? take_step_ahead(&f, *done, error) : take_step(&f, *done, error);
        if (!status) ++*done;
    }
    csrec_pool_clear(&f.pool);
    return status || *done == 0 ? status : use_mean(net, error);
}
