/* SPDX-License-Identifier: BSD-3-Clause */
/* transform_pass.cuh - one pass of the transform: a block resolves a tile, writes its columns,
 * finds the best of them, and hands on the nodes that extend beyond the tile.
 *
 * Two-sided columns have fixed places; one-sided columns are packed, so a tile needs the number in
 * the tiles before it. It writes the two-sided ones before it reads that number. There is no branch
 * between the loads, the arithmetic and the stores of a gap, so that they overlap those of the
 * next: the pass is bound by latency more than by bandwidth. */
#pragma once

#include "kernels/haar/transform_tile.cuh"

extern "C" {
#include "haar/pursuit.h"
}

/* Columns and handed-on gaps counted so far, in one word: 34 and 28 bits; the top two bits say
 * whether they are of one tile or of all tiles up to it. */
constexpr int GAPS_SHIFT = 34;
constexpr uint64_t ONE_TILE = uint64_t(1) << 62, ALL_TILES = uint64_t(2) << 62;
constexpr uint64_t COUNTS = ONE_TILE - 1, COLUMNS = (uint64_t(1) << GAPS_SHIFT) - 1;

/* Counts before this tile, from the tiles before it, 32 at a time, back to one with an inclusive
 * total (Merrill and Garland 2016). Tiles are started in order, so those before this one are
 * already running. For one warp. */
static __device__ uint64_t look_back(const volatile uint64_t *state, int64_t tile) {
    uint64_t before = 0;
    for (int64_t at = tile - 1 - (int)(threadIdx.x % 32);; at -= 32) {
        uint64_t seen = at < 0 ? ALL_TILES : state[at];
        unsigned whole, missing;
        for (;;) { /* lanes after the first inclusive total are ignored */
            whole = __ballot_sync(ALL, (seen & ALL_TILES) != 0);
            missing = __ballot_sync(ALL, !seen);
            if (!(missing & (whole ? (whole & -whole) - 1 : ALL))) break;
            __nanosleep(100);
            if (!seen) seen = state[at];
        }
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

struct product {
    uint64_t column;
    double value;
    bool there;
};

/* code: the level, or COLUMN_0. */
static __device__ void compare(const product &p, int code, csrec_cuda_best &best) {
    if (p.there) improve(best, csrec_pursuit_key(p.value, 1.0, code), p.column);
}

static __device__ unsigned upper_half(double value) {
    return (unsigned)__double2hiint(value) & 0x7fffffff;
}

/* Predicated in PTX, as the compiler would emit a branch: then no work on the next product could
 * begin before these stores. */
static __device__ void store_if(bool there, uint64_t *column, uint64_t c, double *value, double v) {
#ifdef __CUDACC__
    asm volatile("{\n\t.reg .pred there;\n\t"
                 "setp.ne.u32 there, %4, 0;\n\t"
                 "@there st.global.u64 [%0], %1;\n\t"
                 "@there st.global.f64 [%2], %3;\n\t}" ::"l"(column),
                 "l"(c), "l"(value), "d"(v), "r"((unsigned)there));
#else
    if (there) *column = c, *value = v;
#endif
}

/* Destination of a warp's products, starting with the first. */
struct product_list {
    uint64_t *column;
    double *value;
    uint32_t *count;
};

/* The same pointer, computed once and kept in a register, not recomputed at each use. */
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
    store_if(p.there, list.column + at, p.column, list.value + at, p.value);
    if (COUNTED && p.there) list.count[at] = count;
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

/* The best of the block's threads, to thread 0. */
static __device__ csrec_cuda_best best_of_block(tile_memory &tile, csrec_cuda_best best) {
    best = best_of_warp(best);
    __syncthreads();
    if (threadIdx.x % 32 == 0) tile.best[threadIdx.x / 32] = best;
    __syncthreads();
    for (int w = 0; w < WARPS && threadIdx.x == 0; w++)
        improve(best, tile.best[w].key, tile.best[w].column);
    return best;
}

/* The tile's data for the functions below. */
template <bool LEAVES> struct tile_view {
    const pass_input &in;
    const pass_output &out;
    tile_memory &tile;
    const uint32_t *position; /* samples before an item, where items are gaps handed on */
    const uint64_t *rows;     /* of this tile */
    uint64_t M;
    int64_t base;

    __device__ uint32_t size(int first, int end) const {
        return LEAVES ? (uint32_t)(end - first) : position[end] - position[first];
    }
    __device__ double sum_before(int k) const { return tile.prefix[padded(k)]; }
    __device__ double scale(uint32_t size) const {
        return LEAVES || size <= TILE ? __ldg(in.scale + size) : 1.0 / sqrt((double)size);
    }
};

/* A gap, its node and the prefix sums at the node's ends and its middle. */
template <bool LEAVES> struct gap_view {
    unsigned node;
    int level;
    uint64_t row; /* | M */
    uint32_t size;
    double before, middle, after, scale;

    __device__ gap_view() {}
    __device__ gap_view(const tile_view<LEAVES> &view, const uint64_t *rows, int own, int i) {
        const int k = own + 32 * i;
        node = view.tile.node[k];
        level = level_at(view.tile, k);
        row = (level ? read<LEAVES>(rows + 32 * i) : 0) | view.M;
        const int first = node_first(node), end = node_end(node);
        before = view.sum_before(first);
        middle = view.sum_before(k + 1);
        after = view.sum_before(end);
        size = view.size(first, end);
        scale = view.scale(size);
    }
    /* The two-sided column: 0 if absent. */
    __device__ product both() const {
        return {row >> level, ((middle - before) - (after - middle)) * scale, node < NO_NODE};
    }
    __device__ double edge_value() const { return (after - before) * scale; }
};

/* The one-sided column next to a node, whose value is known up to its sign, and that of the single
 * sample left of a gap of the leaves. */
static __device__ product edge_of(unsigned node, uint64_t row, double value) {
    return make_edge(row, node_parent(node), value, (node & EDGE) != 0);
}
template <bool LEAVES>
static __device__ product single_of(const tile_view<LEAVES> &view, int k, int level, uint64_t row,
                                    int *lower) {
    *lower = min(level_at(view.tile, k - 1), level);
    return make_edge(row, *lower, view.sum_before(k + 1) - view.sum_before(k), has_edge(*lower, 0));
}

/* Writes the products of this thread's gaps: the two-sided in their places, this warp's one-sided
 * packed from slot on. Returns the upper half of the largest |value|. */
template <bool LEAVES, bool TWO_SIDED, bool ONE_SIDED, bool COUNTED>
static __device__ unsigned deliver(const tile_view<LEAVES> &view, int64_t slot) {
    constexpr int batch = LEAVES ? 1 : 4; /* gaps whose loads are in flight at a time */
    const int own = threadIdx.x / 32 * WARP_GAPS + threadIdx.x % 32;
    const product_list two_sided = from(view.out, LEAVES ? view.base + own : 0);
    const product_list one_sided = from(view.out, slot);
    const uint64_t *rows = kept(view.rows + own);
    unsigned length = 0, upper = 0;
#pragma unroll 1
    for (int i = 0; i < GAPS; i += batch) {
        gap_view<LEAVES> gap[batch];
#pragma unroll
        for (int b = 0; b < batch; b++) gap[b] = gap_view<LEAVES>(view, rows, own, i + b);
#pragma unroll
        for (int b = 0; b < batch; b++) {
            const int k = own + 32 * (i + b);
            if (TWO_SIDED) {
                const product both = gap[b].both();
                write<COUNTED>(two_sided, LEAVES ? 32 * (i + b) : view.position[k + 1] - 1, both,
                               gap[b].size);
                upper = max(upper, upper_half(both.value));
            }
            if (!ONE_SIDED) continue;
            const product edge = edge_of(gap[b].node, gap[b].row, gap[b].edge_value());
            length = write_packed<COUNTED>(one_sided, length, edge, gap[b].size);
            upper = max(upper, edge.there ? upper_half(edge.value) : 0);
            if (!LEAVES) continue;
            int lower;
            const product single = single_of(view, k, gap[b].level, gap[b].row, &lower);
            length = write_packed<COUNTED>(one_sided, length, single, 1);
            upper = max(upper, single.there ? upper_half(single.value) : 0);
        }
    }
    return upper;
}

/* Hands on this warp's open gaps, from slot on; an open gap in the only tile is column 0. */
template <bool LEAVES, bool COUNTED>
static __device__ void hand_on(const tile_view<LEAVES> &view, int64_t n, int64_t slot, bool first,
                               bool only, csrec_cuda_best &best) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, opened = view.tile.opened[warp];
    const pass_output &out = view.out;
    for (int at = lane; at < opened; at += 32) {
        const int k = view.tile.list[warp][at];
        const double sum = view.sum_before(k + 1);
        if (only) {
            const product p = {0, sum * (1.0 / sqrt((double)n)), true};
            write<COUNTED>(from(out, n - 1), 0, p, (uint32_t)n);
            compare(p, COLUMN_0, best);
            continue;
        }
        const uint64_t sample = LEAVES ? (uint64_t)(view.base + k) : view.position[k + 1] - 1;
        out.rows[slot + at] = read<LEAVES>(view.rows + k);
        out.place[slot + at] =
            sample << 8 | (first && at == 0 ? 128u : 0u) | (uint64_t)level_at(view.tile, k);
        out.sum[slot + at] = sum;
    }
}

/* This tile's counts in the form of a state. */
static __device__ uint64_t counts_of(unsigned arrived, bool only) {
    return (arrived & 0xffff) | (only ? 0 : (uint64_t)(arrived >> 16 & 0xfff) << GAPS_SHIFT);
}

/* Counts of this warp; the last warp publishes those of the tile. */
static __device__ void count_columns(tile_memory &tile, uint64_t *state, bool only, int columns,
                                     int opened) {
    const int warp = threadIdx.x / 32, listed = __reduce_add_sync(ALL, columns);
    if (threadIdx.x % 32 > 0) return;
    tile.listed[warp] = listed;
    tile.opened[warp] = opened;
    const unsigned own = 1u << 28 | (unsigned)opened << 16 | (unsigned)listed;
    const unsigned arrived = atomicAdd(&tile.arrived, own) + own;
    if (arrived >> 28 == WARPS) *(volatile uint64_t *)state = ONE_TILE | counts_of(arrived, only);
}

/* Finds the tile's nodes, counts its columns and sums up r. */
template <bool LEAVES, bool ONE_SIDED>
static __device__ void resolve(const pass_input &in, const pass_output &out, tile_place place,
                               tile_memory &tile, uint32_t *position) {
    const int64_t base = place.base();
    int columns = 0;
    if (place.count - base > TILE)
        load<LEAVES, true>(in, base, TILE, tile, position);
    else
        load<LEAVES, false>(in, base, (int)(place.count - base), tile, position);
    __syncwarp();
    const double before = scan(tile);
    make_table(tile);
    __syncwarp();
    const int listed = list_outside(tile, look_inside<ONE_SIDED>(tile, &columns));
    __syncthreads();
    const int opened = look_outside<ONE_SIDED>(tile, listed, place.index == 0, &columns);
    if (LEAVES && ONE_SIDED) columns += count_single(tile);
    count_columns(tile, out.state + place.index, place.tiles() == 1, columns, opened);
    sum_up(tile, before);
}

/* The work that needs the counts before this tile. columns: one-sided of the passes before. Returns
 * as deliver. */
template <bool LEAVES, bool ONE_SIDED, bool COUNTED>
static __device__ unsigned finish(const tile_view<LEAVES> &view, int64_t n, int64_t columns,
                                  bool only, csrec_cuda_best &best) {
    const tile_memory &tile = view.tile;
    const int warp = threadIdx.x / 32;
    int64_t slot = n + columns + (int64_t)(tile.offset & COLUMNS);
    int64_t handed = (int64_t)(tile.offset >> GAPS_SHIFT);
    int listed = 0, opened = 0;
#pragma unroll
    for (int w = 0; w < WARPS - 1; w++) {
        listed += w < warp ? tile.listed[w] : 0;
        opened += w < warp ? tile.opened[w] : 0;
    }
    unsigned upper = 0;
    if (ONE_SIDED) upper = deliver<LEAVES, false, true, COUNTED>(view, slot + listed);
    hand_on<LEAVES, COUNTED>(view, n, handed + opened, opened == 0, only, best);
    return upper;
}

/* `best` improved by the products of this thread's gaps. */
template <bool LEAVES, bool ONE_SIDED>
static __device__ void compare_all(const tile_view<LEAVES> &view, csrec_cuda_best &best) {
    const int own = threadIdx.x / 32 * WARP_GAPS + threadIdx.x % 32;
#pragma unroll 1
    for (int i = 0; i < GAPS; i++) {
        const gap_view<LEAVES> gap(view, view.rows + own, own, i);
        compare(gap.both(), gap.level, best);
        if (!ONE_SIDED) continue;
        const product edge = edge_of(gap.node, gap.row, gap.edge_value());
        compare(edge, node_parent(gap.node) - 1, best);
        if (!LEAVES) continue;
        int lower;
        const product single = single_of(view, own + 32 * i, gap.level, gap.row, &lower);
        compare(single, lower - 1, best);
    }
}

/* Most tiles have no product close to the best seen so far; products are compared only in the
 * others. Returns whether they were compared. */
template <bool LEAVES, bool ONE_SIDED>
static __device__ bool find_best(const tile_view<LEAVES> &view, unsigned upper,
                                 csrec_cuda_best &best) {
    tile_memory &tile = view.tile;
    const int warp = threadIdx.x / 32;
    const unsigned own = __reduce_max_sync(ALL, upper);
    if (threadIdx.x % 32 == 0) tile.upper[warp] = own;
    __syncthreads();
    unsigned most = 0;
    for (int w = 0; w < WARPS; w++) most = max(most, tile.upper[w]);
    if (most < tile.threshold) return false;
    if (own == most) compare_all<LEAVES, ONE_SIDED>(view, best);
    if (threadIdx.x == 0) atomicMax(view.out.threshold, most);
    return true;
}

/* A tile, by all threads of a block. columns: one-sided of the passes before. Returns as find_best.
 * Two-sided products are written first: meanwhile the tiles before this one finish counting. */
template <bool LEAVES, bool ONE_SIDED, bool COUNTED>
static __device__ bool run_tile(const pass_input &in, const pass_output &out, tile_place place,
                                uint64_t M, int64_t n, int64_t columns, tile_memory &tile,
                                uint32_t *position, csrec_cuda_best &best) {
    const tile_view<LEAVES> view = {in, out,         tile, position, in.rows + place.base(),
                                    M,  place.base()};
    const bool only = place.tiles() == 1;
    resolve<LEAVES, ONE_SIDED>(in, out, place, tile, position);
    __syncthreads();
    unsigned upper = deliver<LEAVES, true, false, COUNTED>(view, 0);
    if (threadIdx.x >= THREADS - 32) {
        const unsigned threshold = *(volatile unsigned *)out.threshold;
        const uint64_t before = look_back(out.state, place.index);
        if (threadIdx.x == THREADS - 1) {
            const uint64_t counts = before + counts_of(tile.arrived, only);
            tile.threshold = threshold;
            tile.offset = before;
            *(volatile uint64_t *)(out.state + place.index) = ALL_TILES | counts;
            if (place.index == place.tiles() - 1) *out.counts = counts + columns;
        }
    }
    __syncthreads();
    upper = max(upper, finish<LEAVES, ONE_SIDED, COUNTED>(view, n, columns, only, best));
    return find_best<LEAVES, ONE_SIDED>(view, upper, best);
}
