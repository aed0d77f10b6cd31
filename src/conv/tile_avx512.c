/* tile_avx512.c - inner products of convolutions compiled for AVX-512 (flags in CMakeLists.txt). */
#if defined(__x86_64__)
#define BYTES      64
#define HEIGHT     8
#define VECS       3
#define DOT        6
#define SIMD_TABLE csrec_conv_avx512
#include "conv/tile_simd.h"
#else
typedef int csrec_conv_avx512_not_built;
#endif
