/* SPDX-License-Identifier: BSD-3-Clause */
/* call.c - progress and failures of the threads of one call. */
#include "base/call.h"

#include <omp.h>

#include "base/error.h"
#include "base/system.h"

enum { PERIOD_NS = 10 * 1000 * 1000 }; /* between reports of a thread that waits */

void csrec_call_begin(csrec_call *call, csrec_progress_fn progress, void *context,
                      csrec_progress first) {
    *call = (csrec_call){
        .progress = progress, .context = context, .caller = pthread_self(), .last = first};
    pthread_mutex_init(&call->lock, NULL);
    csrec_system_condition(&call->arrival);
}

void csrec_call_end(csrec_call *call) {
    pthread_cond_destroy(&call->arrival);
    pthread_mutex_destroy(&call->lock);
}

bool csrec_call_stopped(csrec_call *call) {
    bool stopped;
    if (!call) return false;
#pragma omp atomic read
    stopped = call->stopped;
    return stopped;
}

static void stop(csrec_call *call) {
#pragma omp atomic write
    call->stopped = true;
}

/* Runs on the calling thread. */
static void call_back(csrec_call *call, const csrec_progress *now) {
    if (!csrec_call_stopped(call) && call->progress(now, call->context)) stop(call);
}

bool csrec_call_report(csrec_call *call, const csrec_progress *now) {
    if (!call || !call->progress) return false;
    pthread_mutex_lock(&call->lock);
    call->last = *now;
    pthread_mutex_unlock(&call->lock);
    if (pthread_equal(pthread_self(), call->caller)) call_back(call, now);
    return csrec_call_stopped(call);
}

bool csrec_call_poll(csrec_call *call) {
    if (!call || !call->progress) return false;
    if (pthread_equal(pthread_self(), call->caller) && csrec_ticker_passed(&call->pace)) {
        pthread_mutex_lock(&call->lock);
        csrec_progress last = call->last;
        pthread_mutex_unlock(&call->lock);
        call_back(call, &last);
    }
    return csrec_call_stopped(call);
}

bool csrec_call_hear(const csrec_progress *now, void *call) {
    return csrec_call_report(call, now);
}

static void wait_for(csrec_call *call, int others) {
    pthread_mutex_lock(&call->lock);
    while (call->arrived < others) {
        if (csrec_system_wait(&call->arrival, &call->lock, PERIOD_NS) == 0) continue;
        pthread_mutex_unlock(&call->lock);
        csrec_call_poll(call);
        pthread_mutex_lock(&call->lock);
    }
    call->arrived = 0;
    pthread_mutex_unlock(&call->lock);
}

void csrec_call_gather(csrec_call *call) {
    if (!call->progress) return;
    if (pthread_equal(pthread_self(), call->caller)) {
        csrec_call_poll(call);
        wait_for(call, omp_get_num_threads() - 1);
        return;
    }
    pthread_mutex_lock(&call->lock);
    call->arrived++;
    pthread_cond_signal(&call->arrival);
    pthread_mutex_unlock(&call->lock);
}

void csrec_call_fail(csrec_call *call, int64_t place, csrec_status status, const char *text) {
    pthread_mutex_lock(&call->lock);
    if (!call->status || place < call->place) {
        call->place = place;
        call->status = status;
        csrec_fail(&call->error, status, "%s", text ? text : csrec_status_text(status));
    }
    pthread_mutex_unlock(&call->lock);
}

static double ms_between(struct timespec a, struct timespec b) {
    return (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
}

/* Whether the last report was 10 ms before `now` or earlier; if so, the next one is at `now`. */
static bool tell(csrec_ticker *t, struct timespec now) {
    if (ms_between(t->reported, now) < 10.0) return false;
    t->reported = now;
    return true;
}

bool csrec_ticker_passed(csrec_ticker *t) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return tell(t, now);
}

bool csrec_ticker_due(csrec_ticker *t, int64_t iteration) {
    if (iteration < t->next) return false;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double ms = ms_between(t->read, now);
    if (ms < 1.0 && t->stride < 256) t->stride *= 2;
    if (ms > 4.0 && t->stride > 1) t->stride /= 2;
    t->read = now;
    t->next = iteration + t->stride;
    return tell(t, now);
}
