/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_pursue.h - the launch of a batch of pursuits, used by batch_run.cu. */
#pragma once

#include "kernels/method/grids/batch.h"

/* trees, signals: device arrays. stride: of the longest path. stop and progress [count]: mapped
 * host memory or NULL. warps: see csrec_cuda_batch_run. */
csrec_status csrec_cuda_pursue(const csrec_cuda_tree *trees, csrec_cuda_signal *signals,
                               int64_t count, int warps, int stride, const volatile int64_t *stop,
                               volatile int64_t *progress, void *stream, csrec_error *error);
