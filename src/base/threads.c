/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c - tests how many threads can start before OpenMP is asked to start them. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/threads.h"

#include <ctype.h>
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PER_PROCESSOR = 4, ALWAYS = 64 };

/* Items that one thread goes through as fast as several. */
enum { FEW = 1 << 16 };

/* Address space that must be free besides the stacks: in total; per thread, since the C library
 * reserves this much for a thread's arena at its first allocation. */
static const size_t RESERVE = (size_t)64 << 20, RESERVE_EACH = (size_t)64 << 20;

/* Set once, by a child while it has one thread. OpenMP's threads stay in the parent, but the
 * child's copy of OpenMP's state still refers to them. */
static bool forked;

static void note_fork(void) {
    forked = true;
}

/* At loading: the host program may use the same OpenMP library before it calls this one. */
__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, note_fork);
}

static void *pass(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Bytes of OMP_STACKSIZE, as GCC's library reads it; 0: not given, or nothing that it takes. */
static size_t stack_bytes(void) {
    static const char units[] = "BKMG";
    const char *text = getenv("OMP_STACKSIZE");
    char *end;
    if (!text) text = getenv("GOMP_STACKSIZE");
    unsigned long long size = text ? strtoull(text, &end, 10) : 0;
    if (size == 0 || end == text) return 0;
    while (isspace((unsigned char)*end)) end++;
    const char *unit = strchr(units, *end ? toupper((unsigned char)*end) : 'K');
    const int shift = unit ? 10 * (int)(unit - units) : 0;
    return unit && size <= SIZE_MAX >> shift ? (size_t)size << shift : 0;
}

/* How many of `count` threads run at the same time, with the stacks that they will have: too small
 * for what libraries keep in each thread, or too large, they do not start. */
static int start(int count) {
    const size_t stack = stack_bytes();
    pthread_attr_t attributes;
    pthread_t *thread = malloc((size_t)count * sizeof *thread);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int started = 0;
    if (!thread || pthread_attr_init(&attributes)) {
        free(thread);
        return 0;
    }
    if (stack)
        pthread_attr_setstacksize(&attributes, stack); /* below the system's least: default */
    pthread_mutex_lock(&gate);
    while (started < count && pthread_create(thread + started, &attributes, pass, &gate) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (int t = 0; t < started; t++) pthread_join(thread[t], NULL);
    pthread_attr_destroy(&attributes);
    free(thread);
    return started;
}

/* Half of the available threads if that is less: the rest of the process needs some too. */
static int try_threads(int wanted) {
    size_t size = RESERVE + (size_t)wanted * RESERVE_EACH;
    void *reserve = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserve == MAP_FAILED) return wanted > 1 ? try_threads(wanted / 2) : 1;
    int others = start(wanted - 1);
    munmap(reserve, size);
    return others == wanted - 1 ? wanted : (others + 1) / 2 > 1 ? (others + 1) / 2 : 1;
}

int csrec_threads_wanted(int asked) {
    int wanted = asked > 0 ? asked : omp_get_max_threads(),
        most = PER_PROCESSOR * omp_get_num_procs();
    if (most < ALWAYS) most = ALWAYS;
    return wanted < most ? wanted : most;
}

/* OpenMP keeps the threads of a calling thread's last team, so each number is tested once: a part
 * of a call gets the same number as the whole call. */
int csrec_threads(int asked) {
    static _Thread_local int tried = 1, team = 1;
    if (forked || omp_get_active_level() >= omp_get_max_active_levels()) return 1;
    int wanted = csrec_threads_wanted(asked);
    if (wanted == 1 || wanted == tried) return wanted < team ? wanted : team;
    tried = wanted;
    int started = 0, most = try_threads(wanted);
    /* Starts them now, while the tested resources are still free. */
#pragma omp parallel num_threads(most) reduction(+ : started)
    started++;
    team = started;
    return team;
}

int csrec_threads_for(int64_t items, int asked) {
    return items > FEW ? csrec_threads(asked) : 1;
}
