/* threads.c - tests how many threads can start before OpenMP is asked to start them. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/threads.h"

#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PER_PROCESSOR = 4, ALWAYS = 64 };

/* Items that one thread goes through as fast as several. */
enum { FEW = 1 << 16 };

/* Address space that must be free besides the stacks: in total; per thread, since the C library
 * reserves this much for a thread's arena at its first allocation. */
static const size_t RESERVE = (size_t)64 << 20, RESERVE_EACH = (size_t)64 << 20;

/* ------------------------------------------------------------------ forks */

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

/* ------------------------------------------------------------------ trials */

static void *pass(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* How many of `count` threads run at the same time. */
static int start(int count) {
    pthread_t *thread = malloc((size_t)count * sizeof *thread);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int started = 0;
    if (!thread) return 0;
    pthread_mutex_lock(&gate);
    while (started < count && pthread_create(thread + started, NULL, pass, &gate) == 0) started++;
    pthread_mutex_unlock(&gate);
    for (int t = 0; t < started; t++) pthread_join(thread[t], NULL);
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
