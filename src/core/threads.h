/* threads.h - how many threads an interface's `threads` means. */
#ifndef CSREC_CORE_THREADS_H
#define CSREC_CORE_THREADS_H

#include <omp.h>

/* 0 and below: as many as OpenMP would take. */
static inline int csrec_threads(int asked) {
    return asked > 0 ? asked : omp_get_max_threads();
}

#endif
