/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h - how much memory may be allocated: rejects work that would not fit; large blocks. */
#pragma once

#include "csrec/status.h"

/* Bytes that new allocations of this process may take without swapping: the least of the machine's
 * available memory, what the limits of its control group and of all groups above leave, and what
 * the process's limits on address space and data leave. UINT64_MAX if the system does not report
 * it. */
uint64_t csrec_memory_available(void);

/* The same from the files proc/... and the mounted control groups beneath the folder `root`, ""
 * being the system itself. The limits of the process are those of the system either way. */
uint64_t csrec_memory_available_in(const char *root);

/* CSREC_OK if `bytes` fit the available memory divided by `divisor`, else CSREC_MEMORY with a line
 * that starts with `name`. */
csrec_status csrec_memory_check(uint64_t bytes, unsigned divisor, const char *name,
                                csrec_error *error);

/* Aligned to a cache line; free it. NULL: out of memory. Large blocks ask for large pages, because
 * page faults dominate the cost of memory that is used once. */
void *csrec_memory_allocate(size_t bytes);
