/* SPDX-License-Identifier: BSD-3-Clause */
/* apply.c - products of the row tree, each in one pass over its nodes. */
#include "haar/apply.h"

#include <math.h>
#include <stdlib.h>

#include "haar/levels.h"

csrec_status csrec_tree_map_create(const csrec_tree *tree, csrec_tree_map **map) {
    csrec_tree_map *made = csrec_pool_create(sizeof *made);
    if (!made) return CSREC_MEMORY;
    made->columns = csrec_tree_places(tree, NULL);
    CSREC_TAKE(&made->pool, made->place, made->columns);
    CSREC_TAKE(&made->pool, made->first, tree->n);
    if (csrec_pool_status(&made->pool)) {
        csrec_pool_destroy(made);
        return CSREC_MEMORY;
    }
    csrec_tree_places(tree, made->place);
    csrec_tree_first(tree, made->first);
    *map = made;
    return CSREC_OK;
}

/* Contributions of the columns, [n] each: differences and one-sided sums at the nodes, sums at the
 * leaves; and the sum from above each node. */
typedef struct steps {
    double *difference, *sum, *leaf, *above;
} steps;

/* Returns the constant of column 0. */
static double place_steps(const csrec_tree_map *map, const double *x, steps *s) {
    double all = 0.0;
    for (int64_t k = 0; k < map->columns; k++) {
        const csrec_place *place = &map->place[k];
        double step = x[k] / place->norm;
        switch (place->kind) {
        case CSREC_PLACE_ALL:
            all = step;
            break;
        case CSREC_PLACE_DIFFERENCE:
            s->difference[place->at] = step;
            break;
        case CSREC_PLACE_SUM:
            s->sum[place->at] = step;
            break;
        case CSREC_PLACE_LEAF:
            s->leaf[place->at] = step;
            break;
        }
    }
    return all;
}

/* From the root down: the left child adds, the right child subtracts, the node's difference. */
static void go_down(const csrec_tree *tree, const int32_t *first, steps *s, double all, double *y) {
    if (tree->n == 1) y[0] = all + s->leaf[0];
    s->above[0] = all;
    for (int32_t i = 0; i < tree->n - 1; i++) {
        double c = s->above[i] + s->sum[i], d = s->difference[i];
        int32_t left = tree->left[i], at = first[i], other = at + left;
        if (left == 1)
            y[at] = c + d + s->leaf[at];
        else
            s->above[i + 1] = c + d;
        if (tree->size[i] - left == 1)
            y[other] = c - d + s->leaf[other];
        else
            s->above[i + left] = c - d;
    }
}

csrec_status csrec_tree_forward(const csrec_tree *tree, const csrec_tree_map *map, const double *x,
                                double *y) {
    size_t n = (size_t)tree->n;
    double *all = calloc(4 * n, sizeof *all);
    if (!all) return CSREC_MEMORY;
    steps s = {all, all + n, all + 2 * n, all + 3 * n};
    double constant = place_steps(map, x, &s);
    go_down(tree, map->first, &s, constant, y);
    free(all);
    return CSREC_OK;
}

/* For each node, the sum of y and the left half's minus the right half's; from the leaves up. */
static void add_up(const csrec_tree *tree, const int32_t *first, const double *y, double *sum,
                   double *difference) {
    for (int32_t i = tree->n - 2; i >= 0; i--) {
        int32_t left = tree->left[i], right = tree->size[i] - left;
        double a = left == 1 ? y[first[i]] : sum[i + 1];
        double b = right == 1 ? y[first[i] + left] : sum[i + left];
        sum[i] = a + b;
        difference[i] = a - b;
    }
}

csrec_status csrec_tree_adjoint(const csrec_tree *tree, const csrec_tree_map *map, const double *y,
                                double *x) {
    size_t n = (size_t)tree->n;
    double *sum = malloc(2 * n * sizeof *sum), *difference = sum + n;
    if (!sum) return CSREC_MEMORY;
    add_up(tree, map->first, y, sum, difference);
    for (int64_t k = 0; k < map->columns; k++) {
        const csrec_place *place = &map->place[k];
        int32_t at = place->at;
        switch (place->kind) {
        case CSREC_PLACE_ALL:
            x[k] = (tree->n == 1 ? y[0] : sum[0]) * csrec_haar_scale(tree->n);
            break;
        case CSREC_PLACE_DIFFERENCE:
            x[k] = difference[at] * tree->scale[at];
            break;
        case CSREC_PLACE_SUM:
            x[k] = copysign(1.0, place->norm) * sum[at] * tree->scale[at];
            break;
        case CSREC_PLACE_LEAF:
            x[k] = place->norm * y[at];
            break;
        }
    }
    free(sum);
    return CSREC_OK;
}
