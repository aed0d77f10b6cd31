/* SPDX-License-Identifier: BSD-3-Clause */
/* pyramid.h - levels of a picture, each of half the extents of the one before, rounded up. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline int64_t csrec_pyramid_half(int64_t extent) {
    return (extent + 1) / 2;
}

/* Sums of 2 x 2 entries of `from`. */
void csrec_pyramid_pull(int64_t height, int64_t width, int threads, const float *from, float *to);

/* Where entry i of a level lies in the next one, whose entries are its pairs: the two entries
 * between which it is, and the share of the second. */
static inline void csrec_pyramid_place(int64_t i, int64_t extent, int64_t at[2], float *share) {
    at[0] = i == 0 ? 0 : (i - 1) / 2;
    at[1] = (i + 1) / 2;
    if (at[1] > csrec_pyramid_half(extent) - 1) at[1] = csrec_pyramid_half(extent) - 1;
    *share = i % 2 ? 0.25f : 0.75f;
}

/* Entry x of a level of this width, between entries of two lines of the next one, of which the
 * second has the share `down`. */
static inline float csrec_pyramid_between(const float *above, const float *below, float down,
                                          int64_t x, int64_t width) {
    int64_t at[2];
    float right;
    csrec_pyramid_place(x, width, at, &right);
    const float first = above[at[0]] + right * (above[at[1]] - above[at[0]]);
    const float second = below[at[0]] + right * (below[at[1]] - below[at[0]]);
    return first + down * (second - first);
}

/* Floats of work for csrec_pyramid_fill, behind two pictures of its own. */
int64_t csrec_pyramid_work(int64_t height, int64_t width);

/* filled [height][width] from z, values times their weights, and weight, 0 where unknown: what is
 * known, and elsewhere the next level, of means by weight, between its entries; all 0 where nothing
 * is known. work: csrec_pyramid_work less the two pictures. */
void csrec_pyramid_fill(int64_t height, int64_t width, int threads, const float *z,
                        const float *weight, float *work, float *filled);
