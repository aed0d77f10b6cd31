/* SPDX-License-Identifier: BSD-3-Clause */
/* shape.c - extents of N-d arrays. */
#include "base/unravel.h"

#include <string.h>

csrec_status csrec_shape_count(const csrec_shape *shape, int64_t *count) {
    const int64_t limit = INT64_C(1) << 62;
    if (shape->dims < 1 || shape->dims > CSREC_DIMS_MAX) return CSREC_DATA;
    int64_t product = 1;
    for (int a = 0; a < shape->dims; a++) {
        if (shape->dim[a] < 1 || shape->dim[a] > limit / product) return CSREC_DATA;
        product *= shape->dim[a];
    }
    *count = product;
    return CSREC_OK;
}

bool csrec_shape_equal(const csrec_shape *a, const csrec_shape *b) {
    return a->dims == b->dims && memcmp(a->dim, b->dim, (size_t)a->dims * sizeof *a->dim) == 0;
}

void csrec_windows_sum(int64_t lines, int64_t apart, int64_t count, int64_t radius, double *line,
                       double *v) {
    for (int64_t l = 0; l < lines; l++) {
        double *at = v + l / apart * apart * count + l % apart, sum = 0.0;
        for (int64_t i = 0; i < count; i++) line[i] = at[i * apart];
        for (int64_t i = 0; i < radius && i < count; i++) sum += line[i];
        for (int64_t i = 0; i < count; i++) {
            if (i + radius < count) sum += line[i + radius];
            if (i - radius > 0) sum -= line[i - radius - 1];
            at[i * apart] = sum;
        }
    }
}
