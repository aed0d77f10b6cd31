/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.cu - many eager pursuits at once, one thread block per signal.
 *
 * The readable counterpart is src/haar/eager.c; the tree, its buckets and tops are described in
 * tree.h. A pick inside a bucket is the work of two warps (batch_pair.cuh), or of one
 * (batch_small.cuh) where there are so many signals that each gets a single warp; two items per
 * lane:
 *
 *     load     the unit's path, then the bucket's items and the records of the tops above, a lane
 *              each: two memory round trips, the only ones
 *     step     d = v / size, items of the bucket move by their weights
 *     maxima   of the bucket by a reduction; each top above has stored the largest key of its other
 *              part, so the next pick is the maximum over the path, and what the tops must store
 *              is a running maximum from the bucket up to the root
 *
 * A pick above the buckets moves whole ranges of tops and buckets: one warp does so for two
 * buckets, for more all warps of the block join; then maxima climb from the lowest tops to the
 * highest. Measured on a picture, N = 2^18: a fifth of all picks are of more than 33 samples, an
 * eighth of more than 65, and the time of the others is bound by dependent instructions, 4 cycles
 * each, more than by memory latency. Keys, steps and sums are those of src/haar/pursuit.h, so picks
 * are equal to the last bit.
 */
#include "kernels/method/grids/batch_pair.cuh"
#include "kernels/method/grids/batch_shift.cuh"

/* A pick of column 0. */
__device__ static __noinline__ int32_t take_all(state &s, position &now) {
    ledger &l = now.l;
    const double size = (double)s.tree.n;
    if (fabs(l.total) * s.all_scale * s.unit < s.least) return CSREC_SMALL;
    if (!spend(l, l.total, size, inverse_of(size))) return CSREC_EXHAUSTED;
    if (threadIdx.x == 0) s.x_all += l.d;
    l.total -= l.d * size;
    now.iterations++;
    now.next = shift_all(s, -l.d);
    return LARGE;
}

/* The step of a top, taken from the ledger. */
__device__ static __forceinline__ int32_t spend_top(const state &s, position &now,
                                                    const csrec_cuda_top &top, double v) {
    const double size = (double)top.size;
    if (fabs(v) * top.scale * s.unit < s.least) return CSREC_SMALL;
    if (!spend(now.l, v, size, inverse_of(size))) return CSREC_EXHAUSTED;
    now.l.total -= now.l.d * (double)top.weight;
    now.iterations++;
    return LARGE;
}

/* Above the pick: updates the sums of its path; `below` is the largest key under it. */
template <bool DEEP>
__device__ static __forceinline__ best take_path(state &s, const uint32_t *row, int depth,
                                                 double change, best below) {
    if (DEEP) return change_parts(s, row, depth, change, below);
    const int at = (int)threadIdx.x - HEAD;
    path p = load_path(s, load_entry((int)threadIdx.x, row, s.tree.stride), at >= 0 && at < depth);
    const best own = change_path(p, change), next = better(below, largest(own));
    remember_path(s, p, below, own);
    return next;
}

/* A pick of a top with few buckets. */
template <bool DEEP>
__device__ static __forceinline__ int32_t take_few(state &s, position &now, const uint32_t *row,
                                                   const uint4 &head, const uint4 &rest) {
    few m = load_few(s, head, rest);
    const csrec_cuda_top top = load_top(s, head.z);
    const double v = s.record[head.z].value;
    const int32_t outcome = spend_top(s, now, top, v);
    if (outcome != LARGE) return outcome;
    const double d = now.l.d;
    const bool sum = top.weight == (int32_t)top.size;
    if (threadIdx.x == 0) add_to(s.x + head.x, d);
    move_few(s, m, head, rest, v - d * (double)top.size, -d, sum ? -d : d);
    const best below = climb_few(s, m, head, rest, top.height);
    now.next = take_path<DEEP>(s, row, (int)head.y, -d * (double)top.weight, below);
    return LARGE;
}

/* A pick of column 0 or of a top, or none if take_small returned for a poll. Returns LARGE, or
 * the outcome. */
template <bool DEEP>
__device__ static __noinline__ int32_t take_large(state &s, position &now, const uint32_t *row,
                                                  const uint4 head, const uint4 rest) {
    const csrec_cuda_top top = load_top(s, head.z);
    const double v = s.record[head.z].value;
    const int32_t outcome = spend_top(s, now, top, v);
    if (outcome != LARGE) return outcome;
    const double d = now.l.d;
    const bool sum = top.weight == (int32_t)top.size;
    __syncwarp();
    if (threadIdx.x == 0) {
        s.record[head.z].value = v - d * (double)top.size;
        add_to(s.x + head.x, d);
        s.job = {head.z, head.w,     rest.x, rest.y, rest.z,
                 rest.w, top.height, false,  -d,     sum ? -d : d};
    }
    const best below = run_shift(s);
    now.next = take_path<DEEP>(s, row, (int)head.y, -d * (double)top.weight, below);
    return LARGE;
}

/* A pick of column 0 or of a top, or none if take_small returned for a poll. Returns LARGE, or
 * the outcome. */
template <bool DEEP> __device__ static __forceinline__ int32_t take_other(state &s, position &now) {
    if (all_is_next(now.l, s, now.next.key)) return take_all(s, now);
    __syncwarp(); /* as in take_small */
    const uint32_t *row = unit_path(s.tree.path, s.tree.stride, now.next.unit);
    const uint4 head = __ldg((const uint4 *)row), rest = __ldg((const uint4 *)row + 1);
    if (head.z == CSREC_UNIT_NONE) return LARGE;
    if (DEEP) prefetch_large(s, head, rest);
    return is_few(head, rest) ? take_few<DEEP>(s, now, row, head, rest)
                              : take_large<DEEP>(s, now, row, head, rest);
}

template <bool DEEP, bool PAIR>
__device__ static void pursue(state &s, csrec_cuda_signal *signal, const volatile int64_t *stop,
                              volatile int64_t *progress) {
    position now = {
        {signal->energy_low, signal->energy_high, signal->total, 0.0, 0.0}, shift_all(s, 0.0), 0};
    int64_t polled = 0;
    int32_t outcome;
    for (;;) {
        outcome = PAIR ? take_pair(s, now) : take_small<DEEP>(s, now);
        if (outcome != LARGE) break;
        if (now.iterations - polled >= POLL) {
            polled = now.iterations;
            if (progress && threadIdx.x == 0) progress[blockIdx.x] = now.iterations;
            outcome = CSREC_INTERRUPTED;
            if (stop && *stop) break;
        }
        outcome = take_other<DEEP>(s, now);
        if (outcome != LARGE) break;
    }
    if (blockDim.x > WARP) {
        if (threadIdx.x == 0) s.quit = true;
        gather(s);
    }
    if (threadIdx.x != 0) return;
    signal->energy_low = now.l.energy_low;
    signal->energy_high = now.l.energy_high;
    signal->total = now.l.total;
    signal->x_all = s.x_all;
    signal->iterations = now.iterations;
    signal->outcome = outcome;
    if (progress) progress[blockIdx.x] = now.iterations;
}

template <bool DEEP, int THREADS, int BLOCKS>
__global__ static void __launch_bounds__(THREADS, BLOCKS)
    pursuits(const csrec_cuda_tree *trees, csrec_cuda_signal *signals, const volatile int64_t *stop,
             volatile int64_t *progress) {
    constexpr bool PAIR = !DEEP && THREADS > WARP;
    __shared__ state s;
    csrec_cuda_signal *signal = signals + blockIdx.x;
    for (int n = threadIdx.x; n < SIZES; n += blockDim.x)
        s.size[n] =
            n ? make_double2(1.0 / sqrt((double)n), 1.0 / (double)n) : make_double2(0.0, 0.0);
    if (threadIdx.x == 0) {
        s.tree = trees[signal->tree];
        s.value = signal->value;
        s.record = signal->record;
        s.x = signal->x;
        s.unit = signal->unit;
        s.least = signal->min_coefficient;
        s.keep = signal->keep;
        s.all_scale = 1.0 / sqrt((double)s.tree.n);
        s.x_all = 0.0;
        s.quit = false;
        s.paired = PAIR;
        s.goal_low = signal->goal_low;
        s.goal_high = signal->goal_high;
        s.limit = signal->limit;
    }
    __syncthreads();
    if (threadIdx.x < WARP)
        pursue<DEEP, PAIR>(s, signal, stop, progress);
    else
        help(s);
}

/* Warps of 64 registers that fit on a multiprocessor, and of a signal at most. */
enum { RESIDENT = 32, WARPS_MAX = 16 };

/* All signals resident, warps a power of two. */
static int choose_warps(int64_t count, int multiprocessors) {
    int warps = WARPS_MAX;
    while (warps > 1 && count > (int64_t)multiprocessors * (RESIDENT / warps)) warps /= 2;
    return warps;
}

template <bool DEEP>
static void launch(const csrec_cuda_tree *trees, csrec_cuda_signal *signals, int64_t count,
                   int warps, const volatile int64_t *stop, volatile int64_t *progress,
                   void *stream) {
    dim3 grid((unsigned)count), block((unsigned)(warps * WARP));
    size_t shared = (size_t)(warps * WARP) * sizeof(parts);
    if (warps > 1)
        pursuits<DEEP, WARPS_MAX * WARP, RESIDENT / WARPS_MAX>
            <<<grid, block, shared, (cudaStream_t)stream>>>(trees, signals, stop, progress);
    else
        pursuits<DEEP, WARP, RESIDENT>
            <<<grid, block, shared, (cudaStream_t)stream>>>(trees, signals, stop, progress);
}

csrec_status csrec_cuda_pursue(const csrec_cuda_tree *trees, csrec_cuda_signal *signals,
                               int64_t count, int warps, int stride, const volatile int64_t *stop,
                               volatile int64_t *progress, void *stream, csrec_error *error) {
    if (count < 1) return CSREC_OK;
    csrec_cuda_size size;
    CSREC_TRY(csrec_cuda_measure(&size, error));
    if (warps < 1 || warps > WARPS_MAX) warps = choose_warps(count, size.multiprocessors);
    if (stride > WARP)
        launch<true>(trees, signals, count, warps, stop, progress, stream);
    else
        launch<false>(trees, signals, count, warps, stop, progress, stream);
    return csrec_cuda_launched("pursuits", error);
}
