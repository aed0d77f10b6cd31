/* SPDX-License-Identifier: BSD-3-Clause */
/* em.h - the expectation step of a mixture on a device; learn/em_cpu.c is the reference. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

typedef struct csrec_cuda_em csrec_cuda_em;

/* For K components of d entries, and `rows` rows, at most `piece` at a time; all stay on the device
 * if they fit there in half of its free memory. CSREC_UNSUPPORTED: 32 rows do not fit into shared
 * memory. CSREC_MEMORY names the bytes. */
csrec_status csrec_cuda_em_create(int K, int d, int64_t rows, int64_t piece, csrec_cuda_em **em,
                                  csrec_error *error);
void csrec_cuda_em_destroy(csrec_cuda_em *em);

/* Arrays in host memory, as of a csrec_mixture. */
csrec_status csrec_cuda_em_begin(csrec_cuda_em *em, const double *whiten, const double *offset,
                                 const double *means, csrec_error *error);

/* As csrec_em_engine; likelihood [count / 32, rounded up]. */
csrec_status csrec_cuda_em_take(csrec_cuda_em *em, int64_t first, int64_t count, const float *X,
                                double *likelihood, csrec_error *error);
csrec_status csrec_cuda_em_moments(const csrec_cuda_em *em, int k, double *weight, double *shift,
                                   double *C, csrec_error *error);

CSREC_C_END
