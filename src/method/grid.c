/* SPDX-License-Identifier: BSD-3-Clause */
/* grid.c - plain and random dyadic grids over N-d signals. */
#include "method/history.h"

#include "csrec/sampling.h"

static int64_t power_of_two_from(int64_t x) {
    int64_t p = 1;
    while (p < x) p *= 2;
    return p;
}

/* A cell, one unit along each axis, holds CSREC_GRID_CELL entries: with fewer, there are few
 * distinct shifts, which is visible in the mean over grids. */
static int64_t smallest_unit(const csrec_shape *shape) {
    int axes = 0;
    for (int a = 0; a < shape->dims; a++) axes += shape->dim[a] > 1;
    for (int64_t unit = 1;; unit *= 2) {
        int64_t cell = 1;
        for (int a = 0; a < axes && cell < CSREC_GRID_CELL; a++) cell *= unit;
        if (axes == 0 || cell >= CSREC_GRID_CELL) return unit;
    }
}

/* Returns the axis's length in the domain. */
static int64_t spread_axis(csrec_grid_axis *axis, int64_t extent, int64_t unit, uint64_t shift,
                           uint64_t phase) {
    if (extent == 1) return 1;
    int64_t padded = power_of_two_from(extent);
    if (unit < padded / CSREC_GRID_UNITS) unit = padded / CSREC_GRID_UNITS;
    if (unit > padded) unit = padded;
    int64_t domain = power_of_two_from(extent + unit - 1);
    for (axis->bits = 0; INT64_C(1) << axis->bits < unit;) axis->bits++;
    axis->shift = (int64_t)(shift % (uint64_t)unit);
    axis->units = (extent + axis->shift + unit - 1) / unit;
    axis->slots = domain / unit;
    axis->phase = (int64_t)(phase % (uint64_t)axis->slots);
    return domain;
}

csrec_status csrec_grid_create(const csrec_shape *shape, csrec_order order, int64_t number,
                               int64_t grids, uint64_t seed, csrec_grid *grid) {
    *grid = (csrec_grid){.shape = *shape, .domain = *shape, .order = order};
    for (int a = 0; a < shape->dims; a++)
        grid->axis[a] = (csrec_grid_axis){.axis = a, .bits = 62, .units = 1, .slots = 1};
    if (grids > 1) {
        uint64_t stream = (uint64_t)number + 1;
        int64_t unit = smallest_unit(shape);
        /* Fisher-Yates, one random number per place. */
        for (int a = grid->shape.dims - 1; a > 0; a--) {
            int b = (int)(csrec_random_u64(seed, stream, (uint64_t)a) % (uint64_t)(a + 1));
            int axis = grid->axis[a].axis;
            grid->axis[a].axis = grid->axis[b].axis;
            grid->axis[b].axis = axis;
        }
        for (int a = 0; a < shape->dims; a++) {
            if (shape->dim[a] > INT64_C(1) << 61) return CSREC_DATA;
            csrec_grid_axis *axis = &grid->axis[a];
            uint64_t shift = csrec_random_u64(seed, stream, (uint64_t)(CSREC_DIMS_MAX + a));
            uint64_t phase = csrec_random_u64(seed, stream, (uint64_t)(2 * CSREC_DIMS_MAX + a));
            grid->domain.dim[a] = spread_axis(axis, shape->dim[axis->axis], unit, shift, phase);
        }
    }
    return csrec_rows_levels(&grid->domain, order, &grid->levels);
}

static int64_t to_axis(const csrec_grid_axis *axis, int64_t coordinate) {
    int64_t c = coordinate + axis->shift, unit = c >> axis->bits;
    int64_t slot = (unit * axis->slots + axis->phase) / axis->units;
    return c + ((slot - unit) << axis->bits);
}

/* -1: an empty slot, or outside the signal. */
static int64_t from_axis(const csrec_grid_axis *axis, int64_t extent, int64_t at) {
    int64_t slot = at >> axis->bits, slots = axis->slots;
    /* The first unit mapped to this slot or a later one. */
    int64_t unit = (slot * axis->units - axis->phase + slots - 1) / slots;
    if ((unit * slots + axis->phase) / axis->units != slot) return -1;
    int64_t coordinate = at - ((slot - unit) << axis->bits) - axis->shift;
    return coordinate >= 0 && coordinate < extent ? coordinate : -1;
}

static int64_t to_domain(const csrec_grid *grid, int64_t index) {
    int64_t coordinate[CSREC_DIMS_MAX], at = 0;
    for (int a = grid->shape.dims - 1; a >= 0; a--) {
        coordinate[a] = index % grid->shape.dim[a];
        index /= grid->shape.dim[a];
    }
    for (int a = 0; a < grid->domain.dims; a++)
        at = at * grid->domain.dim[a] + to_axis(&grid->axis[a], coordinate[grid->axis[a].axis]);
    return at;
}

static int64_t from_domain(const csrec_grid *grid, int64_t at) {
    int64_t coordinate[CSREC_DIMS_MAX], index = 0;
    if (at < 0) return -1;
    for (int a = grid->domain.dims - 1; a >= 0; a--) {
        const csrec_grid_axis *axis = &grid->axis[a];
        int64_t c = from_axis(axis, grid->shape.dim[axis->axis], at % grid->domain.dim[a]);
        at /= grid->domain.dim[a];
        if (c < 0) return -1;
        coordinate[axis->axis] = c;
    }
    for (int a = 0; a < grid->shape.dims; a++) index = index * grid->shape.dim[a] + coordinate[a];
    return index;
}

static bool is_plain(const csrec_grid *grid) {
    for (int a = 0; a < grid->shape.dims; a++)
        if (grid->axis[a].axis != a || grid->axis[a].slots > 1 ||
            grid->domain.dim[a] != grid->shape.dim[a])
            return false;
    return true;
}

/* In parts that fit in cache. */
csrec_status csrec_grid_rows(const csrec_grid *grid, int64_t n, const int64_t *index,
                             uint64_t *rows) {
    if (is_plain(grid)) return csrec_rows_from_index(&grid->shape, grid->order, n, index, rows);
    enum { PART = 1024 };
    int64_t at[PART];
    for (int64_t first = 0; first < n; first += PART) {
        int64_t count = n - first < PART ? n - first : PART;
        for (int64_t k = 0; k < count; k++) at[k] = to_domain(grid, index[first + k]);
        csrec_status status =
            csrec_rows_from_index(&grid->domain, grid->order, count, at, rows + first);
        if (status) return status;
    }
    return CSREC_OK;
}

csrec_status csrec_grid_entries(const csrec_grid *grid, uint64_t first, int64_t n, uint64_t *rows,
                                int64_t *index) {
    for (int64_t k = 0; k < n; k++) rows[k] = first + (uint64_t)k;
    csrec_status status = csrec_rows_to_index(&grid->domain, grid->order, n, rows, index);
    if (status || is_plain(grid)) return status;
    for (int64_t k = 0; k < n; k++) index[k] = from_domain(grid, index[k]);
    return CSREC_OK;
}
