/* SPDX-License-Identifier: BSD-3-Clause */
/* tree_items.cuh - building the row tree: the work of one thread for one gap, leaf or item.
 *
 * The readable counterpart is src/haar/tree.c. Every step below is independent of its neighbours;
 * between steps come prefix sums. All of it runs on the host too, for its test.
 */
#pragma once

#include "kernels/haar/tree.h"

extern "C" {
#include "haar/tree.h"
}

struct csrec_tree_build {
    int64_t n;
    const uint64_t *rows;
    bool one_sided;
    /* by gap j between samples j, j + 1 */
    uint8_t *gap_level;
    uint32_t *gap_first, *gap_size, *gap_node;
    uint64_t *mask;   /* [n + 1] by sample: levels of the nodes that start there */
    uint32_t *starts; /* [n + 1] nodes that start before sample */
    uint32_t *sums;   /* [n + 1] by node: sum items of nodes before it */
    uint32_t *leaves; /* [n + 1] by sample: leaf items before it */
    /* by item */
    int64_t items;
    uint64_t *shape;
    uint32_t *first, *mid, *end, *parent; /* parent << 1 | side */
    uint64_t *units;                      /* [items + 1] tops before | buckets before << 32 */
    uint32_t *slot;
    uint32_t *depth_max;
    /* by top, bucket, unit */
    csrec_cuda_top *top;
    csrec_cuda_bucket *bucket;
    uint32_t *path;
    int32_t stride;
    int64_t tops;
    uint64_t *height_keys; /* [tops] scratch, of the sorted heights */
    uint32_t *top_number, *by_height, *height_begin;
};

CSREC_BOTH int build_gap_level(const csrec_tree_build &b, int64_t j) {
    return csrec_tree_gap(b.rows, b.n, j);
}

CSREC_BOTH int build_bits(uint64_t x) {
#ifdef __CUDA_ARCH__
    return __popcll(x);
#else
    return __builtin_popcountll(x);
#endif
}

CSREC_BOTH void build_or(uint64_t *at, uint64_t bit) {
#ifdef __CUDA_ARCH__
    atomicOr((unsigned long long *)at, (unsigned long long)bit);
#else
    *at |= bit;
#endif
}

/* Returns the value before. */
CSREC_BOTH uint32_t build_max(uint32_t *at, uint32_t x) {
#ifdef __CUDA_ARCH__
    return atomicMax(at, x);
#else
    uint32_t before = *at;
    if (x > before) *at = x;
    return before;
#endif
}

/* First sample whose row is >= row, searched for in growing steps down from sample j, whose row is
 * >= row. */
CSREC_BOTH int64_t build_search_down(const csrec_tree_build &b, int64_t j, uint64_t row) {
    int64_t high = j, low = j, step = 1;
    while (low > 0 && b.rows[low - 1] >= row) {
        high = low - 1;
        low = low > step ? low - step : 0;
        step *= 2;
    }
    return csrec_bound(b.rows, low, high, row);
}

/* First sample after j, whose row is <= row, with a row above it. */
CSREC_BOTH int64_t build_search_up(const csrec_tree_build &b, int64_t j, uint64_t row) {
    int64_t low = j + 1, high = low, step = 1;
    while (high < b.n && b.rows[high] <= row) {
        low = high + 1;
        high = b.n - high > step ? high + step : b.n;
        step *= 2;
    }
    return csrec_bound(b.rows, low, high, row + 1);
}

/* ---- by gap: its node's samples */
CSREC_BOTH void build_gap(const csrec_tree_build &b, int64_t j) {
    int level = build_gap_level(b, j);
    uint64_t inside = (UINT64_C(1) << level) - 1;
    int64_t first = build_search_down(b, j, b.rows[j] & ~inside);
    int64_t end = build_search_up(b, j + 1, b.rows[j] | inside);
    b.gap_level[j] = (uint8_t)level;
    b.gap_first[j] = (uint32_t)first;
    b.gap_size[j] = (uint32_t)(end - first);
    build_or(b.mask + first, UINT64_C(1) << level);
}

/* ---- by sample: how many nodes start there */
CSREC_BOTH void build_count_starts(const csrec_tree_build &b, int64_t j) {
    b.starts[j] = (uint32_t)build_bits(b.mask[j]);
}

/* ---- by gap: the node's place in preorder. Of those that start at one sample the coarsest is
 * first. */
CSREC_BOTH void build_place(const csrec_tree_build &b, int64_t j) {
    uint32_t first = b.gap_first[j], end = first + b.gap_size[j];
    int level = b.gap_level[j];
    uint32_t node = b.starts[first] + (uint32_t)build_bits(b.mask[first] >> level >> 1);
    b.gap_node[j] = node;
    if (!b.one_sided) return;
    int parent = csrec_smaller_int(build_gap_level(b, (int64_t)first - 1),
                                   build_gap_level(b, (int64_t)end - 1));
    b.sums[node] = csrec_tree_edge(parent, level) > 0;
}

CSREC_BOTH int build_leaf_edge(const csrec_tree_build &b, int64_t j) {
    return csrec_tree_edge(csrec_smaller_int(build_gap_level(b, j - 1), build_gap_level(b, j)), 0);
}

/* ---- by sample, one-sided */
CSREC_BOTH void build_mark_leaf(const csrec_tree_build &b, int64_t j) {
    b.leaves[j] = build_leaf_edge(b, j) > 0;
}

/* Items of nodes before `node` and leaves before `leaf`. */
CSREC_BOTH uint32_t build_item(const csrec_tree_build &b, uint32_t node, uint32_t leaf) {
    return b.one_sided ? node + b.sums[node] + b.leaves[leaf] : node;
}

/* The difference item of the block above [first, end), and the side: << 1 | side. */
CSREC_BOTH uint32_t build_parent(const csrec_tree_build &b, int64_t first, int64_t end) {
    int before = build_gap_level(b, first - 1), after = build_gap_level(b, end - 1);
    if (before == 64 && after == 64) return CSREC_UNIT_NONE;
    int64_t gap = before < after ? first - 1 : end - 1;
    uint32_t node = b.gap_node[gap];
    uint32_t item = build_item(b, node, b.gap_first[gap]);
    if (b.one_sided) item += b.sums[node + 1] - b.sums[node];
    return item << 1 | (before < after);
}

CSREC_BOTH void build_set(const csrec_tree_build &b, uint32_t item, uint32_t first, uint64_t size,
                          uint64_t left, int level, uint32_t mid, uint32_t end, uint32_t parent) {
    b.shape[item] = size | left << 28 | (uint64_t)level << 56;
    b.first[item] = first;
    b.mid[item] = mid;
    b.end[item] = end;
    b.parent[item] = parent;
}

/* ---- by gap: its node's items */
CSREC_BOTH void build_node_items(const csrec_tree_build &b, int64_t j) {
    uint32_t first = b.gap_first[j], size = b.gap_size[j], left = (uint32_t)(j + 1) - first;
    uint32_t node = b.gap_node[j], item = build_item(b, node, first);
    uint32_t mid = build_item(b, node + left, first + left);
    uint32_t end = build_item(b, node + size - 1, first + size);
    uint32_t parent = build_parent(b, first, (int64_t)first + size);
    if (b.one_sided && b.sums[node + 1] > b.sums[node]) {
        int above = csrec_smaller_int(build_gap_level(b, (int64_t)first - 1),
                                      build_gap_level(b, (int64_t)first + size - 1));
        build_set(b, item, first, size, 0, csrec_tree_edge(above, b.gap_level[j]), end, end,
                  parent);
        parent = item << 1;
        item++;
    }
    build_set(b, item, first, size, left, b.gap_level[j], mid, end, parent);
}

/* ---- by sample, one-sided: its leaf item */
CSREC_BOTH void build_leaf_item(const csrec_tree_build &b, int64_t j) {
    int edge = build_leaf_edge(b, j);
    if (!edge) return;
    uint32_t item = build_item(b, b.starts[j + 1], (uint32_t)j);
    build_set(b, item, (uint32_t)j, 1, 0, edge, item + 1, item + 1, build_parent(b, j, j + 1));
}

CSREC_BOTH bool build_is_top(const csrec_tree_build &b, uint32_t item) {
    return b.end[item] - item > CSREC_CUDA_BUCKET;
}

CSREC_BOTH bool build_is_bucket(const csrec_tree_build &b, uint32_t item) {
    if (build_is_top(b, item)) return false;
    uint32_t parent = b.parent[item];
    return parent == CSREC_UNIT_NONE || build_is_top(b, parent >> 1);
}

/* ---- by item, the last + 1 included */
CSREC_BOTH void build_mark_unit(const csrec_tree_build &b, int64_t i) {
    bool item = i < b.items;
    b.units[i] = (uint64_t)(item && build_is_top(b, (uint32_t)i)) |
                 (uint64_t)(item && build_is_bucket(b, (uint32_t)i)) << 32;
}

CSREC_BOTH uint32_t build_tops(const csrec_tree_build &b, uint32_t item) {
    return (uint32_t)b.units[item];
}

CSREC_BOTH uint32_t build_buckets(const csrec_tree_build &b, uint32_t item) {
    return (uint32_t)(b.units[item] >> 32);
}

CSREC_BOTH bool build_is_unit(const csrec_tree_build &b, uint32_t item) {
    return b.units[item + 1] != b.units[item];
}

CSREC_BOTH uint32_t build_depth(const csrec_tree_build &b, uint32_t item) {
    uint32_t depth = 0;
    for (uint32_t p = b.parent[item]; p != CSREC_UNIT_NONE; p = b.parent[p >> 1]) depth++;
    return depth;
}

/* ---- by item */
CSREC_BOTH void build_find_depth(const csrec_tree_build &b, int64_t i) {
    if (build_is_unit(b, (uint32_t)i)) build_max(b.depth_max, build_depth(b, (uint32_t)i));
}

CSREC_BOTH uint32_t build_parent_top(const csrec_tree_build &b, uint32_t item) {
    uint32_t p = b.parent[item];
    return p == CSREC_UNIT_NONE ? p : build_tops(b, p >> 1) << 1 | (p & 1);
}

CSREC_BOTH int32_t build_weight(uint64_t shape) {
    int32_t size = (int32_t)(shape & 0xfffffff), left = (int32_t)(shape >> 28 & 0xfffffff);
    return left ? 2 * left - size : size;
}

CSREC_BOTH void build_path(const csrec_tree_build &b, uint32_t item, uint32_t *path) {
    uint32_t depth = build_depth(b, item), at = item;
    path[CSREC_UNIT_ITEM] = item;
    path[CSREC_UNIT_DEPTH] = depth;
    for (uint32_t k = depth; k-- > 0;) {
        uint32_t p = b.parent[at], side = p & 1;
        at = p >> 1;
        path[CSREC_UNIT_HEAD + k] = build_tops(b, at) << 2 | side << 1 | side;
    }
}

/* ---- by item: the unit it is the root of. A sum has one part, so its side is 0: a plus. */
CSREC_BOTH void build_unit(const csrec_tree_build &b, int64_t i) {
    uint32_t item = (uint32_t)i;
    if (!build_is_unit(b, item)) return;
    uint32_t t = build_tops(b, item), k = build_buckets(b, item), unit = t + k;
    uint32_t *path = b.path + (size_t)unit * b.stride;
    build_path(b, item, path);
    uint32_t parent = build_parent_top(b, item);
    if (!build_is_top(b, item)) {
        b.bucket[k].item = item;
        b.bucket[k].count = b.end[item] - item;
        b.bucket[k].parent = parent;
        b.bucket[k].unit = unit;
        path[CSREC_UNIT_TOP] = CSREC_UNIT_NONE;
        path[CSREC_UNIT_COUNT] = b.end[item] - item;
        return;
    }
    uint64_t shape = b.shape[item];
    double size = (double)(shape & 0xfffffff);
    b.top[t].scale = 1.0 / sqrt(size);
    b.top[t].unit = unit;
    b.top[t].level = (uint16_t)(shape >> 56);
    b.top[t].has = (uint16_t)((b.mid[item] > item + 1) | (b.end[item] > b.mid[item]) << 1);
    b.top[t].weight = build_weight(shape);
    b.top[t].parent = parent;
    b.top[t].height = 0;
    b.top[t].size = (uint32_t)(shape & 0xfffffff);
    path[CSREC_UNIT_TOP] = t;
    path[CSREC_UNIT_COUNT] = build_tops(b, b.mid[item]);
    path[CSREC_UNIT_TOP_END] = build_tops(b, b.end[item]);
    path[CSREC_UNIT_BUCKET] = k;
    path[CSREC_UNIT_BUCKET_MID] = build_buckets(b, b.mid[item]);
    path[CSREC_UNIT_BUCKET_END] = build_buckets(b, b.end[item]);
}

/* ---- by item: tops without tops below propagate heights to those above */
CSREC_BOTH void build_height(const csrec_tree_build &b, int64_t i) {
    uint32_t item = (uint32_t)i;
    if (!build_is_top(b, item)) return;
    uint32_t t = build_tops(b, item);
    if (build_tops(b, b.end[item]) != t + 1) return;
    uint32_t height = 1;
    for (uint32_t p = b.parent[item]; p != CSREC_UNIT_NONE; p = b.parent[p >> 1], height++)
        if (build_max(&b.top[build_tops(b, p >> 1)].height, height) >= height) return;
}

/* ---- by top: the keys sorted by height */
CSREC_BOTH void build_height_key(const csrec_tree_build &b, int64_t t) {
    b.height_keys[t] = b.top[t].height;
    b.top_number[t] = (uint32_t)t;
}

/* ---- by height, the last + 1 included: keys are those sorted */
CSREC_BOTH void build_height_begin(const csrec_tree_build &b, int64_t height) {
    b.height_begin[height] = (uint32_t)csrec_bound(b.height_keys, 0, b.tops, (uint64_t)height);
}

/* ---- by item: its word in its bucket */
CSREC_BOTH void build_slot(const csrec_tree_build &b, int64_t i) {
    uint32_t item = (uint32_t)i, slot = 0;
    if (!build_is_top(b, item)) {
        uint32_t start = b.bucket[build_buckets(b, item + 1) - 1].item;
        uint64_t shape = b.shape[item];
        uint32_t size = (uint32_t)(shape & 0x7f), left = (uint32_t)(shape >> 28 & 0x7f);
        uint32_t before = b.mid[item] - 1 - start, last = b.end[item] - 1 - start;
        slot = size | left << 7 | (uint32_t)(shape >> 56) << 14 | before << 20 | last << 26;
    }
    b.slot[item] = slot;
}
