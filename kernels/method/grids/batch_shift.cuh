/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_shift.cuh - picks above the buckets: ranges of tops and buckets move, all warps join, and
 * the largest keys climb from the lowest tops to the highest. */
#pragma once

#include "kernels/method/grids/batch_pair.cuh"

/* Moves the buckets of the job, a warp takes up to 32 in a row, FAN of them at a time for their
 * loads to overlap. Their maxima go to the tops right above: see store_best. */
template <int FAN>
__device__ static __noinline__ void move_buckets(state &s, uint32_t top, int thread, int threads) {
    const uint32_t lane = thread % WARP, warps = threads / WARP;
    const uint32_t begin = s.job.bucket, mid = s.job.bucket_mid, end = s.job.bucket_end;
    const double before = s.job.before, after = s.job.after;
    const csrec_cuda_bucket *buckets = s.tree.bucket;
    const uint32_t share = (end - begin + warps - 1) / warps, part = share < WARP ? share : WARP;
    for (uint32_t base = begin + thread / WARP * part; base < end; base += warps * part) {
        const uint32_t count = end - base < part ? end - base : part;
        uint4 bucket = make_uint4(0, 0, CSREC_UNIT_NONE, 0);
        if (lane < count) bucket = __ldg((const uint4 *)(buckets + base + lane));
        int64_t mine = 0;
        for (uint32_t first = 0; first < count; first += FAN) {
            lane_items a[FAN];
            uint32_t item[FAN];
#pragma unroll
            for (int f = 0; f < FAN; f++) {
                item[f] = __shfl_sync(ALL_LANES, bucket.x, first + f);
                a[f] = load_items(lane, s.value, s.tree.slot, item[f],
                                  __shfl_sync(ALL_LANES, bucket.y, first + f));
            }
#pragma unroll
            for (int f = 0; f < FAN; f++) {
                double t = base + first + f < mid ? before : after;
                int64_t key = largest_key(move_items(s, a[f], item[f], t));
                if (lane == first + f) mine = key;
            }
        }
        if (lane < count) store_best(s, top, bucket.z, {mine, bucket.w});
    }
}

template <bool BLOCK> __device__ static inline void join(void) {
    if (BLOCK)
        __syncthreads();
    else
        __syncwarp();
}

/* Maxima climb height by height through shared memory, a thread for each of the tops from `first`
 * on; all records are written. on: the thread has a top, t, with value v. */
template <bool BLOCK>
__device__ static inline void climb(state &s, uint32_t first, uint32_t last, bool on, uint32_t t,
                                    const csrec_cuda_top &top, double v) {
    const parts &mine = part_maxima[t - first];
    for (uint32_t height = 0; height <= last; height++) {
        if (on && top.height == height) {
            best b = {key_of(v, top.scale, top.level), top.unit};
            for (int side = 0; side < 2; side++) {
                if (!(top.has >> side & 1)) part_maxima[t - first].key[side] = 0;
                b = better(b, {mine.key[side], mine.unit[side]});
            }
            store_best(s, first, t == first ? CSREC_UNIT_NONE : top.parent, b);
            csrec_cuda_record *record = s.record + t;
            record->value = v;
            record->key[0] = mine.key[0];
            record->key[1] = mine.key[1];
            record->unit[0] = mine.unit[0];
            record->unit[1] = mine.unit[1];
        }
        join<BLOCK>();
    }
}

/* A job with a thread for each of its tops: values move in registers. */
template <bool BLOCK>
__device__ static __noinline__ void run_small(state &s, int thread, int threads) {
    const uint32_t t = s.job.top + thread, last = s.job.height;
    const bool on = t < s.job.top_end;
    csrec_cuda_top top;
    double v = 0.0;
    if (on) {
        top = load_top(s, t);
        v = s.record[t].value;
        if (thread > 0 || s.job.own)
            v += (t < s.job.top_mid ? s.job.before : s.job.after) * (double)top.weight;
    }
    move_buckets<1>(s, s.job.top, thread, threads);
    join<BLOCK>();
    climb<BLOCK>(s, s.job.top, last, on, t, top, v);
}

/* Tops of one height within tops begin .. end - 1 are one range of the list by height. */
__device__ static inline uint32_t find_top(const state &s, uint32_t low, uint32_t high,
                                           uint32_t t) {
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (__ldg(s.tree.by_height + middle) < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__device__ static inline void lift(state &s, uint32_t t, bool highest) {
    const csrec_cuda_top top = load_top(s, t);
    const csrec_cuda_record r = s.record[t];
    best b = {key_of(r.value, top.scale, top.level), top.unit};
    b = better(b, better({r.key[0], r.unit[0]}, {r.key[1], r.unit[1]}));
    store_best(s, CSREC_UNIT_NONE, highest ? CSREC_UNIT_NONE : top.parent, b);
}

/* A job with more tops than threads. */
__device__ static __noinline__ void run_large(state &s, int thread, int threads) {
    const uint32_t begin = s.job.top, mid = s.job.top_mid, end = s.job.top_end;
    const uint32_t last = s.job.height;
    const double before = s.job.before, after = s.job.after;
    for (uint32_t t = begin + (s.job.own ? 0 : 1) + thread; t < end; t += threads)
        s.record[t].value += (t < mid ? before : after) * (double)s.tree.top[t].weight;
    for (uint32_t h = thread; h <= last; h += threads) {
        uint32_t low = s.tree.height_begin[h], high = s.tree.height_begin[h + 1];
        s.range[0][h] = find_top(s, low, high, begin);
        s.range[1][h] = find_top(s, s.range[0][h], high, end);
    }
    move_buckets<2>(s, CSREC_UNIT_NONE, thread, threads);
    __syncthreads();
    for (uint32_t height = 0; height <= last; height++) {
        uint32_t stop = s.range[1][height];
        for (uint32_t k = s.range[0][height] + thread; k < stop; k += threads) {
            uint32_t t = __ldg(s.tree.by_height + k);
            lift(s, t, t == begin);
        }
        __syncthreads();
    }
}

__device__ static inline bool is_large(const state &s, int threads) {
    return s.job.top_end - s.job.top > (uint32_t)threads;
}

/* All warps meet. The second warp of a pair waits at its own barrier for the first. */
__device__ static inline void gather(state &s) {
    if (s.paired && threadIdx.x < WARP) {
        if (threadIdx.x == 0) s.together = false;
        meet();
    }
    __syncthreads();
}

/* The other warps wait for jobs. */
__device__ static void help(state &s) {
    const bool second = s.paired && threadIdx.x / WARP == 1;
    for (;;) {
        if (second) {
            meet();
            if (s.together) {
                follow_picks(s);
                continue;
            }
        }
        __syncthreads();
        if (s.quit) return;
        if (is_large(s, blockDim.x))
            run_large(s, threadIdx.x, blockDim.x);
        else
            run_small<true>(s, threadIdx.x, blockDim.x);
    }
}

/* The largest key in the block of s.job, which lane 0 has set. Called by the first warp. */
__device__ static best run_shift(state &s) {
    __syncwarp();
    if (blockDim.x == WARP && !is_large(s, WARP)) {
        run_small<false>(s, threadIdx.x, WARP);
    } else {
        gather(s);
        if (is_large(s, blockDim.x))
            run_large(s, threadIdx.x, blockDim.x);
        else
            run_small<true>(s, threadIdx.x, blockDim.x);
    }
    __syncwarp();
    best found = s.found;
    __syncwarp();
    return found;
}

/* A pick that one warp moves by itself: at most FEW buckets, and a lane for each top. All is loaded
 * at once, before the step is known. */
enum { FEW = 2 };
struct few {
    uint4 bucket;
    csrec_cuda_top top;
    double v;
    lane_items a[FEW];
};

__device__ static inline bool is_few(const uint4 &head, const uint4 &rest) {
    return rest.x - head.z <= WARP && rest.w - rest.y <= FEW;
}

__device__ static __forceinline__ few load_few(const state &s, const uint4 &head,
                                               const uint4 &rest) {
    const uint32_t lane = threadIdx.x, t = head.z + lane;
    few m;
    m.bucket = make_uint4(0, 0, CSREC_UNIT_NONE, 0);
    if (lane < rest.w - rest.y) m.bucket = __ldg((const uint4 *)(s.tree.bucket + rest.y + lane));
    m.top = {};
    m.v = 0.0;
    if (t < rest.x) {
        m.top = load_top(s, t);
        m.v = s.record[t].value;
    }
#pragma unroll
    for (int f = 0; f < FEW; f++)
        m.a[f] = load_items(lane, s.value, s.tree.slot, __shfl_sync(ALL_LANES, m.bucket.x, f),
                            __shfl_sync(ALL_LANES, m.bucket.y, f));
    return m;
}

/* The first top has its step already: its value is v. */
__device__ static __forceinline__ void move_few(state &s, few &m, const uint4 &head,
                                                const uint4 &rest, double v, double before,
                                                double after) {
    const uint32_t lane = threadIdx.x, t = head.z + lane;
    if (t < rest.x) m.v = lane ? m.v + (t < head.w ? before : after) * (double)m.top.weight : v;
    int64_t mine = 0;
#pragma unroll
    for (uint32_t f = 0; f < FEW; f++) {
        const uint32_t item = __shfl_sync(ALL_LANES, m.bucket.x, f);
        int64_t key =
            largest_key(move_items(s, m.a[f], item, rest.y + f < rest.z ? before : after));
        if (lane == f) mine = key;
    }
    if (lane < rest.w - rest.y) store_best(s, head.z, m.bucket.z, {mine, m.bucket.w});
    __syncwarp();
}

__device__ static __forceinline__ best climb_few(state &s, const few &m, const uint4 &head,
                                                 const uint4 &rest, uint32_t height) {
    const uint32_t t = head.z + threadIdx.x;
    climb<false>(s, head.z, height, t < rest.x, t, m.top, m.v);
    best found = s.found;
    __syncwarp();
    return found;
}

/* The whole tree moves by t. */
__device__ static best shift_all(state &s, double t) {
    if (threadIdx.x == 0) {
        uint32_t tops = (uint32_t)s.tree.tops, buckets = (uint32_t)s.tree.buckets;
        s.job = {0, tops, tops, 0, buckets, buckets, tops ? s.tree.top[0].height : 0, true, t, t};
        s.found = {0, CSREC_UNIT_NONE}; /* stays if there is no item */
    }
    return run_shift(s);
}
