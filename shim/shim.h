/* SPDX-License-Identifier: BSD-3-Clause */
/* shim.h - Thrust and CUB behind a C ABI. All arrays are in device memory. Exceptions stop here.
 *
 * temporary: workspace of *bytes bytes, owned by the caller; with temporary NULL only *bytes is
 * set, for the same counts. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "csrec/haar.h"

/* Stable radix sort by the low `bits` bits of the keys: out = in sorted, payload moved along. */
csrec_status csrec_shim_sort(void *temporary, size_t *bytes, int64_t n, int bits,
                             const uint64_t *keys_in, uint64_t *keys_out,
                             const uint32_t *payload_in, uint32_t *payload_out, csrec_error *error);

CSREC_C_END
