/* tile_avx2.c - inner products of convolutions compiled for AVX2 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define BYTES      32
#define HEIGHT     4
#define VECS       3
#define DOT        3
#define SIMD_TABLE csrec_conv_avx2
#include "conv/tile_simd.h"
#else
typedef int csrec_conv_avx2_not_built;
#endif
