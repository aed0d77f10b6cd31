/* SPDX-License-Identifier: BSD-3-Clause */
/* csv_grid.c - samples at real coordinates, each put into the nearest cell of a regular grid. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "files/csv/csv.h"
#include "measurement/measurement.h"
#include "measurement/middle.h"

/* An axis has a step of its own if all coordinates are within this part of it ... */
static const double step_slack = 0.05;
/* ... and if it has at most this many cells for each distinct coordinate; and all axes together at
 * most so many for each sample: any numbers of three decimals have a step of 0.001. */
enum { CELLS_FOR_EACH = 32, CELLS_FOR_SAMPLE = 128 };

typedef struct {
    double low, range, step; /* step 0: none of its own */
    int64_t extent;
} axis;

/* Keys that order doubles: the sign bit of positive ones set, all bits of others flipped. */
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
    CSREC_TRY(csrec_sort_rows(n, keys, NULL));
    a->low = value_of(keys[0]);
    a->range = value_of(keys[n - 1]) - a->low;
    if (find && a->range > 0.0) find_step(keys, n, a);
    return CSREC_OK;
}

/* Steps that make too many cells are given up: first of axes that are not full of samples, as the
 * lines of a survey are, then of all. */
static void drop_steps(axis *a, int dims, int64_t n) {
    for (int64_t most = n / 4;; most = 0) {
        double cells = 1.0;
        for (int d = 0; d < dims; d++) cells *= a[d].step > 0.0 ? (double)a[d].extent : 1.0;
        if (cells <= (double)n * CELLS_FOR_SAMPLE) return;
        for (int d = 0; d < dims; d++)
            if (a[d].extent > most) a[d].step = 0.0;
    }
}

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
    if (!grid) drop_steps(a, dims, m->n);
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

/* coordinates become cells from the middle of the sample's own. */
static void find_cells(double *coordinates, const axis *a, csrec_measurement *m,
                       csrec_placement *placement) {
    int dims = m->shape.dims;
    for (int64_t i = 0; i < m->n; i++) {
        m->index[i] = 0;
        for (int d = 0; d < dims; d++) {
            double at = (coordinates[i * dims + d] - a[d].low) / a[d].step;
            double cell = fmin(fmax(round(at), 0.0), (double)(a[d].extent - 1));
            placement->farthest = fmax(placement->farthest, fabs(at - cell));
            coordinates[i * dims + d] = at - cell;
            m->index[i] = m->index[i] * a[d].extent + (int64_t)cell;
        }
    }
}

static int64_t values_of(const csrec_measurement *m) {
    return m->channels * (m->is_complex ? 2 : 1);
}

/* The mean of value c, of `values` each, of those samples of a cell that have it; NaN: none has. */
static double mean_of(const double *y, int64_t values, int64_t c, const int64_t *order, int64_t n) {
    double mean = 0.0;
    int64_t known = 0;
    for (int64_t k = 0; k < n; k++) known += !isnan(y[order[k] * values + c]);
    for (int64_t k = 0; k < n; k++) {
        double value = y[order[k] * values + c];
        if (!isnan(value)) mean += value / (double)known;
    }
    /* Thirds of the largest double, rounded up, make more than it. */
    return known ? fmin(fmax(mean, -DBL_MAX), DBL_MAX) : NAN;
}

/* Samples of the sorted cells become one of each cell that has a value, offset [][dims] too;
 * returns their number. */
static int64_t merge_sorted(const uint64_t *cell, const int64_t *order, const double *from,
                            csrec_measurement *m, double *y, double *offset,
                            csrec_placement *placement) {
    const int64_t values = values_of(m), dims = m->shape.dims;
    int64_t kept = 0;
    for (int64_t i = 0, end; i < m->n; i = end) {
        int64_t samples = 0;
        for (end = i; end < m->n && cell[end] == cell[i]; end++)
            samples += csrec_csv_has_value(&m->y[order[end] * values], values);
        for (int64_t c = 0; c < values; c++)
            y[kept * values + c] = mean_of(m->y, values, c, &order[i], end - i);
        for (int64_t d = 0; d < dims; d++)
            offset[kept * dims + d] = mean_of(from, dims, d, &order[i], end - i);
        if (samples > 1) placement->shared += samples;
        if (samples) m->index[kept++] = (int64_t)cell[i];
    }
    return kept;
}

/* offset [n][dims]: cells from the middle of each sample's. Then of each cell's mean. */
static csrec_status merge_cells(csrec_measurement *m, double *offset, csrec_placement *placement) {
    const int64_t n = m->n, dims = m->shape.dims;
    uint64_t *cell = malloc((size_t)n * sizeof *cell);
    int64_t *order = malloc((size_t)n * sizeof *order);
    double *y = malloc((size_t)(n * values_of(m)) * sizeof *y);
    double *means = malloc((size_t)(n * dims) * sizeof *means);
    for (int64_t i = 0; cell && order && i < n; i++) cell[i] = (uint64_t)m->index[i], order[i] = i;
    csrec_status status =
        cell && order && y && means ? csrec_sort_rows(n, cell, order) : CSREC_MEMORY;
    if (!status) {
        m->n = merge_sorted(cell, order, offset, m, y, means, placement);
        memcpy(offset, means, (size_t)(m->n * dims) * sizeof *means);
        double *before = m->y;
        m->y = y;
        y = before;
    }
    free(cell);
    free(order);
    free(y);
    free(means);
    return status;
}

static csrec_status fill_cells(double *coordinates, const axis *axes,
                               const csrec_read_options *options, csrec_measurement *m,
                               csrec_placement *placement, csrec_error *error) {
    find_cells(coordinates, axes, m, placement);
    csrec_status status = merge_cells(m, coordinates, placement);
    const bool means = options->cell_means || options->labels;
    if (status || m->n == 0 || means || placement->farthest <= step_slack ||
        m->shape.dims > CSREC_MIDDLE_DIMS)
        return status;
    return csrec_measurement_to_middles(m, coordinates, &placement->moved, error);
}

csrec_status csrec_csv_place(double *coordinates, int dims, const csrec_read_options *options,
                             const char *name, csrec_measurement *m, csrec_placement *placement,
                             csrec_error *error) {
    axis axes[CSREC_DIMS_MAX] = {{0}};
    const csrec_shape *grid = options->grid;
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
    CSREC_TRY(choose_grid(axes, dims, grid, name, m, error));
    status = fill_cells(coordinates, axes, options, m, placement, error);
    if (status) return csrec_fail(error, status, "%s: out of memory", name);
    if (options->labels && placement->shared)
        return csrec_fail(error, CSREC_DATA,
                          "%s: %lld samples share cells, and classes have no mean; give a grid of "
                          "more cells",
                          name, (long long)placement->shared);
    placement->dims = dims;
    for (int d = 0; d < dims; d++) {
        placement->origin[d] = axes[d].low;
        placement->step[d] = axes[d].step;
    }
    return CSREC_OK;
}

static csrec_status check_points(int64_t n, int dims, const double *coordinates, int64_t channels,
                                 const double *y, csrec_error *error) {
    if (n < 1 || channels < 1 || dims < 1 || dims > CSREC_DIMS_MAX)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "points: need samples, values of each, and 1 to %d coordinates",
                          CSREC_DIMS_MAX);
    for (int64_t i = 0; i < n * dims; i++)
        if (!isfinite(coordinates[i]))
            return csrec_fail(error, CSREC_DATA,
                              "points: coordinate %d of sample %lld is not finite; leave it out",
                              (int)(i % dims), (long long)(i / dims));
    for (int64_t i = 0; i < n * channels; i++)
        if (isinf(y[i]))
            return csrec_fail(error, CSREC_DATA,
                              "points: value %lld of sample %lld is infinite; NaN is unknown",
                              (long long)(i % channels), (long long)(i / channels));
    return csrec_csv_has_value(y, n * channels)
               ? CSREC_OK
               : csrec_fail(error, CSREC_DATA, "points: no value is known; give at least one");
}

csrec_status csrec_measurement_place(int64_t n, int dims, const double *coordinates,
                                     int64_t channels, const double *y,
                                     const csrec_read_options *options,
                                     csrec_measurement *measurement, csrec_error *error) {
    static const csrec_read_options defaults = {0};
    csrec_measurement m = {.n = n, .channels = channels, .dtype = CSREC_F64};
    csrec_placement placement = {.dims = 0};
    csrec_status status = check_points(n, dims, coordinates, channels, y, error);
    if (!status) status = csrec_measurement_allocate(&m, "points", error);
    if (status) return status;
    double *at = malloc((size_t)(n * dims) * sizeof *at);
    if (!at) status = csrec_fail(error, CSREC_MEMORY, "points: out of memory");
    if (!status) {
        memcpy(at, coordinates, (size_t)(n * dims) * sizeof *at);
        memcpy(m.y, y, (size_t)(n * channels) * sizeof *y);
        options = options ? options : &defaults;
        status = csrec_csv_place(at, dims, options, "points", &m, &placement, error);
    }
    free(at);
    if (status) {
        csrec_measurement_clear(&m);
        return status;
    }
    if (options->placement) *options->placement = placement;
    *measurement = m;
    return CSREC_OK;
}
