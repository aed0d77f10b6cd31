/* eager_avx2.c - the eager pursuit compiled for AVX2 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define SIMD_TABLE csrec_eager_avx2
#include "haar/eager_simd.h"
#else
typedef int csrec_eager_avx2_not_built;
#endif
