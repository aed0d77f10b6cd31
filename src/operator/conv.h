/* SPDX-License-Identifier: BSD-3-Clause */
/* conv.h - the convolutional dictionary of a sampled signal.
 *
 * K filters d_k of extents h (one to three axes), each at every place where it overlaps the signal,
 * also across the border: p = 0 .. extent + h - 2 on each axis, with signal[i] = sum_k sum_p
 * x[k][p] d_k[i - p + h - 1], so an entry at the border is in as many atoms as one in the middle.
 * Analysis, which is the transpose, is the convolution of conv/conv.h with padding h - 1; synthesis
 * is its dX. */
#ifndef CSREC_OPERATOR_CONV_H
#define CSREC_OPERATOR_CONV_H

#include "conv/conv.h"
#include "operator/mask.h"

typedef struct csrec_conv_dictionary {
    csrec_mask mask;
    csrec_conv conv;      /* analysis: one channel to K */
    int64_t places, size; /* of an atom; entries of a filter */
    int threads;
    double *filters;   /* [K][size] */
    double *packed[2]; /* for analysis, synthesis */
    double *norms;     /* [K][places] under the mask */
} csrec_conv_dictionary;

/* The dictionary if A is one, else NULL. */
static inline const csrec_conv_dictionary *csrec_conv_dictionary_of(const csrec_operator *A) {
    return A->row == &csrec_operator_conv ? (const csrec_conv_dictionary *)A->data : NULL;
}

/* Coordinates of place p of an atom, or of its first corner: the position of the filter's entry 0,
 * which may be outside the signal. */
void csrec_conv_corner(const csrec_conv_dictionary *d, int64_t place, int64_t corner[3]);

extern const csrec_atom_search csrec_conv_search;

#endif
