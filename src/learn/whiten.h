/* SPDX-License-Identifier: BSD-3-Clause */
/* whiten.h - squared lengths of whitened rows, one table an instruction set. */
#pragma once

#include <stddef.h>

#include "base/inline.h"

enum {
    CSREC_WHITEN_ROWS = 32, /* rows at a time */
    CSREC_WHITEN_TILE = 8   /* outputs at a time */
};

/* Size in doubles of a packed lower triangle [d][d]. */
CSREC_BOTH size_t csrec_whiten_size(int d) {
    size_t tiles = ((size_t)d + CSREC_WHITEN_TILE - 1) / CSREC_WHITEN_TILE;
    return tiles * (tiles + 1) / 2 * CSREC_WHITEN_TILE * CSREC_WHITEN_TILE;
}

/* Packs W, lower, rows of d: tile by tile of outputs, column by column, 0 above the diagonal. */
void csrec_whiten_pack(int d, const double *W, double *packed);

/* length[k] = ||W (x_k - mean)||^2 for the columns x_k of x [padded d][CSREC_WHITEN_ROWS], padded
 * to whole tiles of zeros; mean [d]. work: as x. */
typedef void (*csrec_whiten_fn)(int d, const double *packed, const double *mean, const double *x,
                                double *work, double *length);

void csrec_whiten_generic(int d, const double *packed, const double *mean, const double *x,
                          double *work, double *length);
#if defined(__x86_64__)
void csrec_whiten_avx2(int d, const double *packed, const double *mean, const double *x,
                       double *work, double *length);
void csrec_whiten_avx512(int d, const double *packed, const double *mean, const double *x,
                         double *work, double *length);
#endif
