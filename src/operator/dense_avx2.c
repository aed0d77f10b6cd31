/* dense_avx2.c - the dense matrix's loops compiled for AVX2 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define SIMD_TABLE csrec_dense_avx2
#include "operator/dense_simd.h"
#else
typedef int csrec_dense_avx2_not_built;
#endif
