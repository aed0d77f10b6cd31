/* whiten_avx512.c - whitening of rows compiled for AVX-512 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES       8
#define SIMD_WHITEN csrec_whiten_avx512
#include "learn/whiten_simd.h"
#else
typedef int csrec_whiten_avx512_not_built;
#endif
