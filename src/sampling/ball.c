/* SPDX-License-Identifier: BSD-3-Clause */
/* ball.c - walks over the rows of a ball, clipped at the borders of the signal. */
#include "sampling/ball.h"

#include <math.h>

#include "base/error.h"

static const int64_t ENTRIES_MAX = INT64_C(1) << 31;

int64_t csrec_root(int64_t v) {
    int64_t r = (int64_t)sqrt((double)v);
    while (r * r > v) r--;
    while ((r + 1) * (r + 1) <= v) r++;
    return r;
}

void csrec_extents(const csrec_shape *shape, int64_t extent[3]) {
    for (int a = 0; a < 3; a++) {
        int axis = a - 3 + shape->dims;
        extent[a] = axis < 0 ? 1 : shape->dim[axis];
    }
}

csrec_status csrec_extents_check(const csrec_shape *shape, int64_t n, const int64_t *index,
                                 const char *what, int64_t extent[3], int64_t *entries,
                                 csrec_error *error) {
    if (csrec_shape_count(shape, entries))
        return csrec_fail(error, CSREC_DATA,
                          "shape: an extent is below 1 or the product overflows; "
                          "use 1 to 3 extents whose product is at most 2^31");
    if (shape->dims > 3 || *entries > ENTRIES_MAX || n >= ENTRIES_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s signals of 1 to 3 axes and at most 2^31 entries, not %d axes and "
                          "%lld entries; divide the signal",
                          what, shape->dims, (long long)*entries);
    for (int64_t k = 0; k < n; k++)
        if (index[k] < 0 || index[k] >= *entries)
            return csrec_fail(error, CSREC_DATA,
                              "index: element %lld is %lld, outside 0 to %lld; give flat C-order "
                              "positions",
                              (long long)k, (long long)index[k], (long long)*entries - 1);
    csrec_extents(shape, extent);
    return CSREC_OK;
}

void csrec_locate(const int64_t extent[3], int64_t point, int64_t at[3]) {
    at[2] = point % extent[2];
    at[1] = point / extent[2] % extent[1];
    at[0] = point / extent[2] / extent[1];
}

/* The rows of the plane. */
static void enter(csrec_ball *ball) {
    int64_t dz = ball->z - ball->at[0];
    int64_t reach = csrec_root(ball->most - dz * dz);
    ball->y = csrec_larger(0, ball->at[1] - reach);
    ball->end = csrec_smaller(ball->extent[1] - 1, ball->at[1] + reach);
}

csrec_ball csrec_ball_at(const int64_t extent[3], int64_t point, int64_t squared) {
    csrec_ball ball = {.extent = extent, .most = squared - 1};
    int64_t reach = csrec_root(ball.most);
    csrec_locate(extent, point, ball.at);
    ball.z = csrec_larger(0, ball.at[0] - reach);
    ball.last = csrec_smaller(extent[0] - 1, ball.at[0] + reach);
    enter(&ball);
    return ball;
}

bool csrec_ball_next(csrec_ball *ball, csrec_ball_row *row) {
    if (ball->y > ball->end) {
        if (ball->z == ball->last) return false;
        ball->z++;
        enter(ball);
    }
    int64_t dz = ball->z - ball->at[0], dy = ball->y - ball->at[1];
    row->across = dz * dz + dy * dy;
    int64_t half = csrec_root(ball->most - row->across);
    int64_t low = csrec_larger(0, ball->at[2] - half);
    row->along = low - ball->at[2];
    row->count = csrec_smaller(ball->extent[2] - 1, ball->at[2] + half) - low + 1;
    row->first = (ball->z * ball->extent[1] + ball->y) * ball->extent[2] + low;
    ball->y++;
    return true;
}
