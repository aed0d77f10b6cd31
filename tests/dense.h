/* SPDX-License-Identifier: BSD-3-Clause */
/* dense.h - the sampled Haar matrix written out from its definition (Park 2015), for small M.
 * Deliberately slow and literal: every entry is found by the text of the definition, with
 * divisions, so that nothing here shares an idea with the library. */
#pragma once

#include <math.h>
#include <stdint.h>

/* Entry (row, column) of the M x M Haar matrix, M = 2^levels, before any scaling: +1, -1 or 0. */
static inline int dense_entry(int levels, uint64_t row, uint64_t column) {
    uint64_t M = (uint64_t)1 << levels;
    if (column == 0) return 1;
    uint64_t s = 2;
    while (column < M / s) s *= 2; /* M/s + g with g < M/s: the level is the first M/s <= column */
    uint64_t g = column - M / s;
    if (row < g * s || row >= g * s + s) return 0;
    return row < g * s + s / 2 ? 1 : -1;
}

/* Column of Psi: psi[k] = entry (rows[k], column) / sqrt(count), count = its non-zero entries.
 * A column without sampled rows is all 0 with count 0. */
static inline void dense_column(int levels, int64_t n, const uint64_t *rows, uint64_t column,
                                double *psi, int64_t *count) {
    *count = 0;
    for (int64_t k = 0; k < n; k++) *count += dense_entry(levels, rows[k], column) != 0;
    for (int64_t k = 0; k < n; k++)
        psi[k] = *count ? dense_entry(levels, rows[k], column) / sqrt((double)*count) : 0;
}
