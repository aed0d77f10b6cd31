/* gaussian_generic.c - Gaussian groups compiled for any processor of the target. */
#define LANES      4
#define SIMD_TABLE csrec_group_generic
#include "method/gaussian/gaussian_simd.h"
