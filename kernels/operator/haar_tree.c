/* SPDX-License-Identifier: BSD-3-Clause */
/* haar_tree.c - the row tree in the form of the device's kernels: positions, heights, columns. */
#include "operator/operator.h"

#include <string.h>

#include "base/pool.h"
#include "kernels/operator/haar_tree.h"
#include "haar/tree.h"
#include "haar/project.h"
#include "operator/haar.h"

typedef struct arrays {
    csrec_pool pool;
    csrec_cuda_haar h;
    uint8_t *height; /* [nodes] */
    csrec_place *place;
    int32_t *first; /* [nodes] */
} arrays;

static csrec_status allocate(arrays *a) {
    csrec_pool *pool = &a->pool;
    csrec_cuda_haar *h = &a->h;
    const int64_t nodes = h->nodes + 1;
    CSREC_TAKE(pool, h->left, nodes);
    CSREC_TAKE(pool, h->right, nodes);
    CSREC_TAKE(pool, h->order, nodes);
    CSREC_TAKE(pool, h->difference, nodes);
    CSREC_TAKE(pool, a->first, nodes);
    CSREC_TAKE(pool, a->height, nodes);
    CSREC_TAKE(pool, h->plus, h->n);
    CSREC_TAKE(pool, h->minus, h->n);
    CSREC_TAKE(pool, h->factor, h->n);
    CSREC_TAKE(pool, a->place, h->n);
    CSREC_TAKE(pool, h->single, nodes + h->m);
    return csrec_pool_status(pool);
}

/* Children follow their parents in preorder; then a counting sort by height. */
static void place_nodes(arrays *a, const csrec_tree *tree) {
    csrec_cuda_haar *h = &a->h;
    int64_t next[66];
    csrec_tree_first(tree, a->first);
    memset(h->first, 0, sizeof h->first);
    for (int64_t i = h->nodes - 1; i >= 0; i--) {
        int32_t left = tree->left[i], right = tree->size[i] - left;
        int64_t leaf = h->nodes + a->first[i];
        h->left[i] = (int32_t)(left == 1 ? leaf : i + 1);
        h->right[i] = (int32_t)(right == 1 ? leaf + left : i + left);
        int below = left == 1 ? -1 : a->height[h->left[i]];
        int other = right == 1 ? -1 : a->height[h->right[i]];
        a->height[i] = (uint8_t)((below > other ? below : other) + 1);
        h->first[a->height[i] + 1]++;
    }
    for (h->heights = 0; h->first[h->heights + 1] > 0;) {
        h->heights++;
        h->first[h->heights] += h->first[h->heights - 1];
    }
    memcpy(next, h->first, sizeof next);
    for (int64_t i = 0; i < h->nodes; i++) h->order[next[a->height[i]]++] = (int32_t)i;
}

/* A column's norm is sqrt(#) with the sign of a one-sided one. */
static void place_columns(arrays *a, const csrec_tree *tree) {
    csrec_cuda_haar *h = &a->h;
    csrec_tree_places(tree, a->place);
    for (int64_t k = 0; k < h->nodes + h->m; k++) h->single[k] = -1;
    for (int64_t c = 0; c < h->n; c++) {
        const csrec_place *p = &a->place[c];
        bool leaf = p->kind == CSREC_PLACE_LEAF, all = p->kind == CSREC_PLACE_ALL;
        int64_t position = leaf ? h->nodes + p->at : all ? 0 : p->at;
        int64_t size = leaf ? 1 : all ? h->m : tree->size[p->at];
        double factor = csrec_haar_scale(size);
        h->plus[c] = (int32_t)position;
        h->minus[c] = -1;
        h->factor[c] = p->norm < 0.0 ? -factor : factor;
        if (p->kind == CSREC_PLACE_DIFFERENCE) {
            h->difference[p->at] = (int32_t)c;
            h->plus[c] = h->left[p->at];
            h->minus[c] = h->right[p->at];
        } else if (!all) {
            h->single[position] = (int32_t)c;
        }
    }
}

csrec_status csrec_cuda_haar_create(const csrec_operator *A, csrec_cuda_operator **op,
                                    csrec_error *error) {
    const csrec_tree *tree = &((const csrec_haar *)A->data)->tree;
    if (A->m > 1 << 30 || A->n > INT32_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator haar: %lld samples on backend cuda; at most 2^30, and 2^31 "
                          "columns; use backend cpu",
                          (long long)A->m);
    arrays a = {.h = {.m = A->m, .n = A->n, .nodes = A->m - 1}};
    csrec_status status = allocate(&a);
    if (!status) {
        place_nodes(&a, tree);
        place_columns(&a, tree);
        status = csrec_cuda_operator_haar(&a.h, op, error);
    } else {
        csrec_fail(error, status, "operator haar: out of memory for %lld samples", (long long)A->m);
    }
    csrec_pool_clear(&a.pool);
    return status;
}
