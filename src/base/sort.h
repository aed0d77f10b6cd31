/* SPDX-License-Identifier: BSD-3-Clause */
/* sort.h - sorting of 64-bit keys. */
#pragma once

#include "csrec/status.h"

/* Sorts rows [n] ascending and permutes payload [n] (may be NULL) alike; stable. Allocates n keys
 * (and n payloads) of scratch unless the rows are ascending already. CSREC_MEMORY leaves both
 * unchanged. */
csrec_status csrec_sort_rows(int64_t n, uint64_t *rows, int64_t *payload);

/* For qsort: numbers ascend. */
static inline int csrec_ascend(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
