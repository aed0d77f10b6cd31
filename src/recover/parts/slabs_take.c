/* slabs_take.c - what is recovered in slabs, handed over in order, or by each process its own. */
#include <string.h>

#include "recover/parts/slabs.h"
#include "solver/units.h"

/* ------------------------------------------------------------------ results ------------------- */

/* The line that has an entry of the first axis, and the end of its cells there. */
static int64_t line_of(const csrec_slabs *s, int64_t entry, int64_t *end) {
    const csrec_tiling *t = &s->layout.tiling;
    int64_t stride = t->stride[CSREC_TILE_AXES - t->shape.dims], line = entry / stride;
    *end = (line + 1) * stride;
    if (*end > t->shape.dim[0]) *end = t->shape.dim[0];
    return line;
}

/* The rows of a cell among those of a slab, whose values begin at `to`. */
static void copy_rows(const csrec_slabs *s, const csrec_part *cell, csrec_slab slab, double *to) {
    const csrec_tiling *t = &s->layout.tiling;
    int first = CSREC_TILE_AXES - t->shape.dims;
    int64_t low[CSREC_TILE_AXES], high[CSREC_TILE_AXES], at[2], C = s->form.channels;
    for (int a = 0; a < CSREC_TILE_AXES; a++) {
        low[a] = cell->box.at[a][0];
        high[a] = cell->box.at[a][1];
    }
    low[first] = slab.first;
    high[first] = slab.first + slab.count;
    int64_t begin = slab.first * (s->row / C), run = (high[2] - low[2]) * C;
    for (at[0] = low[0]; at[0] < high[0]; at[0]++)
        for (at[1] = low[1]; at[1] < high[1]; at[1]++) {
            int64_t entry = (at[0] * t->extent[1] + at[1]) * t->extent[2] + low[2];
            memcpy(to + (entry - begin) * C,
                   csrec_part_at(cell, C, (int64_t[]){at[0], at[1], low[2]}),
                   (size_t)run * sizeof *to);
        }
}

static csrec_status scale_back(const csrec_slabs *s, int64_t count, double *values,
                               csrec_error *error) {
    if (csrec_scale_back(count, s->unit, values) < 0) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "a value of the recovery is beyond the range of a double; scale the samples "
                      "down");
}

/* Takes rows of one line; its cells are dropped after the last. */
static csrec_status deliver(csrec_slabs *s, int64_t line, csrec_slab slab, int64_t end,
                            double *values, csrec_error *error) {
    int64_t n = csrec_tiling_line(&s->layout.tiling);
    for (int64_t cell = line * n; cell < (line + 1) * n; cell++) {
        copy_rows(s, csrec_mosaic_cell(s->spread.mosaic, cell), slab, values);
        if (slab.first + slab.count == end) csrec_mosaic_drop(s->spread.mosaic, cell);
    }
    s->next += slab.count;
    return scale_back(s, slab.count * s->row, values, error);
}

/* Whether all cells of a line are whole: those before its last are then, too. */
static bool has_line(const csrec_slabs *s, int64_t line) {
    int64_t n = csrec_tiling_line(&s->layout.tiling);
    bool whole = true;
    for (int64_t cell = line * n; cell < (line + 1) * n; cell++)
        whole = whole && csrec_mosaic_cell(s->spread.mosaic, cell);
    return whole;
}

static csrec_status fetch_line(csrec_slabs *s, int64_t line, csrec_error *error) {
    int64_t n = csrec_tiling_line(&s->layout.tiling);
    csrec_status status = CSREC_OK;
    for (int64_t cell = line * n; cell < (line + 1) * n && !status; cell++)
        if (!csrec_mosaic_cell(s->spread.mosaic, cell))
            status = csrec_spread_fetch(&s->spread, cell, error);
    return status;
}

csrec_status csrec_slabs_serve(csrec_slabs *s, csrec_error *error) {
    csrec_status status = CSREC_OK;
    while (s->tiler.done < s->spread.end && !status) status = csrec_slabs_next_line(s, error);
    if (!status) status = csrec_spread_serve(&s->spread, error);
    return status ? status : csrec_spread_report(&s->spread, &s->report, error);
}

/* ------------------------------------------------------------------ each its own -------------- */

/* Hands over a cell and drops it: rows of the last axis, or several where the cell has all of it.
 */
static csrec_status put_cell(csrec_slabs *s, int64_t number, csrec_slab_put_fn put, void *context,
                             csrec_error *error) {
    const csrec_part *cell = csrec_mosaic_cell(s->spread.mosaic, number);
    const csrec_box *box = &cell->box;
    const int64_t *extent = s->layout.tiling.extent;
    int64_t C = s->form.channels, at[CSREC_TILE_AXES] = {0, 0, box->at[2][0]};
    int64_t wide = box->at[2][1] - box->at[2][0];
    int64_t rows = wide == extent[2] ? box->at[1][1] - box->at[1][0] : 1;
    csrec_status status = scale_back(s, csrec_box_entries(box) * C, cell->values, error);
    for (at[0] = box->at[0][0]; at[0] < box->at[0][1] && !status; at[0]++)
        for (at[1] = box->at[1][0]; at[1] < box->at[1][1] && !status; at[1] += rows)
            status = put(context, ((at[0] * extent[1] + at[1]) * extent[2] + at[2]) * C,
                         rows * wide * C, csrec_part_at(cell, C, at), error);
    csrec_mosaic_drop(s->spread.mosaic, number);
    return status;
}

/* All own cells that are whole; with `wait` all. */
static csrec_status put_cells(csrec_slabs *s, bool wait, csrec_slab_put_fn put, void *context,
                              csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int64_t k = s->spread.first; k < s->spread.end && !status; k++) {
        const csrec_part *cell = csrec_mosaic_cell(s->spread.mosaic, k);
        if (!cell && wait) status = csrec_spread_fetch(&s->spread, k, error);
        if (!cell && wait && !status) cell = csrec_mosaic_cell(s->spread.mosaic, k);
        if (cell && cell->values && !status) status = put_cell(s, k, put, context, error);
    }
    return status;
}

csrec_status csrec_slabs_put(csrec_slabs *s, csrec_slab_put_fn put, void *context,
                             csrec_error *error) {
    csrec_status status = CSREC_OK;
    while (s->tiler.done < s->spread.end && !status) {
        status = csrec_slabs_next_line(s, error);
        if (!status) status = put_cells(s, false, put, context, error);
    }
    if (!status) status = put_cells(s, true, put, context, error);
    return status ? status : csrec_spread_report(&s->spread, &s->report, error);
}

/* The last entry is taken. */
static csrec_status part_from_others(csrec_slabs *s, csrec_error *error) {
    csrec_status status = csrec_spread_release(&s->spread, error);
    return status ? status : csrec_spread_report(&s->spread, &s->report, error);
}

csrec_status csrec_slabs_take(csrec_slabs *s, csrec_slab slab, double *values, csrec_error *error) {
    if (slab.first != s->next || slab.count < 0 || slab.count > s->form.shape.dim[0] - slab.first)
        return csrec_fail(error, CSREC_ARGUMENT, "slabs are taken in their order, from entry %lld",
                          (long long)s->next);
    csrec_status status = CSREC_OK;
    while (slab.count > 0 && !status) {
        int64_t end, line = line_of(s, s->next, &end);
        int64_t count = end - s->next < slab.count ? end - s->next : slab.count;
        if (!has_line(s, line)) {
            status = s->tiler.done < s->spread.end ? csrec_slabs_next_line(s, error)
                                                   : fetch_line(s, line, error);
            continue;
        }
        status = deliver(s, line, (csrec_slab){s->next, count}, end, values, error);
        values += count * s->row;
        slab.count -= count;
    }
    if (!status && s->given.comm && s->next == s->form.shape.dim[0])
        status = part_from_others(s, error);
    return status;
}
