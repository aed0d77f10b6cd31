/* SPDX-License-Identifier: BSD-3-Clause */
/* follow.c - observes a solver and records its progress. */
#include <math.h>
#include <stdlib.h>

#include "operator/haar.h"
#include "method/history.h"

enum { BLOCK = 1 << 12 };

static bool settles(const csrec_run *run) {
    return run->type->settles && run->type->settles(run);
}

/* Sum of squared differences to the truth; NaN if unknown. */
static double signal_error(const csrec_run *run, const csrec_record *record) {
    int64_t entries;
    double sum = NAN;
    if (!csrec_record_has_truth(record) || settles(run)) return sum;
    entries = csrec_record_entries(record);
    double *signal = malloc((size_t)entries * sizeof *signal);
    if (!signal || csrec_run_signal(run, signal)) {
        csrec_record_fail(record);
    } else {
        sum = 0.0;
        for (int64_t i = 0; i < entries; i++) {
            double e = signal[i] - csrec_record_truth(record, i);
            sum += e * e;
        }
    }
    free(signal);
    return sum;
}

void csrec_follow_signal(const csrec_run *run, int64_t iteration, bool last, double energy,
                         double whole, void *context) {
    csrec_record *record = context;
    if (last || csrec_record_wants(record, iteration))
        csrec_record_add(record, iteration, energy, whole, signal_error(run, record));
}

/* State for filling the rows of a grid during a pursuit. */
typedef struct rows {
    uint64_t row[BLOCK];
    int64_t entry[BLOCK];
    double value[BLOCK];
} rows;

static double atoms_error(const csrec_grid_record *to, const csrec_atoms *atoms, rows *r) {
    const csrec_grid *grid = to->grid;
    int64_t count = INT64_C(1) << grid->levels, block = count < BLOCK ? count : BLOCK;
    double sum = 0.0;
    for (int64_t first = 0; first < count; first += block) {
        if (csrec_grid_entries(grid, (uint64_t)first, block, r->row, r->entry)) return NAN;
        csrec_atoms_fill(grid->levels, atoms, (uint64_t)first, block, r->value);
        for (int64_t k = 0; k < block; k++) {
            if (r->entry[k] < 0) continue;
            double e = r->value[k] - csrec_record_truth(to->record, r->entry[k]);
            sum += e * e;
        }
    }
    return sum;
}

static double grid_error(const csrec_run *run, const csrec_grid_record *to) {
    double sum = NAN;
    if (!csrec_record_has_truth(to->record) || settles(run)) return sum;
    csrec_atoms atoms = {0};
    rows *r = malloc(sizeof *r);
    csrec_status status = r ? run->type->result(run, &atoms, NULL) : CSREC_MEMORY;
    if (!status && run->type != &csrec_solver_mp) status = csrec_haar_number(run->A, &atoms);
    if (status)
        csrec_record_fail(to->record);
    else
        sum = atoms_error(to, &atoms, r);
    csrec_atoms_clear(&atoms);
    free(r);
    return sum;
}

void csrec_follow_grid(const csrec_run *run, int64_t iteration, bool last, double energy,
                       double whole, void *context) {
    const csrec_grid_record *to = context;
    if (last || csrec_record_wants(to->record, iteration))
        csrec_record_add(to->record, iteration, energy, whole, grid_error(run, to));
}
