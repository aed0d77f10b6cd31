/* SPDX-License-Identifier: BSD-3-Clause */
/* darts.h - places that keep their distances: dart throwing in a given order. */
#ifndef CSREC_SAMPLING_DARTS_H
#define CSREC_SAMPLING_DARTS_H

#include "base/call.h"

typedef struct csrec_darts {
    int64_t extent[3]; /* those of missing axes are 1 */
    int64_t entries, n, count;
    const int64_t *index;    /* [n] distinct free positions in the order in which they are tried */
    const double *spread;    /* [n] squared distance that each must keep at scale 1, > 0 */
    const uint32_t *nearest; /* [entries] squared distance to what is measured, > 0 where free */
    double most;             /* the largest squared distance that is asked for, below CSREC_FAR */
    csrec_progress_fn progress; /* or NULL */
    void *context;
} csrec_darts;

/* Takes 1 <= count <= n positions, each at least sqrt(min(scale spread, most)) from all that are
 * measured or were taken before it, at the largest scale, within 4 %, at which there are so many.
 * squared: the smallest of these distances, squared. CSREC_MEMORY, CSREC_STOPPED. */
csrec_status csrec_darts_place(const csrec_darts *darts, int64_t *place, double *squared);

#endif
