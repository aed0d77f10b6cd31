/* check.h - what every test program needs: CMocka with its headers, and a fresh printed seed.
 * A failing run is repeated with CSREC_TEST_SEED=<the printed seed>. */
#ifndef CSREC_TESTS_CHECK_H
#define CSREC_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "csrec.h"

/* The seed of this run: from the environment, else from the clock; printed once by main. */
static inline uint64_t check_seed(void) {
    const char *given = getenv("CSREC_TEST_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = given ? strtoull(given, NULL, 0)
                          : (uint64_t)now.tv_sec * 1000003u + (uint64_t)now.tv_nsec;
    printf("CSREC_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* A small generator for test inputs, independent of the library's own (splitmix64). */
static inline uint64_t check_next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline double check_uniform(uint64_t *state) { return (double)(check_next(state) >> 11) * 0x1p-53; }

/* A standard normal number (Box and Muller). */
static inline double check_normal(uint64_t *state) {
    double radius = sqrt(-2.0 * log(1.0 - check_uniform(state)));
    return radius * cos(6.283185307179586 * check_uniform(state));
}

static inline int64_t check_below(uint64_t *state, int64_t n) {
    return (int64_t)(check_next(state) % (uint64_t)n);
}

#define assert_ok(call) assert_int_equal((call), CSREC_OK)

#endif
