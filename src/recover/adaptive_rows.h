/* adaptive_rows.h - the rows of an adaptive grid: interleaved bits of a few linear maps of position
 * and of features of the picture. */
#ifndef CSREC_RECOVER_ADAPTIVE_ROWS_H
#define CSREC_RECOVER_ADAPTIVE_ROWS_H

#include "csrec.h"

enum { CSREC_BASES = 8, CSREC_FEATURES = 6, CSREC_AXES_MAX = 7, CSREC_AXIS_BITS = 16 };

/* What the axes of a grid are made from, a value a site: x, y and the features. */
typedef struct csrec_bases {
    const float *at[CSREC_BASES];
} csrec_bases;

/* floor(offset + sum_k coefficient[k] at[first + k]), clamped to what the samples reach. */
typedef struct csrec_axis {
    int first, count;
    float coefficient[CSREC_FEATURES], offset, least, most;
    uint64_t low[256], high[256]; /* a coordinate's bits at their places in the row */
} csrec_axis;

typedef struct csrec_axes {
    int count, bits;
    csrec_axis axis[CSREC_AXES_MAX];
} csrec_axes;

/* One grid of the class pass: elongated along one of `angles` directions, `number`. */
typedef struct csrec_class_draw {
    float aspect;
    int angles, number;
} csrec_class_draw;

/* One grid of a feature pass: `projections` axes from features, two from the position. */
typedef struct csrec_feature_draw {
    float scale, position;
    int projections;
} csrec_feature_draw;

/* Draws the axes from (seed, stream); the first n sites are the samples. */
void csrec_axes_draw_class(const csrec_class_draw *draw, const csrec_bases *bases, int32_t n,
                           uint64_t seed, uint64_t stream, csrec_axes *axes);
void csrec_axes_draw_feature(const csrec_feature_draw *draw, const csrec_bases *bases, int32_t n,
                             uint64_t seed, uint64_t stream, csrec_axes *axes);

/* Rows of the sites first .. first + count - 1, below 2^axes->bits. */
void csrec_axes_rows(const csrec_axes *axes, const csrec_bases *bases, int64_t first, int64_t count,
                     uint64_t *rows);

#endif
