/* SPDX-License-Identifier: BSD-3-Clause */
/* system.h - conditions whose waits the system's date does not change, which Linux and macOS have
 * under different names. */
#pragma once

#include <pthread.h>
#include <time.h>

static inline int csrec_system_condition(pthread_cond_t *condition) {
#ifdef __APPLE__
    return pthread_cond_init(condition, NULL);
#else
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    const int failed = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed;
#endif
}

/* Waits for less than a second; 0: woken before. */
static inline int csrec_system_wait(pthread_cond_t *condition, pthread_mutex_t *lock, long ns) {
    struct timespec at = {.tv_nsec = ns};
#ifdef __APPLE__
    return pthread_cond_timedwait_relative_np(condition, lock, &at);
#else
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += ns;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return pthread_cond_timedwait(condition, lock, &at);
#endif
}
