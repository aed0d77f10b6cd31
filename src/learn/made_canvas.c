/* made_canvas.c - painting from the front.
 *
 * Every shape is an interval a row, less one for a ring, found in closed form; a bit a pixel tells
 * what is still open. So a hidden shape costs a few operations a row, and a texture is computed
 * only for pixels that are seen. */
#include "learn/made_canvas.h"

#include <string.h>

static size_t padded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static size_t words_of(int side) {
    return ((size_t)side + 63) / 64;
}

size_t csrec_made_canvas_room(int channels, int side) {
    size_t n = (size_t)side;
    return padded((size_t)channels * n * n * sizeof(float)) +
           padded(n * words_of(side) * sizeof(uint64_t)) + padded(n * sizeof(int));
}

static uint64_t low_bits(int n) {
    return n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
}

void csrec_made_canvas_start(csrec_made_canvas *canvas, const csrec_made_bank *bank, int channels,
                             int size, int scale, void *work) {
    int side = size * scale;
    size_t n = (size_t)side, words = words_of(side);
    char *at = work;
    *canvas = (csrec_made_canvas){.bank = bank,
                                  .channels = channels,
                                  .side = side,
                                  .words = (int)words,
                                  .scale = scale,
                                  .n_open = (int64_t)side * side};
    canvas->plane = (float *)at;
    at += padded((size_t)channels * n * n * sizeof(float));
    canvas->open = (uint64_t *)at;
    at += padded(n * words * sizeof(uint64_t));
    canvas->row_open = (int *)at;
    for (size_t i = 0; i < n; i++) {
        for (size_t w = 0; w < words; w++)
            canvas->open[i * words + w] = low_bits(side - 64 * (int)w);
        canvas->row_open[i] = side;
    }
}

typedef struct {
    float low, high; /* of dx */
} interval;

/* The dx of a row inside an ellipse: a quadratic inequality. */
static interval ellipse_row(const float form[3], float dy) {
    float middle = -form[1] * dy / form[0];
    float rest = (1.0f - form[2] * dy * dy) / form[0] + middle * middle;
    if (rest <= 0) return (interval){1, 0};
    float half = sqrtf(rest);
    return (interval){middle - half, middle + half};
}

static interval shape_row(const csrec_made_shape *s, float dy) {
    interval in = s->has_outer ? ellipse_row(s->outer, dy) : (interval){-1e9f, 1e9f};
    for (int k = 0; k < s->planes; k++) {
        float n = s->plane[k][0], rest = s->plane[k][2] - s->plane[k][1] * dy;
        if (fabsf(n) < 1e-6f) {
            if (rest <= 0) return (interval){1, 0};
        } else if (n > 0) {
            in.high = fminf(in.high, rest / n);
        } else {
            in.low = fmaxf(in.low, rest / n);
        }
    }
    return in;
}

/* The first pixel whose centre, x + 1/2, is right of `edge`, within 0 .. side. */
static int pixel_after(const csrec_made_canvas *c, float edge) {
    float at = edge + 0.5f;
    if (!(at > 0)) return 0;
    return at < (float)c->side ? (int)at : c->side;
}

/* Paints the open pixels of first .. end - 1, a run of them at a time. */
static void pixels_paint(csrec_made_canvas *c, const csrec_made_shape *shape,
                         const csrec_made_surface *surface, int y, int first, int end) {
    uint64_t *row = c->open + (size_t)y * (size_t)c->words;
    for (int w = first / 64; w * 64 < end; w++) {
        int from = first > w * 64 ? first - w * 64 : 0, to = end - w * 64;
        uint64_t seen = row[w] & low_bits(to) & ~low_bits(from);
        int painted = __builtin_popcountll(seen);
        row[w] &= ~seen;
        c->row_open[y] -= painted;
        c->n_open -= painted;
        while (seen) {
            int start = __builtin_ctzll(seen);
            uint64_t rest = ~(seen >> start);
            int n = rest ? __builtin_ctzll(rest) : 64;
            if (n > 64 - start) n = 64 - start;
            csrec_made_surface_paint(c, shape, surface, w * 64 + start, y, n);
            seen &= ~(low_bits(n) << start);
        }
    }
}

static void row_paint(csrec_made_canvas *c, const csrec_made_shape *s,
                      const csrec_made_surface *surface, int y) {
    float dy = (float)y + 0.5f - s->y;
    interval in = shape_row(s, dy);
    if (!(in.low < in.high)) return;
    int first = pixel_after(c, s->x + in.low), end = pixel_after(c, s->x + in.high);
    interval hole = s->has_inner ? ellipse_row(s->inner, dy) : (interval){1, 0};
    if (!(hole.low < hole.high)) {
        if (first < end) pixels_paint(c, s, surface, y, first, end);
        return;
    }
    int hole_first = pixel_after(c, s->x + hole.low), hole_end = pixel_after(c, s->x + hole.high);
    if (hole_first > end) hole_first = end;
    if (hole_end < first) hole_end = first;
    if (first < hole_first) pixels_paint(c, s, surface, y, first, hole_first);
    if (hole_end < end) pixels_paint(c, s, surface, y, hole_end, end);
}

void csrec_made_canvas_add(csrec_made_canvas *canvas, const csrec_made_shape *shape,
                           const csrec_made_surface *surface) {
    if (shape->x + shape->reach < 0 || shape->x - shape->reach > (float)canvas->side) return;
    int first = pixel_after(canvas, shape->y - shape->reach);
    int end = pixel_after(canvas, shape->y + shape->reach);
    for (int y = first; y < end; y++)
        if (canvas->row_open[y]) row_paint(canvas, shape, surface, y);
}

void csrec_made_canvas_close(csrec_made_canvas *canvas, const csrec_made_surface *surface) {
    csrec_made_shape all;
    float half = 0.5f * (float)canvas->side;
    csrec_made_shape_start(&all, half, half, 0, 2 * half);
    csrec_made_canvas_add(canvas, &all, surface);
}
