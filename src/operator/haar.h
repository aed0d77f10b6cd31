/* SPDX-License-Identifier: BSD-3-Clause */
/* haar.h - functions of the sampled Haar matrix alone, and its data for devices. */
#pragma once

#include "haar/project.h"
#include "haar/pursuit.h"
#include "operator/operator.h"

typedef struct csrec_haar {
    csrec_tree tree;
    uint64_t *rows;
    _Atomic(csrec_tree_map *) map; /* made at the first product, by any thread */
} csrec_haar;

/* Converts atoms, whose columns solvers other than mp number by their places among the operator's
 * columns, to the columns' numbers in the Haar matrix, and sets their counts. */
csrec_status csrec_haar_number(const csrec_operator *A, csrec_atoms *atoms);
