/* dct_avx512.c - the pass over blocks compiled for AVX-512 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES      16
#define SIMD_TABLE csrec_dct_avx512
#include "operator/dct_simd.h"
#else
typedef int csrec_dct_avx512_not_built;
#endif
