/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_path.cuh - the tops above a unit, a lane each; and a pursuit's ledger: energy, gains,
 * stopping rules. */
#pragma once

#include "csrec/solve.h"
#include "kernels/method/grids/batch_state.cuh"

/* One lane's top of a path, as loaded. */
struct path {
    uint32_t entry; /* NO_ENTRY: none */
    double2 low;    /* record: value, key[0] */
    longlong2 high; /* key[1], units */
    uint4 top;      /* scale, unit, level */
};
#define NO_ENTRY 0xffffffffu

__device__ static inline path load_path(const state &s, uint32_t entry, bool on) {
    path p = {NO_ENTRY, {0.0, 0.0}, {0, 0}, {0, 0, CSREC_UNIT_NONE, 0}}; /* key 0 */
    if (!on) return p;
    p.entry = entry;
    const csrec_cuda_record *record = s.record + (entry >> 2);
    p.low = ((const double2 *)record)[0];
    p.high = ((const longlong2 *)record)[1];
    p.top = __ldg((const uint4 *)(s.tree.top + (entry >> 2)));
    return p;
}

/* Sums below the path change; returns the largest key of this lane's top and its other part. */
__device__ static inline best change_path(path &p, double change) {
    const bool side = p.entry & 1;
    p.low.x += p.entry & 2 ? -change : change;
    best own = {key_of(p.low.x, __hiloint2double((int)p.top.y, (int)p.top.x), p.top.w & 63),
                p.top.z};
    best other = {side ? __double_as_longlong(p.low.y) : p.high.x,
                  (uint32_t)(side ? p.high.y : (int64_t)((uint64_t)p.high.y >> 32))};
    return other.key > own.key ? other : own;
}

/* Each top remembers the largest key in the part where the change was: a running maximum over the
 * tops below it. own: what change_path returned; below: the largest key below the path. */
__device__ static inline void remember_path(const state &s, const path &p, best below, best own) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        best further = {__shfl_down_sync(ALL_LANES, own.key, step),
                        __shfl_down_sync(ALL_LANES, own.unit, step)};
        if (lane + step >= WARP) further = {0, CSREC_UNIT_NONE};
        own = better(own, further);
    }
    best deeper = {__shfl_down_sync(ALL_LANES, own.key, 1),
                   __shfl_down_sync(ALL_LANES, own.unit, 1)};
    if (lane == WARP - 1) deeper = {0, CSREC_UNIT_NONE};
    deeper = better(below, deeper);
    if (p.entry == NO_ENTRY) return;
    const bool side = p.entry & 1;
    double2 low = {p.low.x, side ? p.low.y : __longlong_as_double(deeper.key)};
    uint32_t unit0 = side ? (uint32_t)p.high.y : deeper.unit;
    uint32_t unit1 = side ? deeper.unit : (uint32_t)((uint64_t)p.high.y >> 32);
    longlong2 high = {side ? deeper.key : p.high.x, (int64_t)((uint64_t)unit1 << 32 | unit0)};
    csrec_cuda_record *record = s.record + (p.entry >> 2);
    ((double2 *)record)[0] = low;
    ((longlong2 *)record)[1] = high;
}

/* A path in parts of a warp's width, from the deepest to the root. */
__device__ static __noinline__ best change_parts(state &s, const uint32_t *row, int depth,
                                                 double change, best below) {
    const int lane = threadIdx.x % WARP;
    for (int part = (depth + HEAD - 1) / WARP; part >= 0; part--) {
        int at = part * WARP + lane - HEAD;
        const bool on = at >= 0 && at < depth;
        path p = load_path(s, on ? __ldg(row + HEAD + at) : 0, on);
        best own = change_path(p, change);
        remember_path(s, p, below, own);
        below = better(below, largest(own));
    }
    return below;
}

__device__ static inline void settle(ledger &l) {
    int64_t step = (int64_t)l.d, factor = (int64_t)l.factor;
    uint64_t gain_low = (uint64_t)factor * (uint64_t)step, before = l.energy_low;
    l.energy_low -= gain_low;
    l.energy_high -= __mul64hi(factor, step) + (before < gain_low);
    l.d = l.factor = 0.0;
}

/* In the units of the samples, as csrec_wide_double(energy) / units / units. */
__device__ static inline double energy_of(const ledger &l, const state &s) {
    double energy = (double)l.energy_high * 0x1p64 + (double)l.energy_low;
    return energy * s.unit * s.unit;
}

/* Settles; true: the step was too small by the rule of stagnation. */
__device__ static inline bool settle_stalls(ledger &l, const state &s) {
    if (s.keep < 0.0 || l.d == 0.0) {
        settle(l);
        return false;
    }
    double before = energy_of(l, s);
    settle(l);
    return energy_of(l, s) > s.keep * before;
}

/* 1 / size, correctly rounded for integers below 2^53: from an estimate within an ulp a step of
 * Newton's with the exact remainder rounds to the nearest (Markstein). Avoids a division's
 * slow-path call for non-normal numbers, which spills registers. */
__device__ static inline double inverse_of(double size) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(size));
#pragma unroll
    for (int k = 0; k < 3; k++) y = __fma_rn(y, __fma_rn(-size, y, 1.0), y);
    return y;
}

/* The step for block sum v over size samples; false: nothing gained. All terms are integers below
 * 2^53, so the sign of the product is exact. */
__device__ static inline bool spend(ledger &l, double v, double size, double inverse) {
    double d = rint(v * inverse), factor = 2.0 * v - d * size;
    if (!(factor * d > 0.0)) return false;
    l.d = d;
    l.factor = factor;
    return true;
}

__device__ static inline bool reached(const ledger &l, const state &s) {
    return l.energy_high < s.goal_high ||
           (l.energy_high == s.goal_high && l.energy_low <= s.goal_low);
}

__device__ static inline void prefetch(const void *at) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at)));
}

__device__ static inline void add_to(double *x, double d) {
    asm volatile("red.global.add.f64 [%0], %1;" ::"l"(__cvta_generic_to_global(x)), "d"(d)
                 : "memory");
}

__device__ static inline const uint32_t *unit_path(const uint32_t *paths, int stride,
                                                   uint32_t unit) {
    return paths + (size_t)(unit == CSREC_UNIT_NONE ? 0 : unit) * (uint32_t)stride;
}

/* Settles the last step's gain before pick number `iterations`: how the pursuit ended, or
 * CONTINUE. */
__device__ static inline int32_t settle_up(ledger &l, const state &s, int64_t iterations) {
    if (settle_stalls(l, s)) return reached(l, s) ? CSREC_CONVERGED : CSREC_STAGNANT;
    if (reached(l, s)) return CSREC_CONVERGED;
    return iterations >= s.limit ? CSREC_STEP_LIMIT : CONTINUE;
}

__device__ static inline bool all_is_next(const ledger &l, const state &s, int64_t key) {
    return key_of(l.total, s.all_scale, 63) >= key;
}
