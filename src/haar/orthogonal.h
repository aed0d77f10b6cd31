/* SPDX-License-Identifier: BSD-3-Clause */
/* orthogonal.h - Orthogonal Matching Pursuit on the row tree, as a pursuit. */
#ifndef CSREC_HAAR_ORTHOGONAL_H
#define CSREC_HAAR_ORTHOGONAL_H

#include "haar/pursuit.h"

/* y must outlive it. Atoms are numbered by the operator's columns, count 0 (csrec_tree_places). */
extern const csrec_pursuit_type csrec_pursuit_orthogonal;

#endif
