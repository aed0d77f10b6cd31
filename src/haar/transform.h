/* SPDX-License-Identifier: BSD-3-Clause */
/* transform.h - all inner products from the row tree in O(n). */
#ifndef CSREC_HAAR_TRANSFORM_H
#define CSREC_HAAR_TRANSFORM_H

#include "haar/tree.h"

/* sums[i] = sum of r over node i's samples, [nodes], added up from the leaves to the root.
 * CSREC_MEMORY. */
csrec_status csrec_tree_sums(const csrec_tree *tree, const double *r, double *sums);

/* The columns of the tree (all_levels: every one-sided column, not only an edge's representative),
 * ascending; products may be NULL to count only. one_sided columns only if the tree has them. */
int64_t csrec_tree_products(const csrec_tree *tree, const double *r, const double *sums,
                            bool all_levels, csrec_product *products);

#endif
