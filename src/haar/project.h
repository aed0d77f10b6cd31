/* SPDX-License-Identifier: BSD-3-Clause */
/* project.h - exact least squares on any set of columns of the row tree, in O(n). */
#pragma once

#include "haar/tree.h"

/* Positions of the columns in the tree, in the operator's order: ascending, one of each that are
 * equal up to sign. */
typedef struct csrec_place {
    enum { CSREC_PLACE_ALL, CSREC_PLACE_DIFFERENCE, CSREC_PLACE_SUM, CSREC_PLACE_LEAF } kind;
    int32_t at;  /* node, or leaf */
    double norm; /* sqrt(#), with the sign of a one-sided column: x = norm times the step */
} csrec_place;

/* place: [columns], NULL to count. Returns the number of columns. */
int64_t csrec_tree_places(const csrec_tree *tree, csrec_place *place);

/* first[i] = first sample of node i's block; [n - 1]. */
void csrec_tree_first(const csrec_tree *tree, int32_t *first);

/* min ||y - Psi x|| over the chosen columns: x (0 elsewhere) and r = y - Psi x. Columns that depend
 * on others get 0. CSREC_MEMORY. */
csrec_status csrec_tree_project(const csrec_tree *tree, int64_t columns, const csrec_place *place,
                                const bool *chosen, const double *y, double *x, double *r);

/* ---- all inner products from the row tree in O(n). */

/* sums[i] = sum of r over node i's samples, [nodes], added up from the leaves to the root.
 * CSREC_MEMORY. */
csrec_status csrec_tree_sums(const csrec_tree *tree, const double *r, double *sums);

/* The columns of the tree (all_levels: every one-sided column, not only an edge's representative),
 * ascending; products may be NULL to count only. one_sided columns only if the tree has them. */
int64_t csrec_tree_products(const csrec_tree *tree, const double *r, const double *sums,
                            bool all_levels, csrec_product *products);

/* ---- products with the columns of the row tree and their transpose in O(n), for repeated
 * use: each column's place in the tree is found once. */

typedef struct csrec_tree_map {
    csrec_pool pool; /* first */
    int64_t columns;
    csrec_place *place; /* [columns] */
    int32_t *first;     /* [n - 1] first sample of each node */
} csrec_tree_map;

/* CSREC_MEMORY; csrec_pool_destroy frees it. */
csrec_status csrec_tree_map_create(const csrec_tree *tree, csrec_tree_map **map);

/* y [n] = Psi x, each sample's terms added coarse to fine as csrec_atoms_synthesize does;
 * x [columns]. CSREC_MEMORY. */
csrec_status csrec_tree_forward(const csrec_tree *tree, const csrec_tree_map *map, const double *x,
                                double *y);

/* x [columns] = Psi^T y, as csrec_tree_products computes it. CSREC_MEMORY. */
csrec_status csrec_tree_adjoint(const csrec_tree *tree, const csrec_tree_map *map, const double *y,
                                double *x);
