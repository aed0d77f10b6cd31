/* SPDX-License-Identifier: BSD-3-Clause */
/* reference.c - the reference pursuit without its engines: ||r||^2, the picks, and their sums. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "haar/pursuit.h"
#include "base/sort.h"

/* ---- the reference pursuit's steps on the CPU, O(n L) an iteration: for reading, and
 * for checking every other pursuit against. It knows the row tree only as a holder of rows. */

typedef struct steps {
    csrec_pool pool; /* first */
    const csrec_tree *tree;
    double *r;               /* [n] */
    int64_t columns;         /* not zero */
    csrec_product *products; /* [columns] <r, Psi_i> */
    bool *counts;            /* [columns] false: a one-sided column that is omitted */
} steps;

static csrec_status transform(steps *e) {
    const csrec_tree *tree = e->tree;
    return csrec_haar_levels(tree->levels, tree->n, tree->rows, e->r, e->columns, e->products,
                             &e->columns);
}

/* The product of the all-ones vector is (left count - right count) / sqrt(count): as long as the
 * column itself when one half is empty. Column 0 always counts. */
static csrec_status find_columns(steps *e) {
    for (int32_t j = 0; j < e->tree->n; j++) e->r[j] = 1.0;
    csrec_status status = transform(e);
    if (status) return status;
    CSREC_ZEROS(&e->pool, e->products, e->columns);
    CSREC_ZEROS(&e->pool, e->counts, e->columns);
    status = csrec_pool_status(&e->pool) ? CSREC_MEMORY : transform(e);
    for (int64_t i = 0; i < e->columns && !status; i++) {
        double norm = sqrt((double)e->products[i].count);
        bool two_sided = fabs(e->products[i].value) * norm < (double)e->products[i].count - 0.5;
        e->counts[i] = e->tree->one_sided || two_sided || e->products[i].column == 0;
    }
    return status;
}

static csrec_status cpu_create(const csrec_tree *tree, const double *r, void **state) {
    steps *e = csrec_pool_create(sizeof *e);
    if (!e) return CSREC_MEMORY;
    e->tree = tree;
    csrec_status status = CSREC_TAKE(&e->pool, e->r, tree->n) ? find_columns(e) : CSREC_MEMORY;
    if (status) {
        csrec_pool_destroy(e);
        return status;
    }
    memcpy(e->r, r, (size_t)tree->n * sizeof *r);
    *state = e;
    return CSREC_OK;
}

static int level_of(const csrec_tree *tree, uint64_t column) {
    return column == 0 ? CSREC_REFERENCE_ALL : tree->levels + 1 - csrec_bit_length(column);
}

static int sign(const steps *e, const csrec_reference_pick *pick, int32_t j) {
    return csrec_reference_sign(pick->level, pick->group, e->tree->rows[j]);
}

/* Columns ascend, so the first of equal keys has the smallest number. */
static csrec_status cpu_find(void *state, csrec_reference_pick *pick) {
    steps *e = state;
    csrec_status status = transform(e);
    if (status) return status;
    int64_t best = -1, picked = 0;
    for (int64_t i = 0; i < e->columns; i++) {
        const csrec_product *product = &e->products[i];
        int64_t key = csrec_pursuit_key(product->value, 1.0, level_of(e->tree, product->column));
        if (!e->counts[i] || key <= best) continue;
        best = key;
        picked = i;
    }
    uint64_t column = e->products[picked].column;
    pick->level = level_of(e->tree, column);
    pick->group = column ? column - (UINT64_C(1) << (e->tree->levels - pick->level)) : 0;
    pick->count = e->products[picked].count;
    pick->sum = 0.0;
    for (int32_t j = 0; j < e->tree->n; j++) pick->sum += sign(e, pick, j) * e->r[j];
    return CSREC_OK;
}

static csrec_status cpu_subtract(void *state, const csrec_reference_pick *pick, double d) {
    steps *e = state;
    for (int32_t j = 0; j < e->tree->n; j++) e->r[j] -= d * sign(e, pick, j);
    return CSREC_OK;
}

static csrec_status cpu_residual(const void *state, double *r) {
    const steps *e = state;
    memcpy(r, e->r, (size_t)e->tree->n * sizeof *r);
    return CSREC_OK;
}

static const csrec_reference_engine cpu = {cpu_create, csrec_pool_destroy, cpu_find, cpu_subtract,
                                           cpu_residual};

static csrec_status create_pursuit(const csrec_tree *tree, const double *y, void **state) {
    return csrec_reference_create(&cpu, tree, y, state);
}

const csrec_pursuit_type csrec_pursuit_reference = {create_pursuit,         csrec_reference_destroy,
                                                    csrec_reference_select, csrec_reference_update,
                                                    csrec_reference_energy, csrec_reference_result};

typedef struct entry {
    uint64_t column;
    int64_t count;
    double step; /* units */
} entry;

typedef struct reference {
    const csrec_tree *tree;
    const csrec_reference_engine *engine;
    void *state; /* of the engine */
    double units;
    csrec_wide energy;
    csrec_reference_pick pick; /* the one selected */
    csrec_status fault;        /* of an update */
    entry *entries;            /* [room] one a pick */
    int64_t picks, room;
} reference;

void csrec_reference_destroy(void *state) {
    reference *p = state;
    if (!p) return;
    if (p->state) p->engine->destroy(p->state);
    free(p->entries);
    free(p);
}

csrec_status csrec_reference_create(const csrec_reference_engine *engine, const csrec_tree *tree,
                                    const double *y, void **state) {
    reference *p = calloc(1, sizeof *p);
    double *r = malloc((size_t)tree->n * sizeof *r);
    csrec_status status = p && r ? CSREC_OK : CSREC_MEMORY;
    if (!status) {
        p->tree = tree;
        p->engine = engine;
        p->units = csrec_pursuit_units(tree->n, y);
        for (int32_t j = 0; j < tree->n; j++) {
            r[j] = rint(y[j] * p->units);
            p->energy += (csrec_wide)(int64_t)r[j] * (int64_t)r[j];
        }
        status = engine->create(tree, r, &p->state);
    }
    free(r);
    return CSREC_SETTLE(status, csrec_reference_destroy(p), *state = p);
}

double csrec_reference_select(void *state) {
    reference *p = state;
    csrec_status status = p->fault ? p->fault : p->engine->find(p->state, &p->pick);
    if (status) return -(double)status;
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

static uint64_t column_of(const csrec_tree *tree, const csrec_reference_pick *pick) {
    if (pick->level == CSREC_REFERENCE_ALL) return 0;
    return (UINT64_C(1) << (tree->levels - pick->level)) + pick->group;
}

bool csrec_reference_update(void *state) {
    reference *p = state;
    const csrec_reference_pick *pick = &p->pick;
    double size = (double)pick->count, d = csrec_pursuit_step(pick->sum, size);
    csrec_wide gain = csrec_pursuit_gain(pick->sum, size, d);
    if (gain <= 0) return false;
    p->fault = make_room(p) ? p->engine->subtract(p->state, pick, d) : CSREC_MEMORY;
    if (p->fault) return true; /* the next select reports it */
    p->energy -= gain;
    p->entries[p->picks++] = (entry){column_of(p->tree, pick), pick->count, d};
    return true;
}

double csrec_reference_energy(const void *state) {
    const reference *p = state;
    return csrec_wide_double(p->energy) / p->units / p->units;
}

static csrec_status residual(const reference *p, const double *y, double *r) {
    csrec_status status = p->engine->residual(p->state, r);
    for (int32_t j = 0; j < p->tree->n && !status; j++)
        r[j] = y[j] - (rint(y[j] * p->units) - r[j]) / p->units;
    return status;
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

csrec_status csrec_reference_result(const void *state, const double *y, csrec_atoms *atoms,
                                    double *r) {
    const reference *p = state;
    csrec_status status = p->fault;
    if (!status && r) status = residual(p, y, r);
    return status || !atoms ? status : list(p, atoms);
}
