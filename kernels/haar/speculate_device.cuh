/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_device.cuh - one pick applied to a run of entries by a warp, and the exchange of best
 * columns between the blocks of a cooperative kernel. */
#pragma once

#include <climits>
#include <cstdint>

#include "kernels/haar/speculate_state.h"

enum { WARP = 32, MOST_BLOCKS = 160, ROWS = 4 /* entries in flight a lane */ };
enum { LEAF = 0, DIFFERENCE = 1, SUM = 2, ALL = 3 };
constexpr unsigned FULL = 0xFFFFFFFFu;

static __device__ inline uint64_t key_of(double v, double scale, int level) {
    return (uint64_t)csrec_pursuit_key(v, scale, level);
}

/* The best column of some set of entries. */
typedef struct best {
    uint64_t key;
    int64_t code; /* 4 j + kind */
    double v;
    int32_t first, size; /* samples of its block */
} best;

/* Larger key, of equal keys the leftmost. */
static __device__ inline bool beats(uint64_t key, int64_t code, uint64_t than, int64_t than_code) {
    return key > than || (key == than && code < than_code);
}

/* A pick about to be applied. */
typedef struct pick {
    int kind;
    int32_t at, first, end; /* entry; samples first .. end - 1 */
    double d, change;       /* step; what the sum over the block changes by */
} pick;

/* As the sign of csrec_pursuit_gain: 2 v - d n and d are exact in double. */
static __device__ inline bool gains(double v, double size, double d) {
    return (2.0 * v - d * size) * d > 0.0;
}

static __device__ inline pick pick_of(int kind, int64_t at, int32_t first, int32_t size, double d) {
    pick p = {kind, (int32_t)at, first, first + size, d, 0.0};
    int32_t left = p.at - first + 1;
    p.change = kind == DIFFERENCE ? d * (double)(size - 2 * (int64_t)left) : -d * (double)size;
    return p;
}

/* A pick that leaves everything as it is. */
static inline pick csrec_speculate_nothing() {
    pick p = {LEAF, 0, INT_MAX, INT_MAX, 0.0, 0.0};
    return p;
}

/* The step of sample j inside the pick's block. */
static __device__ inline double shift_of(const pick *p, int64_t j) {
    return p->kind == DIFFERENCE && j > p->at ? p->d : -p->d;
}

/* What the pick does to the node of entry j: true if D or S changed. */
static __device__ inline bool shift_node(const pick *p, int32_t j, int32_t first, int32_t size,
                                         double *D, double *S) {
    if (j >= p->first && j < p->end - 1) {
        if (j == p->at && p->kind == DIFFERENCE) {
            *D -= p->d * (double)size;
            *S += p->change;
        } else {
            double t = shift_of(p, j);
            *D += t * (double)(2 * ((int64_t)j - first + 1) - size);
            *S += t * (double)size;
        }
        return true;
    }
    if (first <= p->first && p->first - first < size) {
        *D += p->first <= j ? p->change : -p->change;
        *S += p->change;
        return true;
    }
    return false;
}

static __device__ inline uint64_t warp_max(uint64_t key) {
    unsigned high = (unsigned)(key >> 32), top = __reduce_max_sync(FULL, high);
    unsigned low = __reduce_max_sync(FULL, high == top ? (unsigned)key : 0u);
    return (uint64_t)top << 32 | low;
}

/* The lane with the best of the warp's 32. */
static __device__ inline int warp_best(uint64_t key, int64_t code) {
    uint64_t top = warp_max(key);
    unsigned equal = __ballot_sync(FULL, key == top);
    if ((equal & (equal - 1)) == 0) return __ffs((int)equal) - 1;
    unsigned high = key == top ? (unsigned)((uint64_t)code >> 32) : UINT_MAX;
    unsigned least = __reduce_min_sync(FULL, high);
    unsigned low = key == top && high == least ? (unsigned)code : UINT_MAX;
    unsigned lowest = __reduce_min_sync(FULL, low);
    equal = __ballot_sync(FULL, key == top && high == least && low == lowest);
    return __ffs((int)equal) - 1;
}

/* Applies the pick to entries begin .. end - 1, a lane each, and finds their best column; the lane
 * returned in *lane holds it. Entries are independent: no order matters. A lane loads ROWS
 * entries before it works on the first, so that memory answers them together. Of entries from
 * leaves_from on only the sample is looked at, not the node. */
template <bool one_sided>
static __device__ inline best apply(const csrec_speculate_tree &tree, int32_t begin, int32_t end,
                                    int32_t leaves_from, const pick *p, int *lane) {
    best mine = {0, INT64_MAX, 0.0, 0, 0};
    for (int32_t from = begin + (int)(threadIdx.x % WARP); from < end; from += ROWS * WARP) {
        int32_t first[ROWS], size[ROWS];
        double D[ROWS], S[ROWS], r[ROWS], scale[ROWS];
        int level[ROWS], node_edge[ROWS], leaf_edge[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            int64_t i = (int64_t)from + k * WARP;
            if (i >= end) continue;
            first[k] = tree.first[i];
            size[k] = tree.size[i];
            D[k] = tree.D[i];
            scale[k] = tree.scale[i];
            level[k] = tree.level[i];
            S[k] = one_sided ? tree.S[i] : 0.0;
            r[k] = one_sided ? tree.r[i] : 0.0;
            node_edge[k] = one_sided ? tree.node_edge[i] : 0;
            leaf_edge[k] = one_sided ? tree.leaf_edge[i] : 0;
        }
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            if ((int64_t)from + k * WARP >= end) continue;
            int32_t j = from + k * WARP;
            int64_t i = j, code = 4 * i;
            if (one_sided) {
                if (j >= p->first && j < p->end) tree.r[i] = r[k] += shift_of(p, j);
                uint64_t key = leaf_edge[k] ? key_of(r[k], 1.0, leaf_edge[k]) : 0;
                if (key > mine.key) mine = {key, code + LEAF, r[k], j, 1};
            }
            if (j >= leaves_from) continue;
            if (shift_node(p, j, first[k], size[k], &D[k], &S[k])) {
                tree.D[i] = D[k];
                if (one_sided) tree.S[i] = S[k];
            }
            uint64_t key = key_of(D[k], scale[k], level[k]);
            if (key > mine.key) mine = {key, code + DIFFERENCE, D[k], first[k], size[k]};
            if (one_sided) {
                key = node_edge[k] ? key_of(S[k], scale[k], node_edge[k]) : 0;
                if (key > mine.key) mine = {key, code + SUM, S[k], first[k], size[k]};
            }
        }
    }
    *lane = warp_best(mine.key, mine.code);
    return mine;
}

typedef struct span {
    int32_t first, end; /* samples of a chunk's widest node */
} span;

/* All other nodes of the entries lie inside the widest one: an ancestor of an outside entry is
 * among them if and only if the widest node is one. */
static __device__ inline span find_widest(const csrec_speculate_tree &tree, int64_t begin,
                                          int64_t end) {
    int level = -1;
    span mine = {INT_MAX, 0};
    for (int64_t j = begin + threadIdx.x % WARP; j < end; j += WARP) {
        if ((int)tree.level[j] <= level) continue;
        level = tree.level[j];
        mine.first = tree.first[j];
        mine.end = mine.first + tree.size[j];
    }
    int lane = warp_best((uint64_t)(level + 1), 0);
    mine.first = __shfl_sync(FULL, mine.first, lane);
    mine.end = __shfl_sync(FULL, mine.end, lane);
    return mine;
}

/* x of the column += d. The result of the atomic is not used, so nothing waits for it; integers, so
 * the order does not matter. */
static __device__ inline void add_coefficient(const csrec_speculate_tree &tree, int kind,
                                              int64_t at, double d) {
    long long *x = kind == DIFFERENCE ? tree.x : kind == SUM ? tree.x_sum : tree.x_leaf;
    atomicAdd((unsigned long long *)&x[at], (unsigned long long)(long long)d);
}

/* ---- the exchange: each block publishes one best column, all blocks read all of them.
 *
 * A record is four words, each with one bit that says in which round it was written: a reader takes
 * a word when its bit is right, so no other barrier is needed. Two sets of records alternate: a
 * block that writes round i + 2 has seen all blocks' round i + 1, so all have read round i. */
typedef struct record {
    unsigned long long word[4];
} record;

constexpr unsigned long long PHASE = 1ull << 63;
constexpr unsigned long long VALUE = PHASE - 1;

enum { CONTESTS = 2 };

typedef struct exchange {
    record *records; /* [CONTESTS][2][MOST_BLOCKS], zeroed */
    int blocks;
} exchange;

static __device__ inline record *record_of(const exchange *e, int contest, int64_t round,
                                           int block) {
    return &e->records[(2 * contest + (round & 1)) * MOST_BLOCKS + block];
}

static __device__ inline void publish(const exchange *e, int contest, int64_t round, const best *b,
                                      bool flag) {
    record *mine = record_of(e, contest, round, (int)blockIdx.x);
    unsigned long long phase = (round >> 1) & 1 ? 0 : PHASE;
    unsigned long long word[4] = {b->key, (unsigned long long)(long long)b->v & VALUE,
                                  ((unsigned long long)b->code & (PHASE / 4 - 1)) |
                                      (flag ? PHASE / 2 : 0),
                                  (unsigned long long)(uint32_t)b->first << 31 | (uint32_t)b->size};
    for (int k = 0; k < 4; k += 2)
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(&mine->word[k]),
                     "l"(word[k] | phase), "l"(word[k + 1] | phase)
                     : "memory");
}

enum { READERS = MOST_BLOCKS / WARP };

static __device__ inline best best_of_words(const unsigned long long *word) {
    best b;
    b.key = word[0] & VALUE;
    b.v = (double)((long long)(word[1] << 1) >> 1);
    b.code = (int64_t)(word[2] & (PHASE / 4 - 1));
    b.first = (int32_t)(word[3] >> 31 & INT_MAX);
    b.size = (int32_t)(word[3] & INT_MAX);
    return b;
}

/* The lane's share of all records of the round, some words maybe of an earlier one. */
static __device__ inline void read_records(const exchange *e, int contest, int64_t round,
                                           unsigned long long word[READERS][4]) {
#pragma unroll
    for (int k = 0; k < READERS; k++) {
        int block = k * WARP + (int)threadIdx.x % WARP;
        const record *other = record_of(e, contest, round, block < e->blocks ? block : 0);
        for (int w = 0; w < 4; w += 2)
            asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                         : "=l"(word[k][w]), "=l"(word[k][w + 1])
                         : "l"(&other->word[w])
                         : "memory");
    }
}

static __device__ inline best shuffled(best b, int lane) {
    b.key = __shfl_sync(FULL, b.key, lane);
    b.code = __shfl_sync(FULL, b.code, lane);
    b.v = __shfl_sync(FULL, b.v, lane);
    b.first = __shfl_sync(FULL, b.first, lane);
    b.size = __shfl_sync(FULL, b.size, lane);
    return b;
}

/* One warp's share of a contest of the round. The lanes pass the best columns of their block's
 * warps; all receive the best of all blocks, and block 0's flag. */
static __device__ inline best contest_winner(const exchange *e, int contest, int64_t round,
                                             best mine, bool *flag) {
    if (e->blocks == 1) return shuffled(mine, warp_best(mine.key, mine.code));
    if ((int)threadIdx.x % WARP == warp_best(mine.key, mine.code))
        publish(e, contest, round, &mine, *flag);
    unsigned long long word[READERS][4], late, phase = (round >> 1) & 1 ? 0 : PHASE;
    do {
        read_records(e, contest, round, word);
        late = 0;
#pragma unroll
        for (int k = 0; k < READERS; k++)
            for (int w = 0; w < 4; w++) late |= word[k][w] ^ phase;
    } while (late & PHASE);
    best top = best_of_words(word[0]);
#pragma unroll
    for (int k = 1; k < READERS; k++) {
        best other = best_of_words(word[k]);
        if (beats(other.key, other.code, top.key, top.code)) top = other;
    }
    *flag = __shfl_sync(FULL, (word[0][2] & (PHASE / 2)) != 0, 0);
    return shuffled(top, warp_best(top.key, top.code));
}

static __device__ inline csrec_wide warp_sum_wide(csrec_wide x) {
    for (int k = WARP / 2; k; k /= 2) {
        uint64_t low = __shfl_xor_sync(FULL, (uint64_t)x, k);
        uint64_t high = __shfl_xor_sync(FULL, (uint64_t)(x >> 64), k);
        x += (csrec_wide)((unsigned __int128)high << 64 | low);
    }
    return x;
}
