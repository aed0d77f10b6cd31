/* SPDX-License-Identifier: BSD-3-Clause */
/* transform_tile.cuh - the nodes of one tile of samples: where they begin and end, and sums of r.
 *
 * The tree (src/haar/tree.h): the gap between samples j and j + 1 has a level g, and its node is
 * the block of span 2^g around it. The node reaches from the nearest gap on the left to the nearest
 * gap on the right whose levels are higher than g; the lower of those two is its parent's level.
 * With prefix sums P of r at the node's two ends and its middle,
 *
 *     left = P[middle] - P[first],  right = P[end] - P[middle],
 *     <r, Psi> = (left - right) / sqrt(#).
 *
 * A tile of 2,048 gaps is searched as 8 warps x 32 groups x 8 gaps. The levels of a group are the
 * bytes of two words, which two subtractions compare with a level. A warp makes a table: the groups
 * that rise above each level. So an end of a node is in its gap's own group, or in the nearest
 * group of the table's entry, or outside the warp, where the highest levels of the warps are the
 * bytes of one more pair. Nodes that reach out of the tile, at most 125 and about 20, are handed
 * on: in the next pass they are the gaps, and the samples between two of them form one sample. Some
 * passes later one tile is left. */
#pragma once

#include "kernels/haar/transform.h"

enum {
    GAPS = 8,  /* gaps of a thread and of a group: bytes of a word */
    WARPS = 8, /* warps of a block: likewise */
    WARP_GAPS = 32 * GAPS,
    THREADS = 32 * WARPS,
    TILE = WARPS * WARP_GAPS,
    PADDED = TILE + TILE / 8 + 1,
    END = 63,        /* level of the gap after the last sample and before the first */
    COLUMN_0 = 63,   /* its code in keys */
    HANDED_ON = 125, /* a tile: open blocks have distinct levels, 62 and END on each side */
    OUTSIDE = 4095,  /* an end of a node that lies outside the tile */
    PASSES = 8
};

constexpr unsigned ALL = 0xffffffffu;
constexpr unsigned BYTES = 0x01010101u;
constexpr unsigned NO_NODE = 1u << 31; /* open, or no gap */
constexpr unsigned EDGE = 1u << 30;    /* a one-sided column above the node */

/* A tile and its pass: `count` is the number of all items. */
struct tile_place {
    int64_t index, count;

    __device__ int64_t base() const { return index * TILE; }
    __device__ int64_t tiles() const { return (count + TILE - 1) / TILE; }
};

/* Input of a pass. LEAVES: gaps between samples; else gaps handed on by the pass before. */
struct pass_input {
    uint64_t M; /* 2^levels */
    int64_t n;
    const uint64_t *rows;  /* [n] or [gaps]: a row left of the gap */
    const double *r;       /* [n], or [gaps] sum up to here inside the tile that handed on */
    const uint64_t *place; /* [gaps] sample left of the gap << 8 | first of its tile << 7 | level */
    const double *scale;   /* 1 / sqrt(#) up to # = TILE; 0 for # = 0 */
};

struct pass_output {
    uint64_t *column;
    double *value;
    uint32_t *count;     /* may be NULL */
    unsigned *threshold; /* upper half of a |value| that some block has seen; 0 between runs */
    uint64_t *state;     /* [tiles] counts for the tiles to come; 0 between runs */
    uint64_t *counts;    /* of this pass and those before: columns past n, gaps handed on */
    uint64_t *rows, *place;
    double *sum;
};

struct tile_memory {
    double prefix[PADDED];          /* sum of r before item k of the tile, at padded(k) */
    uint2 group[TILE / GAPS + 1];   /* levels + 128 (group_bytes); [0] ends with the gap before */
    uint8_t level[GAPS + TILE];     /* of gap k at GAPS + k; [GAPS - 1]: before the tile */
    unsigned node[TILE];            /* of each gap: pack_node, or NO_NODE */
    unsigned above[WARPS][END + 1]; /* the groups of a warp that rise above a level, a bit each */
    uint16_t list[WARPS][128];      /* gaps whose nodes reach out of the warp; then, of the tile */
    uint2 warp_top;                 /* highest levels of the warps, in the form of a group */
    double warp_sum[WARPS];
    int listed[WARPS], opened[WARPS]; /* one-sided columns; gaps to be handed on */
    unsigned arrived;                 /* sums of these, 16 and 12 bits, and of warps */
    unsigned threshold, upper[WARPS]; /* upper half of |value|: others' best, and the warps' */
    uint64_t offset;                  /* counts before this tile */
    csrec_cuda_best best[WARPS];
};

/* One element in eight is left out, so that threads reading 8 in a row meet different banks. */
static __device__ unsigned padded(unsigned k) {
    return k + (k >> 3);
}

/* A node's samples first .. end - 1 of the tile, and its parent's level. */
static __device__ unsigned pack_node(int first, int end, int parent) {
    return (unsigned)(parent << 24 | end << 12 | first);
}
static __device__ int node_first(unsigned node) {
    return node & 4095;
}
static __device__ int node_end(unsigned node) {
    return node >> 12 & 4095;
}
static __device__ int node_parent(unsigned node) {
    return node >> 24 & 63;
}

static __device__ int level_at(const tile_memory &tile, int gap) {
    return tile.level[GAPS + gap];
}

/* Index of gap k's byte among those of the groups: even gaps in the first word, odd in the second,
 * so that the bits of gaps_above are in order. */
static __device__ int group_byte(int k) {
    return (k & ~7) + (k & 1) * 4 + (k & 6) / 2;
}

/* Bit 4 j + 3 says whether gap j is above the level; bound is BYTES (level + 1). Bytes are levels +
 * 128, so none borrows. */
static __device__ unsigned gaps_above(uint2 group, unsigned bound) {
    return ((group.x - bound) >> 4 & BYTES << 3) | ((group.y - bound) & BYTES << 7);
}

/* The bits of the gaps before gap j, and after. */
static __device__ unsigned bits_before(int j) {
    return (1u << 4 * j) - 1;
}
static __device__ unsigned bits_after(int j) {
    return ~15u << 4 * j;
}
static __device__ int last_gap(unsigned bits) {
    return (31 - __clz((int)bits)) >> 2;
}
static __device__ int first_gap(unsigned bits) {
    return (__ffs((int)bits) - 1) >> 2;
}

/* Nearest gap of a warp that is above the level: in the group, where `here` are such gaps, or in
 * the last, or first, of other groups. Negative if there is none: groups[-1] is readable, and the
 * result is negative for any value in it, also while another warp writes it. No branches, so that
 * the searches for several gaps overlap. */
static __device__ int nearest_before(const uint2 *warp, unsigned here, int group, unsigned groups,
                                     unsigned bound) {
    const int other = 31 - __clz((int)groups);
    const unsigned there = gaps_above(warp[other], bound);
    return (here ? group : other) * GAPS + last_gap(here ? here : there);
}
static __device__ int nearest_after(const uint2 *warp, unsigned here, int group, unsigned groups,
                                    unsigned bound) {
    const int other = __ffs((int)groups) - 1;
    const unsigned there = gaps_above(warp[other], bound);
    return (here ? group : other) * GAPS + first_gap(here ? here : there);
}

/* Lanes below this one. */
static __device__ unsigned lanes_below() {
    return (1u << threadIdx.x % 32) - 1;
}

/* Appends k to a warp's list for the lanes that want it; returns the new length. */
static __device__ int append(uint16_t *list, int length, bool wanted, int k) {
    unsigned lanes = __ballot_sync(ALL, wanted);
    if (wanted) list[length + __popc(lanes & lanes_below())] = (uint16_t)k;
    return length + __popc(lanes);
}

/* Level of the gap between two neighbouring rows. */
static __device__ int gap_level(uint64_t row, uint64_t next) {
    const unsigned upper = (unsigned)((row ^ next) >> 32), lower = (unsigned)(row ^ next);
    return (upper ? 64 : 32) - __clz((int)(upper ? upper : lower));
}

/* Reads what an earlier kernel or other blocks of this kernel wrote. */
template <bool LEAVES, typename T> static __device__ T read(const T *from) {
    return LEAVES ? __ldg(from) : __ldcg(from);
}

/* The tile's items: r and levels to shared memory; item i of this thread is k = own + 32 i. WHOLE:
 * the tile is full and not the last. */
template <bool LEAVES, bool WHOLE>
static __device__ void load(const pass_input &in, int64_t base, int count, tile_memory &tile,
                            uint32_t *position) {
    const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * WARP_GAPS + lane;
    const uint64_t *rows = (LEAVES ? in.rows : in.place) + base + own;
    const double *sums = in.r + base + own;
    uint8_t *level = tile.level + GAPS + own;
    uint8_t *grouped = reinterpret_cast<uint8_t *>(tile.group + 1) + group_byte(own);
    double *prefix = tile.prefix + padded(own); /* padded(own + 32 i) = padded(own) + 36 i */
    uint64_t row[GAPS + 1];                     /* for the last item, what lane 31 needs */
    double r[GAPS];
    double earlier[GAPS]; /* the sum before, where items are gaps handed on */
    for (int i = 0; i < GAPS; i++) {
        const bool there = WHOLE || own + 32 * i < count;
        if (!LEAVES) earlier[i] = there && base + own + i > 0 ? __ldcg(sums + 32 * i - 1) : 0.0;
        row[i] = there ? read<LEAVES>(rows + 32 * i) : 0;
        r[i] = !there ? 0.0 : LEAVES ? __ldcs(sums + 32 * i) : __ldcg(sums + 32 * i);
    }
    row[GAPS] = LEAVES && lane == 31 && (WHOLE || own + 225 < count) ? __ldg(rows + 225) : 0;
    uint64_t next = __shfl_sync(ALL, row[0], lane + 1); /* of lane 31: lane 0's */
    for (int i = 0; i < GAPS; i++) {
        const int k = own + 32 * i;
        int own_level = (int)row[i] & 127;
        if (LEAVES) {
            const uint64_t later =
                i + 1 < GAPS ? __shfl_sync(ALL, row[i + 1], lane + 1) : row[GAPS];
            own_level = gap_level(row[i], lane == 31 ? later : next);
            next = later;
            if (!WHOLE && k + 1 >= count) own_level = k + 1 == count ? END : 0;
        } else {
            if ((WHOLE || k < count) && !(row[i] & 128)) r[i] -= earlier[i];
            position[k + 1] = (uint32_t)(row[i] >> 8) + 1;
        }
        level[32 * i] = (uint8_t)own_level;
        grouped[32 * i] = (uint8_t)(own_level + 128);
        prefix[36 * i] = r[i];
    }
    if (threadIdx.x > 0) return;
    level[-1] = (uint8_t)(LEAVES && base > 0 ? gap_level(rows[-1], row[0]) : (int)END);
    tile.group[0] = {BYTES << 7, BYTES << 7 | (unsigned)level[-1] << 24};
    tile.arrived = 0;
    if (!LEAVES) position[0] = 0;
}

/* The sum of r over this warp's 8 threads before this one; the warp's sum. */
static __device__ double scan(tile_memory &tile) {
    int lane = threadIdx.x % 32;
    double sum = 0.0;
    for (int i = 0; i < GAPS; i++) sum += tile.prefix[9 * threadIdx.x + i];
    for (int d = 1; d < 32; d *= 2) {
        double before = __shfl_up_sync(ALL, sum, d);
        if (lane >= d) sum += before;
    }
    if (lane == 31) tile.warp_sum[threadIdx.x / 32] = sum;
    double before = __shfl_up_sync(ALL, sum, 1);
    return lane == 0 ? 0.0 : before;
}

/* The lanes whose `top`, of `bits` bits, is above the level. */
static __device__ unsigned lanes_above(unsigned top, int bits, int level) {
    unsigned above = 0, equal = level >> bits ? 0 : ALL;
    for (int bit = bits - 1; bit >= 0; bit--) {
        const unsigned set = __ballot_sync(ALL, top >> bit & 1);
        const bool own = level >> bit & 1;
        above |= own ? 0 : equal & set;
        equal &= own ? set : ~set;
    }
    return above;
}

/* The table of this warp: a lane has a group, and makes the entries of two levels. */
static __device__ void make_table(tile_memory &tile) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint2 group = tile.group[threadIdx.x + 1];
    unsigned top = __vmaxu4(group.x, group.y);
    top = __vmaxu4(top, top >> 16);
    top = max(top & 255, top >> 8 & 255) - 128;
    const unsigned warp_top = __reduce_max_sync(ALL, top);
    const int bits = 32 - __clz((int)warp_top);
    tile.above[warp][lane] = lanes_above(top, bits, lane);
    tile.above[warp][lane + 32] = bits < 6 ? 0 : lanes_above(top, bits, lane + 32);
    if (lane == 0)
        reinterpret_cast<uint8_t *>(&tile.warp_top)[group_byte(warp)] = (uint8_t)(warp_top + 128);
}

/* Whether a level between a block's and its parent's exists, for a one-sided column. */
static __device__ bool has_edge(int parent, int level) {
    return parent > level + 1 && parent < END;
}

/* The nodes of this thread's gaps as they end inside the warp, and how many have a one-sided
 * column. Bit i of the result: the node of gap i reaches out of the warp. */
template <bool ONE_SIDED> static __device__ unsigned look_inside(tile_memory &tile, int *columns) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, base = warp * WARP_GAPS;
    const uint2 *groups = tile.group + 1 + base / GAPS;
    const uint8_t *levels = tile.level + GAPS + base;
    const unsigned before = bits_before(lane % GAPS), after = bits_after(lane % GAPS);
    unsigned outside = 0;
#pragma unroll 2
    for (int i = 0; i < GAPS; i++) {
        const int group = 4 * i + lane / GAPS, level = levels[lane + 32 * i];
        const unsigned above = tile.above[warp][level], below = (1u << group) - 1;
        const unsigned bound = BYTES * (unsigned)(level + 1);
        const unsigned here = gaps_above(groups[group], bound);
        const int left =
            max(nearest_before(groups, here & before, group, above & below, bound), -1);
        const int right =
            max(nearest_after(groups, here & after, group, above & ~(2 * below + 1), bound), -1);
        const int parent = ONE_SIDED ? min(levels[left], levels[right]) : 0;
        const bool closed = (left | right) >= 0, edge = ONE_SIDED && has_edge(parent, level);
        unsigned node = pack_node(base + left + 1, base + right + 1, parent) | (edge ? EDGE : 0);
        if (level == 0) node = NO_NODE;
        if (!closed && level > 0) outside |= 1u << i;
        if (ONE_SIDED) *columns += closed && edge && level > 0;
        tile.node[base + lane + 32 * i] = node;
    }
    return outside;
}

/* The gaps of this warp that look_inside returned, in order; how many. */
static __device__ int list_outside(tile_memory &tile, unsigned outside) {
    const int warp = threadIdx.x / 32, own = warp * WARP_GAPS + threadIdx.x % 32;
    int listed = 0;
#pragma unroll
    for (int i = 0; i < GAPS; i++)
        listed = append(tile.list[warp], listed, outside >> i & 1, own + 32 * i);
    return listed;
}

/* The end of a node that lies outside the warp; OUTSIDE if outside the tile. */
static __device__ int search_before(const tile_memory &tile, int warp, int level, bool first) {
    const unsigned bound = BYTES * (unsigned)(level + 1);
    const unsigned warps = gaps_above(tile.warp_top, bound) & bits_before(warp);
    if (!warps) return first ? 0 : (int)OUTSIDE;
    warp = last_gap(warps);
    return warp * WARP_GAPS + 1 +
           nearest_before(tile.group + 1 + warp * 32, 0, 0, tile.above[warp][level], bound);
}
static __device__ int search_after(const tile_memory &tile, int warp, int level) {
    const unsigned bound = BYTES * (unsigned)(level + 1);
    const unsigned warps = gaps_above(tile.warp_top, bound) & bits_after(warp);
    if (!warps) return OUTSIDE;
    warp = first_gap(warps);
    return warp * WARP_GAPS + 1 +
           nearest_after(tile.group + 1 + warp * 32, 0, 0, tile.above[warp][level], bound);
}

/* A listed node: ends that look_inside did not find are where the warp begins. */
template <bool ONE_SIDED>
static __device__ unsigned find_node(const tile_memory &tile, int k, bool first_tile) {
    const int warp = threadIdx.x / 32, base = warp * WARP_GAPS, level = level_at(tile, k);
    int first = node_first(tile.node[k]), end = node_end(tile.node[k]);
    if (first == base) first = search_before(tile, warp, level, first_tile);
    if (end == base) end = search_after(tile, warp, level);
    if (first == OUTSIDE || end == OUTSIDE) return NO_NODE;
    const int parent = min(level_at(tile, first - 1), level_at(tile, end - 1));
    return pack_node(first, end, parent) | (ONE_SIDED && has_edge(parent, level) ? EDGE : 0);
}

/* The listed nodes; those that reach out of the tile stay on the list, whose length is returned. */
template <bool ONE_SIDED>
static __device__ int look_outside(tile_memory &tile, int listed, bool first_tile, int *columns) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int opened = 0;
    for (int begin = 0; begin < listed; begin += 32) {
        const int at = begin + lane, k = at < listed ? tile.list[warp][at] : 0;
        unsigned node = 0;
        __syncwarp();
        if (at < listed) {
            node = find_node<ONE_SIDED>(tile, k, first_tile);
            tile.node[k] = node;
            *columns += (node & EDGE) != 0;
        }
        opened = append(tile.list[warp], opened, node == NO_NODE, k);
    }
    return opened;
}

/* Prefix sums, of the tile, of this thread's 8 samples; `before` are those of the warp. */
static __device__ void sum_up(tile_memory &tile, double before) {
#pragma unroll
    for (int w = 0; w < WARPS - 1; w++)
        before += w < (int)threadIdx.x / 32 ? tile.warp_sum[w] : 0.0;
    for (int i = 0; i < GAPS; i++) {
        double r = tile.prefix[9 * threadIdx.x + i];
        tile.prefix[9 * threadIdx.x + i] = before;
        before += r;
    }
    if (threadIdx.x == THREADS - 1) tile.prefix[PADDED - 1] = before;
}

/* Bits of this thread's 8 samples: are the gaps on both sides above the level? */
static __device__ unsigned samples_above(const tile_memory &tile, int level) {
    const unsigned bound = BYTES * (unsigned)(level + 1);
    const unsigned after = gaps_above(tile.group[threadIdx.x + 1], bound);
    return after & (after << 4 | gaps_above(tile.group[threadIdx.x], bound) >> 28);
}

/* One-sided columns of this thread's single samples. */
static __device__ int count_single(const tile_memory &tile) {
    return __popc(samples_above(tile, 1) & ~samples_above(tile, END - 1));
}
