/* SPDX-License-Identifier: BSD-3-Clause */
/* next.c - where the frame that comes next is thought to err: where the last one is expected to,
 * and where it differs from the one before. */
#include <math.h>
#include <string.h>

#include "method/beside/beside.h"

enum { SPREAD = 2 }; /* pixels to either side over which squares are spread */

/* Of the squared difference of two frames, as error of the next: samples around tell the rest. */
static const double MOVED = 0.1;

/* Means over lines of 2 SPREAD + 1, along one axis: count values `apart`. */
static void spread_line(int64_t count, int64_t apart, double *line, double *v) {
    for (int64_t i = 0; i < count; i++) line[i] = v[i * apart];
    for (int64_t i = 0; i < count; i++) {
        const int64_t from = i < SPREAD ? 0 : i - SPREAD,
                      to = i + SPREAD < count ? i + SPREAD : count - 1;
        double sum = 0.0;
        for (int64_t k = from; k <= to; k++) sum += line[k];
        v[i * apart] = sum / (double)(to - from + 1);
    }
}

static void spread_squares(const csrec_film *f, double *line, double *squares) {
    for (int64_t y = 0; y < f->height; y++) spread_line(f->width, 1, line, squares + y * f->width);
    for (int64_t x = 0; x < f->width; x++) spread_line(f->height, f->width, line, squares + x);
}

/* Frame t without a vote, which belongs to frames as they are taken. */
static csrec_status recover_frame(csrec_film *f, int64_t t, double *signal, double *variance,
                                  csrec_call *call, csrec_error *error) {
    csrec_film_weigh(f, t);
    CSREC_TRY(csrec_film_recover(f, t, signal, variance, call, error));
    if (variance) csrec_film_expect(f, variance);
    csrec_samples_restore(&csrec_film_at(f, t)->m, signal);
    return csrec_call_stopped(call) ? csrec_fail(error, CSREC_STOPPED, "stopped") : CSREC_OK;
}

csrec_status csrec_film_next(csrec_film *f, double *squares, csrec_call *call, csrec_error *error) {
    const int64_t t = f->pushed - 1, C = f->channels, n = f->height * f->width;
    csrec_pool pool = {0};
    double *last = CSREC_TAKE(&pool, last, n * C), *before = CSREC_TAKE(&pool, before, n * C);
    double *variance = CSREC_TAKE(&pool, variance, n * C);
    double *line = CSREC_TAKE(&pool, line, f->height > f->width ? f->height : f->width);
    csrec_status status = pool.lacks ? csrec_memory_fail(error, NULL) : CSREC_OK;
    for (int64_t i = 0; i < n * C && !status; i++) variance[i] = NAN;
    if (!status && t > 0) status = recover_frame(f, t - 1, before, NULL, call, error);
    if (!status) status = recover_frame(f, t, last, variance, call, error);
    if (!status && t == 0) memcpy(before, last, (size_t)(n * C) * sizeof *before);
    for (int64_t i = 0; i < n && !status; i++) {
        squares[i] = 0.0;
        for (int64_t c = 0; c < C; c++) {
            const double moved = f->weight[c] * (last[i * C + c] - before[i * C + c]);
            squares[i] += isfinite(moved) ? MOVED * moved * moved : 0.0;
        }
    }
    if (!status) spread_squares(f, line, squares);
    for (int64_t i = 0; i < n * C && !status; i++)
        squares[i / C] += f->weight[i % C] * f->weight[i % C] * fmax(variance[i], 0.0);
    if (!status) csrec_film_ahead(f, t, squares, variance);
    csrec_pool_clear(&pool);
    return status;
}
