/* rows.h - the rows of an adaptive grid: interleaved bits of a few linear maps of position
 * and of features of the picture. */
#ifndef CSREC_METHOD_ADAPTIVE_ROWS_H
#define CSREC_METHOD_ADAPTIVE_ROWS_H

#include "csrec.h"

enum {
    CSREC_BASES = 8,
    CSREC_FEATURES = 6,
    CSREC_AXES_MAX = 7,
    CSREC_AXIS_BITS = 16,
    CSREC_AXIS_NONE = 255
};

/* Inputs of a grid's axes, one value per site: x, y and the features. */
typedef struct csrec_bases {
    const float *at[CSREC_BASES];
} csrec_bases;

/* floor(offset + sum_k coefficient[k] at[first + k]), clamped to the samples' range, least ..
 * most, which begins at `begin`. */
typedef struct csrec_axis {
    int first, count;
    float coefficient[CSREC_FEATURES], begin, offset, least, most;
    uint8_t place[CSREC_AXIS_BITS]; /* of each bit in the row, or CSREC_AXIS_NONE */
    uint64_t low[256], high[256];   /* the same for eight bits together */
} csrec_axis;

typedef struct csrec_axes {
    int count, bits;
    int order[CSREC_AXES_MAX]; /* within a level of the grid */
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

/* Draws axes from (seed, stream): coefficients, begin and order. */
void csrec_axes_draw_class(const csrec_class_draw *draw, uint64_t seed, uint64_t stream,
                           csrec_axes *axes);
void csrec_axes_draw_feature(const csrec_feature_draw *draw, uint64_t seed, uint64_t stream,
                             csrec_axes *axes);

/* Sets offset, bits and their places from least and most, the samples' range without an offset. */
void csrec_axes_place(csrec_axes *axes);

/* Completes drawn axes. The first n sites are the samples. */
void csrec_axes_complete(csrec_axes *axes, const csrec_bases *bases, int32_t n);

/* Rows of the sites first .. first + count - 1, below 2^axes->bits. */
void csrec_axes_rows(const csrec_axes *axes, const csrec_bases *bases, int64_t first, int64_t count,
                     uint64_t *rows);

#endif
