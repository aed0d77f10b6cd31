/* dct_avx2.c - the pass over blocks compiled for AVX2 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES      8
#define SIMD_TABLE csrec_dct_avx2
#include "operator/dct_simd.h"
#else
typedef int csrec_dct_avx2_not_built;
#endif
