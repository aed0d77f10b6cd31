/* SPDX-License-Identifier: BSD-3-Clause */
/* sampling.h - one function per sampling pattern, called by csrec_sampling_create. */
#ifndef CSREC_SAMPLING_SAMPLING_H
#define CSREC_SAMPLING_SAMPLING_H

#include "csrec/sampling.h"

/* Common parameters of all patterns; entries is the checked product of the extents and 1 <= count
 * <= entries. Each fills sampling->index [count] in any order. */
typedef struct csrec_sampling_plan {
    const csrec_shape *shape;
    int64_t entries, count;
    uint64_t seed;
    csrec_progress_fn progress; /* or NULL */
    void *context;
} csrec_sampling_plan;

csrec_status csrec_sampling_poisson(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                    csrec_error *error);
csrec_status csrec_sampling_jitter(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                   csrec_error *error);

#endif
