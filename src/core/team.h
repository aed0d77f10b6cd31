/* team.h - what the threads of one call share: progress, the request to stop, the first failure.
 *
 * Any thread of the call reports. Only the thread that made the call runs the callback, and it
 * holds no lock then: a callback may call the library, and no call waits for the callback of
 * another. Where the calling thread has nothing left to do, it reports for the others while it
 * waits for them.
 */
#ifndef CSREC_CORE_TEAM_H
#define CSREC_CORE_TEAM_H

#include <pthread.h>
#include <time.h>

#include "csrec.h"

typedef struct csrec_team {
    csrec_progress_fn progress; /* may be NULL */
    void *context;
    pthread_t caller;
    pthread_mutex_t lock; /* of what follows; never held while progress runs */
    pthread_cond_t arrival;
    csrec_progress last; /* what any thread reported last */
    int arrived;         /* threads that wait for the end of the parallel region */
    bool stopped;        /* atomic: progress asked to stop */
    csrec_status status; /* of the failure with the lowest place */
    int64_t place;
    csrec_error error;
} csrec_team;

/* By the thread that calls back. first: what is reported until a thread reports. */
void csrec_team_begin(csrec_team *team, csrec_progress_fn progress, void *context,
                      csrec_progress first);
void csrec_team_end(csrec_team *team);

/* Calls back on the calling thread, which other threads leave it to; true: stop. */
bool csrec_team_report(csrec_team *team, const csrec_progress *now);

/* The same with what was reported last. */
bool csrec_team_poll(csrec_team *team);

bool csrec_team_stopped(csrec_team *team);

/* As if the callback had asked to: a part of the call that reports by itself was stopped. */
void csrec_team_stop(csrec_team *team);

/* By every thread at the end of a parallel region whose loops end without a barrier: the calling
 * thread goes on reporting until all are here. */
void csrec_team_gather(csrec_team *team);

/* Keeps the failure of the lowest place, whichever thread was first. text: NULL or its line. */
void csrec_team_fail(csrec_team *team, int64_t place, csrec_status status, const char *text);

/* When a thread is to report: at most every 10 ms. The clock is read after `stride` iterations, 1
 * to 256, as many as take 1 ms or so: an iteration costs between 100 ns and seconds. Starts with
 * next = stride = 1. */
typedef struct csrec_ticker {
    struct timespec told, read;
    int64_t next, stride;
} csrec_ticker;

bool csrec_ticker_due(csrec_ticker *ticker, int64_t iteration);

/* As if it had just reported: nothing is due in the first 10 ms. */
void csrec_ticker_start(csrec_ticker *ticker);

#endif
