/* SPDX-License-Identifier: BSD-3-Clause */
/* system.h - what Linux and macOS have under different names. Whoever includes it defines
 * _GNU_SOURCE before the first header. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Processors that this process may run on. */
static inline int csrec_system_processors(void) {
#ifdef __linux__
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0) return CPU_COUNT(&mine);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 1 ? (int)online : 1;
}

/* A condition whose waits the system's date does not change. */
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
