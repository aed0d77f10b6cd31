/* SPDX-License-Identifier: BSD-3-Clause */
/* correlate.cu - the gradient of gradient.cu where positions advance by one, computed by windows,
 * as window.cu computes the product.
 *
 * A thread block: 64 rows by 9 taps of 8 channels, over a part of the tiles of 4 lines of 32
 * positions, one tile per pipeline stage. Inner products run along positions: a warp handles a line
 * of them for 32 rows; the other operand is the window shifted by a tap, without a copy. The four
 * warps of the same rows are added at the end, parts in double by a second kernel, in their order;
 * their number depends on the geometry alone. */
#include "kernels/conv/window.cuh"

enum {
    LINES = 4,
    THREADS = 256,
    ROWS = 64,
    TAPS = 9,
    MOST = 16 * TAPS, /* taps of a kernel */
    CHANNELS = CSREC_WINDOW_CHANNELS,
    COLUMNS = TAPS * CHANNELS,
    TILE = ROWS * COLUMNS,
    ACROSS = CSREC_WINDOW_ACROSS,
    BANK = 4, /* rows 4 banks apart: fragments' 8 rows by 4 columns fall on all banks */
    PITCH = LINES * ACROSS + BANK,
    OUTS = ROWS * PITCH,
    SPREAD = 264 /* thread blocks at most, if tiles are fewer */
};

typedef float sums[2][TAPS][4];

/* Where in a window the taps' inputs begin. */
typedef struct starts {
    int of[MOST];
} starts;

/* A line of positions: 32 rows by 9 taps. FAST: big pieces alone, added up by tensor cores. */
template <bool FAST>
__device__ __forceinline__ void multiply_line(const float *a, const float *b, const int *start,
                                              sums &sum) {
#pragma unroll 1
    for (int step = 0; step < ACROSS; step += 8, a += 8, b += 8) {
        uint32_t high[2][4], low[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                csrec_conv_split(a[(16 * i + q % 2 * 8) * PITCH + q / 2 * 4], &high[i][q],
                                 &low[i][q]);
#pragma unroll
        for (int t = 0; t < TAPS; t += 3) {
            __syncwarp(); /* else ptxas delays the products of i = 1, exposing latency */
            uint32_t big[3][2], small[3][2];
#pragma unroll
            for (int q = 0; q < 6; q++)
                csrec_conv_split(b[start[t + q / 2] + q % 2 * 4], &big[q / 2][q % 2],
                                 &small[q / 2][q % 2]);
#pragma unroll
            for (int i = 0; i < 2; i++) {
                if (FAST) {
#pragma unroll
                    for (int k = 0; k < 3; k++)
                        csrec_mma_tf32(sum[i][t + k], high[i], big[k], sum[i][t + k]);
                    continue;
                }
                float c[3][4] = {};
#pragma unroll
                for (int k = 0; k < 3; k++) csrec_mma_tf32(c[k], low[i], big[k], c[k]);
#pragma unroll
                for (int k = 0; k < 3; k++) csrec_mma_tf32(c[k], high[i], small[k], c[k]);
#pragma unroll
                for (int k = 0; k < 3; k++) csrec_mma_tf32(c[k], high[i], big[k], c[k]);
#pragma unroll
                for (int k = 0; k < 12; k++) sum[i][t + k / 4][k % 4] += c[k / 4][k % 4];
            }
        }
    }
}

/* Tile after tile of all pictures. */
typedef struct walker {
    int64_t n;
    int line, column;
} walker;

__device__ __forceinline__ walker walker_at(const csrec_conv_window *v, int64_t tile) {
    const int64_t plane = (int64_t)v->tiles[0] * v->tiles[1];
    return {tile / plane, (int)(tile % plane / v->tiles[1]) * LINES,
            (int)(tile % v->tiles[1]) * ACROSS};
}

__device__ __forceinline__ void walk(const csrec_conv_window *v, walker *w) {
    w->column += ACROSS;
    if (w->column < v->tiles[1] * ACROSS) return;
    w->column = 0;
    w->line += LINES;
    if (w->line < v->tiles[0] * LINES) return;
    w->line = 0;
    w->n++;
}

/* A warp's 8 rows of results; WIDE: 4 positions at once. */
template <bool WIDE>
__device__ __forceinline__ void fetch_results(const csrec_conv_place *g, const walker *w, int row,
                                              const float *out, float *to) {
    const int lane = threadIdx.x % 32, each = WIDE ? 8 : ACROSS;
    const int column = w->column + (WIDE ? lane % each * 4 : lane);
#pragma unroll
    for (int l = 0; l < (WIDE ? 1 : LINES); l++) {
        const int down = WIDE ? lane / each : l, line = w->line + down;
        const bool inside = line < g->count[0] && column < g->count[1];
        const csrec_conv_position p = csrec_conv_locate(g, w->n, line, column);
        const float *from = out + p.out + row * g->out_plane;
        float *at = to + down * ACROSS + column - w->column;
#pragma unroll
        for (int r = 0; r < 8; r++, from += g->out_plane, at += PITCH) {
            const bool there = inside && row + r < g->rows;
            if (WIDE)
                csrec_async_16(at, there ? from : out, there);
            else
                csrec_async_4(at, there ? from : out, there);
        }
    }
}

/* A warp lays out a channel's window, whose first entry is in[origin] at line down, column right;
 * zeros outside of the picture, and if the channel does not exist. */
__device__ __forceinline__ void fetch_window(const csrec_conv_place *g, const csrec_conv_window *v,
                                             int64_t origin, int down, int right, bool channel,
                                             const float *in, float *to) {
    int at = threadIdx.x % 32;
    const int entries = v->height * v->width, end = right + v->width;
    const float *from = in + origin + at;
    right += at;
    for (; at < entries; at += 32) {
        const bool there =
            channel && (unsigned)down < (unsigned)g->in[0] && (unsigned)right < (unsigned)g->in[1];
        csrec_async_4(to + at, there ? from : in, there);
        from += 32;
        right += 32;
        if (right >= end) { /* once at most: lines are 32 long or longer */
            right -= v->width;
            from += g->in[1] - v->width;
            down++;
        }
    }
}

/* The sum of the four warps that have the same rows. */
__device__ __forceinline__ void write_part(const sums &sum, float *shared, float *to) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *own = shared + warp % 4 * TILE + (warp / 4 * 32 + lane / 4) * COLUMNS + lane % 4 * 2;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int t = 0; t < TAPS; t++) {
            float *at = own + i * 16 * COLUMNS + t * CHANNELS;
            *(float2 *)at = make_float2(sum[i][t][0], sum[i][t][1]);
            *(float2 *)(at + 8 * COLUMNS) = make_float2(sum[i][t][2], sum[i][t][3]);
        }
    __syncthreads();
    for (int k = threadIdx.x; k < TILE; k += THREADS)
        to[k] = (shared[k] + shared[TILE + k]) + (shared[2 * TILE + k] + shared[3 * TILE + k]);
}

template <bool WIDE, bool FAST>
__global__ void __launch_bounds__(THREADS, 2)
    correlate_windows(const __grid_constant__ csrec_conv_place g,
                      const __grid_constant__ csrec_conv_window v,
                      const __grid_constant__ starts taps, int chunks, int64_t tiles,
                      const float *in, const float *out, float *parts) {
    extern __shared__ __align__(16) float shared[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = (int)blockIdx.x / chunks * ROWS;
    const int channel = (int)blockIdx.x % chunks * CHANNELS + warp;
    const int size = OUTS + CHANNELS * v.pitch;
    const int64_t begin = tiles * blockIdx.y / gridDim.y;
    const int count = (int)(tiles * (blockIdx.y + 1) / gridDim.y - begin);
    walker w = walker_at(&v, begin);
    auto fetch = [&](int stage) {
        if (stage < count) {
            float *a = shared + stage % 2 * size;
            fetch_results<WIDE>(&g, &w, row + 8 * warp, out, a + 8 * warp * PITCH);
            const int down = w.line + v.before[0], right = w.column + v.before[1];
            const int64_t origin =
                (w.n * g.channels + channel) * g.in_plane + (int64_t)down * g.in[1] + right;
            fetch_window(&g, &v, origin, down, right, channel < g.channels, in,
                         a + OUTS + warp * v.pitch);
            walk(&v, &w);
        }
        csrec_async_commit();
    };
    sums sum = {};
    fetch(0);
    for (int stage = 0; stage < count; stage++) {
        csrec_async_wait<0>();
        __syncthreads();
        fetch(stage + 1);
        const float *a = shared + stage % 2 * size, *b = a + OUTS;
        multiply_line<FAST>(a + (warp / 4 * 32 + lane / 4) * PITCH + warp % 4 * ACROSS + lane % 4,
                            b + lane / 4 * v.pitch + warp % 4 * v.width + lane % 4,
                            taps.of + blockIdx.z * TAPS, sum);
    }
    write_part(sum, shared,
               parts + (((int64_t)blockIdx.y * gridDim.z + blockIdx.z) * gridDim.x + blockIdx.x) *
                           TILE);
}

/* Index in the gradient of an entry of a part. */
typedef struct unpacking {
    int64_t rows, row_step, channels, channel_step;
    int64_t taps, across, kernel_width, kernel[2], kernel_step[2];
    int64_t chunks, tiles, groups, count, splits;
} unpacking;

__global__ void add_window_parts(unpacking k, const float *parts, float *dw) {
    const int64_t at = csrec_cuda_thread(), tile = at / TILE;
    const int64_t row = tile / k.chunks % k.tiles * ROWS + at % TILE / COLUMNS;
    const int64_t channel = tile % k.chunks * CHANNELS + at % CHANNELS;
    const int64_t tap = tile / k.chunks / k.tiles * TAPS + at % COLUMNS / CHANNELS;
    if (at >= k.count || row >= k.rows || channel >= k.channels || tap >= k.taps) return;
    double sum = 0.0;
    for (int64_t s = 0; s < k.splits; s++) sum += (double)parts[s * k.count + at];
    dw[row * k.row_step + channel * k.channel_step +
       (k.kernel[0] + k.kernel_step[0] * (tap / k.across)) * k.kernel_width + k.kernel[1] +
       k.kernel_step[1] * (tap % k.across)] = (float)sum;
}

static const csrec_conv_tile tile = {LINES, ACROSS};

static int64_t tiles_of(const csrec_cuda_conv_sum *s) {
    return s->batch * csrec_conv_whole(s->axis[0].count, LINES) *
           csrec_conv_whole(s->axis[1].count, ACROSS);
}

static unpacking unpacking_for(const csrec_cuda_conv_sum *s) {
    unpacking k = {};
    k.rows = s->rows;
    k.row_step = s->row_step;
    k.channels = s->channels;
    k.channel_step = s->channel_step;
    k.taps = csrec_conv_taps_of(s);
    k.across = s->axis[1].taps;
    k.kernel_width = s->kernel_width;
    for (int a = 0; a < 2; a++) {
        k.kernel[a] = s->axis[a].kernel;
        k.kernel_step[a] = s->axis[a].kernel_step;
    }
    k.chunks = csrec_conv_chunks(s);
    k.groups = csrec_conv_whole(k.taps, TAPS);
    k.tiles = csrec_conv_whole(s->rows, ROWS);
    const int64_t blocks = k.tiles * k.chunks * k.groups;
    k.count = blocks * TILE;
    k.splits = blocks && blocks < SPREAD ? SPREAD / blocks : 1;
    if (k.splits > tiles_of(s)) k.splits = tiles_of(s);
    return k;
}

static int64_t shared_bytes(const csrec_cuda_conv_sum *s) {
    const int64_t stages = 2 * (OUTS + CHANNELS * csrec_conv_window_pitch(s, tile, BANK));
    return (stages > 4 * TILE ? stages : 4 * TILE) * (int64_t)sizeof(float);
}

double csrec_conv_window_correlate_work(const csrec_cuda_conv_sum *s) {
    return (double)unpacking_for(s).count * (double)tiles_of(s) * (LINES * ACROSS);
}

bool csrec_conv_window_correlates(const csrec_cuda_conv_sum *s) {
    const int64_t taps = csrec_conv_taps_of(s);
    if (!csrec_conv_side_by_side(s) || taps == 0 || taps > MOST) return false;
    return shared_bytes(s) <= CSREC_WINDOW_MOST && unpacking_for(s).count / TILE < 1 << 30 &&
           tiles_of(s) < INT64_C(1) << 31;
}

int64_t csrec_conv_window_parts(const csrec_cuda_conv_sum *s) {
    const unpacking k = unpacking_for(s);
    return k.splits * k.count;
}

template <bool WIDE, bool FAST>
static csrec_status launch(const csrec_cuda_conv_sum *s, const unpacking *k, const float *in,
                           const float *out, float *parts, csrec_error *error) {
    CSREC_TRY(csrec_cuda_check(cudaFuncSetAttribute(correlate_windows<WIDE, FAST>,
                                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    CSREC_WINDOW_MOST),
                               "correlate_windows", error));
    const csrec_conv_window v = csrec_conv_window_of(s, tile, BANK);
    starts taps;
    for (int t = 0; t < MOST; t++) {
        const int tap = t < k->taps ? t : 0;
        taps.of[t] =
            v.start + tap / v.taps[1] * v.advance[0] * v.width + tap % v.taps[1] * v.advance[1];
    }
    const dim3 grid((unsigned)(k->tiles * k->chunks), (unsigned)k->splits, (unsigned)k->groups);
    correlate_windows<WIDE, FAST><<<grid, THREADS, shared_bytes(s)>>>(
        csrec_conv_place_of(s), v, taps, (int)k->chunks, tiles_of(s), in, out, parts);
    return csrec_cuda_launched("correlate_windows", error);
}

/* Whether groups of 4 results are aligned to 16 bytes. */
static bool wide(const csrec_cuda_conv_sum *s, const float *out) {
    const csrec_conv_axis *a = &s->axis[1];
    return a->apart == 1 && a->first % 4 == 0 && a->count % 4 == 0 && a->out % 4 == 0 &&
           (uintptr_t)out % 16 == 0;
}

template <bool FAST>
static csrec_status launch_any(const csrec_cuda_conv_sum *s, const unpacking *k, const float *in,
                               const float *out, float *parts, csrec_error *error) {
    return wide(s, out) ? launch<true, FAST>(s, k, in, out, parts, error)
                        : launch<false, FAST>(s, k, in, out, parts, error);
}

csrec_status csrec_conv_window_correlate(const csrec_cuda_conv_sum *s, bool fast, const float *in,
                                         const float *out, float *dw, float *parts,
                                         csrec_error *error) {
    const unpacking k = unpacking_for(s);
    CSREC_TRY(fast ? launch_any<true>(s, &k, in, out, parts, error)
                   : launch_any<false>(s, &k, in, out, parts, error));
    return CSREC_CUDA_EACH(add_window_parts, k.count, 128, error, k, parts, dw);
}
