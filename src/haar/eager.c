/* SPDX-License-Identifier: BSD-3-Clause */
/* eager.c - the eager pursuit's state: memory, initialisation from y, and its results. */
#include "haar/eager.h"

#include "base/cpu.h"

double csrec_pursuit_units(int64_t n, const double *y) {
    double largest = 0.0;
    for (int64_t j = 0; j < n; j++) largest = fmax(largest, fabs(y[j]));
    if (largest == 0.0) return 1.0;
    int value_bits, count_bits;
    frexp(largest, &value_bits);
    frexp((double)n, &count_bits);
    /* At the ends of the exponent range the grid is coarser or finer than necessary, not wrong. */
    int q = 52 - value_bits - count_bits;
    return ldexp(1.0, q > 1000 ? 1000 : q);
}

const csrec_eager_simd *csrec_eager_simd_choose(void) {
    return CSREC_CPU_CHOOSE(csrec_eager);
}

static void *take(csrec_pool *pool, int64_t count, size_t size) {
    return csrec_pool_keep(pool, csrec_tree_allocate(count, size));
}

static void maxima_create(csrec_pool *pool, csrec_maxima *m, int64_t positions) {
    int64_t count = csrec_tree_padded(positions) / CSREC_TREE_GROUP;
    for (m->levels = 0;; count = (count + CSREC_MAXIMA_FAN - 1) / CSREC_MAXIMA_FAN) {
        int64_t fans = (count + CSREC_MAXIMA_FAN - 1) / CSREC_MAXIMA_FAN;
        m->max[m->levels] = take(pool, fans * CSREC_MAXIMA_FAN, sizeof(int64_t));
        m->count[m->levels++] = count;
        if (count == 1) return;
    }
}

/* Numbers the one-sided columns: many edges have none, and no memory is used for those. */
static int64_t number_sides(csrec_eager *e) {
    int64_t columns = 0;
    for (int32_t i = 0; i < e->tree->n - 1; i++) {
        if (i % CSREC_TREE_GROUP == 0) e->sides[i / CSREC_TREE_GROUP] = (uint32_t)columns;
        columns += csrec_eager_sides(e->tree, i);
    }
    return columns;
}

static csrec_status allocate(csrec_eager *e) {
    int64_t nodes = csrec_tree_padded(e->tree->n - 1);
    e->D = take(&e->pool, nodes, sizeof *e->D);
    maxima_create(&e->pool, &e->maxima, nodes);
    if (!e->tree->one_sided) return csrec_pool_status(&e->pool);
    e->S = take(&e->pool, nodes, sizeof *e->S);
    e->sides = take(&e->pool, nodes / CSREC_TREE_GROUP, sizeof *e->sides);
    if (csrec_pool_status(&e->pool)) return CSREC_MEMORY;
    int64_t columns = number_sides(e);
    e->x = take(&e->pool, columns > 0 ? columns : 1, sizeof *e->x);
    return csrec_pool_status(&e->pool);
}

/* A walk of the tree visits a block before its children; sums need the opposite order. Blocks stay
 * open until both their halves have a value. */
typedef struct open_blocks {
    int depth;
    csrec_tree_block block[64];
    bool has_left[64];
    double left[64];
} open_blocks;

static void open_block(open_blocks *open, const csrec_tree_block *block) {
    open->has_left[open->depth] = false;
    open->block[open->depth++] = *block;
}

/* Gives a value to the innermost open block. true: the value was the right half's, so the block
 * closes; block and left receive it and its left half's value. */
static bool close_block(open_blocks *open, double value, csrec_tree_block *block, double *left) {
    if (open->depth == 0) return false;
    int top = open->depth - 1;
    if (!open->has_left[top]) {
        open->has_left[top] = true;
        open->left[top] = value;
        return false;
    }
    *block = open->block[top];
    *left = open->left[top];
    open->depth = top;
    return true;
}

/* All sums, from the leaves to the root. */
static void start_from(csrec_eager *e, const double *y) {
    open_blocks open = {.depth = 0};
    csrec_tree_walk walk = csrec_tree_walk_start(e->tree);
    for (csrec_tree_block block; csrec_tree_walk_next(&walk, &block);) {
        if (block.node >= 0) {
            open_block(&open, &block);
            continue;
        }
        double left, sum = rint(y[block.first] * e->units);
        e->energy += (csrec_wide)(int64_t)sum * (int64_t)sum;
        while (close_block(&open, sum, &block, &left)) {
            e->D[block.node] = left - sum;
            sum += left;
            if (e->tree->one_sided) e->S[block.node] = sum;
        }
        e->total = sum;
    }
    e->simd->start(e);
}

/* all_level: of the indicator of all samples in keys; -1: it is no column. */
static csrec_status create_in_units(const csrec_tree *tree, const double *y, double units,
                                    int all_level, csrec_eager **eager) {
    csrec_eager *e = csrec_pool_create(sizeof *e);
    if (!e) return CSREC_MEMORY;
    e->tree = tree;
    e->simd = csrec_eager_simd_choose();
    e->units = units;
    e->all_scale = 1.0 / sqrt((double)tree->n);
    e->all_level = all_level;
    csrec_status status = allocate(e);
    if (status) {
        csrec_pool_destroy(e);
        return status;
    }
    start_from(e, y);
    *eager = e;
    return CSREC_OK;
}

static csrec_status eager_create(const csrec_tree *tree, const double *y, void **state) {
    csrec_eager *e;
    csrec_status status =
        create_in_units(tree, y, csrec_pursuit_units(tree->n, y), CSREC_LISTING_COLUMN_0, &e);
    if (!status) *state = e;
    return status;
}

static double eager_select_pick(void *state) {
    csrec_eager *e = state;
    return e->simd->select(e);
}

static bool eager_update(void *state) {
    csrec_eager *e = state;
    return e->simd->update(e);
}

static double eager_energy(const void *state) {
    const csrec_eager *e = state;
    return csrec_wide_double(e->energy) / e->units / e->units;
}

/* A walk of the tree that computes each block's sum of r: from the root down, a block's sum and
 * difference give the sums of its halves. A leaf's sum is its residual. */
typedef struct sum_walk {
    const csrec_eager *e;
    csrec_tree_walk walk;
    double sums[64]; /* of the blocks still to be visited */
} sum_walk;

static sum_walk sum_walk_start(const csrec_eager *e) {
    sum_walk w = {.e = e, .walk = csrec_tree_walk_start(e->tree)};
    w.sums[0] = e->total;
    return w;
}

static bool sum_walk_next(sum_walk *w, csrec_tree_block *block, double *sum) {
    if (w->walk.depth == 0) return false;
    int top = w->walk.depth - 1;
    *sum = w->sums[top];
    csrec_tree_walk_next(&w->walk, block);
    if (block->node >= 0) {
        w->sums[top] = (*sum - w->e->D[block->node]) / 2.0;
        w->sums[top + 1] = (*sum + w->e->D[block->node]) / 2.0;
    }
    return true;
}

/* Psi x = y - r of a sample, in units; never -0. */
static double fit_of(const csrec_eager *e, double y, double r) {
    return rint(y * e->units) - r + 0.0;
}

/* Lists the columns with x != 0, twice: to count (atoms empty) and to place. */
typedef struct atom_lister {
    const csrec_eager *e;
    const double *y;
    csrec_column_order *listing;
    csrec_atoms *atoms;
} atom_lister;

static void list(atom_lister *l, int level, uint64_t column, double x, int64_t count) {
    if (x == 0.0) return;
    int64_t at = l->listing->next[level]++;
    if (!l->atoms) return;
    l->atoms->column[at] = column;
    l->atoms->coefficient[at] = x * sqrt((double)count) / l->e->units;
    l->atoms->count[at] = count;
}

/* The column that stands for the edge above the block. x: the next coefficient; returns it. */
static double list_edge(atom_lister *l, const csrec_tree_block *block, const double **x) {
    const csrec_tree *tree = l->e->tree;
    int edge = tree->one_sided ? csrec_tree_edge(block->parent, block->level) : 0;
    if (!edge) return 0.0;
    double step = *(*x)++;
    uint64_t row = tree->rows[block->first];
    list(l, edge, csrec_tree_column(tree->levels, row, edge), csrec_tree_side(row, edge) * step,
         block->size);
    return step;
}

static void list_all_column(atom_lister *l) {
    const csrec_eager *e = l->e;
    uint64_t row = e->tree->rows[0];
    int level = e->all_level;
    if (level == CSREC_LISTING_COLUMN_0)
        list(l, level, 0, e->x_all, e->tree->n);
    else if (level >= 0)
        list(l, level, csrec_tree_column(e->tree->levels, row, level),
             csrec_tree_side(row, level) * e->x_all, e->tree->n);
}

/* Coefficients of differences are not kept: the fit determines them. Let c be the sum of
 * the columns above a block on its samples. Then
 *     leaf: c = fit - x_edge
 *     node: x = (c_left - c_right) / 2,     c = (c_left + c_right) / 2 - x_edge
 * all integers, and exact. */
static void list_atoms(atom_lister *l) {
    const csrec_eager *e = l->e;
    const csrec_tree *tree = e->tree;
    list_all_column(l);
    open_blocks open = {.depth = 0};
    double left, r, step[65];                     /* of the open blocks' edges, by depth */
    const double *x[65] = {e->x}, *x_node = e->x; /* their next leaf's; the next node's */
    sum_walk walk = sum_walk_start(e);
    for (csrec_tree_block block; sum_walk_next(&walk, &block, &r);) {
        if (block.node >= 0) {
            open_block(&open, &block);
            x[open.depth] = x_node;
            step[open.depth] = list_edge(l, &block, &x[open.depth]);
            if (tree->one_sided) x_node += csrec_eager_sides(tree, block.node);
            continue;
        }
        double c = fit_of(e, l->y[block.first], r) - list_edge(l, &block, &x[open.depth]);
        while (close_block(&open, c, &block, &left)) {
            uint64_t column = csrec_tree_column(tree->levels, tree->rows[block.first], block.level);
            list(l, block.level, column, (left - c) / 2.0, block.size);
            c = (left + c) / 2.0 - step[open.depth + 1];
        }
    }
}

static void find_residual(const csrec_eager *e, const double *y, double *r) {
    sum_walk walk = sum_walk_start(e);
    double sum;
    for (csrec_tree_block block; sum_walk_next(&walk, &block, &sum);) {
        int32_t j = block.first;
        if (block.node < 0) r[j] = y[j] - fit_of(e, y[j], sum) / e->units;
    }
}

static csrec_status eager_result(const void *eager, const double *y, csrec_atoms *atoms,
                                 double *r) {
    csrec_column_order listing = {{0}};
    atom_lister lister = {eager, y, &listing, NULL};
    if (r) find_residual(eager, y, r);
    if (!atoms) return CSREC_OK;
    list_atoms(&lister);
    csrec_status status = csrec_atoms_create(csrec_column_order_start(&listing), atoms);
    lister.atoms = atoms;
    if (!status) list_atoms(&lister);
    return status;
}

const csrec_pursuit_type csrec_pursuit_eager = {eager_create, csrec_pool_destroy, eager_select_pick,
                                                eager_update, eager_energy,       eager_result};
