/* SPDX-License-Identifier: BSD-3-Clause */
/* atoms.c - sparse solutions and the signal they stand for.
 *
 * The blocks that hold a row form one chain, a block a level, each a half of the one before. So
 * the signal at a row is a sum down that chain, + in a left half, - in a right half:
 *
 *     value(row) = x_0 / sqrt(#_0)  +-  x_c / sqrt(#_c)  for c = M / 2^level + row / 2^level,
 *                                       level = L, L-1, .. 1.
 *
 * Every function adds in exactly this order, coarse to fine, so they agree to the last bit and no
 * row's value carries rounding of another's. */
#include <math.h>
#include <stdlib.h>

#include "haar/tree.h"

#include "base/error.h"
#include "base/threads.h"

enum { LEVELS_MAX = 62 };

csrec_status csrec_atoms_create(int64_t n, csrec_atoms *atoms) {
    size_t count = n > 0 ? (size_t)n : 1;
    csrec_atoms made = {n, calloc(count, sizeof *made.column),
                        calloc(count, sizeof *made.coefficient), calloc(count, sizeof *made.count)};
    if (!made.column || !made.coefficient || !made.count) {
        csrec_atoms_clear(&made);
        return CSREC_MEMORY;
    }
    *atoms = made;
    return CSREC_OK;
}

void csrec_atoms_clear(csrec_atoms *atoms) {
    if (!atoms) return;
    free(atoms->column);
    free(atoms->coefficient);
    free(atoms->count);
    *atoms = (csrec_atoms){0};
}

csrec_status csrec_atoms_from_dense(int64_t n, const double *x, csrec_atoms *atoms) {
    int64_t found = 0, k = 0;
    for (int64_t i = 0; i < n; i++) found += x[i] != 0.0;
    csrec_status status = csrec_atoms_create(found, atoms);
    for (int64_t i = 0; i < n && !status; i++) {
        if (x[i] == 0.0) continue;
        atoms->column[k] = (uint64_t)i;
        atoms->coefficient[k++] = x[i];
    }
    return status;
}

/* Atoms level by level: level's are begin[level] .. begin[level - 1] - 1, ascending by group.
 * Column 0, if picked, comes before begin[levels]. */
typedef struct {
    const csrec_atoms *atoms;
    int levels;
    double mean; /* value of column 0 */
    int64_t begin[LEVELS_MAX + 1];
} table;

static double atom_value(const csrec_atoms *atoms, int64_t i) {
    return atoms->coefficient[i] / sqrt((double)atoms->count[i]);
}

static csrec_status check(int levels, const csrec_atoms *atoms) {
    if (levels < 0 || levels > LEVELS_MAX || atoms->n < 0) return CSREC_ARGUMENT;
    for (int64_t i = 0; i < atoms->n; i++)
        if (atoms->count[i] < 1 || atoms->column[i] >> levels ||
            (i > 0 && atoms->column[i] <= atoms->column[i - 1]))
            return CSREC_ARGUMENT;
    return CSREC_OK;
}

static void table_init(table *t, int levels, const csrec_atoms *atoms) {
    t->atoms = atoms;
    t->levels = levels;
    t->begin[levels] = atoms->n > 0 && atoms->column[0] == 0;
    t->mean = t->begin[levels] ? atom_value(atoms, 0) : 0;
    for (int level = levels; level > 0; level--) {
        const uint64_t next_level = (uint64_t)2 << (levels - level);
        t->begin[level - 1] = csrec_bound(atoms->column, t->begin[level], atoms->n, next_level);
    }
}

/* sum[level]: the sum above that level for `row`; sum[0] is the value. near[level]: the result of
 * the last search in that level, where the next one starts. */
typedef struct {
    uint64_t row;
    double sum[LEVELS_MAX + 1];
    int64_t near[LEVELS_MAX + 1];
} chain;

/* lower_bound in growing steps from the last result: O(1) for rows that ascend. */
static int64_t find_near(const table *t, int level, int64_t near, uint64_t column) {
    const int64_t begin = t->begin[level], end = t->begin[level - 1];
    const uint64_t *columns = t->atoms->column;
    int64_t low = near, high = near, step = 1;
    while (low > begin && columns[low - 1] >= column) {
        high = low - 1;
        low = low - begin > step ? low - step : begin;
        step *= 2;
    }
    while (high < end && columns[high] < column) {
        low = high + 1;
        high = end - high > step ? high + step : end;
        step *= 2;
    }
    return csrec_bound(t->atoms->column, low, high, column);
}

/* Follows the chain of `row` from `level` down; above, the chain equals that of chain->row. */
static void chain_descend(const table *t, chain *c, int level, uint64_t row) {
    c->row = row;
    for (; level > 0; level--) {
        c->sum[level - 1] = c->sum[level];
        if (t->begin[level] == t->begin[level - 1]) continue;
        const uint64_t column = ((uint64_t)1 << (t->levels - level)) + (row >> level);
        const int64_t i = c->near[level] = find_near(t, level, c->near[level], column);
        if (i == t->begin[level - 1] || t->atoms->column[i] != column) continue;
        const double value = atom_value(t->atoms, i);
        c->sum[level - 1] += row >> (level - 1) & 1 ? -value : value;
    }
}

static void synthesize_rows(const table *t, int64_t n_rows, const uint64_t *rows, double *value) {
    chain c = {0};
    c.sum[t->levels] = t->mean;
    for (int level = 1; level <= t->levels; level++) c.near[level] = t->begin[level];
    chain_descend(t, &c, t->levels, rows[0]);
    value[0] = c.sum[0];
    for (int64_t k = 1; k < n_rows; k++) {
        const uint64_t changed = rows[k] ^ c.row;
        if (changed) chain_descend(t, &c, csrec_bit_length(changed), rows[k]);
        value[k] = c.sum[0];
    }
}

csrec_status csrec_atoms_synthesize(int levels, const csrec_atoms *atoms, int64_t n_rows,
                                    const uint64_t *rows, double *value) {
    enum { PART = 8192 };
    CSREC_TRY(check(levels, atoms));
    if (n_rows < 0) return CSREC_ARGUMENT;
    for (int64_t k = 0; k < n_rows; k++)
        if (rows[k] >> levels) return CSREC_ARGUMENT;
    table t;
    table_init(&t, levels, atoms);
    const int threads = csrec_threads_for(4 * n_rows, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < n_rows; k += PART)
        synthesize_rows(&t, n_rows - k < PART ? n_rows - k : PART, rows + k, value + k);
    return CSREC_OK;
}

enum { TILE_LEVELS = 11, TILE = 1 << TILE_LEVELS };

/* The sum above level `top` for the block of that level which holds `row`. */
static double sum_above(const table *t, int top, uint64_t row) {
    double sum = t->mean;
    for (int level = t->levels; level > top; level--) {
        const uint64_t column = ((uint64_t)1 << (t->levels - level)) + (row >> level);
        const int64_t end = t->begin[level - 1];
        const int64_t i = csrec_bound(t->atoms->column, t->begin[level], end, column);
        if (i == end || t->atoms->column[i] != column) continue;
        const double value = atom_value(t->atoms, i);
        sum += row >> (level - 1) & 1 ? -value : value;
    }
    return sum;
}

/* The 2^top rows of the aligned block from `first`: the inverse fast Haar transform. One value per
 * block at a level becomes two at the next, from the end so that it works in place. */
static void synthesize_tile(const table *t, int top, uint64_t first, double *value) {
    const csrec_atoms *atoms = t->atoms;
    value[0] = sum_above(t, top, first);
    for (int level = top; level > 0; level--) {
        const int64_t groups = (int64_t)1 << (top - level), end = t->begin[level - 1];
        const uint64_t column = ((uint64_t)1 << (t->levels - level)) + (first >> level);
        for (int64_t g = groups - 1; g >= 0; g--) value[2 * g] = value[2 * g + 1] = value[g];
        int64_t i = csrec_bound(atoms->column, t->begin[level], end, column);
        for (; i < end && atoms->column[i] - column < (uint64_t)groups; i++) {
            double *pair = value + 2 * (atoms->column[i] - column);
            const double x = atom_value(atoms, i);
            pair[0] += x;
            pair[1] -= x;
        }
    }
}

void csrec_atoms_fill(int levels, const csrec_atoms *atoms, uint64_t first, int64_t n_rows,
                      double *value) {
    table t;
    table_init(&t, levels, atoms);
    const int top = levels < TILE_LEVELS ? levels : TILE_LEVELS;
    const uint64_t last = first + (uint64_t)n_rows;
    const int64_t begin = (int64_t)(first >> top), end = (int64_t)((last - 1) >> top) + 1;
    const int threads = csrec_threads_for(n_rows, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t tile = begin; tile < end; tile++) {
        double buffer[TILE];
        const uint64_t start = (uint64_t)tile << top, stop = start + ((uint64_t)1 << top);
        const uint64_t from = start < first ? first : start, to = stop < last ? stop : last;
        synthesize_tile(&t, top, start, buffer);
        for (uint64_t row = from; row < to; row++) value[row - first] = buffer[row - start];
    }
}

csrec_status csrec_atoms_synthesize_block(int levels, const csrec_atoms *atoms, uint64_t first,
                                          int64_t n_rows, double *value) {
    CSREC_TRY(check(levels, atoms));
    const uint64_t M = (uint64_t)1 << levels;
    if (n_rows < 0 || first > M || (uint64_t)n_rows > M - first) return CSREC_ARGUMENT;
    if (n_rows > 0) csrec_atoms_fill(levels, atoms, first, n_rows, value);
    return CSREC_OK;
}
