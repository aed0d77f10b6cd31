/* SPDX-License-Identifier: BSD-3-Clause */
/* haar_tree.h - the row tree in the form of the device's kernels. */
#pragma once

#include "kernels/operator/operator.h"

/* A: a haar operator of at most 2^30 samples. */
csrec_status csrec_cuda_haar_create(const csrec_operator *A, csrec_cuda_operator **op,
                                    csrec_error *error);
