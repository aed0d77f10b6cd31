/* SPDX-License-Identifier: BSD-3-Clause */
/* reference.h - the paper's pursuit: all inner products, argmax, update of r, again.
 *
 * reference.c keeps ||r||^2 and the picks; an engine holds r and does the three steps where it
 * lives, in the order of the paper; it stores only r and the buffers of one transform:
 * on the CPU (reference_cpu.c) or on a CUDA device (kernels/haar/reference.cu). */
#ifndef CSREC_HAAR_REFERENCE_H
#define CSREC_HAAR_REFERENCE_H

#include "haar/pursuit.h"

/* A column that was found: +1 on the left, -1 on the right half of `group` at span 2^level. */
typedef struct csrec_reference_pick {
    int level; /* CSREC_REFERENCE_ALL: column 0, +1 everywhere */
    uint64_t group;
    int64_t count; /* samples in the block */
    double sum;    /* of r, left less right: <r, Psi_i> = sum / sqrt(count) */
} csrec_reference_pick;

enum { CSREC_REFERENCE_ALL = 63 };

/* +1, -1, or 0 outside the block. */
CSREC_BOTH int csrec_reference_sign(int level, uint64_t group, uint64_t row) {
    if (level == CSREC_REFERENCE_ALL) return 1;
    if (row >> level != group) return 0;
    return (row >> (level - 1)) & 1 ? -1 : 1;
}

typedef struct csrec_reference_engine {
    /* r: [n] integers. */
    csrec_status (*create)(const csrec_tree *tree, const double *r, void **state);
    void (*destroy)(void *state);
    /* The column with the largest key of csrec_pursuit_key, of equal keys the leftmost. */
    csrec_status (*find)(void *state, csrec_reference_pick *pick);
    csrec_status (*subtract)(void *state, const csrec_reference_pick *pick, double d);
    csrec_status (*residual)(const void *state, double *r); /* [n] */
} csrec_reference_engine;

/* The functions of a csrec_pursuit_type, but for the engine that create takes. */
csrec_status csrec_reference_create(const csrec_reference_engine *engine, const csrec_tree *tree,
                                    const double *y, void **state);
void csrec_reference_destroy(void *state);
double csrec_reference_select(void *state);
bool csrec_reference_update(void *state);
double csrec_reference_energy(const void *state);
csrec_status csrec_reference_result(const void *state, const double *y, csrec_atoms *atoms,
                                    double *r);

#endif
