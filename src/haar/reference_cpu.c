/* SPDX-License-Identifier: BSD-3-Clause */
/* reference_cpu.c - the reference pursuit's steps on the CPU, O(n L) an iteration: for reading, and
 * for checking every other pursuit against. It knows the row tree only as a holder of rows. */
#include <string.h>

#include "haar/levels.h"
#include "haar/reference.h"

typedef struct engine {
    csrec_pool pool; /* first */
    const csrec_tree *tree;
    double *r;               /* [n] */
    int64_t columns;         /* not zero */
    csrec_product *products; /* [columns] <r, Psi_i> */
    bool *counts;            /* [columns] false: a one-sided column that is omitted */
} engine;

static csrec_status transform(engine *e) {
    const csrec_tree *tree = e->tree;
    return csrec_haar_levels(tree->levels, tree->n, tree->rows, e->r, e->columns, e->products,
                             &e->columns);
}

/* The product of the all-ones vector is (left count - right count) / sqrt(count): as long as the
 * column itself when one half is empty. Column 0 always counts. */
static csrec_status find_columns(engine *e) {
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
    engine *e = csrec_pool_create(sizeof *e);
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

static int sign(const engine *e, const csrec_reference_pick *pick, int32_t j) {
    return csrec_reference_sign(pick->level, pick->group, e->tree->rows[j]);
}

/* Columns ascend, so the first of equal keys has the smallest number. */
static csrec_status cpu_find(void *state, csrec_reference_pick *pick) {
    engine *e = state;
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
    engine *e = state;
    for (int32_t j = 0; j < e->tree->n; j++) e->r[j] -= d * sign(e, pick, j);
    return CSREC_OK;
}

static csrec_status cpu_residual(const void *state, double *r) {
    const engine *e = state;
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
