/* dense_generic.c - the dense matrix's loops compiled for any processor of the target. */
#define SIMD_TABLE csrec_dense_generic
#include "operator/dense_simd.h"
