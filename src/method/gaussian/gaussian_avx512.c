/* gaussian_avx512.c - Gaussian groups compiled for AVX-512 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES      16
#define SIMD_TABLE csrec_group_avx512
#include "method/gaussian/gaussian_simd.h"
#else
typedef int csrec_group_avx512_not_built;
#endif
