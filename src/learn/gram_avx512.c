/* gram_avx512.c - products of columns compiled for AVX-512 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES     16
#define SIMD_GRAM csrec_gram_avx512
#include "learn/gram_simd.h"
#else
typedef int csrec_gram_avx512_not_built;
#endif
