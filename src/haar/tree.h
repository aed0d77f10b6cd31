/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.h - the row tree: the path-compressed binary tree over the sampled rows.
 *
 * Between neighbouring samples j, j+1 lies one branching node: the smallest dyadic block (span
 * 2^level) that holds both. These n - 1 nodes are every block of the Haar matrix with samples in
 * both halves. Nodes are kept in preorder, so that a subtree is one contiguous range:
 *
 *     node i has size samples, left of them in its left half
 *     left child:  a leaf if left == 1,        else node i + 1
 *     right child: a leaf if size - left == 1, else node i + left
 *
 * A block with samples in one half only has the column +-indicator of its samples. All such blocks
 * between a node and its parent have the same samples: one representative an edge is kept, the
 * coarsest, which has the smallest column number. The edge above the root is represented by column
 * 0. So at most 3 n columns are distinct, whatever M is. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/inline.h"
#include "base/pool.h"
#include "csrec/haar.h"

/* Positions are read in whole groups (see pursuit.h): arrays of nodes are padded to this. */
enum { CSREC_TREE_GROUP = 16 };

typedef struct csrec_tree {
    csrec_pool pool;
    int levels;           /* L, M = 2^L */
    int32_t n;            /* samples; nodes = n - 1 */
    bool one_sided;       /* edge representatives count as columns */
    const uint64_t *rows; /* [n] ascending; not owned */
    int32_t *size;        /* [nodes] */
    int32_t *left;        /* [nodes] */
    double *scale;        /* [nodes] 1 / sqrt(size) */
    uint8_t *level;       /* [nodes] log2 of the span, >= 1 */
    uint8_t *edges;       /* [nodes] one-sided columns at the node; NULL unless one_sided */
} csrec_tree;

/* In edges: the level of the representative of the edge above the node, 0: none; and whether the
 * halves are leaves with a column, which then stands one level below the node's. */
enum { CSREC_TREE_LEVEL = 63, CSREC_TREE_LEFT_LEAF = 64, CSREC_TREE_RIGHT_LEAF = 128 };

/* rows must outlive the tree. O(n). CSREC_MEMORY; CSREC_ARGUMENT for n < 1 or n >= 2^31. */
csrec_status csrec_tree_create(int levels, int64_t n, const uint64_t *rows, csrec_columns columns,
                               csrec_tree *tree);
void csrec_tree_clear(csrec_tree *tree);

/* Zeroed memory for count items, aligned to 64 bytes. */
void *csrec_tree_allocate(int64_t count, size_t size);

/* Items rounded up to whole groups, at least one group. */
static inline int64_t csrec_tree_padded(int64_t count) {
    int64_t groups = (count + CSREC_TREE_GROUP - 1) / CSREC_TREE_GROUP;
    return (groups > 0 ? groups : 1) * CSREC_TREE_GROUP;
}

/* Level of the coarsest one-sided block on the edge between blocks of two levels, 0: none. child
 * 0: a leaf; parent 64: the edge above the root, which column 0 represents. */
CSREC_BOTH int csrec_tree_edge(int parent, int child) {
    return parent < 64 && parent - 1 > child ? parent - 1 : 0;
}

/* Level of the smallest dyadic block that holds samples j and j + 1 of n; beyond the ends 64, above
 * every level. */
CSREC_BOTH int csrec_tree_gap(const uint64_t *rows, int64_t n, int64_t j) {
    return j < 0 || j + 1 >= n ? 64 : csrec_bit_length(rows[j] ^ rows[j + 1]);
}

/* Column number of the block of span 2^level that holds row. */
CSREC_BOTH uint64_t csrec_tree_column(int levels, uint64_t row, int level) {
    return (UINT64_C(1) << (levels - level)) + (row >> level);
}

/* +1 if the samples of a one-sided block lie in its left half, else -1. */
CSREC_BOTH double csrec_tree_side(uint64_t row, int level) {
    return (row >> (level - 1)) & 1 ? -1.0 : 1.0;
}

/* The tree's blocks one after another, parents before children, left before right. */
typedef struct csrec_tree_walk {
    const csrec_tree *tree;
    int32_t node; /* nodes visited so far */
    int depth;    /* blocks still to come */
    int32_t first[64], size[64];
    uint8_t parent[64];
} csrec_tree_walk;

typedef struct csrec_tree_block {
    int32_t node;        /* -1: a leaf */
    int32_t first, size; /* its samples */
    int level;           /* of the node; 0: a leaf */
    int parent;          /* the parent's level; 64: the root */
} csrec_tree_block;

csrec_tree_walk csrec_tree_walk_start(const csrec_tree *tree);
/* false after the last block. */
bool csrec_tree_walk_next(csrec_tree_walk *walk, csrec_tree_block *block);

/* ---- memory of an atom list, and synthesis without checks. */

/* n atoms, all zero. Free with csrec_atoms_clear. CSREC_MEMORY. */
csrec_status csrec_atoms_create(int64_t n, csrec_atoms *atoms);

/* The non-zeros of x [n], numbered by their places, with count 0. CSREC_MEMORY. */
csrec_status csrec_atoms_from_dense(int64_t n, const double *x, csrec_atoms *atoms);

/* csrec_atoms_synthesize_block for arguments already checked, n_rows > 0: avoids checking all atoms
 * again for each block of a signal. */
void csrec_atoms_fill(int levels, const csrec_atoms *atoms, uint64_t first, int64_t n_rows,
                      double *value);

/* ---- columns of the tree in ascending order of their numbers, without a sort by number.
 *
 * Columns of one level ascend with the samples, and a coarser level comes before a finer one, so a
 * counting sort by level over the walk of the tree lists them: count, start, then place. */

/* next[level] is where the level's next column goes; level 63 stands for column 0. */
typedef struct csrec_column_order {
    int64_t next[64];
} csrec_column_order;

enum { CSREC_LISTING_COLUMN_0 = 63 };

/* Turns counts a level into starting places; returns the number of columns. */
static inline int64_t csrec_column_order_start(csrec_column_order *listing) {
    int64_t total = 0;
    for (int level = 63; level >= 0; level--) {
        int64_t count = listing->next[level];
        listing->next[level] = total;
        total += count;
    }
    return total;
}

/* ---- the paper's transform, level by level. */

/* 1 / sqrt(#). Every method multiplies by this rounded value, so all agree to the last bit. */
CSREC_BOTH double csrec_haar_scale(int64_t count) {
    return 1.0 / sqrt((double)count);
}

/* csrec_haar_transform by CSREC_TRANSFORM_LEVELS, for arguments already checked. */
csrec_status csrec_haar_levels(int levels, int64_t n, const uint64_t *rows, const double *r,
                               int64_t capacity, csrec_product *products, int64_t *found);
