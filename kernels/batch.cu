/* batch.cu - many eager pursuits at once, one signal a block of threads.
 *
 * The readable counterpart is src/haar/eager.c; the tree, its buckets and tops are described in
 * tree.h. A pick inside a bucket is the work of one warp, one item a lane:
 *
 *     load     the unit's path, then the bucket's items and the records of the tops above, a lane
 *              each: two trips to memory, the only ones
 *     step     d = v / size, items of the bucket move by their weights
 *     maxima   of the bucket by a reduction; each top above has stored the largest key of its other
 *              part, so the next pick is the maximum over the path, and what the tops must remember
 *              is a running maximum from the bucket up to the root
 *
 * A pick above the buckets moves whole ranges of tops and buckets: all warps of the block join,
 * then maxima climb from the lowest tops to the highest. Keys, steps and sums are those of
 * src/haar/pursuit.h, so picks are equal to the last bit.
 */
#include "kernels/batch_path.cuh"
#include "kernels/batch_shift.cuh"

/* Where the pursuit is. */
struct position {
    ledger l;
    best next;
    int64_t iterations;
};

/* Loads of the tree that must not wait for what comes after them. */
__device__ static inline uint4 load_head(const uint32_t *row) {
    uint4 head;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(head.x), "=r"(head.y), "=r"(head.z), "=r"(head.w)
                 : "l"(__cvta_generic_to_global(row)));
    return head;
}

__device__ static inline uint32_t load_entry(const uint32_t *row, int stride) {
    uint32_t entry = 0;
    if ((int)threadIdx.x < stride)
        asm volatile("ld.global.nc.u32 %0, [%1];"
                     : "=r"(entry)
                     : "l"(__cvta_generic_to_global(row + threadIdx.x)));
    return entry;
}

enum { LARGE = -1 }; /* no outcome: a pick above the buckets, or a poll */

/* Picks as long as they lie in buckets. Returns LARGE, or the outcome. */
template <bool DEEP> __device__ static __forceinline__ int32_t take_small(state &s, position &now) {
    const int lane = threadIdx.x;
    ledger l = now.l;
    best next = now.next;
    uint32_t iterations = 0; /* at most POLL here */
    int32_t outcome;
    const uint32_t *row = unit_path(s, next.unit);
    const int stride = s.tree.stride;
    uint4 head = load_head(row);
    uint32_t entry = DEEP ? 0 : load_entry(row, stride);
    for (;; iterations++) {
        __syncwarp(); /* what other lanes wrote for the last pick is read for this one */
        const bool small = head.z == CSREC_UNIT_NONE, mine = small && lane < (int)head.w;
        double v = 0.0;
        uint32_t slot = 0;
        if (mine) {
            v = s.value[head.x + lane];
            slot = __ldg(s.tree.slot + head.x + lane);
        }
        path p = load_path(s, entry, !DEEP && small && lane >= HEAD && lane - HEAD < (int)head.y);
        outcome = CSREC_STALLED;
        if (settle_stalls(l, s)) break;
        outcome = CSREC_CONVERGED;
        if (reached(l, s)) break;
        outcome = CSREC_ATOM_LIMIT;
        if (now.iterations + iterations >= s.limit) break;
        outcome = LARGE;
        if (!small || iterations == POLL || key_of(l.total, s.all_scale, 63) >= next.key) break;
        const double scale = s.size[slot_size(slot)].x;
        const int64_t key = slot ? key_of(v, scale, slot_level(slot)) : 0;
        const int at = __ffs((int)__ballot_sync(ALL_LANES, key == next.key)) - 1;
        const double pv = __shfl_sync(ALL_LANES, v, at);
        const uint32_t pick = __shfl_sync(ALL_LANES, slot, at);
        const double size = (double)slot_size(pick);
        const double2 factors = s.size[slot_size(pick)];
        outcome = CSREC_SMALL;
        if (fabs(pv) * factors.x * s.unit < s.least) break;
        outcome = CSREC_STALLED;
        if (!spend(l, pv, size, factors.y)) break;
        const double d = l.d, change = -d * slot_weight(pick);
        l.total += change;
        /* What this item moves by: itself size, inside by its weight, above by the change. */
        const bool inside = lane > at && lane <= (int)slot_last(pick);
        const bool above = lane < at && slot && (int)slot_last(slot) >= at;
        const bool after = slot_left(pick) && lane >= (int)slot_mid(pick);
        const bool minus = slot_left(slot) && at >= (int)slot_mid(slot);
        double by = (after ? d : -d) * slot_weight(slot);
        by = inside ? by : above ? (minus ? -change : change) : lane == at ? -d * size : 0.0;
        v += by;
        best below = {largest_key(slot ? key_of(v, scale, slot_level(slot)) : 0), next.unit};
        const uint32_t item = head.x + lane;
        if (DEEP) {
            if (by != 0.0) s.value[item] = v;
            if (lane == at) add_to(s.x + item, d);
            next = change_parts(s, row, (int)head.y, change, below);
            row = unit_path(s, next.unit);
            head = load_head(row);
        } else {
            const bool deep = head.y > 0; /* a branch, which keeps the loads before it */
            best own;
            next = change_path(p, change, below, own);
            /* The next path is on its way while this one's values are written. */
            row = unit_path(s, next.unit);
            head = load_head(row);
            entry = load_entry(row, stride);
            if (by != 0.0) s.value[item] = v;
            if (lane == at) add_to(s.x + item, d);
            if (deep) remember_path(s, p, below, own);
        }
    }
    now.l = l;
    now.next = next;
    now.iterations += iterations;
    return outcome;
}

/* A pick of column 0. */
template <int FAN> __device__ static __forceinline__ int32_t take_all(state &s, position &now) {
    ledger &l = now.l;
    const double size = (double)s.tree.n;
    if (fabs(l.total) * s.all_scale * s.unit < s.least) return CSREC_SMALL;
    if (!spend(l, l.total, size, 1.0 / size)) return CSREC_STALLED;
    if (threadIdx.x == 0) s.x_all += l.d;
    l.total -= l.d * size;
    now.iterations++;
    now.next = shift_all<FAN>(s, -l.d);
    return LARGE;
}

/* On its way for run_shift: buckets, and values of the first of them. */
__device__ static __forceinline__ void prefetch_shift(const state &s, const uint4 &head,
                                                      const uint4 &rest) {
    const int lane = threadIdx.x;
    if (rest.y + lane < rest.w) prefetch(s.tree.bucket + rest.y + lane);
    const uint32_t ahead = head.x + 16 * lane;
    if (rest.w - rest.y <= 16 && ahead < (uint32_t)s.tree.items) {
        prefetch(s.value + ahead);
        prefetch(s.tree.slot + ahead);
    }
}

/* A pick of column 0 or of a top, or none: one that take_small left for a poll. Returns LARGE, or
 * the outcome. */
template <bool DEEP, int FAN>
__device__ static __noinline__ int32_t take_large(state &s, position &now) {
    ledger &l = now.l;
    if (key_of(l.total, s.all_scale, 63) >= now.next.key) return take_all<FAN>(s, now);
    __syncwarp(); /* as in take_small */
    const uint32_t *row = unit_path(s, now.next.unit);
    const uint4 head = __ldg((const uint4 *)row), rest = __ldg((const uint4 *)row + 1);
    if (head.z == CSREC_UNIT_NONE) return LARGE;
    const int lane = threadIdx.x, at = lane - HEAD;
    path p;
    if (!DEEP) {
        const uint32_t entry = load_entry(row, s.tree.stride);
        p = load_path(s, entry, at >= 0 && at < (int)head.y);
    }
    prefetch_shift(s, head, rest);
    const csrec_cuda_top top = s.tree.top[head.z];
    const double v = s.record[head.z].value, size = (double)top.size;
    if (fabs(v) * top.scale * s.unit < s.least) return CSREC_SMALL;
    if (!spend(l, v, size, 1.0 / size)) return CSREC_STALLED;
    const double d = l.d, change = -d * (double)top.weight;
    const bool sum = top.weight == (int32_t)top.size;
    l.total += change;
    now.iterations++;
    __syncwarp();
    if (threadIdx.x == 0) {
        s.record[head.z].value = v - d * size;
        add_to(s.x + head.x, d);
        s.job = {head.z, head.w,     rest.x, rest.y, rest.z,
                 rest.w, top.height, false,  -d,     sum ? -d : d};
    }
    best below = run_shift<FAN>(s);
    if (DEEP) {
        now.next = change_parts(s, row, (int)head.y, change, below);
    } else {
        best own;
        now.next = change_path(p, change, below, own);
        remember_path(s, p, below, own);
    }
    return LARGE;
}

template <bool DEEP, int FAN>
__device__ static void pursue(state &s, csrec_cuda_signal *signal, const volatile int64_t *stop,
                              volatile int64_t *progress) {
    position now = {{signal->energy_low, signal->energy_high, signal->total, 0.0, 0.0},
                    shift_all<FAN>(s, 0.0),
                    0};
    int64_t polled = 0;
    int32_t outcome;
    for (;;) {
        outcome = take_small<DEEP>(s, now);
        if (outcome != LARGE) break;
        if (now.iterations - polled >= POLL) {
            polled = now.iterations;
            if (progress && threadIdx.x == 0) progress[blockIdx.x] = now.iterations;
            outcome = CSREC_INTERRUPTED;
            if (stop && *stop) break;
        }
        outcome = take_large<DEEP, FAN>(s, now);
        if (outcome != LARGE) break;
    }
    if (blockDim.x > WARP) {
        if (threadIdx.x == 0) s.quit = true;
        __syncthreads();
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

template <bool DEEP, int FAN, int THREADS, int BLOCKS>
__global__ static void __launch_bounds__(THREADS, BLOCKS)
    pursuits(const csrec_cuda_tree *trees, csrec_cuda_signal *signals, const volatile int64_t *stop,
             volatile int64_t *progress) {
    __shared__ state s;
    csrec_cuda_signal *signal = signals + blockIdx.x;
    for (int n = threadIdx.x; n < SIZES; n += blockDim.x)
        s.size[n] = make_double2(1.0 / sqrt((double)n), 1.0 / (double)n);
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
        s.goal_low = signal->goal_low;
        s.goal_high = signal->goal_high;
        s.limit = signal->limit;
    }
    __syncthreads();
    if (threadIdx.x < WARP)
        pursue<DEEP, FAN>(s, signal, stop, progress);
    else
        help<FAN>(s);
}

/* With all their registers, 16 warps fit on a multiprocessor; with half of them, twice as many. */
enum { FEW = 16, WARPS_MAX = 8 };

/* All signals resident, warps a power of two. */
static int choose_warps(int64_t count, int multiprocessors) {
    int warps = WARPS_MAX;
    while (warps > 1 && count > (int64_t)multiprocessors * (FEW / warps)) warps /= 2;
    return warps;
}

template <bool DEEP>
static void launch(const csrec_cuda_tree *trees, csrec_cuda_signal *signals, int64_t count,
                   int warps, bool few, const volatile int64_t *stop, volatile int64_t *progress,
                   void *stream) {
    dim3 grid((unsigned)count), block((unsigned)(warps * WARP));
    size_t shared = (size_t)(warps * WARP) * sizeof(parts);
    if (few)
        pursuits<DEEP, 8, WARPS_MAX * WARP, FEW / WARPS_MAX>
            <<<grid, block, shared, (cudaStream_t)stream>>>(trees, signals, stop, progress);
    else
        pursuits<DEEP, 4, WARP, 2 * FEW>
            <<<grid, block, shared, (cudaStream_t)stream>>>(trees, signals, stop, progress);
}

csrec_status csrec_cuda_pursue(const csrec_cuda_tree *trees, csrec_cuda_signal *signals,
                               int64_t count, int warps, int stride, const volatile int64_t *stop,
                               volatile int64_t *progress, void *stream, csrec_error *error) {
    if (count < 1) return CSREC_OK;
    csrec_cuda_size size;
    csrec_status status = csrec_cuda_measure(&size, error);
    if (status) return status;
    if (warps < 1 || warps > WARPS_MAX) warps = choose_warps(count, size.multiprocessors);
    bool few = warps > 1 || count <= (int64_t)FEW * size.multiprocessors;
    if (stride > WARP)
        launch<true>(trees, signals, count, warps, few, stop, progress, stream);
    else
        launch<false>(trees, signals, count, warps, few, stop, progress, stream);
    return csrec_cuda_launched("pursuits", error);
}
