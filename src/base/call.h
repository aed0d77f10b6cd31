/* SPDX-License-Identifier: BSD-3-Clause */
/* call.h - what the threads of one call share: progress, the request to stop, the first failure.
 *
 * Any thread of the call reports. Only the thread that made the call runs the callback, and it
 * holds no lock then: a callback may call the library, and no call waits for the callback of
 * another. Where the calling thread has nothing left to do, it reports for the others while it
 * waits for them. */
#pragma once

#include <pthread.h>
#include <time.h>

#include "csrec/status.h"

/* Decides when a thread reports: at most every 10 ms. */
typedef struct csrec_ticker {
    struct timespec reported, read;
    int64_t next, stride;
} csrec_ticker;

/* For work of any length: call before each piece of it. Starts as {0}: due at once. */
bool csrec_ticker_passed(csrec_ticker *ticker);

/* For iterations of about the same length, between 100 ns and seconds: the clock is read after
 * `stride` of them, 1 to 256, as many as take 1 ms or so. Starts with next = stride = 1. */
bool csrec_ticker_due(csrec_ticker *ticker, int64_t iteration);

typedef struct csrec_call {
    csrec_progress_fn progress; /* may be NULL */
    void *context;
    pthread_t caller;
    pthread_mutex_t lock; /* protects the fields below; never held while progress runs */
    pthread_cond_t arrival;
    csrec_ticker pace;   /* pacing of the polls; used by the calling thread only */
    csrec_progress last; /* the last report of any thread */
    int arrived;         /* threads that wait for the end of the parallel region */
    bool stopped;        /* atomic: progress requested a stop */
    csrec_status status; /* of the failure with the lowest place */
    int64_t place;
    csrec_error error;
} csrec_call;

/* Called by the thread that runs the callback. first: the report until a thread reports. */
void csrec_call_begin(csrec_call *call, csrec_progress_fn progress, void *context,
                      csrec_progress first);
void csrec_call_end(csrec_call *call);

/* Runs the callback if on the calling thread, else does nothing; true: stop. Without a call, false:
 * so do poll and stopped. */
bool csrec_call_report(csrec_call *call, const csrec_progress *now);

/* The same with the last report, at most every 10 ms: call between any two pieces of work that may
 * take long. */
bool csrec_call_poll(csrec_call *call);

/* A csrec_progress_fn whose context is the call: parts of the call report through it. */
bool csrec_call_hear(const csrec_progress *now, void *call);

bool csrec_call_stopped(csrec_call *call);

/* Called by every thread at the end of a parallel region whose loops end without a barrier: the
 * calling thread keeps reporting until all have arrived. */
void csrec_call_gather(csrec_call *call);

/* Keeps the failure of the lowest place, in whatever order threads fail. text: NULL or its line. */
void csrec_call_fail(csrec_call *call, int64_t place, csrec_status status, const char *text);
