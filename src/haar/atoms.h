/* SPDX-License-Identifier: BSD-3-Clause */
/* atoms.h - memory of an atom list, and synthesis without checks. */
#ifndef CSREC_HAAR_ATOMS_H
#define CSREC_HAAR_ATOMS_H

#include "csrec/haar.h"

/* n atoms, all zero. Free with csrec_atoms_clear. CSREC_MEMORY. */
csrec_status csrec_atoms_create(int64_t n, csrec_atoms *atoms);

/* The non-zeros of x [n], numbered by their places, with count 0. CSREC_MEMORY. */
csrec_status csrec_atoms_from_dense(int64_t n, const double *x, csrec_atoms *atoms);

/* First atom in begin .. end - 1 whose column is >= column, else end. */
int64_t csrec_atoms_bound(const csrec_atoms *atoms, int64_t begin, int64_t end, uint64_t column);

/* csrec_atoms_synthesize_block for arguments already checked, n_rows > 0: avoids checking all atoms
 * again for each block of a signal. */
void csrec_atoms_fill(int levels, const csrec_atoms *atoms, uint64_t first, int64_t n_rows,
                      double *value);

#endif
