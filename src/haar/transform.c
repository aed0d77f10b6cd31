/* SPDX-License-Identifier: BSD-3-Clause */
/* transform.c - all inner products from the row tree. */
#include "haar/transform.h"

#include <stdlib.h>

#include "haar/levels.h"
#include "haar/project.h"
#include "haar/column_order.h"

csrec_status csrec_tree_sums(const csrec_tree *tree, const double *r, double *sums) {
    int32_t nodes = tree->n - 1;
    int32_t *first = malloc(((size_t)nodes + 1) * sizeof *first);
    if (!first) return CSREC_MEMORY;
    csrec_tree_first(tree, first);
    for (int32_t i = nodes - 1; i >= 0; i--) {
        int32_t left = tree->left[i], right = tree->size[i] - left;
        sums[i] = (left == 1 ? r[first[i]] : sums[i + 1]) +
                  (right == 1 ? r[first[i] + left] : sums[i + left]);
    }
    free(first);
    return CSREC_OK;
}

/* State of a walk over the blocks that lists their columns, twice: to count and to place. */
typedef struct lister {
    const csrec_tree *tree;
    const double *r, *sums;
    csrec_column_order listing;
    csrec_product *products; /* NULL while counting */
} lister;

static void list(lister *l, int level, uint64_t column, double sum, int64_t count) {
    int64_t at = l->listing.next[level]++;
    if (l->products)
        l->products[at] = (csrec_product){column, sum * csrec_haar_scale(count), count};
}

static double block_sum(const lister *l, int32_t node, int32_t first) {
    return node < 0 ? l->r[first] : l->sums[node];
}

/* The block's own column, then those of the one-sided blocks above it. */
static void list_block(lister *l, const csrec_tree_block *block, bool all_levels) {
    const csrec_tree *tree = l->tree;
    uint64_t row = tree->rows[block->first];
    double sum = l->products ? block_sum(l, block->node, block->first) : 0.0;
    if (block->node >= 0) {
        int32_t left = tree->left[block->node];
        double left_sum = 0.0;
        if (l->products) left_sum = left == 1 ? l->r[block->first] : l->sums[block->node + 1];
        double right_sum = sum - left_sum;
        if (l->products) {
            int32_t right = block->size - left;
            right_sum = right == 1 ? l->r[block->first + left] : l->sums[block->node + left];
        }
        list(l, block->level, csrec_tree_column(tree->levels, row, block->level),
             left_sum - right_sum, block->size);
    }
    if (!tree->one_sided) return;
    int top = block->parent == 64 ? tree->levels : block->parent - 1;
    int bottom = all_levels ? block->level + 1 : top;
    if (!all_levels && (block->parent == 64 || top <= block->level)) return;
    for (int level = top; level >= bottom; level--)
        list(l, level, csrec_tree_column(tree->levels, row, level),
             csrec_tree_side(row, level) * sum, block->size);
}

static void list_all(lister *l, bool all_levels) {
    csrec_tree_walk walk = csrec_tree_walk_start(l->tree);
    for (csrec_tree_block block; csrec_tree_walk_next(&walk, &block);) {
        if (block.parent == 64)
            list(l, CSREC_LISTING_COLUMN_0, 0,
                 l->products ? block_sum(l, block.node, block.first) : 0.0, block.size);
        list_block(l, &block, all_levels);
    }
}

int64_t csrec_tree_products(const csrec_tree *tree, const double *r, const double *sums,
                            bool all_levels, csrec_product *products) {
    lister l = {.tree = tree, .r = r, .sums = sums};
    list_all(&l, all_levels);
    int64_t total = csrec_column_order_start(&l.listing);
    l.products = products;
    if (products) list_all(&l, all_levels);
    return total;
}
