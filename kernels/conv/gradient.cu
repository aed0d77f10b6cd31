/* SPDX-License-Identifier: BSD-3-Clause */
/* gradient.cu - gradients of a convolution's weights and bias: sums over all positions.
 *
 * dw[row][k] = sum over positions of out[row][position] in[position at tap k], a product whose
 * inner dimension is the positions, on tensor cores as multiply.cu explains. A thread block: 64
 * rows by 64 taps, over a part of the positions, 32 per pipeline stage; both operands are laid out
 * in shared memory, one position per lane. Parts are added in double by a second kernel, in their
 * order; their number depends on the geometry alone. correlate.cu handles positions that advance by
 * one, if its tiles fit. */
#include "kernels/conv/window.cuh"

enum {
    TILE = 64,
    THREADS = 256,
    LONG = 32, /* positions per pipeline stage */
    STAGES = 3,
    PITCH = LONG + 4, /* rows 4 banks apart: fragments' 8 rows by 4 columns fall on all banks */
    OPERAND = TILE * PITCH,
    SPREAD = 512, /* thread blocks, about */
    PARTS = 32    /* of a channel's sum */
};

/* Windows do this many times the multiplications in the same time (measured on an H200). */
static const double GAIN = 1.75;

__device__ __forceinline__ void load_split(const float *at, uint32_t *big, uint32_t *small) {
    csrec_conv_split(*at, big, small);
}

/* 32 positions: a warp's 32 rows by 16 taps. FAST: big pieces alone, added up by tensor cores. */
template <bool FAST>
__device__ __forceinline__ void multiply_stage(const float *a, const float *b,
                                               float (&sum)[2][2][4]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    a += (warp / 4 * 32 + lane / 4) * PITCH + lane % 4;
    b += (warp % 4 * 16 + lane / 4) * PITCH + lane % 4;
#pragma unroll
    for (int step = 0; step < LONG; step += 8) {
        uint32_t high[2][4], low[2][4], big[2][2], small[2][2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int q = 0; q < 4; q++)
                load_split(a + (16 * i + q % 2 * 8) * PITCH + step + q / 2 * 4, &high[i][q],
                           &low[i][q]);
#pragma unroll
            for (int q = 0; q < 2; q++)
                load_split(b + 8 * i * PITCH + step + 4 * q, &big[i][q], &small[i][q]);
        }
        if (FAST) {
#pragma unroll
            for (int t = 0; t < 4; t++)
                csrec_mma_tf32(sum[t / 2][t % 2], high[t / 2], big[t % 2], sum[t / 2][t % 2]);
            continue;
        }
        float c[2][2][4] = {};
#pragma unroll
        for (int t = 0; t < 4; t++)
            csrec_mma_tf32(c[t / 2][t % 2], low[t / 2], big[t % 2], c[t / 2][t % 2]);
#pragma unroll
        for (int t = 0; t < 4; t++)
            csrec_mma_tf32(c[t / 2][t % 2], high[t / 2], small[t % 2], c[t / 2][t % 2]);
#pragma unroll
        for (int t = 0; t < 4; t++)
            csrec_mma_tf32(c[t / 2][t % 2], high[t / 2], big[t % 2], c[t / 2][t % 2]);
#pragma unroll
        for (int t = 0; t < 16; t++) sum[t / 8][t / 4 % 2][t % 4] += c[t / 8][t / 4 % 2][t % 4];
    }
}

/* A lane's position, which advances by 32 per pipeline stage. */
typedef struct walker {
    int64_t n;
    int i, j;
} walker;

__device__ __forceinline__ void walk(const csrec_conv_place *g, walker *w) {
    for (w->j += LONG; w->j >= g->count[1];) {
        w->j -= g->count[1];
        if (++w->i < g->count[0]) continue;
        w->i = 0;
        w->n++;
    }
}

__device__ __forceinline__ void write_part(const float (&sum)[2][2][4], float *to) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    to += (warp / 4 * 32 + lane / 4) * TILE + warp % 4 * 16 + lane % 4 * 2;
#pragma unroll
    for (int t = 0; t < 4; t++) {
        const float *s = sum[t / 2][t % 2];
        float *at = to + t / 2 * 16 * TILE + t % 2 * 8;
        *(float2 *)at = make_float2(s[0], s[1]);
        *(float2 *)(at + 8 * TILE) = make_float2(s[2], s[3]);
    }
}

template <bool FAST>
__global__ void __launch_bounds__(THREADS, 2)
    correlate(const __grid_constant__ csrec_conv_place g, int across, int64_t stages,
              const csrec_conv_tap *taps, const float *in, const float *out, float *parts) {
    extern __shared__ __align__(16) float shared[];
    __shared__ csrec_conv_tap own[TILE];
    const int lane = threadIdx.x % 32, line = threadIdx.x / 32 * (TILE / 8);
    const int first_row = blockIdx.x / across * TILE, first_tap = blockIdx.x % across * TILE;
    if (threadIdx.x < TILE) own[threadIdx.x] = taps[first_tap + threadIdx.x];
    __syncthreads();
    const int64_t begin = stages * blockIdx.y / gridDim.y;
    const int count = (int)(stages * (blockIdx.y + 1) / gridDim.y - begin);
    const int64_t number = begin * LONG + lane, plane = (int64_t)g.count[0] * g.count[1];
    walker w = {number / plane, (int)(number % plane / g.count[1]), (int)(number % g.count[1])};
    auto fetch = [&](int stage) {
        if (stage < count) {
            float *a = shared + stage % STAGES * (2 * OPERAND) + line * PITCH + lane;
            const csrec_conv_position p = csrec_conv_locate(&g, w.n, w.i, w.j);
#pragma unroll
            for (int r = 0; r < TILE / 8; r++) {
                const int row = first_row + line + r;
                const bool there = p.there && row < g.rows;
                csrec_async_4(a + r * PITCH, out + (there ? p.out + row * g.out_plane : 0), there);
                csrec_conv_fetch(&g, &p, &own[line + r], in, a + OPERAND + r * PITCH);
            }
            walk(&g, &w);
        }
        csrec_async_commit();
    };
    float sum[2][2][4] = {};
    for (int s = 0; s < STAGES - 1; s++) fetch(s);
    for (int stage = 0; stage < count; stage++) {
        csrec_async_wait<STAGES - 2>();
        __syncthreads();
        fetch(stage + STAGES - 1);
        const float *a = shared + stage % STAGES * (2 * OPERAND);
        multiply_stage<FAST>(a, a + OPERAND, sum);
    }
    write_part(sum, parts + ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * (TILE * TILE));
}

__global__ void add_parts(int64_t rows, int64_t row_step, int64_t count, int across, int splits,
                          int64_t tiles, const csrec_conv_tap *taps, const float *parts,
                          float *dw) {
    const int64_t at = csrec_cuda_thread();
    const int64_t row = at / count, k = at % count;
    if (row >= rows) return;
    const int64_t tile = row / TILE * across + k / TILE;
    const float *from = parts + tile * (TILE * TILE) + row % TILE * TILE + k % TILE;
    double sum = 0.0;
    for (int s = 0; s < splits; s++) sum += (double)from[s * tiles * (TILE * TILE)];
    dw[row * row_step + taps[k].weight] = (float)sum;
}

/* Part blockIdx.y of the sum of a row's entries over the batch. */
__global__ void __launch_bounds__(THREADS)
    sum_rows(int64_t batch, int64_t rows, int64_t plane, const float *out, double *parts) {
    __shared__ double sums[THREADS];
    const int64_t row = blockIdx.x;
    double sum = 0.0;
    for (int64_t n = 0; n < batch; n++)
        for (int64_t at = (int64_t)blockIdx.y * THREADS + threadIdx.x; at < plane;
             at += PARTS * THREADS)
            sum += (double)out[(n * rows + row) * plane + at];
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) parts[row * PARTS + blockIdx.y] = sums[0];
}

__global__ void add_rows(int64_t rows, const double *parts, float *db) {
    const int64_t row = csrec_cuda_thread();
    if (row >= rows) return;
    double sum = 0.0;
    for (int k = 0; k < PARTS; k++) sum += parts[row * PARTS + k];
    db[row] = (float)sum;
}

typedef struct plan {
    bool windows; /* by correlate.cu */
    double work;  /* multiplications; those of correlate.cu scaled by their relative cost */
    int64_t count, padded, across, tiles, stages, splits;
    csrec_conv_tap *taps;
    float *parts;
    size_t bytes;
} plan;

static plan plan_for(const csrec_cuda_conv_sum *s, char *scratch) {
    plan p = {};
    csrec_cuda_block block = {scratch, 0};
    p.count = s->channels * csrec_conv_taps_of(s);
    p.across = csrec_conv_whole(p.count, TILE);
    p.padded = p.across * TILE;
    p.tiles = csrec_conv_whole(s->rows, TILE) * p.across;
    p.stages = csrec_conv_whole(s->batch * s->axis[0].count * s->axis[1].count, LONG);
    p.splits = p.tiles ? csrec_conv_whole(SPREAD, p.tiles) : 1;
    if (p.splits > p.stages) p.splits = p.stages;
    p.work = (double)p.tiles * (TILE * TILE) * (double)p.stages * LONG;
    const double work = csrec_conv_window_correlate_work(s) / GAIN;
    p.windows = csrec_conv_window_correlates(s) && work < p.work;
    if (p.windows) {
        p.work = work;
        csrec_cuda_take(&block, csrec_conv_window_parts(s), &p.parts);
        p.bytes = block.used;
        return p;
    }
    csrec_cuda_take(&block, p.padded, &p.taps);
    csrec_cuda_take(&block, p.splits * p.tiles * TILE * TILE, &p.parts);
    p.bytes = block.used;
    return p;
}

size_t csrec_cuda_conv_gradient_room(const csrec_cuda_conv_sum *sum) {
    return plan_for(sum, NULL).bytes;
}

double csrec_cuda_conv_gradient_work(const csrec_cuda_conv_sum *sum) {
    return plan_for(sum, NULL).work;
}

template <bool FAST>
static csrec_status launch(const csrec_cuda_conv_sum *sum, const plan *p, const float *in,
                           const float *out, csrec_error *error) {
    const int shared = STAGES * 2 * OPERAND * (int)sizeof(float);
    CSREC_TRY(csrec_cuda_check(
        cudaFuncSetAttribute(correlate<FAST>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "correlate", error));
    correlate<FAST><<<dim3((unsigned)p->tiles, (unsigned)p->splits), THREADS, shared>>>(
        csrec_conv_place_of(sum), (int)p->across, p->stages, p->taps, in, out, p->parts);
    return csrec_cuda_launched("correlate", error);
}

csrec_status csrec_cuda_conv_gradient(const csrec_cuda_conv_sum *sum, bool fast, const float *in,
                                      const float *out, float *dw, void *scratch,
                                      csrec_error *error) {
    const plan p = plan_for(sum, (char *)scratch);
    if (p.count == 0 || p.stages == 0) return CSREC_OK;
    if (p.windows) return csrec_conv_window_correlate(sum, fast, in, out, dw, p.parts, error);
    CSREC_TRY(csrec_conv_list_taps(sum, p.padded, p.taps, error));
    CSREC_TRY(fast ? launch<true>(sum, &p, in, out, error)
                   : launch<false>(sum, &p, in, out, error));
    return CSREC_CUDA_EACH(add_parts, sum->rows * p.count, 128, error, sum->rows, sum->row_step,
                           p.count, (int)p.across, (int)p.splits, p.tiles, p.taps, p.parts, dw);
}

size_t csrec_cuda_conv_bias_room(int64_t rows) {
    return (size_t)rows * PARTS * sizeof(double);
}

csrec_status csrec_cuda_conv_bias(int64_t batch, int64_t rows, int64_t plane, const float *out,
                                  float *db, void *scratch, csrec_error *error) {
    double *parts = (double *)scratch;
    CSREC_TRY(CSREC_CUDA_RUN(sum_rows, dim3((unsigned)rows, PARTS), THREADS, error, batch, rows,
                             plane, out, parts));
    return CSREC_CUDA_EACH(add_rows, rows, 128, error, rows, parts, db);
}
