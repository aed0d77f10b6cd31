/* dense_avx512.c - the dense matrix's loops compiled for AVX-512 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define SIMD_TABLE csrec_dense_avx512
#include "operator/dense_simd.h"
#else
typedef int csrec_dense_avx512_not_built;
#endif
