/* SPDX-License-Identifier: BSD-3-Clause */
/* inline.h - functions that the CPU's code and CUDA kernels share: CSREC_BOTH in place of
 * `static inline`. */
#pragma once

#ifdef __CUDACC__
#define CSREC_BOTH static inline __host__ __device__
#else
#define CSREC_BOTH static inline
#endif

#include <stdint.h>

CSREC_BOTH int64_t csrec_larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

CSREC_BOTH int64_t csrec_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

CSREC_BOTH int csrec_smaller_int(int a, int b) {
    return a < b ? a : b;
}

/* Of entries that ascend, the first of begin .. end - 1 that is at least `least`; end: none. */
CSREC_BOTH int64_t csrec_bound(const uint64_t *entries, int64_t begin, int64_t end,
                               uint64_t least) {
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (entries[middle] < least)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Smallest b with 2^b >= count. */
CSREC_BOTH int csrec_bits_for(int64_t count) {
    int bits = 0;
    while (((int64_t)1 << bits) < count) bits++;
    return bits;
}

/* Bits of x > 0 up to the highest that is set. */
CSREC_BOTH int csrec_bit_length(uint64_t x) {
#ifdef __CUDA_ARCH__
    return 64 - __clzll((long long)x);
#else
    return 64 - __builtin_clzll(x);
#endif
}
