/* gram_avx2.c - products of columns compiled for AVX2 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES     8
#define SIMD_GRAM csrec_gram_avx2
#include "learn/gram_simd.h"
#else
typedef int csrec_gram_avx2_not_built;
#endif
