/* ranks.h - one recovery by several ranks, which are threads of the test. */
#ifndef CSREC_TESTS_RANKS_H
#define CSREC_TESTS_RANKS_H

#include <pthread.h>

#include "check.h"

enum { RANKS_MOST = 5 };

typedef struct one_rank {
    csrec_comm_hub *hub;
    int rank;
    const csrec_measurement *m;
    csrec_recover_options options;
    double *signal; /* NULL on all but the first */
    csrec_recover_report report;
    csrec_status status;
    csrec_error error;
} one_rank;

/* As a tool does it: who fails tells the others. */
static inline void *run_rank(void *data) {
    one_rank *r = data;
    r->status = csrec_comm_hub_join(r->hub, r->rank, &r->options.comm, &r->error);
    if (r->status) return NULL;
    r->status = csrec_recover(r->m, &r->options, r->signal, NULL, &r->report, &r->error);
    if (r->status) csrec_comm_fail(r->options.comm, r->error.text);
    csrec_comm_destroy(r->options.comm);
    return NULL;
}

static inline void run_ranks(int n, one_rank *ranks) {
    pthread_t thread[RANKS_MOST];
    csrec_comm_hub *hub;
    assert_ok(csrec_comm_hub_create(n, &hub));
    for (int k = 0; k < n; k++) {
        ranks[k].hub = hub;
        ranks[k].rank = k;
        assert_int_equal(pthread_create(&thread[k], NULL, run_rank, &ranks[k]), 0);
    }
    for (int k = 0; k < n; k++) pthread_join(thread[k], NULL);
    csrec_comm_hub_destroy(hub);
}

#endif
