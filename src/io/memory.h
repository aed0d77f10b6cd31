/* memory.h - how much memory may be asked for: the guard against files that declare too much. */
#ifndef CSREC_IO_MEMORY_H
#define CSREC_IO_MEMORY_H

#include "csrec.h"

/* Bytes that new allocations may take without swapping; UINT64_MAX where the system does not say.
 */
uint64_t csrec_memory_available(void);

/* CSREC_OK if `bytes` fit the available memory divided by `divisor`, else CSREC_MEMORY with a line
 * that starts with `name`. */
csrec_status csrec_memory_check(uint64_t bytes, unsigned divisor, const char *name,
                                csrec_error *error);

#endif
