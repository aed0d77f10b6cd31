/* patch_avx2.c - conditioning of patches compiled for AVX2 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES      8
#define SIMD_TABLE csrec_patch_avx2
#include "method/mixture/patch_simd.h"
#else
typedef int csrec_patch_avx2_not_built;
#endif
