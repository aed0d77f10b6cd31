/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_state.cuh - keys, slots and the shared state of a block's warps; overview in batch.cu. */
#pragma once

#include "kernels/method/grids/batch_pursue.h"

extern "C" {
#include "haar/pursuit.h"
}

enum { WARP = 32, HEAD = CSREC_UNIT_HEAD, SIZES = CSREC_CUDA_BUCKET + 2, POLL = 1024 };
enum { HEIGHTS = CSREC_CUDA_HEIGHTS, PER = CSREC_CUDA_BUCKET / WARP }; /* PER items a lane */
#define ALL_LANES 0xffffffffu

struct best {
    int64_t key;
    uint32_t unit;
};

__device__ static inline int64_t key_of(double v, double scale, uint32_t level) {
    return csrec_pursuit_key(v, scale, (int)level);
}

/* The larger key; of equals the one further left. */
__device__ static inline best better(best a, best b) {
    bool second = b.key > a.key || (b.key == a.key && b.unit < a.unit);
    return second ? b : a;
}

__device__ static inline int64_t largest_key(int64_t key) {
    uint32_t high = (uint32_t)(key >> 32);
    uint32_t top = __reduce_max_sync(ALL_LANES, high);
    uint32_t low = __reduce_max_sync(ALL_LANES, high == top ? (uint32_t)key : 0);
    return (int64_t)((uint64_t)top << 32 | low);
}

__device__ static inline best largest(best b) {
    int64_t key = largest_key(b.key);
    return {key, __reduce_min_sync(ALL_LANES, b.key == key ? b.unit : CSREC_UNIT_NONE)};
}

/* An item of a bucket: fields of its slot. */
__device__ static inline uint32_t slot_size(uint32_t slot) {
    return slot & 0x7f;
}
__device__ static inline uint32_t slot_left(uint32_t slot) {
    return slot >> 7 & 0x7f;
}
__device__ static inline uint32_t slot_level(uint32_t slot) {
    return slot >> 14 & 0x3f;
}
__device__ static inline uint32_t slot_before(uint32_t slot) {
    return slot >> 20 & 0x3f;
}
__device__ static inline uint32_t slot_last(uint32_t slot) {
    return slot >> 26;
}
__device__ static inline int slot_weight(uint32_t slot) {
    int left = (int)slot_left(slot), size = (int)slot_size(slot);
    return left ? 2 * left - size : size;
}

/* A lane's items of a bucket: those at lane, lane + WARP, ... slot 0: none. */
struct lane_items {
    double v[PER];
    uint32_t slot[PER];
};

/* A change of whole ranges: tops t .. end, buckets likewise, `before` up to mid, `after` from it.
 */
struct shift {
    uint32_t top, top_mid, top_end; /* top: the highest of those whose maxima change */
    uint32_t bucket, bucket_mid, bucket_end;
    uint32_t height;
    bool own; /* the top itself moves too; else its value is already right */
    double before, after;
};

/* Read once: each read costs as much as a load. */
__device__ static inline int lane_number(void) {
    int lane;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(lane));
    return lane % WARP;
}

enum { LARGE = -1, CONTINUE = -2 }; /* no outcome: a pick above the buckets, or a poll; none */

/* Accumulated effect of the picks. The last step's gain is settled later, overlapped with loads. */
struct ledger {
    uint64_t energy_low;
    int64_t energy_high;
    double total;
    double d, factor; /* gain = factor d, factor = 2 v - d size */
};

/* Current state of the pursuit. */
struct position {
    ledger l;
    best next;
    int64_t iterations;
};

/* A step in a bucket, for the warp that has the path. */
struct message {
    double change, d, factor; /* change: of the sums above */
    int32_t outcome;          /* or CONTINUE */
};

/* What a block shares: its signal, the tree, the job all warps join in. */
struct state {
    double2 size[SIZES]; /* 1 / sqrt(n), 1 / n; of slot 0, which is no item: 0 */
    csrec_cuda_tree tree;
    double *value;
    csrec_cuda_record *record;
    shift job;
    bool quit;
    best found; /* the largest key of the job's top, or of all */
    double *x;
    double unit, least, keep, all_scale, x_all;
    uint64_t goal_low;
    int64_t goal_high, limit;
    uint32_t range[2][HEIGHTS]; /* of a large job: its tops of each height, in climb */
    /* Of a pair: the second warp's command, its start and end state, and the messages of the two,
     * double-buffered by pick. */
    bool paired, together;
    position now;
    int32_t outcome, stop[2];
    message step;
    best below[2], above[2];
};

/* The largest keys in the parts of a job's tops, a thread each: dynamic shared memory. */
struct parts {
    int64_t key[2];
    uint32_t unit[2];
};
extern __shared__ parts part_maxima[];

/* A job with a thread for each top, from `first` on, keeps maxima in part_maxima; else (first
 * CSREC_UNIT_NONE) they are in the records. */
__device__ static inline void store_best(state &s, uint32_t first, uint32_t parent, best b) {
    if (parent == CSREC_UNIT_NONE) {
        s.found = b;
    } else if (first != CSREC_UNIT_NONE) {
        parts *p = part_maxima + ((parent >> 1) - first);
        p->key[parent & 1] = b.key;
        p->unit[parent & 1] = b.unit;
    } else {
        csrec_cuda_record *r = s.record + (parent >> 1);
        r->key[parent & 1] = b.key;
        r->unit[parent & 1] = b.unit;
    }
}

__device__ static inline csrec_cuda_top load_top(const state &s, uint32_t t) {
    union {
        uint4 words[2];
        csrec_cuda_top top;
    } a;
    a.words[0] = __ldg((const uint4 *)(s.tree.top + t));
    a.words[1] = __ldg((const uint4 *)(s.tree.top + t) + 1);
    return a.top;
}

__device__ static inline lane_items load_items(uint32_t lane, const double *value,
                                               const uint32_t *slot, uint32_t first,
                                               uint32_t count) {
    lane_items a;
#pragma unroll
    for (uint32_t k = 0; k < PER; k++) {
        a.v[k] = 0.0;
        a.slot[k] = 0;
        if (lane + k * WARP < count) {
            a.v[k] = value[first + lane + k * WARP];
            a.slot[k] = __ldg(slot + first + lane + k * WARP);
        }
    }
    return a;
}

/* All items of a bucket move by their weights; the largest key of this lane's. */
__device__ static inline int64_t move_items(state &s, lane_items &a, uint32_t first, double t) {
    const uint32_t lane = threadIdx.x % WARP;
    int64_t most = 0;
#pragma unroll
    for (uint32_t k = 0; k < PER; k++) {
        const uint32_t slot = a.slot[k];
        a.v[k] += t * (double)slot_weight(slot);
        if (t != 0.0 && slot) s.value[first + lane + k * WARP] = a.v[k];
        const int64_t key = key_of(a.v[k], s.size[slot_size(slot)].x, slot_level(slot));
        most = key > most ? key : most;
    }
    return most;
}
