/* reference.c - Matching Pursuit as the paper writes it: all inner products, argmax, update, again.
 *
 * O(n L) an iteration: for reading, and for checking the eager pursuit against. It knows the row
 * tree only as a holder of rows; blocks are found by comparing row >> level.
 */
#include <math.h>
#include <stdlib.h>

#include "haar/atoms.h"
#include "haar/levels.h"
#include "haar/pursuit.h"

typedef struct reference {
    const csrec_tree *tree;
    double units;
    csrec_wide energy;
    double *r;               /* [n] units */
    int64_t columns, picked; /* non-zero columns; the one selected */
    csrec_product *products; /* [columns] <r, Psi_i> */
    bool *counts;            /* [columns] false: a one-sided column that is left out */
    double *x;               /* [columns] units */
} reference;

static void destroy(void *state) {
    reference *p = state;
    if (!p) return;
    free(p->r);
    free(p->products);
    free(p->counts);
    free(p->x);
    free(p);
}

static csrec_status transform(reference *p) {
    const csrec_tree *tree = p->tree;
    return csrec_haar_levels(tree->levels, tree->n, tree->rows, p->r, p->columns, p->products,
                             &p->columns);
}

/* The product of the all-ones vector is (left count - right count) / sqrt(count): as long as the
 * column itself when one half is empty. Column 0 always counts. */
static csrec_status find_columns(reference *p) {
    for (int32_t j = 0; j < p->tree->n; j++) p->r[j] = 1.0;
    csrec_status status = transform(p);
    if (status) return status;
    p->products = calloc((size_t)p->columns, sizeof *p->products);
    p->counts = calloc((size_t)p->columns, sizeof *p->counts);
    p->x = calloc((size_t)p->columns, sizeof *p->x);
    if (!p->products || !p->counts || !p->x) return CSREC_MEMORY;
    status = transform(p);
    for (int64_t i = 0; i < p->columns && !status; i++) {
        double norm = sqrt((double)p->products[i].count);
        bool two_sided = fabs(p->products[i].value) * norm < (double)p->products[i].count - 0.5;
        p->counts[i] = p->tree->one_sided || two_sided || p->products[i].column == 0;
    }
    return status;
}

static csrec_status create(const csrec_tree *tree, const double *y, void **state) {
    reference *p = calloc(1, sizeof *p);
    if (!p) return CSREC_MEMORY;
    p->tree = tree;
    p->units = csrec_pursuit_units(tree->n, y);
    p->r = malloc((size_t)tree->n * sizeof *p->r);
    csrec_status status = p->r ? find_columns(p) : CSREC_MEMORY;
    if (status) {
        destroy(p);
        return status;
    }
    for (int32_t j = 0; j < tree->n; j++) {
        p->r[j] = rint(y[j] * p->units);
        p->energy += (csrec_wide)(int64_t)p->r[j] * (int64_t)p->r[j];
    }
    *state = p;
    return CSREC_OK;
}

static int column_level(const csrec_tree *tree, uint64_t column) {
    return column == 0 ? 63 : tree->levels - (63 - __builtin_clzll(column));
}

/* Columns ascend, so the first of equal keys has the smallest number. */
static double select_pick(void *state) {
    reference *p = state;
    if (transform(p)) return 0.0;
    int64_t best = -1;
    for (int64_t i = 0; i < p->columns; i++) {
        int64_t key = csrec_pursuit_key(p->products[i].value, 1.0,
                                        column_level(p->tree, p->products[i].column));
        if (!p->counts[i] || key <= best) continue;
        best = key;
        p->picked = i;
    }
    return fabs(p->products[p->picked].value) / p->units;
}

/* Sign of the column at a row: +1, -1, or 0 outside its block. */
static int sign_at(const csrec_tree *tree, uint64_t column, uint64_t row) {
    if (column == 0) return 1;
    int level = column_level(tree, column);
    if (csrec_tree_column(tree->levels, row, level) != column) return 0;
    return (row >> (level - 1)) & 1 ? -1 : 1;
}

static bool update(void *state) {
    reference *p = state;
    uint64_t column = p->products[p->picked].column;
    double size = (double)p->products[p->picked].count, v = 0.0;
    for (int32_t j = 0; j < p->tree->n; j++)
        v += sign_at(p->tree, column, p->tree->rows[j]) * p->r[j];
    double d = csrec_pursuit_step(v, size);
    csrec_wide gain = csrec_pursuit_gain(v, size, d);
    if (gain <= 0) return false;
    p->energy -= gain;
    p->x[p->picked] += d;
    for (int32_t j = 0; j < p->tree->n; j++)
        p->r[j] -= d * sign_at(p->tree, column, p->tree->rows[j]);
    return true;
}

static double energy(const void *state) {
    const reference *p = state;
    return csrec_wide_double(p->energy) / p->units / p->units;
}

static csrec_status result(const void *state, const double *y, csrec_atoms *atoms, double *r) {
    const reference *p = state;
    for (int32_t j = 0; r && j < p->tree->n; j++)
        r[j] = y[j] - (rint(y[j] * p->units) - p->r[j]) / p->units;
    if (!atoms) return CSREC_OK;
    int64_t n = 0;
    for (int64_t i = 0; i < p->columns; i++) n += p->x[i] != 0.0;
    csrec_status status = csrec_atoms_create(n, atoms);
    if (status) return status;
    for (int64_t i = 0, k = 0; i < p->columns; i++) {
        if (p->x[i] == 0.0) continue;
        const csrec_product *product = &p->products[i];
        atoms->column[k] = product->column;
        atoms->coefficient[k] = p->x[i] * sqrt((double)product->count) / p->units;
        atoms->count[k++] = product->count;
    }
    return CSREC_OK;
}

const csrec_pursuit_type csrec_pursuit_reference = {create, destroy, select_pick,
                                                    update, energy,  result};
