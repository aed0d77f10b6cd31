/* plane.c - a dyadic grid as the device reads it, and the sorted rows of the samples on it. */
#include "kernels/method/grids/job.h"

#include "base/inline.h"
#include "method/grid.h"

/* Where the bits of each axis lie in the row: interleaved, least significant first, the last axis
 * lowest; an axis without bits left is skipped. */
static void place_bits(csrec_cuda_grid *g) {
    int place = 0;
    for (int b = 0; b < 64; b++)
        for (int a = g->axes - 1; a >= 0; a--)
            if (b < g->bits[a]) g->place[a][b] = (uint8_t)place++;
}

static void describe_grid(const csrec_grid *grid, csrec_cuda_grid *g) {
    *g = (csrec_cuda_grid){.dims = grid->shape.dims};
    int64_t stride = 1;
    for (int a = 0; a < g->dims; a++) {
        g->dim[a] = grid->shape.dim[a];
        g->axis[a] = -1;
    }
    for (int d = g->dims - 1; d >= 0; d--) {
        const csrec_grid_axis *axis = &grid->axis[d];
        int a = axis->axis;
        g->shift[a] = axis->shift;
        g->unit_bits[a] = axis->bits;
        g->units[a] = (uint32_t)axis->units;
        g->slots[a] = (uint32_t)axis->slots;
        g->phase[a] = (uint32_t)axis->phase;
        if (grid->order == CSREC_ORDER_RASTER) g->stride[a] = stride;
        stride *= grid->domain.dim[d];
    }
    if (grid->order == CSREC_ORDER_RASTER) return;
    int fewest = 64;
    for (int d = 0; d < g->dims; d++) {
        if (grid->domain.dim[d] == 1) continue;
        g->axis[grid->axis[d].axis] = g->axes;
        g->bits[g->axes] = csrec_bits_for(grid->domain.dim[d]);
        if (g->bits[g->axes] < fewest) fewest = g->bits[g->axes];
        g->axes++;
    }
    if (grid->order == CSREC_ORDER_HILBERT && g->axes) g->hilbert_bits = fewest;
    place_bits(g);
}

static csrec_status take_memory(csrec_cuda_plane *p, int64_t n, csrec_error *error) {
    *p = (csrec_cuda_plane){0};
    for (int pass = 0; pass < 2; pass++) {
        p->rows = csrec_cuda_block_take(&p->block, n, sizeof *p->rows);
        p->order = csrec_cuda_block_take(&p->block, n, sizeof *p->order);
        csrec_status status =
            pass ? CSREC_OK : csrec_cuda_block_create(&p->block, "the rows of a grid", error);
        if (status) return status;
    }
    return CSREC_OK;
}

static csrec_status sort_rows(csrec_cuda_job *j, int levels, const csrec_cuda_grid *described,
                              csrec_cuda_grid *grid, csrec_cuda_plane *p) {
    csrec_cuda_workspace *s = &j->work;
    int64_t n = j->m->n;
    csrec_status status = csrec_cuda_upload(grid, described, sizeof *grid, NULL, j->error);
    if (!status)
        status = csrec_cuda_grid_rows(grid, n, s->index, s->rows, s->sample, NULL, j->error);
    return status ? status
                  : csrec_cuda_sort(n, levels, s->rows, s->sample, p->rows, p->order, s->scratch,
                                    j->error);
}

csrec_status csrec_cuda_plane_create(csrec_cuda_job *j, int64_t number, int64_t place,
                                     csrec_cuda_plane *p) {
    csrec_grid grid;
    *p = (csrec_cuda_plane){0};
    csrec_status status = csrec_grid_create(&j->m->shape, j->options->order, number,
                                            j->options->shifts, j->options->seed, &grid);
    if (status)
        return csrec_fail(j->error, status,
                          "the shape needs more than 62 levels; sample a smaller shape or use "
                          "order raster");
    csrec_cuda_grid described;
    describe_grid(&grid, &described);
    j->report.levels = grid.levels;
    status = take_memory(p, j->m->n, j->error);
    return status ? status : sort_rows(j, grid.levels, &described, j->work.grid + place, p);
}
