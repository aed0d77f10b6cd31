/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - the mean over dyadic grids on a CUDA device. */
#pragma once

#include "method/grids/chain.h"

typedef enum csrec_cuda_grids_engine {
    CSREC_CUDA_GRIDS_AUTO,
    CSREC_CUDA_GRIDS_BATCHES,   /* all signals at once, a block of threads each (batch.h) */
    CSREC_CUDA_GRIDS_SEQUENTIAL /* one after another, each on the whole device (speculate.h) */
} csrec_cuda_grids_engine;

/* csrec_grids_cuda by one engine. CSREC_UNSUPPORTED: it cannot. */
csrec_status csrec_cuda_recover_grids_by(csrec_cuda_grids_engine engine,
                                         const csrec_recovery *recovery, csrec_error *error);

/* The engine for so many signals (grids x channels) of n samples. */
csrec_cuda_grids_engine csrec_cuda_grids_choose(int64_t signals, int64_t n);
