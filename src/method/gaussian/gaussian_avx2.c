/* gaussian_avx2.c - Gaussian groups compiled for AVX2 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES      8
#define SIMD_TABLE csrec_group_avx2
#include "method/gaussian/gaussian_simd.h"
#else
typedef int csrec_group_avx2_not_built;
#endif
