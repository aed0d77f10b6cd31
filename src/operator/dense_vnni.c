/* dense_vnni.c - the dense matrix's loops compiled for AVX-512 with products of bytes (flags in
 * CMakeLists.txt). */
#if defined(__x86_64__)
#define SIMD_TABLE csrec_dense_vnni
#include "operator/dense_simd.h"
#else
typedef int csrec_dense_vnni_not_built;
#endif
