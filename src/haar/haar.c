/* SPDX-License-Identifier: BSD-3-Clause */
/* haar.c - csrec_haar_transform. */
#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "haar/project.h"

/* ---- all inner products from the row tree. */

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

/* ---- all inner products on the CPU: level by level, or from the row tree. */

/* As the arguments of csrec_haar_transform. */
typedef struct transform_job {
    int levels;
    int64_t n;
    const uint64_t *rows; /* [n] */
    const double *r;      /* [n] */
    csrec_transform_method method;
    int64_t capacity;
    csrec_product *products; /* [capacity], written if all fit */
    int64_t found;
} transform_job;

/* all_levels: every one-sided column, not only the representative of equal ones. */
static csrec_status transform_tree(transform_job *job, bool all_levels) {
    csrec_tree tree;
    CSREC_TRY(csrec_tree_create(job->levels, job->n, job->rows, CSREC_COLUMNS_PAPER, &tree));
    double *sums = malloc((size_t)job->n * sizeof *sums);
    csrec_status status = sums ? csrec_tree_sums(&tree, job->r, sums) : CSREC_MEMORY;
    if (!status) {
        job->found = csrec_tree_products(&tree, job->r, sums, all_levels, NULL);
        if (job->found <= job->capacity)
            csrec_tree_products(&tree, job->r, sums, all_levels, job->products);
    }
    free(sums);
    csrec_tree_clear(&tree);
    return status;
}

static csrec_status run(const csrec_context *context, void *given, csrec_error *error) {
    transform_job *job = given;
    if (context->kind != CSREC_DEVICE_CPU)
        return csrec_device_lacks(context, "the transform", "products of operator haar", error);
    csrec_status status = job->method == CSREC_TRANSFORM_LEVELS
                              ? csrec_haar_levels(job->levels, job->n, job->rows, job->r,
                                                  job->capacity, job->products, &job->found)
                              : transform_tree(job, job->method == CSREC_TRANSFORM_TREE);
    return status ? csrec_fail(error, status, "transform of %lld samples: %s", (long long)job->n,
                               csrec_status_text(status))
                  : CSREC_OK;
}

static const csrec_device_work work = {.run = run};

static csrec_status check(const transform_job *job, csrec_error *error) {
    const int64_t n = job->n;
    const uint64_t *rows = job->rows;
    if (job->levels < 0 || job->levels > 62)
        return csrec_fail(error, CSREC_ARGUMENT, "transform: levels = %d; must be 0 to 62",
                          job->levels);
    if (job->method < CSREC_TRANSFORM_LEVELS || job->method > CSREC_TRANSFORM_DISTINCT)
        return csrec_fail(error, CSREC_ARGUMENT, "transform: method %d is unknown", job->method);
    if (n < 1 || (uint64_t)n > UINT64_C(1) << job->levels)
        return csrec_fail(error, CSREC_ARGUMENT, "transform: %lld samples; must be 1 to 2^%d",
                          (long long)n, job->levels);
    for (int64_t j = 0; j < n; j++) {
        if (!isfinite(job->r[j]))
            return csrec_fail(error, CSREC_ARGUMENT, "transform: r[%lld] is not finite",
                              (long long)j);
        if (j && rows[j] <= rows[j - 1])
            return csrec_fail(error, CSREC_ARGUMENT,
                              "transform: row %lld is not above the row before it; rows must be "
                              "ascending and distinct",
                              (long long)j);
    }
    return rows[n - 1] >> job->levels
               ? csrec_fail(error, CSREC_ARGUMENT, "transform: row %llu is beyond 2^%d - 1",
                            (unsigned long long)rows[n - 1], job->levels)
               : CSREC_OK;
}

csrec_status csrec_haar_transform(const char *device, int levels, int64_t n, const uint64_t *rows,
                                  const double *r, csrec_transform_method method, int64_t capacity,
                                  csrec_product *products, int64_t *found, csrec_error *error) {
    transform_job job = {levels, n, rows, r, method, capacity, products, 0};
    csrec_status status = check(&job, error);
    if (!status) status = csrec_device_run(device, &work, &job, NULL, error);
    if (!status) *found = job.found;
    return status;
}
