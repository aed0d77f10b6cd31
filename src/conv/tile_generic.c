/* tile_generic.c - inner products of convolutions for any processor, and the choice of a table. */
#define BYTES      16
#define HEIGHT     4
#define VECS       2
#define DOT        2
#define SIMD_TABLE csrec_conv_generic
#include "conv/tile_simd.h"
#include "base/cpu.h"

const csrec_conv_simd *csrec_conv_simd_choose(void) {
    return CSREC_CPU_CHOOSE(&csrec_conv_generic, &csrec_conv_avx2, &csrec_conv_avx512);
}
