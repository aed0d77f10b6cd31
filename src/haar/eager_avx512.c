/* eager_avx512.c - the eager pursuit compiled for AVX-512 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define SIMD_TABLE csrec_eager_avx512
#include "haar/eager_simd.h"
#else
typedef int csrec_eager_avx512_not_built;
#endif
