/* patch_generic.c - conditioning of patches compiled for any processor of the target. */
#define LANES      4
#define SIMD_TABLE csrec_patch_generic
#include "method/mixture/patch_simd.h"
