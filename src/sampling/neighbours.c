/* SPDX-License-Identifier: BSD-3-Clause */
/* neighbours.c - near points from Hilbert curves that are shifted against each other. */
#include "sampling/neighbours.h"

#include <math.h>
#include <stdlib.h>

#include "csrec/haar.h"
#include "sampling/order.h"
#include "base/sort.h"

/* Curves, and points looked at before and behind each on a curve. Two points that are near are
 * apart on one curve where a large cube ends between them, but seldom on all: fifths of the extents
 * put the ends of cubes of any size elsewhere on each curve. */
enum { SHIFTS = 4, WINDOW = 5 };

static double squared_distance(const csrec_points *p, int64_t a, int64_t b) {
    double sum = 0.0;
    for (int d = 0; d < 3; d++) {
        double step = (double)p->at[3 * a + d] - (double)p->at[3 * b + d];
        sum += step * step;
    }
    return sum;
}

double csrec_points_distance(const csrec_points *points, int64_t a, int64_t b) {
    return sqrt(squared_distance(points, a, b));
}

csrec_status csrec_points_order(const csrec_points *points, int shift, int64_t *order) {
    csrec_shape shape = {.dims = 3};
    int64_t off[3];
    for (int d = 0; d < 3; d++) {
        int64_t extent = points->extent[d];
        shape.dim[d] = extent == 1 ? 1 : 2 * extent;
        off[d] = extent == 1 ? 0 : shift * extent / 5;
    }
    uint64_t *rows = malloc(((size_t)points->n + 1) * sizeof *rows);
    if (!rows) return CSREC_MEMORY;
    for (int64_t k = 0; k < points->n; k++) {
        const int32_t *at = points->at + 3 * k;
        order[k] =
            ((at[0] + off[0]) * shape.dim[1] + at[1] + off[1]) * shape.dim[2] + at[2] + off[2];
    }
    csrec_status status =
        csrec_rows_from_index(&shape, CSREC_ORDER_HILBERT, points->n, order, rows);
    for (int64_t k = 0; k < points->n; k++) order[k] = k;
    if (!status) status = csrec_sort_rows(points->n, rows, order);
    free(rows);
    return status;
}

/* Keeps the nearest ones, ascending. */
static void insert(const csrec_points *p, int64_t a, int64_t b, int32_t *near) {
    double distance = squared_distance(p, a, b);
    int k = CSREC_NEIGHBOURS;
    while (k && (near[k - 1] < 0 || squared_distance(p, a, near[k - 1]) > distance)) k--;
    for (int i = 0; i < k; i++)
        if (near[i] == b) return;
    if (k == CSREC_NEIGHBOURS) return;
    for (int i = CSREC_NEIGHBOURS - 1; i > k; i--) near[i] = near[i - 1];
    near[k] = (int32_t)b;
}

csrec_status csrec_points_neighbours(const csrec_points *points, int32_t *near) {
    const int64_t n = points->n;
    int64_t *order = malloc(((size_t)n + 1) * sizeof *order);
    csrec_status status = order ? CSREC_OK : CSREC_MEMORY;
    for (int64_t k = 0; k < n * CSREC_NEIGHBOURS; k++) near[k] = -1;
    for (int shift = 0; shift < SHIFTS && !status; shift++) {
        status = csrec_points_order(points, shift, order);
        for (int64_t k = 0; k < n && !status; k++)
            for (int64_t i = k + 1; i <= k + WINDOW && i < n; i++) {
                insert(points, order[k], order[i], near + order[k] * CSREC_NEIGHBOURS);
                insert(points, order[i], order[k], near + order[i] * CSREC_NEIGHBOURS);
            }
    }
    free(order);
    return status;
}
