/* rows.c - the rows of an adaptive grid. */
#include "method/adaptive/rows.h"

#include <math.h>

enum { BLOCK = 256 };

static const double pi = 3.14159265358979323846;

/* Random numbers of one grid, in order. */
typedef struct draws {
    uint64_t seed, stream, counter;
} draws;

static double uniform(draws *d) {
    return csrec_random_uniform(d->seed, d->stream, d->counter++);
}

static double normal(draws *d) {
    return csrec_random_normal(d->seed, d->stream, d->counter++);
}

static void project(const csrec_axis *axis, const csrec_bases *bases, int64_t site, int count,
                    float *t) {
    for (int k = 0; k < count; k++) t[k] = axis->offset;
    for (int i = 0; i < axis->count; i++) {
        const float *base = bases->at[axis->first + i] + site;
        float c = axis->coefficient[i];
        for (int k = 0; k < count; k++) t[k] += c * base[k];
    }
}

static void reach(csrec_axis *axis, const csrec_bases *bases, int32_t n) {
    axis->offset = 0.0f;
    axis->least = INFINITY;
    axis->most = -INFINITY;
    for (int32_t i = 0; i < n; i += BLOCK) {
        float t[BLOCK];
        int count = n - i < BLOCK ? n - i : BLOCK;
        project(axis, bases, i, count, t);
        for (int k = 0; k < count; k++) {
            axis->least = t[k] < axis->least ? t[k] : axis->least;
            axis->most = t[k] > axis->most ? t[k] : axis->most;
        }
    }
}

/* Maps the samples to begin .. begin + their range. If that is not finite, all map to begin:
 * a coordinate becomes an index. */
static void place(csrec_axis *axis) {
    float range = axis->most - axis->least;
    if (!isfinite(range)) axis->least = range = 0.0f;
    axis->offset = axis->begin - axis->least;
    axis->least = axis->begin;
    axis->most = axis->begin + range;
}

/* Number of low bits in which coordinates of the axis differ; higher bits are common to all. */
static int live_bits(const csrec_axis *axis) {
    uint32_t differ = (uint32_t)axis->least ^ (uint32_t)axis->most;
    return differ ? 32 - __builtin_clz(differ) : 0;
}

static void scale_axis(csrec_axis *axis, float scale) {
    for (int i = 0; i < axis->count; i++) axis->coefficient[i] *= scale;
    axis->offset *= scale;
    axis->least *= scale;
    axis->most *= scale;
}

static bool fits(const csrec_axes *axes) {
    int bits = 0;
    for (int a = 0; a < axes->count; a++) {
        if (axes->axis[a].most >= (float)(1 << CSREC_AXIS_BITS)) return false;
        bits += live_bits(&axes->axis[a]);
    }
    return bits <= 62;
}

/* Fisher-Yates: the order of the axes within a level of the grid. */
static void permute(draws *d, int count, int *order) {
    for (int a = 0; a < count; a++) order[a] = a;
    for (int a = count - 1; a > 0; a--) {
        int b = (int)(uniform(d) * (a + 1)), axis = order[a];
        order[a] = order[b];
        order[b] = axis;
    }
}

/* Axes too fine for 62 bits are halved together; bits are interleaved from the finest level up,
 * so that a level's cells are as long along each axis. */
static void interleave(csrec_axes *axes) {
    while (!fits(axes))
        for (int a = 0; a < axes->count; a++) scale_axis(&axes->axis[a], 0.5f);
    axes->bits = 0;
    for (int bit = 0; bit < CSREC_AXIS_BITS; bit++)
        for (int a = 0; a < axes->count; a++) {
            csrec_axis *axis = &axes->axis[axes->order[a]];
            axis->place[bit] =
                bit < live_bits(axis) ? (uint8_t)axes->bits++ : (uint8_t)CSREC_AXIS_NONE;
        }
}

void csrec_axes_place(csrec_axes *axes) {
    for (int a = 0; a < axes->count; a++) place(&axes->axis[a]);
    interleave(axes);
}

static void fill_tables(csrec_axis *axis) {
    for (int v = 0; v < 256; v++) axis->low[v] = axis->high[v] = 0;
    for (int bit = 0; bit < CSREC_AXIS_BITS; bit++) {
        uint64_t *part = bit < 8 ? axis->low : axis->high;
        if (axis->place[bit] == CSREC_AXIS_NONE) continue;
        for (int v = 0; v < 256; v++)
            if (v >> (bit & 7) & 1) part[v] |= UINT64_C(1) << axis->place[bit];
    }
}

void csrec_axes_complete(csrec_axes *axes, const csrec_bases *bases, int32_t n) {
    for (int a = 0; a < axes->count; a++) reach(&axes->axis[a], bases, n);
    csrec_axes_place(axes);
    for (int a = 0; a < axes->count; a++) fill_tables(&axes->axis[a]);
}

/* Rotated position, axes scaled by sx and sy. */
static void rotate(csrec_axes *axes, double angle, double sx, double sy) {
    double c = cos(angle), s = sin(angle);
    axes->axis[0] = (csrec_axis){.first = 0, .count = 2};
    axes->axis[1] = (csrec_axis){.first = 0, .count = 2};
    axes->axis[0].coefficient[0] = (float)(sx * c);
    axes->axis[0].coefficient[1] = (float)(sx * s);
    axes->axis[1].coefficient[0] = (float)(sy * -s);
    axes->axis[1].coefficient[1] = (float)(sy * c);
}

/* The last random numbers drawn for a grid. */
static void begin(draws *d, double span, csrec_axes *axes) {
    for (int a = 0; a < axes->count; a++) axes->axis[a].begin = (float)(uniform(d) * span);
    permute(d, axes->count, axes->order);
}

void csrec_axes_draw_class(const csrec_class_draw *draw, uint64_t seed, uint64_t stream,
                           csrec_axes *axes) {
    const double fine = 1.0, span = 700.0;
    draws d = {seed, stream, 0};
    double angle = pi * (draw->number + uniform(&d) - 0.5) / draw->angles;
    double scale = exp2(uniform(&d)) * fine, stretch = sqrt(draw->aspect);
    axes->count = 2;
    rotate(axes, angle, scale * stretch, scale / stretch);
    begin(&d, span * fine, axes);
}

/* A random direction of length `length` in the space of the features. */
static void draw_direction(draws *d, double length, csrec_axis *axis) {
    double v[CSREC_FEATURES], square = 1e-30;
    for (int i = 0; i < CSREC_FEATURES; i++) {
        v[i] = normal(d);
        square += v[i] * v[i];
    }
    *axis = (csrec_axis){.first = 2, .count = CSREC_FEATURES};
    for (int i = 0; i < CSREC_FEATURES; i++)
        axis->coefficient[i] = (float)(v[i] * length / sqrt(square));
}

void csrec_axes_draw_feature(const csrec_feature_draw *draw, uint64_t seed, uint64_t stream,
                             csrec_axes *axes) {
    const double fine = 0.25, span = 128.0;
    draws d = {seed, stream, 0};
    axes->count = 2 + draw->projections;
    double angle = 2.0 * pi * uniform(&d), scale = draw->position * exp2(uniform(&d)) * fine;
    rotate(axes, angle, scale, scale);
    for (int a = 2; a < axes->count; a++)
        draw_direction(&d, draw->scale * exp2(uniform(&d)) * fine, &axes->axis[a]);
    begin(&d, span * fine, axes);
}

static void add_axis(const csrec_axis *axis, const csrec_bases *bases, int64_t site, int count,
                     uint64_t *rows) {
    float t[BLOCK];
    int32_t coordinate[BLOCK];
    project(axis, bases, site, count, t);
    for (int k = 0; k < count; k++) {
        float v = t[k] > axis->least ? t[k] : axis->least;
        coordinate[k] = (int32_t)(v < axis->most ? v : axis->most);
    }
    if (axis->most < 256.0f) {
        for (int k = 0; k < count; k++) rows[k] |= axis->low[coordinate[k]];
        return;
    }
    for (int k = 0; k < count; k++)
        rows[k] |= axis->low[coordinate[k] & 255] | axis->high[coordinate[k] >> 8];
}

void csrec_axes_rows(const csrec_axes *axes, const csrec_bases *bases, int64_t first, int64_t count,
                     uint64_t *rows) {
    for (int64_t done = 0; done < count; done += BLOCK) {
        int part = count - done < BLOCK ? (int)(count - done) : BLOCK;
        for (int k = 0; k < part; k++) rows[done + k] = 0;
        for (int a = 0; a < axes->count; a++)
            add_axis(&axes->axis[a], bases, first + done, part, rows + done);
    }
}
