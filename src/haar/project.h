/* SPDX-License-Identifier: BSD-3-Clause */
/* project.h - exact least squares on any set of columns of the row tree, in O(n). */
#ifndef CSREC_HAAR_PROJECT_H
#define CSREC_HAAR_PROJECT_H

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

#endif
