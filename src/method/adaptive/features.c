/* features.c - local features of a picture and local errors of a recovery. */
#include "method/adaptive/features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ features */

static double power(int x, int exponent) {
    return exponent == 0 ? 1.0 : exponent == 1 ? x : (double)x * x;
}

static double inner(const double *a, const double *b, int n) {
    double sum = 0.0;
    for (int k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

/* Gram-Schmidt, twice: one pass leaves rounding errors for near-parallel vectors. */
static void orthonormalise(double filter[CSREC_FEATURES][CSREC_PATCH], int f, int taps) {
    for (int round = 0; round < 2; round++) {
        for (int g = 0; g < f; g++) {
            double dot = inner(filter[f], filter[g], taps);
            for (int k = 0; k < taps; k++) filter[f][k] -= dot * filter[g][k];
        }
        double scale = 1.0 / sqrt(inner(filter[f], filter[f], taps));
        for (int k = 0; k < taps; k++) filter[f][k] *= scale;
    }
}

void csrec_filters_create(int radius, double width, csrec_filters *filters) {
    static const int px[CSREC_FEATURES] = {0, 1, 0, 2, 0, 1},
                     py[CSREC_FEATURES] = {0, 0, 1, 0, 2, 1};
    double filter[CSREC_FEATURES][CSREC_PATCH], window[CSREC_PATCH];
    int taps = 0;
    for (int y = -radius; y <= radius; y++)
        for (int x = -radius; x <= radius; x++) {
            if (x == 0 && y == 0) continue;
            filters->dx[taps] = x;
            filters->dy[taps] = y;
            window[taps++] = exp(-(x * x + y * y) / (2.0 * width * width));
        }
    filters->radius = radius;
    filters->taps = taps;
    for (int f = 0; f < CSREC_FEATURES; f++) {
        for (int k = 0; k < taps; k++)
            filter[f][k] = window[k] * power(filters->dx[k], px[f]) * power(filters->dy[k], py[f]);
        orthonormalise(filter, f, taps);
        for (int k = 0; k < taps; k++) filters->tap[f][k] = (float)(filter[f][k] * window[k]);
    }
}

int64_t csrec_reflect(int64_t i, int64_t n) {
    if (n == 1) return 0;
    int64_t period = 2 * (n - 1);
    i = (i % period + period) % period;
    return i < n ? i : period - i;
}

void csrec_filters_line(const csrec_filters *filters, const float *padded, int64_t stride,
                        int32_t width, const int32_t *site, float *line, float *const *feature) {
    int r = filters->radius;
    for (int f = 0; f < CSREC_FEATURES; f++) {
        memset(line, 0, (size_t)width * sizeof *line);
        for (int k = 0; k < filters->taps; k++) {
            float c = filters->tap[f][k];
            const float *from = padded + (r + filters->dy[k]) * stride + r + filters->dx[k];
            for (int32_t x = 0; x < width; x++) line[x] += c * from[x];
        }
        for (int32_t x = 0; x < width; x++) feature[f][site[x]] = line[x];
    }
}

/* ------------------------------------------------------------------ errors */

static void blur(const csrec_error_map *map, float *cells, float *lines, float *out) {
    int32_t h = map->h, w = map->w, reach = map->reach;
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++) {
            float sum = 0.0f;
            int32_t from = x < reach ? -x : -reach, to = w - 1 - x < reach ? w - 1 - x : reach;
            for (int32_t i = from; i <= to; i++)
                sum += map->kernel[i + reach] * cells[(int64_t)y * w + x + i];
            lines[(int64_t)y * w + x] = sum;
        }
    memset(out, 0, (size_t)h * (size_t)w * sizeof *out);
    for (int32_t y = 0; y < h; y++) {
        int32_t from = y < reach ? -y : -reach, to = h - 1 - y < reach ? h - 1 - y : reach;
        for (int32_t i = from; i <= to; i++) {
            float c = map->kernel[i + reach];
            for (int32_t x = 0; x < w; x++)
                out[(int64_t)y * w + x] += c * lines[(int64_t)(y + i) * w + x];
        }
    }
}

static int64_t cell_of(const csrec_error_map *map, int32_t pixel) {
    int32_t y = pixel / map->width, x = pixel % map->width;
    return (int64_t)(y / map->cell) * map->w + x / map->cell;
}

/* Gaussian of sigma = 2 / sqrt(rate) pixels, so about 25 pi / 4 samples; cells of sigma / 2. */
csrec_status csrec_error_map_create(int32_t height, int32_t width, int32_t n, const int32_t *pixel,
                                    csrec_error_map *map) {
    double sigma = 2.0 * sqrt((double)height * width / n);
    int32_t cell = (int32_t)(sigma / 2.0 + 0.5);
    *map = (csrec_error_map){.height = height, .width = width, .cell = cell};
    map->h = (height + cell - 1) / cell;
    map->w = (width + cell - 1) / cell;
    double s = sigma / cell; /* 1.5 .. 3 */
    map->reach = (int32_t)(3.0 * s + 0.5);
    for (int32_t i = -map->reach; i <= map->reach; i++)
        map->kernel[i + map->reach] = (float)exp(-0.5 * i * i / (s * s));
    size_t cells = (size_t)map->h * (size_t)map->w;
    map->mass = malloc(cells * sizeof *map->mass);
    float *count = calloc(2 * cells, sizeof *count);
    csrec_status status = map->mass && count ? CSREC_OK : CSREC_MEMORY;
    if (!status) {
        for (int32_t i = 0; i < n; i++) count[cell_of(map, pixel[i])] += 1.0f;
        blur(map, count, count + cells, map->mass);
    }
    free(count);
    if (status) csrec_error_map_clear(map);
    return status;
}

void csrec_error_map_clear(csrec_error_map *map) {
    free(map->mass);
    map->mass = NULL;
}

/* Far from all samples the mean over the whole picture takes over. */
void csrec_error_map_smooth(const csrec_error_map *map, int32_t n, const int32_t *pixel,
                            const float *square, float *scratch, float *out) {
    const float little = 1e-6f;
    int64_t cells = (int64_t)map->h * map->w;
    double total = 0.0;
    memset(scratch, 0, (size_t)cells * sizeof *scratch);
    for (int32_t i = 0; i < n; i++) {
        scratch[cell_of(map, pixel[i])] += square[i];
        total += square[i];
    }
    blur(map, scratch, scratch + cells, out);
    float mean = (float)(total / n);
    for (int64_t k = 0; k < cells; k++) out[k] = (out[k] + little * mean) / (map->mass[k] + little);
}

/* Position of a pixel between the centres of two cells. */
static float between(int32_t at, int32_t cell, int32_t cells, int32_t *first, int32_t *second) {
    float f = ((float)at + 0.5f) / (float)cell - 0.5f;
    f = f > 0.0f ? f : 0.0f;
    *first = (int32_t)f < cells ? (int32_t)f : cells - 1;
    *second = *first + 1 < cells ? *first + 1 : *first;
    return f - (float)*first;
}

void csrec_error_map_line(const csrec_error_map *map, const float *cells, int32_t y, float *scratch,
                          float *out) {
    int32_t a, b;
    float t = between(y, map->cell, map->h, &a, &b);
    for (int32_t x = 0; x < map->w; x++)
        scratch[x] =
            (1.0f - t) * cells[(int64_t)a * map->w + x] + t * cells[(int64_t)b * map->w + x];
    for (int32_t x = 0; x < map->width; x++) {
        t = between(x, map->cell, map->w, &a, &b);
        out[x] = (1.0f - t) * scratch[a] + t * scratch[b];
    }
}
