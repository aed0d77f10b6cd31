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
 * coarsest, which has the smallest column number. The edge above the root is represented by
 * column 0. So at most 3 n columns are distinct, whatever M is.
 */
#ifndef CSREC_HAAR_TREE_H
#define CSREC_HAAR_TREE_H

#include "base/pool.h"
#include "base/inline.h"
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

#endif
