/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.h - every process gets a block of bytes from each: ceil(log2(processes)) messages each
 * (Bruck et al. 1997, "Efficient algorithms for all-to-all communications"). */
#ifndef CSREC_HAAR_GATHER_H
#define CSREC_HAAR_GATHER_H

#include "csrec/comm.h"

/* Zero-initialised but for comm, which may be NULL: one process. The blocks lie one after another,
 * this process's first, then those of the ranks above it, and then from rank 0 on. Their sizes are
 * multiples of 16. */
typedef struct csrec_gather {
    csrec_comm *comm;
    char *data;   /* the blocks */
    size_t *end;  /* [processes] of the blocks */
    size_t room;  /* of data */
    int64_t sent; /* messages, and their bytes, so far */
    int64_t sent_bytes;
} csrec_gather;

/* All processes call it. CSREC_MEMORY, or what the communicator returns. */
csrec_status csrec_gather_all(csrec_gather *g, const void *own, size_t bytes, csrec_error *error);

/* What a rank gave, valid until the next call. */
const void *csrec_gather_of(const csrec_gather *g, int rank, size_t *bytes);

void csrec_gather_clear(csrec_gather *g);

#endif
