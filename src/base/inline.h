/* inline.h - functions that the CPU's code and CUDA kernels share: CSREC_BOTH in place of
 * `static inline`. */
#ifndef CSREC_BASE_INLINE_H
#define CSREC_BASE_INLINE_H

#ifdef __CUDACC__
#define CSREC_BOTH static inline __host__ __device__
#else
#define CSREC_BOTH static inline
#endif

#include <stdint.h>

/* Bits of x > 0 up to the highest that is set. */
CSREC_BOTH int csrec_bit_length(uint64_t x) {
#ifdef __CUDA_ARCH__
    return 64 - __clzll((long long)x);
#else
    return 64 - __builtin_clzll(x);
#endif
}

#endif
