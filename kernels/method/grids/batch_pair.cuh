/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_pair.cuh - picks inside a bucket by two warps: the first moves the bucket's items, the
 * second the tops above and keeps the energy. One warp alone waits for the latency of every
 * instruction in turn; two halve their number.
 *
 *     items    load the bucket    find the step -> message    move, largest key \            store
 *     path     load the tops      check the energy <- message  move, largest key / exchange
 * remember
 *
 * Named barriers: STEP when the message is there, BOTH for the exchange of the largest keys, and
 * one where the second warp waits for its command. */
#pragma once

#include "kernels/method/grids/batch_small.cuh"

__device__ static inline void announce_step(void) {
    __syncwarp();
    asm volatile("bar.arrive 1, 64;" ::: "memory");
}

__device__ static inline void await_step(void) {
    __syncwarp();
    asm volatile("bar.sync 1, 64;" ::: "memory");
}

__device__ static inline void meet(void) {
    __syncwarp();
    asm volatile("bar.sync 2, 64;" ::: "memory");
}

/* As take_small, for the first warp; the second is in follow_picks. */
__device__ static __forceinline__ int32_t take_pair(state &s, position &now) {
    const int lane = lane_number();
    if (lane == 0) {
        s.now = now;
        s.together = true;
    }
    meet();
    best next = now.next;
    const uint32_t *const paths = s.tree.path;
    const int stride = s.tree.stride;
    double *const values = s.value;
    double *const xs = s.x;
    const uint32_t *const slots = s.tree.slot;
    uint4 head = load_head(unit_path(paths, stride, next.unit));
    for (int turn = 0;; turn ^= 1) {
        __syncwarp(); /* what other lanes wrote for the last pick is read for this one */
        const bool small = head.z == CSREC_UNIT_NONE;
        best most = {0, next.unit};
        lane_items a;
        step pick;
        double by[PER];
        if (small) {
            a = load_items(lane, values, slots, head.x, head.w);
            pick = find_step(s, lane, a, next.key, &s.step);
            announce_step();
            most.key = largest_key(take_step(s, lane, a, pick, by));
        }
        if (lane == 0) s.below[turn] = most;
        meet();
        if (s.stop[turn] != CONTINUE) break;
        next = better(most, s.above[turn]);
        double *value = values + head.x + lane, *x = xs + head.x + pick.at;
        /* Prefetches the next path while this one's values are written. */
        head = load_head(unit_path(paths, stride, next.unit));
        store_items(lane, a, pick, by, value, x);
    }
    now = s.now;
    return s.outcome;
}

/* The second warp's part. */
__device__ static __forceinline__ void follow_picks(state &s) {
    const int lane = lane_number();
    ledger l = s.now.l;
    best next = s.now.next;
    const int64_t before = s.now.iterations;
    const uint32_t *const paths = s.tree.path;
    const int stride = s.tree.stride;
    const uint32_t *row = unit_path(paths, stride, next.unit);
    uint4 head = load_head(row);
    uint32_t entry = load_entry(lane, row, stride);
    for (uint32_t iterations = 0;; iterations++) {
        __syncwarp();
        const uint32_t turn = iterations & 1;
        const bool small = head.z == CSREC_UNIT_NONE, deep = head.y > 0;
        path p = load_path(s, entry, lane >= HEAD && lane - HEAD < (int)head.y);
        if (!small) prefetch_large(s, head, rest_of(entry));
        int32_t outcome = settle_up(l, s, before + iterations);
        if (outcome == CONTINUE && (!small || iterations == POLL || all_is_next(l, s, next.key)))
            outcome = LARGE;
        best own = {0, CSREC_UNIT_NONE}, above = own;
        if (small) {
            await_step();
            const message m = s.step;
            if (outcome == CONTINUE) outcome = m.outcome;
            if (outcome == CONTINUE) {
                l.d = m.d;
                l.factor = m.factor;
                l.total += m.change;
            }
            own = change_path(p, m.change);
            above = largest(own);
        }
        if (lane == 0) {
            s.above[turn] = above;
            s.stop[turn] = outcome;
            if (outcome != CONTINUE) {
                s.outcome = outcome;
                s.now = {l, next, before + iterations};
            }
        }
        meet();
        if (outcome != CONTINUE) return;
        const best below = s.below[turn];
        next = better(below, above);
        row = unit_path(paths, stride, next.unit);
        head = load_head(row);
        entry = load_entry(lane, row, stride);
        if (deep) remember_path(s, p, below, own);
    }
}
