/* SPDX-License-Identifier: BSD-3-Clause */
/* window.cuh - the inputs of a tile of adjacent positions, loaded into shared memory once for all
 * taps. Only for kernels/, and for sums whose positions advance by one. */
#pragma once

#include "kernels/conv/state.cuh"

enum {
    CSREC_WINDOW_ACROSS = 32,    /* positions of a tile's line, one per lane, unless it is narrow */
    CSREC_WINDOW_CHANNELS = 8,   /* channels of a chunk, one per warp; a product's inner extent */
    CSREC_WINDOW_MOST = 99 << 10 /* bytes of shared memory on all devices from sm_80 on */
};

/* Positions of a tile. */
typedef struct csrec_conv_tile {
    int lines, across;
} csrec_conv_tile;

/* A tile's window: height lines of width inputs, pitch floats from channel to channel. Tap (i, j)
 * of the position at line l, column c is entry start + (l + i advance[0]) width + c + j advance[1].
 */
typedef struct csrec_conv_window {
    csrec_conv_tile tile;
    int height, width, pitch, start;
    int taps[2], advance[2], tiles[2], before[2]; /* before: inputs' first less positions' */
} csrec_conv_window;

static inline int64_t csrec_conv_chunks(const csrec_cuda_conv_sum *s) {
    return csrec_conv_whole(s->channels, CSREC_WINDOW_CHANNELS);
}

/* Entries of a channel's window, whole lines of 32, and `bank` more. */
static inline int64_t csrec_conv_window_pitch(const csrec_cuda_conv_sum *s, csrec_conv_tile tile,
                                              int bank) {
    int64_t extent[2];
    for (int a = 0; a < 2; a++) {
        const int64_t advance = s->axis[a].advance;
        extent[a] = (a ? tile.across : tile.lines) +
                    (advance < 0 ? -advance : advance) * (s->axis[a].taps - 1);
        if (extent[a] > CSREC_WINDOW_MOST) extent[a] = CSREC_WINDOW_MOST; /* too many anyhow */
    }
    return csrec_conv_whole(extent[0] * extent[1], 32) * 32 + bank;
}

static inline csrec_conv_window csrec_conv_window_of(const csrec_cuda_conv_sum *s,
                                                     csrec_conv_tile tile, int bank) {
    csrec_conv_window v = {};
    v.tile = tile;
    int behind[2];
    for (int a = 0; a < 2; a++) {
        const int size = a ? tile.across : tile.lines;
        const int span = (int)(s->axis[a].advance * (s->axis[a].taps - 1));
        v.taps[a] = (int)s->axis[a].taps;
        v.advance[a] = (int)s->axis[a].advance;
        v.tiles[a] = (int)csrec_conv_whole(s->axis[a].count, size);
        behind[a] = span < 0 ? -span : 0;
        v.before[a] = (int)s->axis[a].base - behind[a];
        *(a ? &v.width : &v.height) = size + (span < 0 ? -span : span);
    }
    v.start = behind[0] * v.width + behind[1];
    v.pitch = (int)csrec_conv_window_pitch(s, tile, bank);
    return v;
}

/* Whether the sum's positions advance by one. */
static inline bool csrec_conv_side_by_side(const csrec_cuda_conv_sum *s) {
    return s->axis[0].step == 1 && s->axis[1].step == 1;
}

/* The product of multiply.cu by windows, in two steps. Packed for a sum with taps, or, by taps'
 * rows, for the sum with one tap and per_row times as many rows that product_sum has of it: `sum`
 * is the former for packing, the latter for the rest. */
bool csrec_conv_windowed(const csrec_cuda_conv_sum *sum);
int64_t csrec_conv_window_packed(const csrec_cuda_conv_sum *sum, bool fast); /* floats */
csrec_status csrec_conv_window_pack(const csrec_cuda_conv_sum *sum, int64_t per_row, bool fast,
                                    const float *w, float *packed, csrec_error *error);

/* span: chunks of channels of a part; if there are several parts, out has room for the sums of
 * each, one after the other, and finish is to be empty. Whole stages need span * taps to be a
 * multiple of csrec_conv_group_for. */
csrec_status csrec_conv_window_multiply(const csrec_cuda_conv_sum *sum, bool fast, int64_t span,
                                        const float *packed, const float *in,
                                        const csrec_cuda_conv_finish *finish, float *out,
                                        csrec_error *error);
bool csrec_conv_window_fits(const csrec_cuda_conv_sum *sum); /* memory and grid */

/* Steps per pipeline stage. A stage must begin one chunk at most, and a chunk's window has to stay
 * until its last step: three windows are enough for stages of three steps if a chunk has as many or
 * more. */
static inline int csrec_conv_group_for(int64_t taps) {
    return taps < 3 ? 1 : 3;
}

/* The gradient of gradient.cu by windows; parts: room for so many floats. */
bool csrec_conv_window_correlates(const csrec_cuda_conv_sum *sum);
double csrec_conv_window_correlate_work(const csrec_cuda_conv_sum *sum);
int64_t csrec_conv_window_parts(const csrec_cuda_conv_sum *sum);
csrec_status csrec_conv_window_correlate(const csrec_cuda_conv_sum *sum, bool fast, const float *in,
                                         const float *out, float *dw, float *parts,
                                         csrec_error *error);
