/* SPDX-License-Identifier: BSD-3-Clause */
/* group.h - the hot loops of a Gaussian round, one table per instruction set. */
#ifndef CSREC_METHOD_GAUSSIAN_GROUP_H
#define CSREC_METHOD_GAUSSIAN_GROUP_H

#include "base/pool.h"
#include "method/gaussian/gaussian.h"

enum {
    CSREC_GROUP_PIXELS = 192, /* most pixels of a patch, times channels */
    CSREC_GROUP_EDGE = 16,    /* most pixels of a patch's edge */
    CSREC_GROUP_TILE = 32,    /* approximate pixels of a tile's edge */
    CSREC_GROUP_MOST = 128,   /* most patches of a group */
    CSREC_GROUP_CHANNELS = CSREC_GAUSSIAN_POOLED,
    CSREC_GROUP_LANES = 16, /* rows of matrices are padded to a multiple of it */
    CSREC_GROUP_ROWS = 256  /* rows of V buffered before V^T V is added */
};

/* A box of the picture with sums over the estimates of patches inside. */
typedef struct csrec_group_sums {
    int front, top, left, depth, height, width;
    float *weight, *value, *variance; /* [depth * height * width]: sums of w, w x, w v */
} csrec_group_sums;

/* Work arrays of one thread; d pixels per patch, rows of `stride` floats. */
typedef struct csrec_group_work {
    int patch_height, patch_width, d, stride;
    int rows;                        /* of a patch: its depth times its height */
    int32_t row[CSREC_GROUP_PIXELS]; /* their offsets in the picture from the patch's corner */
    int size;                        /* patches of the group */
    int32_t front[CSREC_GROUP_MOST]; /* their corners */
    int32_t top[CSREC_GROUP_MOST];
    int32_t left[CSREC_GROUP_MOST];
    int channels;           /* pooled channels, else 1 */
    float *mean, *C, *gram; /* [channels * stride], [stride * stride] twice */
    float *X;               /* [channels][CSREC_GROUP_MOST * stride] patches */
    float *V;               /* [(CSREC_GROUP_ROWS + CSREC_GROUP_PIXELS) * stride] */
    float *posterior;       /* [stride] variances */
    float *column;          /* [width of a tile] sums of squares of columns */
} csrec_group_work;

/* Distances between patches: references at slices z[], rows y[], columns x[] of the tile. */
typedef struct csrec_group_search {
    const float *guide; /* [guides][depth * height * width] */
    int guides, depth, height, width, patch_depth, patch_height, patch_width;
    int deep, radius; /* of the window: +-deep slices, +-radius rows and columns */
    const int *z, *y, *x;
    int slices, rows, columns;
    float *distance; /* [slices * rows * columns][shifts], infinite outside of the picture */
    float *column;   /* [2 * pixels from the first reference to the end of the last] */
} csrec_group_search;

/* Places of the window, (2 deep + 1) (2 radius + 1)^2, in C order. */
static inline int csrec_group_shifts(const csrec_group_search *s) {
    return (2 * s->deep + 1) * (2 * s->radius + 1) * (2 * s->radius + 1);
}
static inline void csrec_group_shift(const csrec_group_search *s, int shift, int by[3]) {
    int side = 2 * s->radius + 1;
    by[0] = shift / side / side - s->deep;
    by[1] = shift / side % side - s->radius;
    by[2] = shift % side - s->radius;
}

typedef struct csrec_group_simd {
    void (*search)(const csrec_group_search *search);
    /* out[i] = the distance of the patch with corner `at` from that at shift[i] of its window. */
    void (*rank)(const csrec_group_search *search, const int at[3], int n, const uint16_t *shift,
                 float *out);
    /* Of work->channels channels from `channel` on; sums [channels]. */
    void (*estimate)(const csrec_gaussian_picture *picture, int channel,
                     const csrec_gaussian_round *round, csrec_group_work *work,
                     csrec_group_sums *sums);
} csrec_group_simd;

/* Work arrays of one thread for matching. */
typedef struct csrec_group_finder {
    float *distance; /* as in the search */
    float *ranked;   /* [shifts or CSREC_GAUSSIAN_KEPT] */
    uint32_t *key;
    int32_t *chosen;
} csrec_group_finder;

csrec_group_finder csrec_group_finder_of(int references, int shifts, csrec_pool *pool);

/* Allocates matches for so many references; keeps those of the round before if `again`.
 * CSREC_ARGUMENT: they are not of such references. */
csrec_status csrec_group_matches_prepare(csrec_gaussian_matches *matches, int rows, int columns,
                                         int radius, bool again);

/* Finds the `wanted` nearest patches of reference `number` with corner `at`, by `distance` over its
 * window or, if NULL, among the candidates in `matches`: corners into work. */
void csrec_group_choose(const csrec_group_simd *simd, const csrec_group_search *search,
                        const int at[3], int64_t number, const float *distance, int wanted,
                        csrec_gaussian_matches *matches, csrec_group_finder *finder,
                        csrec_group_work *work);

/* For patches of so many slices, rows and columns of the picture. */
csrec_group_work csrec_group_work_of(const csrec_gaussian_picture *picture, const int patch[3],
                                     csrec_pool *pool);

extern const csrec_group_simd csrec_group_generic;
#if defined(__x86_64__)
extern const csrec_group_simd csrec_group_avx2, csrec_group_avx512;
#endif

#endif
