/* SPDX-License-Identifier: BSD-3-Clause */
/* window.h - parts of a signal in which a recovery is tried. */
#pragma once

#include "csrec/array.h"

enum { CSREC_WINDOW = 1 << 16 };

/* Extents of at most CSREC_WINDOW entries, as cubic as the shape allows. */
csrec_shape csrec_window_of(const csrec_shape *shape);

/* Flat index of entry `at` of the window in the whole, or from there to the window: -1 outside. */
int64_t csrec_window_to_whole(const csrec_shape *whole, const csrec_shape *window,
                              const int64_t *origin, int64_t at);
int64_t csrec_window_from_whole(const csrec_shape *whole, const csrec_shape *window,
                                const int64_t *origin, int64_t index);

/* Window `fold` of several, spread over the signal (Kronecker sequence, of golden ratios). */
void csrec_window_place(const csrec_shape *whole, const csrec_shape *window, int fold,
                        int64_t *origin);
