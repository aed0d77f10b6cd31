/* SPDX-License-Identifier: BSD-3-Clause */
/* blas.c - OpenBLAS limited to one thread while this library calls it. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

/* Address space of one OpenBLAS buffer: 128 MiB, one page, and overhead. */
static const size_t BUFFER = (size_t)136 << 20;

/* OpenBLAS's thread count is global to the process, so this state is global too. */
static struct {
    pthread_mutex_t lock;
    int before;         /* OpenBLAS's thread count outside of the calls */
    int calls, callers; /* calls begun and not yet ended */
    int buffers;        /* buffers that OpenBLAS certainly has, 0 or 1; it keeps them */
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Threads of the parent that were between begin and end do not exist in the child. */
static void begin_child(void) {
    shared.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    shared.calls = shared.callers = shared.buffers = 0;
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, begin_child);
}

static bool has_room(int buffers) {
    if (buffers <= 0) return true;
    void *trial =
        mmap(NULL, (size_t)buffers * BUFFER, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED) return false;
    munmap(trial, (size_t)buffers * BUFFER);
    return true;
}

int csrec_blas_begin(int callers) {
    pthread_mutex_lock(&shared.lock);
    while (callers > 0 && !has_room(shared.callers + callers - shared.buffers)) callers /= 2;
    if (callers > 0) {
        if (shared.calls++ == 0) {
            shared.before = openblas_get_num_threads();
            if (shared.before != 1) openblas_set_num_threads(1);
        }
        shared.callers += callers;
    }
    pthread_mutex_unlock(&shared.lock);
    return callers;
}

void csrec_blas_end(int callers) {
    pthread_mutex_lock(&shared.lock);
    if (shared.calls > 0) {
        if (shared.buffers == 0) shared.buffers = 1;
        shared.callers -= callers;
        if (--shared.calls == 0 && shared.before != 1) openblas_set_num_threads(shared.before);
    }
    pthread_mutex_unlock(&shared.lock);
}
