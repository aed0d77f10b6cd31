/* SPDX-License-Identifier: BSD-3-Clause */
/* scan.h - prefix sums on the device (CUB), behind a C ABI.
 *
 * Scratch memory is the caller's. stream is a cudaStream_t. Sums of doubles are meant for integers,
 * which are exact in any order. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

/* Scratch for count items, enough for every function below. 0 if it cannot be determined. */
size_t csrec_shim_sums_bytes(int64_t count);

/* out[i] = in[0] + .. + in[i - 1]; in == out is allowed. */
csrec_status csrec_shim_sums_u32(const uint32_t *in, uint32_t *out, int64_t count, void *scratch,
                                 size_t bytes, void *stream, csrec_error *error);
csrec_status csrec_shim_sums_u64(const uint64_t *in, uint64_t *out, int64_t count, void *scratch,
                                 size_t bytes, void *stream, csrec_error *error);
csrec_status csrec_shim_sums_f64(const double *in, double *out, int64_t count, void *scratch,
                                 size_t bytes, void *stream, csrec_error *error);

CSREC_C_END
