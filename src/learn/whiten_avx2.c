/* whiten_avx2.c - whitening of rows compiled for AVX2 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES       4
#define SIMD_WHITEN csrec_whiten_avx2
#include "learn/whiten_simd.h"
#else
typedef int csrec_whiten_avx2_not_built;
#endif
