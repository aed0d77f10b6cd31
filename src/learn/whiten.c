/* whiten.c - packing of the triangle that whitens rows. */
#include "learn/whiten.h"

void csrec_whiten_pack(int d, const double *W, double *packed) {
    enum { TILE = CSREC_WHITEN_TILE };
    for (int i = 0; i < d; i += TILE)
        for (int j = 0; j < i + TILE; j++)
            for (int t = 0; t < TILE; t++)
                *packed++ =
                    i + t < d && j <= i + t ? W[(size_t)(i + t) * (size_t)d + (size_t)j] : 0.0;
}
