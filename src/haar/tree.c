/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c - building the row tree in two passes over the gaps between neighbouring samples. */
#define _DEFAULT_SOURCE /* madvise */
#include "haar/tree.h"

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* A pick accesses ten arrays at unpredictable places: with pages of 4 KiB most of those accesses
 * also miss the TLB. Asking for large pages is a hint, and may do nothing. */
static void *allocate_large(size_t bytes) {
    const size_t page = (size_t)2 << 20;
    void *p = aligned_alloc(page, (bytes + page - 1) / page * page); /* C11: whole alignments */
#if defined(MADV_HUGEPAGE)
    if (p) madvise(p, bytes / page * page, MADV_HUGEPAGE);
#endif
    return p;
}

void *csrec_tree_allocate(int64_t count, size_t size) {
    size_t bytes = ((size_t)count * size + 63) / 64 * 64;
    void *p = bytes < (size_t)2 << 20 ? aligned_alloc(64, bytes) : allocate_large(bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

static int gap_level(const csrec_tree *tree, int64_t j) {
    return csrec_tree_gap(tree->rows, tree->n, j);
}

/* The levels of the blocks that are open around a gap are distinct, so one bit a level says which
 * are open, and one slot a level says which gap opened it. */
typedef struct open_gaps {
    uint64_t mask;
    int64_t gap[64];
} open_gaps;

/* Closes the blocks that gap j of this level ends; returns the levels still open above it. */
static uint64_t open_gap(open_gaps *open, int64_t j, int level) {
    uint64_t above = open->mask & ~((UINT64_C(2) << level) - 1);
    open->mask = above | UINT64_C(1) << level;
    open->gap[level] = j;
    return above;
}

/* first[j]: first sample of gap j's node. Gaps from left to right: a node reaches back to the
 * nearest gap of a higher level. */
static void find_first(const csrec_tree *tree, int32_t *first) {
    open_gaps open = {0};
    for (int64_t j = 0; j + 1 < tree->n; j++) {
        uint64_t above = open_gap(&open, j, gap_level(tree, j));
        first[j] = above ? (int32_t)(open.gap[__builtin_ctzll(above)] + 1) : 0;
    }
}

static int leaf_columns(int level, bool left, bool right) {
    if (!csrec_tree_edge(level, 0)) return 0;
    return (left ? CSREC_TREE_LEFT_LEAF : 0) | (right ? CSREC_TREE_RIGHT_LEAF : 0);
}

/* Gaps from right to left: the blocks still open are those in whose left half this node lies. In
 * preorder it comes after them and after one node for each gap before its first sample. */
static void place_nodes(csrec_tree *tree, const int32_t *first) {
    open_gaps open = {0};
    for (int64_t j = (int64_t)tree->n - 2; j >= 0; j--) {
        int level = gap_level(tree, j);
        uint64_t above = open_gap(&open, j, level);
        int64_t end = above ? open.gap[__builtin_ctzll(above)] + 1 : tree->n;
        int64_t i = first[j] + __builtin_popcountll(above);
        tree->size[i] = (int32_t)(end - first[j]);
        tree->left[i] = (int32_t)(j + 1 - first[j]);
        tree->level[i] = (uint8_t)level;
        tree->scale[i] = csrec_haar_scale(tree->size[i]);
        if (tree->one_sided) {
            int parent = csrec_smaller_int(gap_level(tree, first[j] - 1), gap_level(tree, end - 1));
            tree->edges[i] = (uint8_t)(csrec_tree_edge(parent, level) |
                                       leaf_columns(level, j == first[j], j + 2 == end));
        }
    }
}

static void *take(csrec_tree *tree, int64_t count, size_t size) {
    return csrec_pool_keep(&tree->pool, csrec_tree_allocate(count, size));
}

csrec_status csrec_tree_create(int levels, int64_t n, const uint64_t *rows, csrec_columns columns,
                               csrec_tree *tree) {
    if (n < 1 || n > INT32_MAX || levels < 0 || levels > 62) return CSREC_ARGUMENT;
    *tree = (csrec_tree){.levels = levels,
                         .n = (int32_t)n,
                         .rows = rows,
                         .one_sided = columns == CSREC_COLUMNS_PAPER};
    int64_t padded = csrec_tree_padded(n - 1);
    int32_t *first = malloc((size_t)n * sizeof *first);
    tree->size = take(tree, padded, sizeof *tree->size);
    tree->left = take(tree, padded, sizeof *tree->left);
    tree->scale = take(tree, padded, sizeof *tree->scale);
    tree->level = take(tree, padded, 1);
    if (tree->one_sided) tree->edges = take(tree, padded, 1);
    bool complete = first && !csrec_pool_status(&tree->pool);
    if (complete) {
        find_first(tree, first);
        place_nodes(tree, first);
    } else {
        csrec_tree_clear(tree);
    }
    free(first);
    return complete ? CSREC_OK : CSREC_MEMORY;
}

void csrec_tree_clear(csrec_tree *tree) {
    if (tree) csrec_pool_clear(&tree->pool);
    if (tree) *tree = (csrec_tree){0};
}

static void push(csrec_tree_walk *walk, int32_t first, int32_t size, int parent) {
    walk->first[walk->depth] = first;
    walk->size[walk->depth] = size;
    walk->parent[walk->depth++] = (uint8_t)parent;
}

csrec_tree_walk csrec_tree_walk_start(const csrec_tree *tree) {
    csrec_tree_walk walk = {.tree = tree};
    push(&walk, 0, tree->n, 64);
    return walk;
}

bool csrec_tree_walk_next(csrec_tree_walk *walk, csrec_tree_block *block) {
    if (walk->depth == 0) return false;
    walk->depth--;
    *block = (csrec_tree_block){.node = -1,
                                .first = walk->first[walk->depth],
                                .size = walk->size[walk->depth],
                                .parent = walk->parent[walk->depth]};
    if (block->size == 1) return true;
    block->node = walk->node++;
    block->level = walk->tree->level[block->node];
    int32_t left = walk->tree->left[block->node];
    push(walk, block->first + left, block->size - left, block->level);
    push(walk, block->first, left, block->level);
    return true;
}
