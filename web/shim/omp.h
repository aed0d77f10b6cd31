/* SPDX-License-Identifier: BSD-3-Clause */
/* omp.h - what the library asks OpenMP where there is none: one thread. */
#pragma once

static inline int omp_get_active_level(void) {
    return 0;
}
static inline int omp_get_max_active_levels(void) {
    return 1;
}
static inline int omp_get_max_threads(void) {
    return 1;
}
static inline int omp_get_num_procs(void) {
    return 1;
}
static inline int omp_get_num_threads(void) {
    return 1;
}
static inline int omp_get_thread_num(void) {
    return 0;
}
static inline void omp_set_num_threads(int count) {
    (void)count;
}
