/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c - one grid on the CPU. */
#include "method/grids/run.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/sort.h"
#include "haar/atoms.h"
#include "operator/engine.h"

enum { BLOCK = 1 << 14 };

void csrec_grid_run_clear(csrec_grid_run *run, int64_t channels) {
    csrec_operator_destroy(run->A);
    for (int64_t c = 0; run->atoms && c < channels; c++) csrec_atoms_clear(&run->atoms[c]);
    csrec_pool_clear(&run->pool);
    free(run->rows);
    *run = (csrec_grid_run){0};
}

csrec_status csrec_grid_run_create(const csrec_measurement *m, const csrec_recover_options *options,
                                   const csrec_context *context, int64_t number,
                                   csrec_grid_run *run) {
    csrec_status status = csrec_grid_create(&m->shape, options->order, number, options->shifts,
                                            options->seed, &run->grid);
    if (status)
        return csrec_fail(&run->error, status,
                          "the shape needs more than 62 levels; sample a "
                          "smaller shape or use order raster");
    uint64_t *rows = malloc((size_t)m->n * sizeof *rows);
    CSREC_TAKE(&run->pool, run->order, m->n);
    CSREC_ZEROS(&run->pool, run->atoms, m->channels);
    CSREC_ZEROS(&run->pool, run->reports, m->channels);
    status = rows && !run->pool.lacks ? CSREC_OK : CSREC_MEMORY;
    if (!status) status = csrec_grid_rows(&run->grid, m->n, m->index, rows);
    for (int64_t k = 0; !status && k < m->n; k++) run->order[k] = k;
    if (!status) status = csrec_sort_rows(m->n, rows, run->order);
    if (status) {
        csrec_fail(&run->error, status, "out of memory for %lld samples", (long long)m->n);
    } else if (!context) {
        run->rows = rows;
        rows = NULL;
    } else {
        csrec_operator_spec spec = {.name = "haar",
                                    .levels = run->grid.levels,
                                    .m = m->n,
                                    .rows = rows,
                                    .columns = options->columns};
        status = csrec_operator_create_on(context, &spec, &run->A, &run->error);
    }
    free(rows);
    return status;
}

/* Adds the fit of one block of rows, all channels, to sums; squares may be NULL. */
static csrec_status add_block(const csrec_grid_run *run, int64_t channels, uint64_t first,
                              int64_t rows, uint64_t *row, int64_t *entry, double *value,
                              double *sums, double *squares) {
    csrec_status status = csrec_grid_entries(&run->grid, first, rows, row, entry);
    for (int64_t c = 0; c < channels && !status; c++) {
        csrec_atoms_fill(run->grid.levels, &run->atoms[c], first, rows, value);
        for (int64_t k = 0; k < rows; k++)
            if (entry[k] >= 0) sums[entry[k] * channels + c] += value[k];
        for (int64_t k = 0; squares && k < rows; k++)
            if (entry[k] >= 0) squares[entry[k] * channels + c] += value[k] * value[k];
    }
    return status;
}

csrec_status csrec_grid_run_add(const csrec_grid_run *run, int64_t channels, int threads,
                                double *sums, double *squares) {
    int64_t rows = INT64_C(1) << run->grid.levels, blocks = (rows + BLOCK - 1) / BLOCK;
    csrec_status status = CSREC_OK;
#pragma omp parallel num_threads(threads)
    {
        csrec_pool pool = {0};
        uint64_t *row = CSREC_TAKE(&pool, row, BLOCK);
        int64_t *entry = CSREC_TAKE(&pool, entry, BLOCK);
        double *value = CSREC_TAKE(&pool, value, BLOCK);
        csrec_status own = pool.lacks ? CSREC_MEMORY : CSREC_OK;
#pragma omp for schedule(dynamic, 4)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t first = b * BLOCK, count = rows - first < BLOCK ? rows - first : BLOCK;
            if (!own)
                own = add_block(run, channels, (uint64_t)first, count, row, entry, value, sums,
                                squares);
        }
        if (own) {
#pragma omp atomic write
            status = own;
        }
        csrec_pool_clear(&pool);
    }
    return status;
}
