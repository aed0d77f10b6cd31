/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - a device's interface for the mean over plain grids. */
#ifndef CSREC_METHOD_GRIDS_ENGINE_H
#define CSREC_METHOD_GRIDS_ENGINE_H

#include "method/method.h"

typedef struct csrec_grids_engine {
    /* Runs all grids of the recovery, bit-identical on every device. CSREC_UNSUPPORTED: not this
     * solver or size. */
    csrec_status (*run)(const csrec_recovery *recovery, csrec_error *error);
} csrec_grids_engine;

/* Grids of a batch on the CPU: what is kept at a time. */
int64_t csrec_grids_batch(int threads, const csrec_recover_options *options);

extern const csrec_grids_engine csrec_grids_cpu, csrec_grids_cuda;

#endif
