/* made_finish.c - from the canvas to the picture, and what a camera and light do to it. */
#include <string.h>

#include "learn/made_scene.h"

enum { KNOTS = 5, REACH = 3, STRIP = 256 };

/* Means of scale x scale pixels of the canvas, from (left, top) on, kept inside. */
static float block_mean(const csrec_made_canvas *canvas, const float *plane, int left, int top) {
    int scale = canvas->scale, last = canvas->side - scale;
    left = left < 0 ? 0 : left > last ? last : left;
    top = top < 0 ? 0 : top > last ? last : top;
    float sum = 0;
    for (int y = top; y < top + scale; y++)
        for (int x = left; x < left + scale; x++)
            sum += plane[(size_t)y * (size_t)canvas->side + (size_t)x];
    return sum / (float)(scale * scale);
}

static void rows_reduce(const csrec_made_canvas *canvas, float *picture) {
    int scale = canvas->scale, size = canvas->side / scale;
    size_t side = (size_t)canvas->side;
    float factor = 1.0f / (float)(scale * scale);
    for (int c = 0; c < canvas->channels; c++)
        for (int y = 0; y < size; y++) {
            const float *in = canvas->plane + ((size_t)c * side + (size_t)(y * scale)) * side;
            float *out = picture + ((size_t)c * (size_t)size + (size_t)y) * (size_t)size;
            for (int x = 0; x < size; x++) {
                float sum = 0;
                for (int k = 0; k < scale; k++)
                    for (int i = 0; i < scale; i++)
                        sum += in[(size_t)k * side + (size_t)(x * scale + i)];
                out[x] = sum * factor;
            }
        }
}

/* Displaced by smooth noise, the same for all channels, so that straight edges become curved and
 * frayed. A displacement a pixel of the picture, in whole pixels of the canvas. */
static void bent_reduce(const csrec_made_canvas *canvas, csrec_made_draws *d, float *picture) {
    int scale = canvas->scale, size = canvas->side / scale;
    float amount = csrec_made_scale(d, 0.7f, 7) * (float)scale,
          step = csrec_made_scale(d, 0.15f, 1);
    double start = 512.0 * csrec_made_uniform(d);
    int table =
        csrec_made_count(d, 14, CSREC_MADE_TABLES - 2) / 2 * 2; /* two of one smooth spectrum */
    const float *noise[2] = {csrec_made_bank_table(canvas->bank, table),
                             csrec_made_bank_table(canvas->bank, table + 1)};
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x += 64) {
            float across[64], down[64];
            int n = size - x < 64 ? size - x : 64;
            csrec_made_bank_line(noise[0], start + step * x, step * y, step, 0, n, across);
            csrec_made_bank_line(noise[1], start + step * x, step * y, step, 0, n, down);
            for (int c = 0; c < canvas->channels; c++) {
                const float *plane =
                    canvas->plane + (size_t)c * (size_t)canvas->side * (size_t)canvas->side;
                float *out = picture + ((size_t)c * (size_t)size + (size_t)y) * (size_t)size + x;
                for (int i = 0; i < n; i++)
                    out[i] = block_mean(canvas, plane, (x + i) * scale + (int)(amount * across[i]),
                                        y * scale + (int)(amount * down[i]));
            }
        }
}

void csrec_made_canvas_reduce(const csrec_made_canvas *canvas, csrec_made_draws *d, bool is_bent,
                              float *picture) {
    if (is_bent)
        bent_reduce(canvas, d, picture);
    else
        rows_reduce(canvas, picture);
}

/* An index within 0 .. size - 1, mirrored at the borders' pixels. size > REACH. */
static int mirrored(int i, int size) {
    return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i;
}

static void rows_blur(const float *in, int size, const float *weight, float *out) {
    float row[CSREC_MADE_SIZE_MAX + 2 * REACH];
    for (int y = 0; y < size; y++) {
        for (int x = -REACH; x < size + REACH; x++)
            row[x + REACH] = in[(size_t)y * (size_t)size + (size_t)mirrored(x, size)];
        for (int x = 0; x < size; x++) {
            float sum = 0;
            for (int k = 0; k <= 2 * REACH; k++) sum += weight[k] * row[x + k];
            out[(size_t)y * (size_t)size + (size_t)x] = sum;
        }
    }
}

static void columns_blur(const float *in, int size, const float *weight, float *out) {
    for (int y = 0; y < size; y++) {
        float *row = out + (size_t)y * (size_t)size;
        memset(row, 0, (size_t)size * sizeof *row);
        for (int k = -REACH; k <= REACH; k++) {
            const float *from = in + (size_t)mirrored(y + k, size) * (size_t)size;
            for (int x = 0; x < size; x++) row[x] += weight[k + REACH] * from[x];
        }
    }
}

/* A Gauss function of deviation 0.3 to 1 pixels. */
static void picture_blur(csrec_made_field *f, csrec_made_draws *d) {
    float weight[2 * REACH + 1], sum = 0, deviation = csrec_made_between(d, 0.3f, 1);
    size_t n = (size_t)f->size * (size_t)f->size;
    for (int k = -REACH; k <= REACH; k++)
        sum += weight[k + REACH] = expf(-0.5f * (float)(k * k) / (deviation * deviation));
    for (int k = 0; k <= 2 * REACH; k++) weight[k] /= sum;
    for (int c = 0; c < f->channels; c++) {
        rows_blur(f->picture + (size_t)c * n, f->size, weight, f->work);
        columns_blur(f->work, f->size, weight, f->picture + (size_t)c * n);
    }
}

/* Catmull-Rom weights of the four knots around pixel i, and the first of them. The knots lie evenly
 * from the first pixel to the last; beyond them the outer ones are repeated. */
static int knot_weights(int i, int size, float weight[4]) {
    float at = (float)i * (KNOTS - 1) / (float)(size - 1);
    int first = (int)at;
    float t = at - (float)first;
    weight[0] = 0.5f * t * (-1 + t * (2 - t));
    weight[1] = 0.5f * (2 + t * t * (3 * t - 5));
    weight[2] = 0.5f * t * (1 + t * (4 - 3 * t));
    weight[3] = 0.5f * t * t * (t - 1);
    return first - 1;
}

static int knot_at(int k) {
    return k < 0 ? 0 : k > KNOTS - 1 ? KNOTS - 1 : k;
}

/* Of the columns from `begin` on. */
static void strip_shade(csrec_made_field *f, float knot[KNOTS][KNOTS], float amount, int begin,
                        int columns) {
    float across[KNOTS][STRIP], w[4];
    for (int x = 0; x < columns; x++) {
        int first = knot_weights(begin + x, f->size, w);
        for (int j = 0; j < KNOTS; j++) {
            across[j][x] = 0;
            for (int k = 0; k < 4; k++) across[j][x] += w[k] * knot[j][knot_at(first + k)];
        }
    }
    for (int y = 0; y < f->size; y++) {
        int first = knot_weights(y, f->size, w);
        const float *p = across[knot_at(first)], *q = across[knot_at(first + 1)];
        const float *r = across[knot_at(first + 2)], *s = across[knot_at(first + 3)];
        for (int c = 0; c < f->channels; c++) {
            float *row =
                f->picture + ((size_t)c * (size_t)f->size + (size_t)y) * (size_t)f->size + begin;
            for (int x = 0; x < columns; x++)
                row[x] *= 1 + amount * (w[0] * p[x] + w[1] * q[x] + w[2] * r[x] + w[3] * s[x]);
        }
    }
}

/* Times 1 + a smooth function through 5 x 5 normal numbers: light that falls unevenly. */
static void picture_shade(csrec_made_field *f, csrec_made_draws *d) {
    float knot[KNOTS][KNOTS], amount = csrec_made_between(d, 0, 0.25f);
    for (int i = 0; i < KNOTS * KNOTS; i++) knot[i / KNOTS][i % KNOTS] = csrec_made_normal(d);
    for (int x = 0; x < f->size; x += STRIP)
        strip_shade(f, knot, amount, x, f->size - x < STRIP ? f->size - x : STRIP);
}

static void picture_clamp(csrec_made_field *f) {
    size_t n = (size_t)f->channels * (size_t)f->size * (size_t)f->size;
    for (size_t i = 0; i < n; i++) f->picture[i] = fminf(255.0f, fmaxf(0.0f, f->picture[i]));
}

/* Strong range: lamps and glints that are cut at 255, and a tone curve, mostly to dark pictures
 * with few bright places. */
static void picture_highlight(csrec_made_field *f, csrec_made_draws *d,
                              const csrec_made_palette *palette) {
    size_t n = (size_t)f->channels * (size_t)f->size * (size_t)f->size;
    float gamma = csrec_made_scale(d, 0.6f, 3), gain = csrec_made_between(d, 1, 1.6f);
    if (csrec_made_chance(d, 0.5f))
        csrec_made_glow_add(f, d, palette, csrec_made_count(d, 1, 20), 12, 300);
    picture_clamp(f);
    for (size_t i = 0; i < n; i++) f->picture[i] = 255 * gain * powf(f->picture[i] / 255, gamma);
}

void csrec_made_finish(csrec_made_field *field, csrec_made_draws *d,
                       const csrec_made_palette *palette) {
    if (csrec_made_chance(d, 0.5f)) picture_blur(field, d);
    if (csrec_made_chance(d, 0.5f)) picture_shade(field, d);
    if (csrec_made_chance(d, 0.07f)) picture_highlight(field, d, palette);
    picture_clamp(field);
}
