/* batch_shift.cuh - picks above the buckets: ranges of tops and buckets move, all warps join, and
 * the largest keys climb from the lowest tops to the highest. */
#ifndef CSREC_KERNELS_BATCH_SHIFT_CUH
#define CSREC_KERNELS_BATCH_SHIFT_CUH

#include "kernels/batch_state.cuh"

/* Moves the buckets of the job, a warp takes up to 32 in a row, FAN of them at a time for their
 * loads to overlap. Their maxima go to the tops right above. */
template <int FAN>
__device__ static __noinline__ void move_buckets(state &s, bool here, int thread, int threads) {
    const uint32_t lane = thread % WARP, warps = threads / WARP;
    const uint32_t begin = s.job.bucket, mid = s.job.bucket_mid, end = s.job.bucket_end;
    const double before = s.job.before, after = s.job.after;
    const csrec_cuda_bucket *buckets = s.tree.bucket;
    const uint32_t *slots = s.tree.slot;
    double *value = s.value;
    const uint32_t share = (end - begin + warps - 1) / warps, part = share < WARP ? share : WARP;
    for (uint32_t base = begin + thread / WARP * part; base < end; base += warps * part) {
        const uint32_t count = end - base < part ? end - base : part;
        uint4 bucket = make_uint4(0, 0, CSREC_UNIT_NONE, 0);
        if (lane < count) bucket = __ldg((const uint4 *)(buckets + base + lane));
        int64_t mine = 0;
        for (uint32_t first = 0; first < count; first += FAN) {
            double v[FAN];
            uint32_t slot[FAN], at[FAN];
#pragma unroll
            for (int f = 0; f < FAN; f++) {
                at[f] = __shfl_sync(ALL_LANES, bucket.x, first + f) + lane;
                slot[f] = 0;
                v[f] = 0.0;
                if (lane < __shfl_sync(ALL_LANES, bucket.y, first + f)) {
                    slot[f] = __ldg(slots + at[f]);
                    v[f] = value[at[f]];
                }
            }
#pragma unroll
            for (int f = 0; f < FAN; f++) {
                double t = base + first + f < mid ? before : after;
                v[f] += t * slot_weight(slot[f]);
                if (t != 0.0 && slot[f]) value[at[f]] = v[f];
                int64_t key =
                    slot[f] ? key_of(v[f], s.size[slot_size(slot[f])].x, slot_level(slot[f])) : 0;
                key = largest_key(key);
                if (lane == first + f) mine = key;
            }
        }
        if (lane < count) store_best(s, here, bucket.z, {mine, bucket.w});
    }
}

template <bool BLOCK> __device__ static inline void join(void) {
    if (BLOCK)
        __syncthreads();
    else
        __syncwarp();
}

/* A job with a thread for each of its tops: values move in registers, maxima climb height by
 * height through shared memory, then all records are written. */
template <bool BLOCK, int FAN>
__device__ static __noinline__ void run_small(state &s, int thread, int threads) {
    const uint32_t t = s.job.top + thread, last = s.job.height;
    const bool on = t < s.job.top_end;
    csrec_cuda_top top;
    double v = 0.0;
    csrec_cuda_record *record = s.record + t;
    if (on) {
        top = s.tree.top[t];
        v = record->value;
        if (thread > 0 || s.job.own)
            v += (t < s.job.top_mid ? s.job.before : s.job.after) * (double)top.weight;
    }
    move_buckets<FAN / 2>(s, true, thread, threads);
    join<BLOCK>();
    for (uint32_t height = 0; height <= last; height++) {
        if (on && top.height == height) {
            best b = {key_of(v, top.scale, top.level), top.unit};
            for (int side = 0; side < 2; side++) {
                if (!(top.has >> side & 1)) kids[thread].key[side] = 0;
                b = better(b, {kids[thread].key[side], kids[thread].unit[side]});
            }
            store_best(s, true, thread == 0 ? CSREC_UNIT_NONE : top.parent, b);
            record->value = v;
            record->key[0] = kids[thread].key[0];
            record->key[1] = kids[thread].key[1];
            record->unit[0] = kids[thread].unit[0];
            record->unit[1] = kids[thread].unit[1];
        }
        join<BLOCK>();
    }
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
    const csrec_cuda_top top = s.tree.top[t];
    const csrec_cuda_record r = s.record[t];
    best b = {key_of(r.value, top.scale, top.level), top.unit};
    b = better(b, better({r.key[0], r.unit[0]}, {r.key[1], r.unit[1]}));
    store_best(s, false, highest ? CSREC_UNIT_NONE : top.parent, b);
}

/* A job with more tops than threads. */
template <int FAN>
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
    move_buckets<FAN>(s, false, thread, threads);
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

/* The other warps wait for jobs. */
template <int FAN> __device__ static void help(state &s) {
    for (;;) {
        __syncthreads();
        if (s.quit) return;
        if (is_large(s, blockDim.x))
            run_large<FAN>(s, threadIdx.x, blockDim.x);
        else
            run_small<true, FAN>(s, threadIdx.x, blockDim.x);
    }
}

/* The largest key in the block of s.job, which lane 0 has set. Called by the first warp. */
template <int FAN> __device__ static best run_shift(state &s) {
    __syncwarp();
    if (!is_large(s, WARP) &&
        (blockDim.x == WARP || s.job.bucket_end - s.job.bucket <= SOLO_BUCKETS)) {
        run_small<false, FAN>(s, threadIdx.x, WARP);
    } else {
        __syncthreads();
        if (is_large(s, blockDim.x))
            run_large<FAN>(s, threadIdx.x, blockDim.x);
        else
            run_small<true, FAN>(s, threadIdx.x, blockDim.x);
    }
    __syncwarp();
    best found = s.found;
    __syncwarp();
    return found;
}

/* The whole tree moves by t. */
template <int FAN> __device__ static best shift_all(state &s, double t) {
    if (threadIdx.x == 0) {
        uint32_t tops = (uint32_t)s.tree.tops, buckets = (uint32_t)s.tree.buckets;
        s.job = {0, tops, tops, 0, buckets, buckets, tops ? s.tree.top[0].height : 0, true, t, t};
        s.found = {0, CSREC_UNIT_NONE}; /* stays if there is no item */
    }
    return run_shift<FAN>(s);
}

#endif
