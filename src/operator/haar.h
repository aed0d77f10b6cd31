/* haar.h - what only the sampled Haar matrix offers, and what backends see of it. */
#ifndef CSREC_OPERATOR_HAAR_H
#define CSREC_OPERATOR_HAAR_H

#include "haar/apply.h"
#include "haar/pursuit.h"
#include "operator/operator.h"

typedef struct csrec_haar {
    csrec_tree tree;
    uint64_t *rows;
    _Atomic(csrec_tree_map *) map; /* made when products are first asked for; any thread may be */
} csrec_haar;

/* Atoms numbered by their places among the operator's columns, as solvers other than mp deliver
 * them, get the columns' numbers in the Haar matrix and their counts. */
csrec_status csrec_haar_number(const csrec_operator *A, csrec_atoms *atoms);

/* The create of a csrec_atom_search whose other functions are those of csrec_operator_haar: a
 * pursuit on the operator's row tree. */
csrec_status csrec_haar_search(const csrec_operator *A, const csrec_pursuit_type *type,
                               const double *y, void **state);

#endif
