/* call.c - progress and failures of the threads of one call. */
#include "base/call.h"

#include <omp.h>

#include "base/error.h"

enum { PERIOD_NS = 10 * 1000 * 1000 }; /* between reports of a thread that waits */

void csrec_call_begin(csrec_call *team, csrec_progress_fn progress, void *context,
                      csrec_progress first) {
    pthread_condattr_t attributes;
    *team = (csrec_call){
        .progress = progress, .context = context, .caller = pthread_self(), .last = first};
    pthread_mutex_init(&team->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&team->arrival, &attributes);
    pthread_condattr_destroy(&attributes);
}

void csrec_call_end(csrec_call *team) {
    pthread_cond_destroy(&team->arrival);
    pthread_mutex_destroy(&team->lock);
}

bool csrec_call_stopped(csrec_call *team) {
    bool stopped;
    if (!team) return false;
#pragma omp atomic read
    stopped = team->stopped;
    return stopped;
}

void csrec_call_stop(csrec_call *team) {
#pragma omp atomic write
    team->stopped = true;
}

/* Runs on the calling thread. */
static void call_back(csrec_call *team, const csrec_progress *now) {
    if (!csrec_call_stopped(team) && team->progress(now, team->context)) csrec_call_stop(team);
}

bool csrec_call_report(csrec_call *team, const csrec_progress *now) {
    if (!team || !team->progress) return false;
    pthread_mutex_lock(&team->lock);
    team->last = *now;
    pthread_mutex_unlock(&team->lock);
    if (pthread_equal(pthread_self(), team->caller)) call_back(team, now);
    return csrec_call_stopped(team);
}

bool csrec_call_poll(csrec_call *team) {
    if (!team || !team->progress) return false;
    if (pthread_equal(pthread_self(), team->caller) && csrec_ticker_passed(&team->pace)) {
        pthread_mutex_lock(&team->lock);
        csrec_progress last = team->last;
        pthread_mutex_unlock(&team->lock);
        call_back(team, &last);
    }
    return csrec_call_stopped(team);
}

bool csrec_call_hear(const csrec_progress *now, void *team) {
    return csrec_call_report(team, now);
}

static struct timespec next_report(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += PERIOD_NS;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void wait_for(csrec_call *team, int others) {
    pthread_mutex_lock(&team->lock);
    while (team->arrived < others) {
        struct timespec at = next_report();
        if (pthread_cond_timedwait(&team->arrival, &team->lock, &at) == 0) continue;
        pthread_mutex_unlock(&team->lock);
        csrec_call_poll(team);
        pthread_mutex_lock(&team->lock);
    }
    team->arrived = 0;
    pthread_mutex_unlock(&team->lock);
}

void csrec_call_gather(csrec_call *team) {
    if (!team->progress) return;
    if (pthread_equal(pthread_self(), team->caller)) {
        csrec_call_poll(team);
        wait_for(team, omp_get_num_threads() - 1);
        return;
    }
    pthread_mutex_lock(&team->lock);
    team->arrived++;
    pthread_cond_signal(&team->arrival);
    pthread_mutex_unlock(&team->lock);
}

void csrec_call_fail(csrec_call *team, int64_t place, csrec_status status, const char *text) {
    pthread_mutex_lock(&team->lock);
    if (!team->status || place < team->place) {
        team->place = place;
        team->status = status;
        csrec_fail(&team->error, status, "%s", text ? text : csrec_status_text(status));
    }
    pthread_mutex_unlock(&team->lock);
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
