/* SPDX-License-Identifier: BSD-3-Clause */
/* eager.h - state of the eager pursuit: block sums and maxima kept up to date after every step.
 *
 * Each node keeps D = (sum of r over its left half) - (sum over its right half), and with one-sided
 * columns S = the sum over both. When all samples of a block change by t, every node inside has
 *
 *     D += t (left - right),     S += t size
 *
 * whatever its children do: one pass over contiguous arrays, no dependence between nodes. A node
 * above only sees its sum change. A leaf's residual is not stored: it is (S + D) / 2 for the left
 * leaf of a node, (S - D) / 2 for the right one, exactly, and its column is looked at with that
 * node's. The largest key is found through a hierarchy of maxima: of groups of 16 nodes, computed
 * from D, S when needed and not stored, then of 64 maxima each. */
#pragma once

#include "haar/pursuit.h"

enum { CSREC_MAXIMA_FAN = 64, CSREC_MAXIMA_LEVELS = 7 };

typedef struct csrec_maxima {
    int levels;                        /* the last has one entry: the largest key of all */
    int64_t *max[CSREC_MAXIMA_LEVELS]; /* max[0][g]: group g; padded with 0 to whole fans */
    int64_t count[CSREC_MAXIMA_LEVELS];
} csrec_maxima;

/* Result of select: the column and its block. */
typedef struct csrec_pick {
    enum {
        CSREC_PICK_ALL,
        CSREC_PICK_DIFFERENCE,
        CSREC_PICK_SUM,
        CSREC_PICK_LEFT_LEAF,
        CSREC_PICK_RIGHT_LEAF
    } kind;
    int32_t at; /* node; of a leaf the one above it */
} csrec_pick;

typedef struct csrec_eager csrec_eager;

/* The functions that depend on the instruction set: one table row each. */
typedef struct csrec_eager_simd {
    void (*start)(csrec_eager *e); /* all maxima from D, S */
    double (*select)(csrec_eager *e);
    bool (*update)(csrec_eager *e);
    void (*apply)(csrec_eager *e, double d); /* x of the pick += d; -d takes a step back, exactly */
    void (*shift)(csrec_eager *e, double t); /* all samples change by t */
} csrec_eager_simd;

struct csrec_eager {
    csrec_pool pool; /* first */
    const csrec_tree *tree;
    const csrec_eager_simd *simd;
    double units;
    csrec_wide energy;
    /* The indicator of all samples: column 0, or of a subtree the column of the edge above it: sum
     * of r, 1 / sqrt(n), coefficient; level in its key, -1: there is no such column. */
    double total, all_scale, x_all;
    int all_level;
    double *D;       /* [nodes] */
    double *S;       /* [nodes] with one-sided columns */
    double *x;       /* [one-sided columns] coefficients, node by node */
    uint32_t *sides; /* [groups] one-sided columns of the nodes before the group */
    csrec_maxima maxima;
    csrec_pick pick;
    double step; /* of the last update, and what it took from the energy */
    csrec_wide gain;
};

static inline int64_t csrec_eager_all_key(const csrec_eager *e) {
    return e->all_level < 0 ? -1 : csrec_pursuit_key(e->total, e->all_scale, e->all_level);
}

/* One-sided columns at a node, in the order of their coefficients: of the edge above it, of its
 * left leaf, of its right leaf. */
static inline int csrec_eager_sides(const csrec_tree *tree, int32_t node) {
    int edges = tree->edges[node];
    return !!(edges & CSREC_TREE_LEVEL) + !!(edges & CSREC_TREE_LEFT_LEAF) +
           !!(edges & CSREC_TREE_RIGHT_LEAF);
}

/* The variant with the widest vectors that this processor runs. */
const csrec_eager_simd *csrec_eager_simd_choose(void);
extern const csrec_eager_simd csrec_eager_generic, csrec_eager_avx2, csrec_eager_avx512;
