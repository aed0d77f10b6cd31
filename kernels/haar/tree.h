/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.h - the row tree on the device, split into buckets: the data structure of the batched
 * pursuit.
 *
 * Columns are items. A block with samples in both halves has a difference item; with one-sided
 * columns an edge's representative is a sum item and comes before the difference item of the same
 * samples, and a leaf's is a sum item of one sample. Items are kept in preorder, so that the items
 * of a block are one contiguous range: its left part from item + 1, its right part from mid, up to
 * end. When all samples of a block change by t every item inside changes by t * weight, where
 *
 *     weight = left - right samples of a difference, samples of a sum.
 *
 * The tree is split at its maximal blocks of at most CSREC_CUDA_BUCKET items, the buckets; items
 * above are tops. Both are numbered in preorder, and together, as units. A unit's path lists the
 * tops above it, the root first, so that lane k of a warp always handles the top at depth k.
 */
#pragma once

#include "csrec/haar.h"
#include "kernels/device/device.h"

/* One warp, two items a lane. */
enum { CSREC_CUDA_BUCKET = 64, CSREC_CUDA_HEIGHTS = 128, CSREC_CUDA_SAMPLES_MAX = 1 << 27 };

/* Words at the start of a unit's path. */
enum {
    CSREC_UNIT_ITEM,  /* its first item */
    CSREC_UNIT_DEPTH, /* tops above */
    CSREC_UNIT_TOP,   /* number among the tops; CSREC_UNIT_NONE: a bucket */
    CSREC_UNIT_COUNT, /* bucket: its items; top: first top of the right part */
    CSREC_UNIT_TOP_END,
    CSREC_UNIT_BUCKET, /* top: first bucket, first of the right part, end */
    CSREC_UNIT_BUCKET_MID,
    CSREC_UNIT_BUCKET_END,
    CSREC_UNIT_HEAD
};
#define CSREC_UNIT_NONE 0xffffffffu

/* Entry of a path: top << 2 | minus << 1 | side. side: in which part of the top the unit lies;
 * minus: a rise of the unit's sum lowers the top's value. */

typedef struct csrec_cuda_top {
    double scale; /* 1 / sqrt(size) */
    uint32_t unit;
    uint16_t level, has; /* has: bit 0, 1: there are items in the left, right part */
    int32_t weight;
    uint32_t parent; /* top << 1 | side, or CSREC_UNIT_NONE */
    uint32_t height; /* 0: no tops below */
    uint32_t size;
} csrec_cuda_top;

typedef struct csrec_cuda_bucket {
    uint32_t item, count;
    uint32_t parent; /* as of a top */
    uint32_t unit;
} csrec_cuda_bucket;

typedef struct csrec_cuda_tree {
    int levels;
    int32_t n, items, tops, buckets;
    int32_t stride; /* words a unit in paths, a multiple of 8 */
    bool one_sided;
    const uint64_t *rows;      /* [n] ascending */
    const uint64_t *shape;     /* [items] size | left << 28 | level << 56; left 0: a sum */
    const uint32_t *first;     /* [items] first sample */
    const uint32_t *mid, *end; /* [items] with one-sided columns; else NULL: item + left, .. */
    const uint32_t *slot;      /* [items] in a bucket: see csrec_slot; 0: a top */
    const csrec_cuda_top *top; /* [tops] */
    const csrec_cuda_bucket *bucket; /* [buckets] */
    const uint32_t *path;            /* [(tops + buckets) * stride] */
    const uint32_t *by_height;       /* [tops] tops in order of height, then number */
    const uint32_t *height_begin;    /* [CSREC_CUDA_HEIGHTS + 1] where each height begins there */
    void *memory;                    /* what destroy frees */
} csrec_cuda_tree;

/* Item of a bucket in one word: size | left << 7 | level << 14 | before << 20 | last << 26, where
 * before and last count from the bucket's first item: the last one before the right part, and the
 * last of all. */

CSREC_C_BEGIN

/* Bytes of device scratch that building a tree of n samples needs. */
size_t csrec_cuda_tree_scratch(int64_t n, csrec_columns columns);

/* rows: [n] ascending on the device; must outlive the tree. 1 <= n <= CSREC_CUDA_SAMPLES_MAX.
 * scratch may be reused when the queued work of the stream has finished. Waits for the stream. */
csrec_status csrec_cuda_tree_create(int levels, int64_t n, const uint64_t *rows,
                                    csrec_columns columns, void *scratch, void *stream,
                                    csrec_cuda_tree *tree, csrec_error *error);
void csrec_cuda_tree_destroy(csrec_cuda_tree *tree);

CSREC_C_END
