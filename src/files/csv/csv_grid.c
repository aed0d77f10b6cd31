/* SPDX-License-Identifier: BSD-3-Clause */
/* csv_grid.c - samples at real coordinates, each put into the nearest cell of a regular grid. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "files/csv/csv.h"

/* An axis has a step of its own if all coordinates are within this part of it ... */
static const double step_slack = 0.05;
/* ... and if it has at most this many cells for each distinct coordinate. */
enum { CELLS_FOR_EACH = 32 };

/* ------------------------------------------------------------------ the step of an axis ------- */

typedef struct {
    double low, range, step; /* step 0: none of its own */
    int64_t extent;
} axis;

/* Keys that order doubles: the sign bit of positive numbers set, all bits of negative ones
 * flipped. */
static uint64_t key_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double value_of(uint64_t key) {
    uint64_t bits = key >> 63 ? key & ~(1ull << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* keys [n] ascending. Coordinates as near as rounding lets equal ones be count as one. */
static void find_step(const uint64_t *keys, int64_t n, axis *a) {
    double least = INFINITY, last = a->low, same = 1e-9 * a->range;
    int64_t distinct = 1;
    for (int64_t i = 1; i < n; i++) {
        double gap = value_of(keys[i]) - last;
        if (gap <= same) continue;
        least = fmin(least, gap);
        last = value_of(keys[i]);
        distinct++;
    }
    double cells = round(a->range / least);
    if (!(cells + 1.0 <= (double)distinct * CELLS_FOR_EACH)) return;
    double step = a->range / cells;
    for (int64_t i = 0; i < n; i++) {
        double at = (value_of(keys[i]) - a->low) / step;
        if (fabs(at - round(at)) > step_slack) return;
    }
    a->step = step;
    a->extent = (int64_t)cells + 1;
}

static csrec_status measure_axis(const double *coordinates, int dims, int64_t n, int d, bool find,
                                 uint64_t *keys, axis *a) {
    for (int64_t i = 0; i < n; i++) keys[i] = key_of(coordinates[i * dims + d]);
    csrec_status status = csrec_sort_rows(n, keys, NULL);
    if (status) return status;
    a->low = value_of(keys[0]);
    a->range = value_of(keys[n - 1]) - a->low;
    if (find && a->range > 0.0) find_step(keys, n, a);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ the grid ------------------ */

/* Axes without a step of their own get square cells, so that about four cells are there for each
 * sample: h^free = product of their ranges / (4 n / product of the other extents). */
static void choose_cells(axis *a, int dims, int64_t n) {
    double volume = 1.0, cells = 4.0 * (double)n;
    int open = 0;
    for (int d = 0; d < dims; d++) {
        if (a[d].step > 0.0) cells /= (double)a[d].extent;
        if (a[d].step > 0.0 || a[d].range <= 0.0) continue;
        volume *= a[d].range;
        open++;
    }
    double h = open ? pow(volume / fmax(cells, 1.0), 1.0 / open) : 1.0;
    for (int d = 0; d < dims; d++) {
        if (a[d].step > 0.0) continue;
        double steps = fmin(ceil(a[d].range / h), 0x1p40);
        a[d].extent = (int64_t)fmax(steps, 0.0) + 1;
    }
}

/* Cells of the first and last coordinate have them in their middle. */
static csrec_status choose_grid(axis *a, int dims, const csrec_shape *grid, const char *name,
                                csrec_measurement *m, csrec_error *error) {
    int64_t entries;
    if (!grid) choose_cells(a, dims, m->n);
    m->shape.dims = dims;
    for (int d = 0; d < dims; d++) {
        if (grid && grid->dim[d] < 1)
            return csrec_fail(error, CSREC_ARGUMENT,
                              "%s: its grid has %lld cells along axis %d; give at least 1", name,
                              (long long)grid->dim[d], d);
        if (grid) a[d].extent = grid->dim[d];
        m->shape.dim[d] = a[d].extent;
        if (a[d].extent == 1) a[d].low += a[d].range / 2.0;
        a[d].step = a[d].extent > 1 && a[d].range > 0.0 ? a[d].range / (double)(a[d].extent - 1)
                    : a[d].range > 0.0                  ? a[d].range
                                                        : 1.0;
    }
    if (csrec_shape_count(&m->shape, &entries) == CSREC_OK) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: its grid has more than 2^62 cells; give a smaller one", name);
}

static void find_cells(const double *coordinates, const axis *a, csrec_measurement *m,
                       csrec_placement *placement) {
    int dims = m->shape.dims;
    for (int64_t i = 0; i < m->n; i++) {
        m->index[i] = 0;
        for (int d = 0; d < dims; d++) {
            double at = (coordinates[i * dims + d] - a[d].low) / a[d].step;
            double cell = fmin(fmax(round(at), 0.0), (double)(a[d].extent - 1));
            placement->farthest = fmax(placement->farthest, fabs(at - cell));
            m->index[i] = m->index[i] * a[d].extent + (int64_t)cell;
        }
    }
}

/* ------------------------------------------------------------------ shared cells -------------- */

/* Sorts the samples by cells; those of one cell become their mean. */
static csrec_status merge_cells(csrec_measurement *m, csrec_placement *placement) {
    int64_t channels = m->channels, n = m->n, kept = 0;
    uint64_t *cell = malloc((size_t)n * sizeof *cell);
    int64_t *order = malloc((size_t)n * sizeof *order);
    double *y = malloc((size_t)(n * channels) * sizeof *y);
    for (int64_t i = 0; cell && order && i < n; i++) cell[i] = (uint64_t)m->index[i], order[i] = i;
    csrec_status status = cell && order && y ? csrec_sort_rows(n, cell, order) : CSREC_MEMORY;
    for (int64_t i = 0; !status && i < n; kept++) {
        int64_t end = i;
        while (end < n && cell[end] == cell[i]) end++;
        if (end - i > 1) placement->shared += end - i;
        m->index[kept] = (int64_t)cell[i];
        for (int64_t c = 0; c < channels; c++) {
            double mean = 0.0;
            for (int64_t k = i; k < end; k++)
                mean += m->y[order[k] * channels + c] / (double)(end - i);
            /* Thirds of the largest double, rounded up, make more than it. */
            y[kept * channels + c] = fmin(fmax(mean, -DBL_MAX), DBL_MAX);
        }
        i = end;
    }
    free(cell);
    free(order);
    if (status) {
        free(y);
        return status;
    }
    free(m->y);
    m->y = y;
    m->n = kept;
    return CSREC_OK;
}

csrec_status csrec_csv_place(const double *coordinates, int dims, const csrec_shape *grid,
                             const char *name, csrec_measurement *m, csrec_placement *placement,
                             csrec_error *error) {
    axis axes[CSREC_DIMS_MAX] = {{0}};
    if (grid && grid->dims != dims)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: the grid has %d extents but samples have %d coordinates; give one "
                          "for each",
                          name, grid->dims, dims);
    uint64_t *keys = malloc((size_t)m->n * sizeof *keys);
    csrec_status status = keys ? CSREC_OK : CSREC_MEMORY;
    for (int d = 0; d < dims && !status; d++)
        status = measure_axis(coordinates, dims, m->n, d, !grid, keys, &axes[d]);
    free(keys);
    if (status) return csrec_fail(error, status, "%s: out of memory", name);
    status = choose_grid(axes, dims, grid, name, m, error);
    if (status) return status;
    find_cells(coordinates, axes, m, placement);
    status = merge_cells(m, placement);
    if (status) return csrec_fail(error, status, "%s: out of memory", name);
    placement->dims = dims;
    for (int d = 0; d < dims; d++) {
        placement->origin[d] = axes[d].low;
        placement->step[d] = axes[d].step;
    }
    return CSREC_OK;
}
