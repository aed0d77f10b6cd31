/* whiten_generic.c - whitening of rows compiled for any processor of the target, and the packing.
 */
#define LANES       2
#define SIMD_WHITEN csrec_whiten_generic
#include "learn/whiten_simd.h"

void csrec_whiten_pack(int d, const double *W, double *packed) {
    for (int i = 0; i < d; i += TILE)
        for (int j = 0; j < i + TILE; j++)
            for (int t = 0; t < TILE; t++)
                *packed++ =
                    i + t < d && j <= i + t ? W[(size_t)(i + t) * (size_t)d + (size_t)j] : 0.0;
}
