/* window.cu - the product of multiply.cu where positions advance by one: the taps' inputs are then
 * adjacent, and a tile's inputs are loaded into shared memory once for all taps.
 *
 * A thread block: 64 (or 32, 16) rows by 8 lines of 32 positions, one line per warp. The inner
 * extent runs over chunks of 8 channels, in a chunk over the taps: one step is 8 channels of one
 * tap, a column of the window shifted by the tap. Several steps form a pipeline stage; three stages
 * are buffered, each with its weights, packed as fragments in this order, and the window of the
 * chunk that begins in it. */
#include "kernels/conv/window.cuh"

enum { LINES = 8, THREADS = 32 * LINES, STAGES = 3, BANK = 8, DEEP = CSREC_WINDOW_CHANNELS };

/* Index of the weight at an entry of the matrix of fragments. */
typedef struct packing {
    int64_t rows, row_step, channels, channel_step, per_row;
    int64_t taps, across, kernel_width, kernel[2], kernel_step[2];
    int64_t tiles, steps, padded, count;
} packing;

/* ---- kernels */

/* Weights as fragments: [group of tiles of rows][step][tile][big, small][lane][4]. */
__global__ void pack_window(packing k, const float *w, float *packed) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
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
    float *to = packed + (at / 128) * 256 + lane * 4 + q;
    to[0] = __uint_as_float(big);
    to[128] = __uint_as_float(small);
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
    return {(int64_t)(blockIdx.x / across / down), (int)(blockIdx.x / across % down) * LINES,
            (int)(blockIdx.x % across) * CSREC_WINDOW_ACROSS};
}

/* Where in a channel the entries of the tile's window are, the same for all channels. */
constexpr unsigned OUTSIDE = 1u << 31;

__device__ __forceinline__ void list_places(const csrec_conv_place *g, const csrec_conv_window *v,
                                            const tile *t, unsigned *places) {
    for (int k = threadIdx.x; k < v->pitch - BANK; k += THREADS) {
        const int down = t->line + v->before[0] + k / v->width;
        const int right = t->column + v->before[1] + k % v->width;
        const bool there = k < v->height * v->width && (unsigned)down < (unsigned)g->in[0] &&
                           (unsigned)right < (unsigned)g->in[1];
        places[k] = there ? (unsigned)(down * g->in[1] + right) : OUTSIDE;
    }
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

template <int MT, int GROUP>
__global__ void __launch_bounds__(THREADS, 2)
    multiply_windows(const __grid_constant__ csrec_conv_place g,
                     const __grid_constant__ csrec_conv_window v, int stages, int chunks,
                     const float *packed, const float *in, const float *bias, float *out) {
    enum { STEP = MT * 256, A = GROUP * STEP };
    extern __shared__ __align__(16) float shared[];
    float *a = shared, *b = shared + STAGES * A;
    unsigned *places = (unsigned *)(b + STAGES * DEEP * v.pitch);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int taps = v.taps[0] * v.taps[1];
    const tile t = own_tile(&v);
    in += t.n * g.channels * g.in_plane;
    packed += (int64_t)blockIdx.y * stages * A;
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
                const int channel = next * DEEP + warp;
                const bool there = channel < g.channels;
                fetch_window(v.pitch - BANK, places, there, in + (there ? channel * g.in_plane : 0),
                             b + (next % STAGES * DEEP + warp) * v.pitch);
                next++;
            }
        }
        csrec_async_commit();
    };
    float sum[MT][4][4] = {};
    walker w = {0, 0, 0, v.start};
    const float *own = b + lane % 4 * v.pitch + warp * v.width + lane / 4;
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
            csrec_conv_step<MT>(weights + k * (STEP / 4), own + w.offset, v.pitch, sum);
            walk(&v, chunks, &w);
        }
    }
    csrec_async_wait<0>();
    __syncthreads();
    const csrec_conv_position p = csrec_conv_locate(&g, t.n, t.line + warp, t.column + lane);
    const bool there = t.line + warp < g.count[0] && t.column + lane < g.count[1];
#pragma unroll
    for (int i = 0; i < MT; i++)
        csrec_conv_write_rows(&g, (blockIdx.y * MT + i) * 16, sum[i], bias, p.out, there,
                              shared + warp * CSREC_CONV_TURN, out);
}

/* ---- launchers */

/* Steps per pipeline stage. A stage must begin one chunk at most, and a chunk's window has to stay
 * until its last step: three windows are enough for stages of three steps if a chunk has as many or
 * more. */
static int group_for(int64_t taps) {
    return taps < 3 ? 1 : 3;
}

static packing packing_for(const csrec_cuda_conv_sum *s, int64_t per_row) {
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
    const int64_t of_chunk = per_row > 1 ? 1 : k.taps, group = group_for(of_chunk);
    k.steps = csrec_conv_chunks(s) * of_chunk;
    k.padded = csrec_conv_whole(k.steps, group) * group;
    k.tiles = csrec_conv_tiles_for(k.rows);
    k.count = csrec_conv_whole(k.rows, 16 * k.tiles) * k.tiles * k.padded * 128;
    return k;
}

static int64_t shared_bytes(const csrec_cuda_conv_sum *s) {
    const int64_t group = group_for(csrec_conv_taps_of(s));
    const int64_t weights = group * csrec_conv_tiles_for(s->rows) * 256;
    const int64_t pitch = csrec_conv_window_pitch(s, LINES, BANK);
    const int64_t turn = LINES * CSREC_CONV_TURN, all = STAGES * (weights + DEEP * pitch) + pitch;
    return (all > turn ? all : turn) * (int64_t)sizeof(float);
}

/* Padding of tiles and of channels is worth up to 2.25 times the work (measured on an H200). */
bool csrec_conv_windowed(const csrec_cuda_conv_sum *s) {
    if (!csrec_conv_side_by_side(s) || csrec_conv_taps_of(s) == 0 || s->channels == 0) return false;
    const csrec_cuda_conv_axis *a = s->axis;
    const double taps = (double)csrec_conv_taps_of(s);
    const double tiles = (double)csrec_conv_whole(a[0].count, LINES) *
                         (double)csrec_conv_whole(a[1].count, CSREC_WINDOW_ACROSS);
    const double work = tiles * THREADS * (double)csrec_conv_chunks(s) * DEEP * taps;
    const double needed = (double)a[0].count * (double)a[1].count * (double)s->channels * taps;
    return shared_bytes(s) <= CSREC_WINDOW_MOST && (double)s->batch * tiles < 0x1p31 &&
           work <= 2.25 * needed;
}

int64_t csrec_conv_window_packed(const csrec_cuda_conv_sum *s) {
    return 2 * packing_for(s, 1).count;
}

csrec_status csrec_conv_window_pack(const csrec_cuda_conv_sum *s, int64_t per_row, const float *w,
                                    float *packed, csrec_error *error) {
    const packing k = packing_for(s, per_row);
    pack_window<<<csrec_cuda_blocks(k.count, 256), 256>>>(k, w, packed);
    return csrec_cuda_launched("pack_window", error);
}

template <int MT, int GROUP>
static csrec_status launch(const csrec_cuda_conv_sum *s, const float *packed, const float *in,
                           const float *bias, float *out, csrec_error *error) {
    const int shared = (int)shared_bytes(s);
    const csrec_conv_window v = csrec_conv_window_of(s, LINES, BANK);
    csrec_status status = csrec_cuda_check(
        cudaFuncSetAttribute(multiply_windows<MT, GROUP>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, CSREC_WINDOW_MOST),
        "multiply_windows", error);
    if (status) return status;
    const dim3 grid((unsigned)(s->batch * v.tiles[0] * v.tiles[1]),
                    csrec_cuda_blocks(s->rows, 16 * MT));
    multiply_windows<MT, GROUP><<<grid, THREADS, shared>>>(
        csrec_conv_place_of(s), v, (int)(packing_for(s, 1).padded / GROUP),
        (int)csrec_conv_chunks(s), packed, in, bias, out);
    return csrec_cuda_launched("multiply_windows", error);
}

template <int MT>
static csrec_status launch_any(const csrec_cuda_conv_sum *s, const float *packed, const float *in,
                               const float *bias, float *out, csrec_error *error) {
    return group_for(csrec_conv_taps_of(s)) == 1 ? launch<MT, 1>(s, packed, in, bias, out, error)
                                                 : launch<MT, 3>(s, packed, in, bias, out, error);
}

csrec_status csrec_conv_window_multiply(const csrec_cuda_conv_sum *s, const float *packed,
                                        const float *in, const float *bias, float *out,
                                        csrec_error *error) {
    const int tiles = csrec_conv_tiles_for(s->rows);
    if (tiles == 1) return launch_any<1>(s, packed, in, bias, out, error);
    if (tiles == 2) return launch_any<2>(s, packed, in, bias, out, error);
    return launch_any<4>(s, packed, in, bias, out, error);
}
