/* eager_generic.c - the eager pursuit compiled for any processor of the target. */
#define SIMD_TABLE csrec_eager_generic
#include "haar/eager_simd.h"
