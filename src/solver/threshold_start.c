/* SPDX-License-Identifier: BSD-3-Clause */
/* threshold_start.c - a first guess of a signal from its samples: means over a pyramid of cells. */
#include <stdlib.h>
#include <string.h>

#include "operator/mask.h"
#include "solver/threshold.h"

enum { DEPTH = 32 };

/* One level: cells of 2^level entries an axis. */
typedef struct level {
    int64_t extent[3], cells;
    double *sum, *count; /* [cells]; sum becomes the guess */
} level;

static int64_t set_extents(const level *finer, level *l) {
    l->cells = 1;
    for (int a = 0; a < 3; a++) {
        l->extent[a] = (finer->extent[a] + 1) / 2;
        l->cells *= l->extent[a];
    }
    return l->cells;
}

/* The first of the coarser cells of line `line`, of finer->extent[0] * finer->extent[1]. */
static int64_t parents(const level *finer, const level *coarser, int64_t line) {
    int64_t z = line / finer->extent[1], y = line % finer->extent[1];
    return (z / 2 * coarser->extent[1] + y / 2) * coarser->extent[2];
}

static void gather(const level *finer, level *coarser) {
    int64_t wide = finer->extent[2], lines = finer->cells / wide;
    for (int64_t l = 0; l < lines; l++) {
        int64_t p = parents(finer, coarser, l);
        for (int64_t x = 0; x < wide; x++) {
            coarser->sum[p + x / 2] += finer->sum[l * wide + x];
            coarser->count[p + x / 2] += finer->count[l * wide + x];
        }
    }
}

/* A cell's mean counts its parent as half a sample. */
static void spread(const level *coarser, level *finer) {
    int64_t wide = finer->extent[2], lines = finer->cells / wide;
    for (int64_t l = 0; l < lines; l++) {
        const double *above = coarser->sum + parents(finer, coarser, l);
        double *sum = finer->sum + l * wide, *count = finer->count + l * wide;
        for (int64_t x = 0; x < wide; x++)
            sum[x] = (sum[x] + 0.5 * above[x / 2]) / (count[x] + 0.5);
    }
}

static csrec_status run_pyramid(level *l, int levels, const csrec_mask *mask, const double *y,
                                double *signal) {
    for (int64_t k = 0; k < mask->m; k++) {
        l[0].sum[mask->index[k]] = y[k];
        l[0].count[mask->index[k]] = 1.0;
    }
    for (int i = 1; i < levels; i++) gather(&l[i - 1], &l[i]);
    level *top = &l[levels - 1]; /* one cell */
    top->sum[0] /= top->count[0];
    for (int i = levels - 1; i > 0; i--) spread(&l[i], &l[i - 1]);
    memcpy(signal, l[0].sum, (size_t)mask->entries * sizeof *signal);
    for (int64_t k = 0; k < mask->m; k++) signal[mask->index[k]] = y[k];
    return CSREC_OK;
}

csrec_status csrec_threshold_start(const csrec_mask *mask, const double *y, double *signal) {
    level l[DEPTH] = {{.cells = mask->entries}};
    int levels = 1;
    int64_t cells = mask->entries;
    if (!csrec_mask_extents(&mask->shape, l[0].extent)) { /* of more than three axes: as one */
        l[0].extent[0] = l[0].extent[1] = 1;
        l[0].extent[2] = mask->entries;
    }
    while (l[levels - 1].cells > 1) {
        cells += set_extents(&l[levels - 1], &l[levels]);
        levels++;
    }
    double *memory = calloc((size_t)(2 * cells), sizeof *memory), *next = memory;
    if (!memory) return CSREC_MEMORY;
    for (int i = 0; i < levels; i++) {
        l[i].sum = next;
        l[i].count = next + l[i].cells;
        next += 2 * l[i].cells;
    }
    csrec_status status = run_pyramid(l, levels, mask, y, signal);
    free(memory);
    return status;
}
