/* patch_avx512.c - conditioning of patches compiled for AVX-512 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define LANES      16
#define SIMD_TABLE csrec_patch_avx512
#include "method/mixture/patch_simd.h"
#else
typedef int csrec_patch_avx512_not_built;
#endif
