/* transform_pass.cuh - one pass of the transform: a block resolves a tile, writes its columns,
 * finds the best of them, and hands on what reaches out of the tile.
 *
 * Columns of the two-sided kind have their places; the one-sided are packed, so a tile must know
 * how many the tiles before it have. One warp of the block finds that out while the others search.
 */
#ifndef CSREC_KERNELS_TRANSFORM_PASS_CUH
#define CSREC_KERNELS_TRANSFORM_PASS_CUH

#include "kernels/transform_tile.cuh"

/* Columns and handed-on gaps counted so far, in one word: 34 and 28 bits; the top two bits say
 * whether they are of one tile or of all tiles up to it. */
constexpr int GAPS_SHIFT = 34;
constexpr uint64_t ONE_TILE = uint64_t(1) << 62, ALL_TILES = uint64_t(2) << 62;
constexpr uint64_t COUNTS = ONE_TILE - 1;

/* Counts before this tile, from the tiles before it, 32 at a time, back to one that knows all
 * (Merrill and Garland 2016). Tiles are started in order, so those before this one are at work.
 * For one warp. */
static __device__ uint64_t look_back(const volatile uint64_t *state, int64_t tile) {
    uint64_t before = 0;
    for (int64_t at = tile - 1 - (int)(threadIdx.x % 32);; at -= 32) {
        uint64_t seen = at < 0 ? ALL_TILES : state[at];
        while (__any_sync(ALL, !seen)) {
            __nanosleep(100);
            if (!seen) seen = state[at];
        }
        const unsigned whole = __ballot_sync(ALL, (seen & ALL_TILES) != 0);
        const int last = whole ? __ffs((int)whole) - 1 : 31;
        uint64_t part = (int)(threadIdx.x % 32) <= last ? seen & COUNTS : 0;
        for (int d = 16; d; d /= 2) part += __shfl_xor_sync(ALL, part, d);
        before += part;
        if (whole) return before;
    }
}

static __device__ void improve(csrec_cuda_best &best, int64_t key, uint64_t column) {
    if (key > best.key || (key == best.key && column < best.column)) best = {key, column};
}

/* A thread's best product, and what the warp has seen: most products are not worth a comparison. */
struct best_so_far {
    csrec_cuda_best best;
    unsigned threshold; /* upper half of a |value| */
};

struct product {
    uint64_t column;
    double value;
    bool there;
};

static __device__ unsigned upper_half(const product &p) {
    return p.there ? (unsigned)__double2hiint(p.value) & 0x7fffffff : 0;
}

/* code: the level, or COLUMN_0. */
static __device__ void compare(const product &p, int code, best_so_far &so_far) {
    if (p.there)
        improve(so_far.best, (__double_as_longlong(fabs(p.value)) & ~INT64_C(63)) | code, p.column);
}

/* Where a warp's products go, from the first of them on. */
struct product_list {
    uint64_t *column;
    double *value;
    uint32_t *count;
};

/* The same pointer, computed here and kept: not again at each use. */
template <typename T> static __device__ T *kept(T *pointer) {
#ifdef __CUDACC__
    asm volatile("" : "+l"(pointer));
#endif
    return pointer;
}

static __device__ product_list from(const pass_output &out, int64_t first) {
    return {kept(out.column + first), kept(out.value + first), out.count + first};
}

template <bool COUNTED>
static __device__ void write(const product_list &list, unsigned at, const product &p,
                             uint32_t count) {
    if (!p.there) return;
    list.column[at] = p.column;
    list.value[at] = p.value;
    if (COUNTED) list.count[at] = count;
}

/* Packs the products of a warp's lanes behind `length` others; returns the new length. */
template <bool COUNTED>
static __device__ unsigned write_packed(const product_list &list, unsigned length, const product &p,
                                        uint32_t count) {
    const unsigned lanes = __ballot_sync(ALL, p.there);
    write<COUNTED>(list, length + __popc(lanes & lanes_below()), p, count);
    return length + __popc(lanes);
}

/* The one-sided column of a block below one of level `parent`; row | M of a row in the block. */
static __device__ product make_edge(uint64_t row, int parent, double sum, bool there) {
    const uint64_t half = row >> (parent - 2 & 63);
    const int sign = (int)((unsigned)half << 31);
    return {half >> 1, __hiloint2double(__double2hiint(sum) ^ sign, __double2loint(sum)), there};
}

/* The best of a warp's lanes. */
static __device__ csrec_cuda_best best_of_warp(csrec_cuda_best best) {
    uint64_t key = (uint64_t)best.key, column = best.column;
    const unsigned upper = __reduce_max_sync(ALL, (unsigned)(key >> 32));
    if ((unsigned)(key >> 32) < upper) key = 0;
    const unsigned lower = __reduce_max_sync(ALL, (unsigned)key);
    if (key < ((uint64_t)upper << 32 | lower)) column = ~UINT64_C(0);
    const unsigned above = __reduce_min_sync(ALL, (unsigned)(column >> 32));
    if ((unsigned)(column >> 32) > above) column = ~UINT64_C(0);
    const unsigned below = __reduce_min_sync(ALL, (unsigned)column);
    return {(int64_t)((uint64_t)upper << 32 | lower), (uint64_t)above << 32 | below};
}

/* The best of the block's threads. */
static __device__ void reduce_best(tile_memory &tile, csrec_cuda_best best,
                                   const pass_output &out) {
    best = best_of_warp(best);
    if (threadIdx.x % 32 == 0 && threadIdx.x < WORKERS) tile.best[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < WARPS; w++) improve(best, tile.best[w].key, tile.best[w].column);
    out.best[blockIdx.x] = best;
    if (out.last)
        *out.threshold = 0;
    else
        atomicMax(out.threshold, (unsigned)(best.key >> 32));
}

/* This block's share of the pass before: states to be cleared, bests to be compared. */
static __device__ void inherit(const pass_input &in, csrec_cuda_best &best) {
    for (int64_t at = blockIdx.x + (int64_t)gridDim.x * threadIdx.x; at < in.tiles;
         at += (int64_t)gridDim.x * WORKERS) {
        in.state[at] = 0;
        improve(best, in.best[at].key, in.best[at].column);
    }
}

/* What the functions below know of the tile. */
template <bool LEAVES> struct tile_view {
    const pass_input &in;
    const pass_output &out;
    const tile_memory &tile;
    const uint32_t *position; /* samples before an item, where items are gaps handed on */
    const uint64_t *rows;     /* of this tile */
    int64_t base;

    __device__ uint32_t size(int first, int end) const {
        return LEAVES ? (uint32_t)(end - first) : position[end] - position[first];
    }
    __device__ double sum_before(int k) const { return tile.prefix[padded(k)]; }
    __device__ double scale(uint32_t size) const {
        return LEAVES || size <= TILE ? __ldg(in.scale + size) : 1.0 / sqrt((double)size);
    }
};

/* The columns of each closed node and, on the leaves, of single samples: the two-sided in their
 * places, this warp's one-sided from slot on. */
template <bool LEAVES, bool COUNTED>
static __device__ void deliver(const tile_view<LEAVES> &view, int64_t slot, int top,
                               best_so_far &so_far) {
    const tile_memory &tile = view.tile;
    const int own = threadIdx.x / 32 * WARP_GAPS + threadIdx.x % 32;
    const product_list two_sided = from(view.out, LEAVES ? view.base + own : 0);
    const product_list one_sided = from(view.out, slot);
    const uint64_t *rows = kept(view.rows + own);
    unsigned length = 0;
#pragma unroll
    for (int i = 0; i < GAPS; i++) {
        const int k = own + 32 * i, level = level_at(tile, k);
        const unsigned node = tile.node[k];
        const int first = node_first(node), end = node_end(node), parent = node_parent(node);
        const uint64_t row = (level ? __ldg(rows + 32 * i) : 0) | view.in.M;
        const double before = view.sum_before(first), middle = view.sum_before(k + 1),
                     after = view.sum_before(end);
        const uint32_t size = view.size(first, end);
        const double scale = view.scale(size);
        const product both = {row >> level, ((middle - before) - (after - middle)) * scale,
                              node < NO_NODE};
        const product edge =
            make_edge(row, parent, (after - before) * scale, has_edge(parent, level, top));
        product single = {0, 0.0, false};
        write<COUNTED>(two_sided, LEAVES ? 32 * i : view.position[k + 1] - 1, both, size);
        length = write_packed<COUNTED>(one_sided, length, edge, size);
        const int lower = LEAVES ? min(level_at(tile, k - 1), level) : 0;
        if (LEAVES) {
            single = make_edge(row, lower, middle - view.sum_before(k), has_edge(lower, 0, top));
            length = write_packed<COUNTED>(one_sided, length, single, 1);
        }
        const unsigned upper = max(max(upper_half(both), upper_half(edge)), upper_half(single));
        if (__any_sync(ALL, upper >= so_far.threshold)) {
            compare(both, level, so_far);
            compare(edge, parent - 1, so_far);
            compare(single, lower - 1, so_far);
            so_far.threshold = max(so_far.threshold, __reduce_max_sync(ALL, upper));
        }
    }
}

/* Hands on this warp's open gaps, from slot on; what is open in the only tile is column 0. */
template <bool LEAVES, bool COUNTED>
static __device__ void hand_on(const tile_view<LEAVES> &view, int64_t slot, bool first, bool only,
                               best_so_far &so_far) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, opened = view.tile.opened[warp];
    const pass_output &out = view.out;
    const double scale = only ? 1.0 / sqrt((double)view.in.n) : 0.0;
    for (int at = lane; at < opened; at += 32) {
        const int k = view.tile.list[warp][at];
        const double sum = view.sum_before(k + 1);
        if (only) {
            const product p = {0, sum * scale, true};
            write<COUNTED>(from(out, view.in.n - 1), 0, p, (uint32_t)view.in.n);
            compare(p, COLUMN_0, so_far);
            continue;
        }
        const uint64_t sample = LEAVES ? (uint64_t)(view.base + k) : view.position[k + 1] - 1;
        out.rows[slot + at] = view.rows[k];
        out.place[slot + at] =
            sample << 8 | (first && at == 0 ? 128u : 0u) | (uint64_t)level_at(view.tile, k);
        out.sum[slot + at] = sum;
    }
}

/* This tile's counts in the form of a state. */
static __device__ uint64_t counts_of(unsigned arrived, int64_t tiles) {
    return (arrived & 0xffff) | (tiles == 1 ? 0 : (uint64_t)(arrived >> 16 & 0xfff) << GAPS_SHIFT);
}

/* Counts of this warp; the last warp publishes those of the tile. */
static __device__ void count_columns(tile_memory &tile, const pass_output &out, int64_t tiles,
                                     int columns, int opened) {
    const int warp = threadIdx.x / 32, listed = __reduce_add_sync(ALL, columns);
    if (threadIdx.x % 32 > 0) return;
    tile.listed[warp] = listed;
    tile.opened[warp] = opened;
    const unsigned own = 1u << 28 | (unsigned)opened << 16 | (unsigned)listed;
    const unsigned arrived = atomicAdd(&tile.arrived, own) + own;
    if (arrived >> 28 == WARPS)
        *(volatile uint64_t *)(out.state + blockIdx.x) = ONE_TILE | counts_of(arrived, tiles);
}

/* What the workers do: resolve the tile. */
template <bool LEAVES>
static __device__ void resolve(const pass_input &in, const pass_output &out, int64_t count,
                               tile_memory &tile, uint32_t *position) {
    const int64_t base = (int64_t)blockIdx.x * TILE, tiles = (count + TILE - 1) / TILE;
    const int top = in.one_sided ? END : 0;
    int level[GAPS], columns = 0;
    if (count - base > TILE)
        load<LEAVES, true>(in, base, TILE, level, tile, position);
    else
        load<LEAVES, false>(in, base, (int)(count - base), level, tile, position);
    __syncwarp();
    const double before = scan(tile);
    make_table(tile);
    __syncwarp();
    const int listed = look_inside(tile, level, top, &columns);
    __barrier_sync_count(1, WORKERS);
    const int opened = look_outside(tile, listed, top, &columns);
    if (LEAVES && in.one_sided) columns += count_single(tile);
    count_columns(tile, out, tiles, columns, opened);
    sum_up(tile, before);
}

template <bool LEAVES, bool COUNTED>
static __global__ void __launch_bounds__(THREADS, 4)
    transform_tile(const pass_input in, const pass_output out) {
    __shared__ tile_memory tile;
    __shared__ uint32_t position[LEAVES ? 1 : TILE + 1];
    constexpr uint64_t columns_mask = (uint64_t(1) << GAPS_SHIFT) - 1;
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    if (!LEAVES) cudaGridDependencySynchronize();
#endif
    const int64_t count = LEAVES ? in.n : (int64_t)((*in.counts & COUNTS) >> GAPS_SHIFT);
    const int64_t base = (int64_t)blockIdx.x * TILE, tiles = (count + TILE - 1) / TILE;
    const int warp = threadIdx.x / 32;
    best_so_far so_far = {{0, ~UINT64_C(0)}, *(volatile unsigned *)out.threshold};
    if (!LEAVES && warp < WARPS) inherit(in, so_far.best);
    if (blockIdx.x >= tiles) { /* the last of the passes' counts stand for those to come */
        if (count == 0 && blockIdx.x == 0 && threadIdx.x == 0) *out.counts = *in.counts;
        reduce_best(tile, so_far.best, out);
        return;
    }
    if (warp < WARPS) {
        resolve<LEAVES>(in, out, count, tile, position);
    } else {
        const uint64_t before = look_back(out.state, blockIdx.x);
        if (threadIdx.x == WORKERS) tile.offset = before;
    }
    __syncthreads();

    if (threadIdx.x == WORKERS) {
        const uint64_t counts = tile.offset + counts_of(tile.arrived, tiles);
        *(volatile uint64_t *)(out.state + blockIdx.x) = ALL_TILES | counts;
        if (blockIdx.x == tiles - 1)
            *out.counts = counts + (LEAVES ? 0 : *in.counts & columns_mask);
    }
    if (warp < WARPS) {
        const tile_view<LEAVES> view = {in, out, tile, position, in.rows + base, base};
        int64_t slot = in.n + (int64_t)(tile.offset & columns_mask);
        int64_t handed = (int64_t)(tile.offset >> GAPS_SHIFT);
        if (!LEAVES) slot += (int64_t)(*in.counts & columns_mask);
        bool first = true;
        for (int w = 0; w < warp; w++) {
            slot += tile.listed[w];
            handed += tile.opened[w];
            first = first && tile.opened[w] == 0;
        }
        deliver<LEAVES, COUNTED>(view, slot, in.one_sided ? END : 0, so_far);
        hand_on<LEAVES, COUNTED>(view, handed, first, tiles == 1, so_far);
    }
    reduce_best(tile, so_far.best, out);
}

#endif
