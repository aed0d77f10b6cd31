/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_small.cuh - picks inside a bucket by one warp: see batch.cu. */
#pragma once

#include "kernels/method/grids/batch_path.cuh"

/* Loads of the tree that must not wait for what comes after them. */
__device__ static inline uint4 load_head(const uint32_t *row) {
    uint4 head;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(head.x), "=r"(head.y), "=r"(head.z), "=r"(head.w)
                 : "l"(__cvta_generic_to_global(row)));
    return head;
}

__device__ static inline uint32_t load_entry(int lane, const uint32_t *row, int stride) {
    uint32_t entry = 0;
    if (lane < stride)
        asm volatile("ld.global.nc.u32 %0, [%1];"
                     : "=r"(entry)
                     : "l"(__cvta_generic_to_global(row + lane)));
    return entry;
}

/* A pick in a bucket: its item's position in it, its slot, and the step, taken by its lane. */
struct step {
    int at, lane;
    uint32_t slot;
    double d, change, factor; /* of its own sum; of all above; see ledger */
    int32_t outcome;          /* CONTINUE: none */
};

/* Every lane takes the step of its own item that has this key; that of the leftmost counts. sent:
 * message to the other warp of a pair, or NULL. */
__device__ static __forceinline__ step find_step(const state &s, int lane, const lane_items &a,
                                                 int64_t key, message *sent) {
    uint32_t found[PER], own = 0;
    double v = 0.0;
    bool has[PER];
#pragma unroll
    for (int k = PER - 1; k >= 0; k--) {
        has[k] = key_of(a.v[k], s.size[slot_size(a.slot[k])].x, slot_level(a.slot[k])) == key;
        if (has[k]) {
            v = a.v[k];
            own = a.slot[k];
        }
    }
    const double size = (double)slot_size(own);
    const double2 factors = s.size[slot_size(own)];
    const double d = rint(v * factors.y), factor = 2.0 * v - d * size;
    int32_t outcome = factor * d > 0.0 ? CONTINUE : CSREC_EXHAUSTED;
    if (fabs(v) * factors.x * s.unit < s.least) outcome = CSREC_SMALL;
    step p;
#pragma unroll
    for (int k = PER - 1; k >= 0; k--) {
        found[k] = __ballot_sync(ALL_LANES, has[k]);
        if (k == PER - 1 || found[k]) {
            p.lane = __ffs((int)found[k]) - 1;
            p.at = p.lane + k * WARP;
        }
    }
    const double change = -d * (double)slot_weight(own);
    if (sent && lane == p.lane) *sent = {change, d, factor, outcome};
    p.slot = __shfl_sync(ALL_LANES, own, p.lane);
    p.d = __shfl_sync(ALL_LANES, d, p.lane);
    p.change = __shfl_sync(ALL_LANES, change, p.lane);
    if (sent) return p;
    p.factor = __shfl_sync(ALL_LANES, factor, p.lane);
    p.outcome = __shfl_sync(ALL_LANES, outcome, p.lane);
    return p;
}

/* Change of item i: from size for the pick itself, its weight inside the pick, the change above. A
 * sum has no item after its `before`; slot 0 is above none. No branches: both sides are short. */
__device__ static __forceinline__ double move_by(const step &p, int i, uint32_t slot) {
    const int weight = slot_weight(slot), size = (int)slot_size(slot);
    const bool inside = i > p.at && i <= (int)slot_last(p.slot);
    const bool above = i < p.at && (int)slot_last(slot) >= p.at;
    const bool after = i > (int)slot_before(p.slot), minus = p.at > (int)slot_before(slot);
    const int times = inside ? (after ? weight : -weight) : i == p.at ? -size : 0;
    const double by = p.d * (double)times;
    return above ? (minus ? -p.change : p.change) : by;
}

/* Moves the items by move_by; returns the largest key of this lane's. */
__device__ static __forceinline__ int64_t take_step(const state &s, int lane, lane_items &a,
                                                    const step &pick, double by[PER]) {
    int64_t most = 0;
#pragma unroll
    for (int k = 0; k < PER; k++) {
        const uint32_t slot = a.slot[k];
        by[k] = move_by(pick, lane + k * WARP, slot);
        a.v[k] += by[k];
        const int64_t key = key_of(a.v[k], s.size[slot_size(slot)].x, slot_level(slot));
        most = key > most ? key : most;
    }
    return most;
}

/* value: of this lane's first item; x: of the pick. */
__device__ static __forceinline__ void store_items(int lane, const lane_items &a, const step &pick,
                                                   const double by[PER], double *value, double *x) {
#pragma unroll
    for (int k = 0; k < PER; k++)
        if (by[k] != 0.0) value[k * WARP] = a.v[k];
    if (lane == pick.lane) add_to(x, pick.d);
}

/* The second half of a head: lanes hold the words of the path. */
__device__ static __forceinline__ uint4 rest_of(uint32_t entry) {
    return make_uint4(__shfl_sync(ALL_LANES, entry, CSREC_UNIT_TOP_END),
                      __shfl_sync(ALL_LANES, entry, CSREC_UNIT_BUCKET),
                      __shfl_sync(ALL_LANES, entry, CSREC_UNIT_BUCKET_MID),
                      __shfl_sync(ALL_LANES, entry, CSREC_UNIT_BUCKET_END));
}

/* Prefetched for a pick of a top. */
__device__ static __forceinline__ void prefetch_large(const state &s, const uint4 &head,
                                                      const uint4 &rest) {
    const uint32_t lane = threadIdx.x % WARP, buckets = rest.w - rest.y, at = head.x + 16 * lane;
    if (head.z + lane < rest.x) {
        prefetch(s.record + head.z + lane);
        prefetch(s.tree.top + head.z + lane);
    }
    if (lane < buckets) prefetch(s.tree.bucket + rest.y + lane);
    if (buckets <= 16 && 16 * lane < PER * WARP * buckets && at < (uint32_t)s.tree.items) {
        prefetch(s.value + at);
        prefetch(s.tree.slot + at);
    }
}

/* Picks as long as they lie in buckets. Returns LARGE, or the outcome. */
template <bool DEEP> __device__ static __forceinline__ int32_t take_small(state &s, position &now) {
    const int lane = lane_number();
    ledger l = now.l;
    best next = now.next;
    uint32_t iterations = 0; /* at most POLL per call */
    int32_t outcome;
    const int stride = s.tree.stride;
    const uint32_t *row = unit_path(s.tree.path, stride, next.unit);
    uint4 head = load_head(row);
    uint32_t entry = DEEP ? 0 : load_entry(lane, row, stride);
    for (;; iterations++) {
        __syncwarp(); /* what other lanes wrote for the last pick is read for this one */
        const bool small = head.z == CSREC_UNIT_NONE;
        lane_items a = load_items(lane, s.value, s.tree.slot, head.x, small ? head.w : 0);
        path p = load_path(s, entry, !DEEP && lane >= HEAD && lane - HEAD < (int)head.y);
        if (!DEEP && !small) prefetch_large(s, head, rest_of(entry));
        outcome = settle_up(l, s, now.iterations + iterations);
        if (outcome != CONTINUE) break;
        outcome = LARGE;
        if (!small || iterations == POLL || all_is_next(l, s, next.key)) break;
        const step pick = find_step(s, lane, a, next.key, NULL);
        outcome = pick.outcome;
        if (outcome != CONTINUE) break;
        l.d = pick.d;
        l.factor = pick.factor;
        l.total += pick.change;
        double by[PER];
        const int64_t most = take_step(s, lane, a, pick, by);
        const uint32_t unit = next.unit;
        double *value = s.value + head.x + lane, *x = s.x + head.x + pick.at;
        const bool deep = head.y > 0; /* a branch, which keeps the loads before it */
        const int depth = (int)head.y;
        best own;
        if (DEEP) {
            next = change_parts(s, row, depth, pick.change, {largest_key(most), unit});
        } else {
            own = change_path(p, pick.change);
            next = largest(better({most, unit}, own));
        }
        /* Prefetches the next path while this one's values are written. */
        row = unit_path(s.tree.path, stride, next.unit);
        head = load_head(row);
        if (!DEEP) entry = load_entry(lane, row, stride);
        store_items(lane, a, pick, by, value, x);
        if (!DEEP && deep) remember_path(s, p, {largest_key(most), unit}, own);
    }
    now.l = l;
    now.next = next;
    now.iterations += iterations;
    return outcome;
}
