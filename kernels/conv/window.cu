/* SPDX-License-Identifier: BSD-3-Clause */
/* window.cu - the product of multiply.cu where positions advance by one: the taps' inputs are then
 * adjacent, and a tile's inputs are loaded into shared memory once for all taps.
 *
 * A thread block: 64 (or 32, 16) rows by 8 lines of 32 positions, one line per warp, or by 16 lines
 * of 16 positions, two per warp, where those are fewer tiles. The inner
 * extent runs over chunks of 8 channels, in a chunk over the taps: one step is 8 channels of one
 * tap, a column of the window shifted by the tap. Several steps form a pipeline stage; three stages
 * are buffered, each with its weights, packed as fragments in this order, and the window of the
 * chunk that begins in it. Where few thread blocks would result, several have the same results,
 * and a part of the channels each (blockIdx.z); packed.cu adds their sums. */
#include "kernels/conv/window.cuh"

enum { WARPS = 8, THREADS = 32 * WARPS, STAGES = 3, BANK = 8, DEEP = CSREC_WINDOW_CHANNELS };

/* Index of the weight at an entry of the matrix of fragments. */
typedef struct packing {
    int64_t rows, row_step, channels, channel_step, per_row;
    int64_t taps, across, kernel_width, kernel[2], kernel_step[2];
    int64_t tiles, steps, padded, count;
    int pieces; /* of a weight */
} packing;

/* Weights as fragments: [group of tiles of rows][step][tile][big, small][lane][4], or big alone. */
__global__ void pack_window(packing k, const float *w, float *packed) {
    const int64_t at = csrec_cuda_thread();
    if (at >= k.count) return;
    const int q = (int)(at % 4), lane = (int)(at / 4 % 32);
    const int64_t tile = at / 128 % k.tiles, step = at / 128 / k.tiles % k.padded;
    const int64_t group = at / 128 / k.tiles / k.padded;
    const int64_t row = (group * k.tiles + tile) * 16 + lane / 4 + q % 2 * 8;
    const int64_t of_chunk = k.per_row > 1 ? 1 : k.taps;
    const int64_t channel = step / of_chunk * DEEP + lane % 4 + q / 2 * 4;
    const int64_t tap = k.per_row > 1 ? row % k.per_row : step % of_chunk;
    float value = 0.0f;
    if (row < k.rows && step < k.steps && channel < k.channels)
        value = w[row / k.per_row * k.row_step + channel * k.channel_step +
                  (k.kernel[0] + k.kernel_step[0] * (tap / k.across)) * k.kernel_width +
                  k.kernel[1] + k.kernel_step[1] * (tap % k.across)];
    uint32_t big, small;
    csrec_conv_split(value, &big, &small);
    float *to = packed + (at / 128) * 128 * k.pieces + lane * 4 + q;
    to[0] = __uint_as_float(big);
    if (k.pieces == 2) to[128] = __uint_as_float(small);
}

/* The place of the next step's inputs: tap by tap, then the next chunk's window. */
typedef struct walker {
    int i, j, chunk, offset;
} walker;

__device__ __forceinline__ void walk(const csrec_conv_window *v, int chunks, walker *w) {
    w->offset += v->advance[1];
    if (++w->j < v->taps[1]) return;
    w->j = 0;
    w->offset += v->advance[0] * v->width - v->advance[1] * v->taps[1];
    if (++w->i < v->taps[0]) return;
    w->i = 0;
    if (w->chunk + 1 < chunks) w->chunk++; /* else weights of zero, and any inputs */
    w->offset = w->chunk % STAGES * (DEEP * v->pitch) + v->start;
}

typedef struct tile {
    int64_t n;
    int line, column;
} tile;

__device__ __forceinline__ tile own_tile(const csrec_conv_window *v) {
    const unsigned across = v->tiles[1], down = v->tiles[0];
    return {(int64_t)(blockIdx.x / across / down),
            (int)(blockIdx.x / across % down) * v->tile.lines,
            (int)(blockIdx.x % across) * v->tile.across};
}

/* Where in a channel the entries of the tile's window are, the same for all channels. */
constexpr unsigned OUTSIDE = 1u << 31;

__device__ __forceinline__ void list_places(const csrec_conv_place *g, const csrec_conv_window *v,
                                            const tile *t, unsigned *places) {
    for (int k = threadIdx.x; k < v->pitch - BANK; k += THREADS) {
        const int down = g->step[0] * (t->line + k / v->width) + v->before[0];
        const int right = g->step[1] * (t->column + k % v->width) + v->before[1];
        const bool there = k < v->height * v->width && (unsigned)down < (unsigned)g->in[0] &&
                           (unsigned)right < (unsigned)g->in[1];
        places[k] = there ? (unsigned)(down * g->in[1] + right) : OUTSIDE;
    }
}

__device__ __forceinline__ int64_t channel_at(const csrec_conv_place *g, int channel) {
    const unsigned c = channel;
    return g->in_quads ? (int64_t)(c / 4) * g->in_plane + (c / 2 % 2) * g->in[1] + c % 2
                       : channel * g->in_plane;
}

/* A warp's channel of a window; zeros if the channel does not exist. Shared memory is read before
 * it is written, four times 32 entries at once. */
template <int N>
__device__ __forceinline__ void fetch_entries(const unsigned *places, bool channel,
                                              const float *from, float *to) {
    unsigned place[N];
#pragma unroll
    for (int i = 0; i < N; i++) place[i] = places[32 * i];
#pragma unroll
    for (int i = 0; i < N; i++)
        csrec_async_4(to + 32 * i, from + (place[i] & ~OUTSIDE), channel && place[i] < OUTSIDE);
}

__device__ __forceinline__ void fetch_window(int entries, const unsigned *places, bool channel,
                                             const float *from, float *to) {
    int k = threadIdx.x % 32;
#pragma unroll 1
    for (; k + 3 * 32 < entries; k += 4 * 32) fetch_entries<4>(places + k, channel, from, to + k);
#pragma unroll 1
    for (; k < entries; k += 32) fetch_entries<1>(places + k, channel, from, to + k);
}

/* Chunks and stages of a part, but for the last one's, and of all; entries of the results. */
typedef struct share {
    int chunks, stages, all_chunks, all_stages;
    int64_t results;
} share;

template <int MT, int GROUP, bool FAST>
__global__ void __launch_bounds__(THREADS, 2)
    multiply_windows(const __grid_constant__ csrec_conv_place g,
                     const __grid_constant__ csrec_conv_window v, share part, const float *packed,
                     const float *in, csrec_cuda_conv_finish finish, float *out) {
    enum { STEP = MT * (FAST ? 128 : 256), A = GROUP * STEP };
    extern __shared__ __align__(16) float shared[];
    float *a = shared, *b = shared + STAGES * A;
    unsigned *places = (unsigned *)(b + STAGES * DEEP * v.pitch);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int taps = v.taps[0] * v.taps[1];
    const tile t = own_tile(&v);
    const int first = blockIdx.z * part.chunks, begin = blockIdx.z * part.stages;
    const int chunks = min(part.chunks, part.all_chunks - first);
    const int stages = min(part.stages, part.all_stages - begin);
    in += t.n * g.in_picture;
    packed += ((int64_t)blockIdx.y * part.all_stages + begin) * A;
    int next = 0; /* next chunk to fetch */
    auto fetch = [&](int stage) {
        if (stage < stages) {
            float *to = a + stage % STAGES * A + 4 * threadIdx.x;
            const float *from = packed + (int64_t)stage * A + 4 * threadIdx.x;
#pragma unroll
            for (int k = 0; k < A; k += 4 * THREADS)
                if (A - k >= 4 * THREADS || k + 4 * (int)threadIdx.x < A)
                    csrec_async_16(to + k, from + k);
            if (next < chunks && next * taps < (stage + 1) * GROUP) {
                const int channel = (first + next) * DEEP + warp;
                const bool there = channel < g.channels;
                fetch_window(v.pitch - BANK, places, there,
                             in + (there ? channel_at(&g, channel) : 0),
                             b + (next % STAGES * DEEP + warp) * v.pitch);
                next++;
            }
        }
        csrec_async_commit();
    };
    float sum[MT][4][4] = {};
    walker w = {0, 0, 0, v.start};
    const int line = warp * 32 / v.tile.across; /* the warp's first; 16 positions on: */
    const int half = v.tile.across < 32 ? v.width : 16;
    const float *own = b + lane % 4 * v.pitch + line * v.width + lane / 4;
    list_places(&g, &v, &t, places);
    __syncthreads();
    for (int s = 0; s < STAGES - 1; s++) fetch(s);
    for (int stage = 0; stage < stages; stage++) {
        csrec_async_wait<STAGES - 2>();
        __syncthreads();
        fetch(stage + STAGES - 1);
        const uint4 *weights = (const uint4 *)(a + stage % STAGES * A) + lane;
#pragma unroll 1
        for (int k = 0; k < GROUP; k++) {
            const float *left = own + w.offset;
            if (FAST)
                csrec_conv_step_fast<MT>(weights + k * (STEP / 4), left, left + half, v.pitch, sum);
            else
                csrec_conv_step<MT>(weights + k * (STEP / 4), left, left + half, v.pitch, sum);
            walk(&v, chunks, &w);
        }
    }
    csrec_async_wait<0>();
    __syncthreads();
    const int down = t.line + line + lane / v.tile.across, right = t.column + lane % v.tile.across;
    const csrec_conv_position p = csrec_conv_locate(&g, t.n, down, right);
    const bool there = down < g.count[0] && right < g.count[1];
    out += blockIdx.z * part.results;
#pragma unroll
    for (int i = 0; i < MT; i++)
        csrec_conv_write_rows(&g, finish, (blockIdx.y * MT + i) * 16, sum[i], p.out, there,
                              shared + warp * CSREC_CONV_TURN, out);
}

static packing packing_for(const csrec_cuda_conv_sum *s, int64_t per_row, bool fast) {
    packing k = {};
    k.taps = csrec_conv_taps_of(s);
    k.across = s->axis[1].taps;
    k.rows = s->rows * per_row;
    k.row_step = s->row_step;
    k.channels = s->channels;
    k.channel_step = s->channel_step;
    k.per_row = per_row;
    k.kernel_width = s->kernel_width;
    for (int a = 0; a < 2; a++) {
        k.kernel[a] = s->axis[a].kernel;
        k.kernel_step[a] = s->axis[a].kernel_step;
    }
    const int64_t of_chunk = per_row > 1 ? 1 : k.taps, group = csrec_conv_group_for(of_chunk);
    k.steps = csrec_conv_chunks(s) * of_chunk;
    k.padded = csrec_conv_whole(k.steps, group) * group;
    k.tiles = csrec_conv_tiles_for(k.rows);
    k.count = csrec_conv_whole(k.rows, 16 * k.tiles) * k.tiles * k.padded * 128;
    k.pieces = fast ? 1 : 2;
    return k;
}

static int64_t shared_bytes(const csrec_cuda_conv_sum *s, csrec_conv_tile tile) {
    const int64_t group = csrec_conv_group_for(csrec_conv_taps_of(s));
    const int64_t weights = group * csrec_conv_tiles_for(s->rows) * 256;
    const int64_t pitch = csrec_conv_window_pitch(s, tile, BANK);
    const int64_t turn = WARPS * CSREC_CONV_TURN, all = STAGES * (weights + DEEP * pitch) + pitch;
    return (all > turn ? all : turn) * (int64_t)sizeof(float);
}

static const csrec_conv_tile wide = {WARPS, 32}, narrow = {2 * WARPS, 16};

static int64_t tiles_of(const csrec_cuda_conv_sum *s, csrec_conv_tile tile) {
    return csrec_conv_whole(s->axis[0].count, tile.lines) *
           csrec_conv_whole(s->axis[1].count, tile.across);
}

/* The sums of a position are the same in either. */
static csrec_conv_tile tile_for(const csrec_cuda_conv_sum *s) {
    return tiles_of(s, narrow) < tiles_of(s, wide) && shared_bytes(s, narrow) <= CSREC_WINDOW_MOST
               ? narrow
               : wide;
}

bool csrec_conv_window_fits(const csrec_cuda_conv_sum *s) {
    return shared_bytes(s, wide) <= CSREC_WINDOW_MOST &&
           (double)s->batch * (double)tiles_of(s, wide) < 0x1p31;
}

/* Padding of tiles and of channels is worth up to 2.25 times the work (measured on an H200). */
bool csrec_conv_windowed(const csrec_cuda_conv_sum *s) {
    if (!csrec_conv_side_by_side(s) || csrec_conv_taps_of(s) == 0 || s->channels == 0) return false;
    const csrec_conv_axis *a = s->axis;
    const double taps = (double)csrec_conv_taps_of(s), tiles = (double)tiles_of(s, wide);
    const double work = tiles * THREADS * (double)csrec_conv_chunks(s) * DEEP * taps;
    const double needed = (double)a[0].count * (double)a[1].count * (double)s->channels * taps;
    return csrec_conv_window_fits(s) && work <= 2.25 * needed;
}

int64_t csrec_conv_window_packed(const csrec_cuda_conv_sum *s, bool fast) {
    const packing k = packing_for(s, 1, fast);
    return k.pieces * k.count;
}

csrec_status csrec_conv_window_pack(const csrec_cuda_conv_sum *s, int64_t per_row, bool fast,
                                    const float *w, float *packed, csrec_error *error) {
    const packing k = packing_for(s, per_row, fast);
    return CSREC_CUDA_EACH(pack_window, k.count, 256, error, k, w, packed);
}

static share share_for(const csrec_cuda_conv_sum *s, int64_t span, int group) {
    share p = {};
    p.all_chunks = (int)csrec_conv_chunks(s);
    p.all_stages = (int)(packing_for(s, 1, false).padded / group);
    p.chunks = span < p.all_chunks ? (int)span : p.all_chunks;
    p.stages =
        p.chunks < p.all_chunks ? p.chunks * (int)csrec_conv_taps_of(s) / group : p.all_stages;
    p.results = s->batch * csrec_conv_place_of(s).out_picture;
    return p;
}

template <int MT, int GROUP, bool FAST>
static csrec_status launch(const csrec_cuda_conv_sum *s, int64_t span, const float *packed,
                           const float *in, const csrec_cuda_conv_finish *finish, float *out,
                           csrec_error *error) {
    const csrec_conv_tile tile = tile_for(s);
    const csrec_conv_window v = csrec_conv_window_of(s, tile, BANK);
    const share part = share_for(s, span, GROUP);
    CSREC_TRY(csrec_cuda_check(cudaFuncSetAttribute(multiply_windows<MT, GROUP, FAST>,
                                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    CSREC_WINDOW_MOST),
                               "multiply_windows", error));
    const dim3 grid((unsigned)(s->batch * v.tiles[0] * v.tiles[1]),
                    csrec_cuda_blocks(s->rows, 16 * MT),
                    csrec_cuda_blocks(part.all_chunks, part.chunks));
    multiply_windows<MT, GROUP, FAST><<<grid, THREADS, shared_bytes(s, tile)>>>(
        csrec_conv_place_of(s), v, part, packed, in, *finish, out);
    return csrec_cuda_launched("multiply_windows", error);
}

template <int MT, bool FAST>
static csrec_status launch_any(const csrec_cuda_conv_sum *s, int64_t span, const float *packed,
                               const float *in, const csrec_cuda_conv_finish *finish, float *out,
                               csrec_error *error) {
    return csrec_conv_group_for(csrec_conv_taps_of(s)) == 1
               ? launch<MT, 1, FAST>(s, span, packed, in, finish, out, error)
               : launch<MT, 3, FAST>(s, span, packed, in, finish, out, error);
}

template <bool FAST>
static csrec_status launch_tiles(const csrec_cuda_conv_sum *s, int64_t span, const float *packed,
                                 const float *in, const csrec_cuda_conv_finish *finish, float *out,
                                 csrec_error *error) {
    const int tiles = csrec_conv_tiles_for(s->rows);
    if (tiles == 1) return launch_any<1, FAST>(s, span, packed, in, finish, out, error);
    if (tiles == 2) return launch_any<2, FAST>(s, span, packed, in, finish, out, error);
    return launch_any<4, FAST>(s, span, packed, in, finish, out, error);
}

csrec_status csrec_conv_window_multiply(const csrec_cuda_conv_sum *s, bool fast, int64_t span,
                                        const float *packed, const float *in,
                                        const csrec_cuda_conv_finish *finish, float *out,
                                        csrec_error *error) {
    return fast ? launch_tiles<true>(s, span, packed, in, finish, out, error)
                : launch_tiles<false>(s, span, packed, in, finish, out, error);
}
