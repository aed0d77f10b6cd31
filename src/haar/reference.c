/* SPDX-License-Identifier: BSD-3-Clause */
/* reference.c - the paper's pursuit as it is written: all inner products, the largest of them, the
 * update of r, again; O(n L) an iteration. For reading, and for checking every other pursuit
 * against. It stores r, its picks and one transform, and knows the row tree only as a holder of
 * rows. */
#include <stdlib.h>

#include "base/error.h"
#include "haar/pursuit.h"
#include "base/sort.h"

/* A column that was found: +1 on the left, -1 on the right half of `group` at span 2^level. */
typedef struct pick {
    int level; /* ALL: column 0, +1 everywhere */
    uint64_t group;
    int64_t count; /* samples in the block */
    double sum;    /* of r, left less right: <r, Psi_i> = sum / sqrt(count) */
} pick;

enum { ALL = 63 };

typedef struct entry {
    uint64_t column;
    int64_t count;
    double step; /* units */
} entry;

typedef struct reference {
    csrec_pool pool; /* first */
    const csrec_tree *tree;
    double units;
    csrec_wide energy;
    double *r;               /* [n] units */
    int64_t columns;         /* not zero */
    csrec_product *products; /* [columns] <r, Psi_i> */
    bool *counts;            /* [columns] false: a one-sided column that is omitted */
    pick pick;               /* the one selected */
    csrec_status fault;      /* of an update */
    entry *entries;          /* [room] one a pick */
    int64_t picks, room;
} reference;

static csrec_status transform(reference *e) {
    const csrec_tree *tree = e->tree;
    return csrec_haar_levels(tree->levels, tree->n, tree->rows, e->r, e->columns, e->products,
                             &e->columns);
}

/* The product of the all-ones vector is (left count - right count) / sqrt(count): as long as the
 * column itself when one half is empty. Column 0 always counts. */
static csrec_status find_columns(reference *e) {
    for (int32_t j = 0; j < e->tree->n; j++) e->r[j] = 1.0;
    CSREC_TRY(transform(e));
    CSREC_ZEROS(&e->pool, e->products, e->columns);
    CSREC_ZEROS(&e->pool, e->counts, e->columns);
    csrec_status status = csrec_pool_status(&e->pool) ? CSREC_MEMORY : transform(e);
    for (int64_t i = 0; i < e->columns && !status; i++) {
        double norm = sqrt((double)e->products[i].count);
        bool two_sided = fabs(e->products[i].value) * norm < (double)e->products[i].count - 0.5;
        e->counts[i] = e->tree->one_sided || two_sided || e->products[i].column == 0;
    }
    return status;
}

static void reference_destroy(void *state) {
    reference *p = state;
    if (p) free(p->entries);
    csrec_pool_destroy(p);
}

static csrec_status reference_create(const csrec_tree *tree, const double *y, void **state) {
    reference *p = csrec_pool_create(sizeof *p);
    if (!p) return CSREC_MEMORY;
    p->tree = tree;
    p->units = csrec_pursuit_units(tree->n, y);
    csrec_status status = CSREC_TAKE(&p->pool, p->r, tree->n) ? find_columns(p) : CSREC_MEMORY;
    for (int32_t j = 0; j < tree->n && !status; j++) {
        p->r[j] = rint(y[j] * p->units);
        p->energy += (csrec_wide)(int64_t)p->r[j] * (int64_t)p->r[j];
    }
    return CSREC_SETTLE(status, reference_destroy(p), *state = p);
}

static int level_of(const csrec_tree *tree, uint64_t column) {
    return column == 0 ? ALL : tree->levels + 1 - csrec_bit_length(column);
}

/* +1, -1, or 0 outside the block. */
static int sign(const reference *p, int32_t j) {
    const uint64_t row = p->tree->rows[j];
    if (p->pick.level == ALL) return 1;
    if (row >> p->pick.level != p->pick.group) return 0;
    return (row >> (p->pick.level - 1)) & 1 ? -1 : 1;
}

/* The largest key; columns ascend, so the first of equal keys has the smallest number. */
static double reference_select(void *state) {
    reference *p = state;
    csrec_status status = p->fault ? p->fault : transform(p);
    if (status) return -(double)status;
    int64_t best = -1, picked = 0;
    for (int64_t i = 0; i < p->columns; i++) {
        const csrec_product *product = &p->products[i];
        int64_t key = csrec_pursuit_key(product->value, 1.0, level_of(p->tree, product->column));
        if (!p->counts[i] || key <= best) continue;
        best = key;
        picked = i;
    }
    uint64_t column = p->products[picked].column;
    p->pick = (pick){.level = level_of(p->tree, column), .count = p->products[picked].count};
    p->pick.group = column ? column - (UINT64_C(1) << (p->tree->levels - p->pick.level)) : 0;
    for (int32_t j = 0; j < p->tree->n; j++) p->pick.sum += sign(p, j) * p->r[j];
    return fabs(p->pick.sum * csrec_haar_scale(p->pick.count)) / p->units;
}

static bool make_room(reference *p) {
    if (p->picks < p->room) return true;
    int64_t room = 2 * p->room + 64;
    entry *entries = realloc(p->entries, (size_t)room * sizeof *entries);
    if (!entries) return false;
    p->entries = entries;
    p->room = room;
    return true;
}

static uint64_t column_of(const csrec_tree *tree, const pick *picked) {
    if (picked->level == ALL) return 0;
    return (UINT64_C(1) << (tree->levels - picked->level)) + picked->group;
}

static bool reference_update(void *state) {
    reference *p = state;
    const pick *picked = &p->pick;
    double size = (double)picked->count, d = csrec_pursuit_step(picked->sum, size);
    csrec_wide gain = csrec_pursuit_gain(picked->sum, size, d);
    if (gain <= 0) return false;
    p->fault = make_room(p) ? CSREC_OK : CSREC_MEMORY;
    if (p->fault) return true; /* the next select reports it */
    for (int32_t j = 0; j < p->tree->n; j++) p->r[j] -= d * sign(p, j);
    p->energy -= gain;
    p->entries[p->picks++] = (entry){column_of(p->tree, picked), picked->count, d};
    return true;
}

static double reference_energy(const void *state) {
    const reference *p = state;
    return csrec_wide_double(p->energy) / p->units / p->units;
}

/* The picks of a column follow each other in `order`; steps are integers, whose sums are exact. */
static int64_t add_up(const reference *p, const int64_t *order, csrec_atoms *atoms) {
    int64_t n = 0;
    for (int64_t i = 0, next; i < p->picks; i = next) {
        const entry *first = &p->entries[order[i]];
        double x = 0.0;
        for (next = i; next < p->picks; next++) {
            const entry *e = &p->entries[order[next]];
            if (e->column != first->column) break;
            x += e->step;
        }
        if (x == 0.0) continue;
        if (atoms) {
            atoms->column[n] = first->column;
            atoms->coefficient[n] = x * sqrt((double)first->count) / p->units;
            atoms->count[n] = first->count;
        }
        n++;
    }
    return n;
}

static csrec_status list(const reference *p, csrec_atoms *atoms) {
    size_t picks = (size_t)p->picks;
    uint64_t *column = malloc((picks + 1) * sizeof *column);
    int64_t *order = malloc((picks + 1) * sizeof *order);
    csrec_status status = column && order ? CSREC_OK : CSREC_MEMORY;
    for (int64_t k = 0; k < p->picks && !status; k++) {
        column[k] = p->entries[k].column;
        order[k] = k;
    }
    if (!status) status = csrec_sort_rows(p->picks, column, order);
    if (!status) status = csrec_atoms_create(add_up(p, order, NULL), atoms);
    if (!status) add_up(p, order, atoms);
    free(column);
    free(order);
    return status;
}

static csrec_status reference_result(const void *state, const double *y, csrec_atoms *atoms,
                                     double *r) {
    const reference *p = state;
    if (p->fault) return p->fault;
    for (int32_t j = 0; r && j < p->tree->n; j++)
        r[j] = y[j] - (rint(y[j] * p->units) - p->r[j]) / p->units;
    return atoms ? list(p, atoms) : CSREC_OK;
}

const csrec_pursuit_type csrec_pursuit_reference = {reference_create, reference_destroy,
                                                    reference_select, reference_update,
                                                    reference_energy, reference_result};
