/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h - one recovery by several ranks, which are threads of the test. */
#pragma once

#include "check.h"

enum { RANKS_MOST = 5 };

typedef struct one_rank {
    const csrec_measurement *m;
    csrec_recover_options options;
    double *signal; /* NULL on all but the first */
    csrec_recover_report report;
    csrec_status status;
    csrec_error error;
} one_rank;

/* As a tool does it: who fails tells the others. */
static inline void run_rank(void *ranks, int rank, csrec_comm *comm, const csrec_error *why) {
    one_rank *r = (one_rank *)ranks + rank;
    r->error = *why;
    r->options.comm = comm;
    r->status = comm ? csrec_recover(r->m, &r->options, r->signal, NULL, &r->report, &r->error)
                     : CSREC_MEMORY;
    if (r->status && comm) csrec_comm_fail(comm, r->error.text);
}

static inline void run_ranks(int n, one_rank *ranks) {
    for (int k = 0; k < n; k++) ranks[k].status = CSREC_MEMORY; /* of a thread that did not start */
    assert_ok(csrec_comm_hub_run(n, run_rank, ranks));
}
