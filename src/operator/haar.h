/* haar.h - what only the sampled Haar matrix offers, and what backends see of it. */
#ifndef CSREC_OPERATOR_HAAR_H
#define CSREC_OPERATOR_HAAR_H

#include "haar/apply.h"
#include "operator/operator.h"

typedef struct csrec_haar {
    csrec_tree tree;
    uint64_t *rows;
    _Atomic(csrec_tree_map *) map; /* made when products are first asked for; any thread may be */
} csrec_haar;

/* Atoms numbered by their places among the operator's columns, as solvers other than mp deliver
 * them, get the columns' numbers in the Haar matrix and their counts. */
csrec_status csrec_haar_number(const csrec_operator *A, csrec_atoms *atoms);

#endif
