/* features.h - local features of a picture and local errors of a recovery. */
#ifndef CSREC_METHOD_ADAPTIVE_FEATURES_H
#define CSREC_METHOD_ADAPTIVE_FEATURES_H

#include "method/adaptive/rows.h"

/* Features: inner products of the patch around a pixel, without the pixel itself, with orthonormal
 * filters g {1, x, y, xx, yy, xy} and the window g = exp(-d^2 / (2 width^2)). */
enum { CSREC_PATCH_RADIUS_MAX = 3, CSREC_PATCH = 48 };

typedef struct csrec_filters {
    int radius, taps;
    int dx[CSREC_PATCH], dy[CSREC_PATCH];
    float tap[CSREC_FEATURES][CSREC_PATCH];
} csrec_filters;

void csrec_filters_create(int radius, double width, csrec_filters *filters);

/* feature[f][site[p]] for the pixels p of one line of the picture; `padded` has a border of
 * radius pixels and lines of `stride`, `line` is scratch [width]. */
void csrec_filters_line(const csrec_filters *filters, const float *padded, int64_t stride,
                        int32_t width, const int32_t *site, float *line, float *const *feature);

/* Index reflected into 0 .. n - 1 at the first and last entry. */
int64_t csrec_reflect(int64_t i, int64_t n);

/* Smoothed means over the samples, on a coarser lattice of cells. */
typedef struct csrec_error_map {
    int32_t height, width, cell, h, w, reach;
    float kernel[32];
    float *mass; /* [h w] smoothed number of samples */
} csrec_error_map;

/* scratch: [2 h w] of the map. */
csrec_status csrec_error_map_create(int32_t height, int32_t width, int32_t n, const int32_t *pixel,
                                    csrec_error_map *map);
void csrec_error_map_clear(csrec_error_map *map);

/* out[cell] = smoothed mean of square[i] at the samples' pixels; scratch [2 h w]. */
void csrec_error_map_smooth(const csrec_error_map *map, int32_t n, const int32_t *pixel,
                            const float *square, float *scratch, float *out);

/* out[x] = cells interpolated along picture line y; scratch [w]. */
void csrec_error_map_line(const csrec_error_map *map, const float *cells, int32_t y, float *scratch,
                          float *out);

#endif
