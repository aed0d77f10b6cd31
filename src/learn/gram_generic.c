/* gram_generic.c - products of columns compiled for any processor of the target. */
#define LANES     4
#define SIMD_GRAM csrec_gram_generic
#include "learn/gram_simd.h"
