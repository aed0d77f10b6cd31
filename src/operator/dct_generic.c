/* dct_generic.c - the pass over blocks in the vectors that every machine of the family has. */
#define LANES      4
#define SIMD_TABLE csrec_dct_generic
#include "operator/dct_simd.h"
