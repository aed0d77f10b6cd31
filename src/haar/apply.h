/* SPDX-License-Identifier: BSD-3-Clause */
/* apply.h - products with the columns of the row tree and their transpose in O(n), for repeated
 * use: each column's place in the tree is found once. */
#ifndef CSREC_HAAR_APPLY_H
#define CSREC_HAAR_APPLY_H

#include "base/pool.h"
#include "haar/project.h"

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

#endif
