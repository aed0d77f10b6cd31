/* SPDX-License-Identifier: BSD-3-Clause */
/* covariance.cu - the symmetric product of rows less their mean, on tensor cores, to the accuracy
 * of floats.
 *
 * A number a = sqrt(w) (x - mean), rounded to a float, is scaled by its column's power of two to at
 * most 2^15 and split into two halves (11 bits each): h = half(a), l = half(a - h). Then
 *
 *     a b = h_a h_b + h_a l_b + l_a h_b + (l_a l_b + the remainder of l),
 *
 * products of halves are exact in float, and three of the four are taken. |l| <= 2^-11 |a| and the
 * remainder of l is at most 2^-23 |a|, so the omitted part of a b is at most 2^-21 |a b|; by
 * Cauchy-Schwarz C_jk is off by at most 4.8e-7 sqrt(C_jj C_kk) if every row errs the same way, and
 * by far less, about that over the root of m, if they do not. bfloat16 (8 bits) would need three
 * pieces and six products for the same, tf32 the same three at half the rate. A half has no digits
 * below 2^-24: an absolute 2^-39 of the column's peak, and peak^2 <= m C_jj, so nothing up to m =
 * 2^30.
 *
 * Tensor cores align the 16 products and the accumulator to the largest exponent and truncate more
 * than 2 bits beyond a float's last bit: a bias towards zero, 2^-22 of the accumulator a step. So
 * an accumulator starts from 0 for every 16 rows, the small products first, and is added outside,
 * rounded to nearest, to a float that sums at most 16 sqrt(m) rows (a slice); slices are added in
 * double. The bias is then about 1e-7 at most, and the roundings of a slice, m / 16 in all, average
 * to about 2^-25 sqrt(m / 48) / slices = 6e-8 at m = 202,599.
 *
 * The work is n (n + 1) m / 2 multiplications three times over, 3.7 Tflop for 202,599 x 2,475 (4.2
 * with the tiles' edges). Both operands have rows as their inner dimension, so they are packed
 * once, transposed and swizzled as ldmatrix reads them without bank conflicts: a tile's step is two
 * contiguous copies of 32 KiB. */
#include <math.h>

#include "kernels/device/mma.cuh"
#include "kernels/learn/statistics_state.h"

/* Columns in blocks of 128, rows in blocks of 64: the shape of a product's operands. */
enum {
    BLOCK = 128,
    ROWS = 64,
    PIECE = BLOCK * ROWS, /* halves */
    TILE = BLOCK * BLOCK,
    THREADS = 256,
    CHUNKS = ROWS / 8,   /* of 16 bytes, in a packed column */
    OPERAND = 4 * PIECE, /* bytes: both pieces of a block */
    STAGE = 2 * OPERAND, /* of both blocks */
    AHEAD = 16,
    PACKERS = 4,
    ACROSS = 32,
    DOWN = 8
};

/* index = i (i + 1) / 2 + j, j <= i: entries of a lower triangle, counted row after row. */
__device__ __forceinline__ void find_in_triangle(int64_t index, int64_t *i, int64_t *j) {
    int64_t row = (int64_t)((sqrt(8.0 * (double)index + 1.0) - 1.0) * 0.5);
    while ((row + 1) * (row + 2) / 2 <= index) row++;
    while (row * (row + 1) / 2 > index) row--;
    *i = row;
    *j = index - row * (row + 1) / 2;
}

__global__ void choose_scales(int64_t n, const float *peak, double *scale, double *unscale) {
    const int64_t j = csrec_cuda_thread();
    if (j >= n) return;
    const float p = peak[j];
    const int e = p > 0.0f && p < INFINITY ? 14 - ilogbf(p) : 0;
    scale[j] = ldexp(1.0, e);
    unscale[j] = ldexp(1.0, -e);
}

/* Chunk q (rows 8 q to 8 q + 7) of column c lies at c * 8 + (q ^ c % 8): any 8 columns' chunks q
 * fall on all banks. */
__device__ __forceinline__ int chunk_at(int c, int q) {
    return c * CHUNKS + (q ^ (c & (CHUNKS - 1)));
}

/* The first pieces of two numbers, and the second. */
__device__ __forceinline__ void cut_two(const float *a, uint32_t *high, uint32_t *low) {
    const __half2 h = __floats2half2_rn(a[0], a[1]);
    const float2 back = __half22float2(h);
    const __half2 l = __floats2half2_rn(a[0] - back.x, a[1] - back.y);
    *high = *(const uint32_t *)&h;
    *low = *(const uint32_t *)&l;
}

__device__ __forceinline__ void cut_eight(const float *a, uint4 *high, uint4 *low) {
    uint4 h, l;
    cut_two(a, &h.x, &l.x);
    cut_two(a + 2, &h.y, &l.y);
    cut_two(a + 4, &h.z, &l.z);
    cut_two(a + 6, &h.w, &l.w);
    *high = h;
    *low = l;
}

/* A block of 64 rows and 128 columns, split into halves; zeros beyond the matrix. A thread handles
 * half a column, AHEAD loads at a time. Scales are powers of two, so mean and numbers may be scaled
 * before the difference is rounded. */
template <bool WEIGHTED>
__global__ void __launch_bounds__(THREADS, PACKERS)
    pack_rows(int64_t n, unsigned blocks, int64_t m, const float *X, const double *weights,
              const double *mean, const double *scale, uint4 *packed) {
    __shared__ uint4 pieces[2 * BLOCK * CHUNKS];
    __shared__ double root[ROWS];
    const int64_t first = (int64_t)(blockIdx.x / blocks) * ROWS;
    if (WEIGHTED && threadIdx.x < ROWS) {
        const int64_t i = first + threadIdx.x;
        root[threadIdx.x] = i < m ? sqrt(weights[i]) : 0.0;
    }
    if (WEIGHTED) __syncthreads();
    const int c = threadIdx.x % BLOCK, top = threadIdx.x / BLOCK * (ROWS / 2);
    const int64_t j = (int64_t)(blockIdx.x % blocks) * BLOCK + c;
    const int rows = j < n ? (int)(m - first < ROWS ? m - first : ROWS) : 0;
    const double factor = j < n ? scale[j] : 0.0, middle = j < n ? mean[j] * factor : 0.0;
    const float *from = X + (first + top) * n + j;
#pragma unroll
    for (int r = top; r < top + ROWS / 2; r += AHEAD) {
        float a[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++, from += n) a[k] = r + k < rows ? __ldcs(from) : 0.0f;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            double centred = fma((double)a[k], factor, -middle);
            if (WEIGHTED) centred *= root[r + k];
            a[k] = r + k < rows ? (float)centred : 0.0f;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k += 8) {
            uint4 *to = pieces + chunk_at(c, (r + k) / 8);
            cut_eight(a + k, to, to + BLOCK * CHUNKS);
        }
    }
    __syncthreads();
    uint4 *to = packed + (int64_t)blockIdx.x * (OPERAND / 16) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 2 * BLOCK * CHUNKS; k += THREADS) to[k] = pieces[k + threadIdx.x];
}

/* A warp's 64 x 32 entries: 4 by 4 products of 16 x 8. */
typedef struct entries {
    float sum[4][4][4];
} entries;

/* Where a lane's row of ldmatrix lies: 16 columns further are 16 * CHUNKS further. */
typedef struct lanes {
    int start, key, half;
} lanes;

__device__ __forceinline__ int lane_at(const lanes *l, int step) {
    return l->start + ((2 * step + l->half) ^ l->key);
}

/* 64 rows of both blocks. A step is 16 rows. */
__device__ __forceinline__ void multiply_stage(const uint4 *a, const uint4 *b, const lanes *down,
                                               const lanes *right, entries *e) {
    enum { LOW = BLOCK * CHUNKS, NEXT = 16 * CHUNKS };
#pragma unroll 2
    for (int step = 0; step < ROWS / 16; step++) {
        const uint4 *from_a = a + lane_at(down, step), *from_b = b + lane_at(right, step);
        uint32_t bh[8], bl[8];
#pragma unroll
        for (int j = 0; j < 2; j++) {
            csrec_ldmatrix(bh + 4 * j, from_b + j * NEXT);
            csrec_ldmatrix(bl + 4 * j, from_b + LOW + j * NEXT);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t ah[4], al[4];
            float c[4][4] = {};
            csrec_ldmatrix(ah, from_a + i * NEXT);
            csrec_ldmatrix(al, from_a + LOW + i * NEXT);
#pragma unroll
            for (int j = 0; j < 4; j++) csrec_mma_f16(c[j], al, bh + 2 * j, c[j]);
#pragma unroll
            for (int j = 0; j < 4; j++) csrec_mma_f16(c[j], ah, bl + 2 * j, c[j]);
#pragma unroll
            for (int j = 0; j < 4; j++) csrec_mma_f16(c[j], ah, bh + 2 * j, c[j]);
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int k = 0; k < 4; k++) e->sum[i][j][k] += c[j][k];
        }
    }
}

__device__ __forceinline__ void write_entries(const entries *e, float *to) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = warp / 4 * 64 + lane / 4, column = warp % 4 * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float *s = e->sum[i][j];
            float *at = to + (row + 16 * i) * BLOCK + column + 8 * j;
            *(float2 *)at = make_float2(s[0], s[1]);
            *(float2 *)(at + 8 * BLOCK) = make_float2(s[2], s[3]);
        }
}

/* A tile of the lower triangle over one slice of rows. Blocks of threads with successive numbers
 * work on the same rows, which the cache then has. */
template <int STAGES>
__global__ void __launch_bounds__(THREADS, 1)
    multiply_tiles(int64_t tiles, int64_t blocks, int64_t slice, int64_t steps, const uint4 *packed,
                   float *partial) {
    extern __shared__ __align__(1024) uint4 stage[];
    int64_t i, j;
    find_in_triangle(blockIdx.x % tiles, &i, &j);
    const int64_t first = blockIdx.x / tiles * slice;
    const int64_t count = first + slice < steps ? slice : steps - first;
    const int64_t stride = blocks * (OPERAND / 16);
    const uint4 *a = packed + first * stride + i * (OPERAND / 16);
    const uint4 *b = packed + first * stride + j * (OPERAND / 16);
    const int other = i == j ? 0 : (int)OPERAND / 16;
    auto fetch = [&](int64_t step) {
        if (step < count) {
            uint4 *to = stage + step % STAGES * (STAGE / 16);
            for (int k = threadIdx.x; k < OPERAND / 16; k += THREADS) {
                csrec_async_16(to + k, a + step * stride + k);
                if (other) csrec_async_16(to + other + k, b + step * stride + k);
            }
        }
        csrec_async_commit();
    };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const lanes down = {(warp / 4 * 64 + lane % 16) * CHUNKS, lane % 8, lane / 16};
    const lanes right = {(warp % 4 * 32 + lane % 8 + lane / 16 * 8) * CHUNKS, lane % 8,
                         lane / 8 % 2};
    entries e = {};
    for (int s = 0; s < STAGES - 1; s++) fetch(s);
    for (int64_t step = 0; step < count; step++) {
        csrec_async_wait<STAGES - 2>();
        __syncthreads();
        fetch(step + STAGES - 1);
        const uint4 *at = stage + step % STAGES * (STAGE / 16);
        multiply_stage(at, at + other, &down, &right, &e);
    }
    write_entries(&e, partial + (int64_t)blockIdx.x * TILE);
}

/* C += slices, in their order; 32 x 32 entries a block, and their mirror image. */
__global__ void __launch_bounds__(ACROSS *DOWN)
    add_slices(int64_t n, int64_t tiles, int64_t slices, const float *partial,
               const double *unscale, double *C) {
    enum { PARTS = BLOCK / ACROSS };
    __shared__ double turned[ACROSS][ACROSS + 1];
    const int64_t tile = blockIdx.x / (PARTS * PARTS);
    const int part = blockIdx.x % (PARTS * PARTS);
    const int down = part / PARTS * ACROSS, right = part % PARTS * ACROSS;
    int64_t I, J;
    find_in_triangle(tile, &I, &J);
    if (I == J && right > down) return;
    const int64_t j = J * BLOCK + right + threadIdx.x;
    for (int y = threadIdx.y; y < ACROSS; y += DOWN) {
        const int64_t i = I * BLOCK + down + y;
        if (i >= n || j > i) continue;
        const double unit = unscale[i] * unscale[j];
        const float *from = partial + tile * TILE + (down + y) * BLOCK + right;
        double sum = C[i * n + j];
#pragma unroll 8
        for (int64_t s = 0; s < slices; s++)
            sum += (double)from[s * tiles * TILE + threadIdx.x] * unit;
        C[i * n + j] = sum;
        turned[y][threadIdx.x] = sum;
    }
    __syncthreads();
    const int64_t i = I * BLOCK + down + threadIdx.x;
    for (int y = threadIdx.y; y < ACROSS; y += DOWN) {
        const int64_t column = J * BLOCK + right + y;
        if (i < n && column < i) C[column * n + i] = turned[threadIdx.x][y];
    }
}

__global__ void divide(int64_t count, double weight, double *C) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t k = csrec_cuda_thread(); k < count; k += stride) C[k] /= weight;
}

static int64_t rounded_up(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit * unit;
}

/* Depends on the shape alone. */
static int64_t slice_rows(int64_t n, int64_t m) {
    enum { SPREAD = 512, LEAST = 256 };
    const int64_t blocks = (n + BLOCK - 1) / BLOCK, tiles = blocks * (blocks + 1) / 2;
    const int64_t wanted = (SPREAD + tiles - 1) / tiles,
                  accurate = (int64_t)(16.0 * sqrt((double)m));
    int64_t rows = (m + wanted - 1) / wanted;
    if (rows > accurate) rows = accurate;
    return rounded_up(rows > LEAST ? rows : (int64_t)LEAST, ROWS);
}

/* limit: bytes for rows and slices; each has at least one slice's. */
void csrec_cuda_covariance_plan(csrec_cuda_covariance *c, int64_t n, int64_t rows, size_t limit) {
    enum { MEBIBYTES = 512 };
    const int64_t slice = slice_rows(n, rows);
    c->n = n;
    c->blocks = (n + BLOCK - 1) / BLOCK;
    c->tiles = c->blocks * (c->blocks + 1) / 2;
    const int64_t tile_bytes = c->tiles * TILE * (int64_t)sizeof(float);
    const int64_t row_bytes = c->blocks * BLOCK * 4;
    c->slices = ((int64_t)MEBIBYTES << 20) / tile_bytes;
    if (c->slices > (rows + slice - 1) / slice) c->slices = (rows + slice - 1) / slice;
    if (c->slices < 1) c->slices = 1;
    int64_t left = (int64_t)limit - c->slices * tile_bytes;
    c->rows = left > 0 ? left / row_bytes / slice * slice : slice;
    if (c->rows > rounded_up(rows, ROWS)) c->rows = rounded_up(rows, ROWS);
    if (c->rows < slice && c->rows < rounded_up(rows, ROWS)) c->rows = slice;
}

void csrec_cuda_covariance_take(csrec_cuda_covariance *c, csrec_cuda_block *block) {
    csrec_cuda_take(block, c->n, &c->scale, &c->unscale);
    c->packed = (unsigned short *)csrec_cuda_block_take(block, c->rows * c->blocks * BLOCK, 4);
    c->partial = (float *)csrec_cuda_block_take(block, c->slices * c->tiles, TILE * sizeof(float));
    csrec_cuda_take(block, c->n * c->n, &c->C);
}

template <int STAGES>
static csrec_status multiply_staged(const csrec_cuda_covariance *c, int64_t slices, int64_t slice,
                                    int64_t steps, const uint4 *packed, csrec_error *error) {
    const int shared = STAGES * STAGE;
    CSREC_TRY(
        csrec_cuda_check(cudaFuncSetAttribute(multiply_tiles<STAGES>,
                                              cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
                         "multiply_tiles", error));
    multiply_tiles<STAGES><<<(unsigned)(slices * c->tiles), THREADS, shared>>>(
        c->tiles, c->blocks, slice, steps, packed, c->partial);
    return csrec_cuda_launched("multiply_tiles", error);
}

/* Three stages hide more latency, where they fit. */
static csrec_status multiply(const csrec_cuda_covariance *c, int64_t slices, int64_t slice,
                             int64_t steps, const unsigned short *packed, csrec_error *error) {
    csrec_cuda_size size;
    CSREC_TRY(csrec_cuda_measure(&size, error));
    if (size.shared < 2 * STAGE)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: a covariance takes %d bytes of shared memory a block, the device "
                          "has %d; use backend cpu",
                          2 * STAGE, size.shared);
    return (size.shared < 3 * STAGE
                ? multiply_staged<2>
                : multiply_staged<3>)(c, slices, slice, steps, (const uint4 *)packed, error);
}

/* Rows that are packed: as many slices at once as have room. */
static csrec_status add_packed(const csrec_cuda_covariance *c, int64_t rows, int64_t slice,
                               csrec_error *error) {
    const int64_t steps = (rows + ROWS - 1) / ROWS, per_slice = slice / ROWS;
    const int64_t all = (steps + per_slice - 1) / per_slice;
    for (int64_t s = 0; s < all; s += c->slices) {
        const int64_t slices = all - s < c->slices ? all - s : c->slices;
        const unsigned short *from = c->packed + s * per_slice * c->blocks * (OPERAND / 2);
        CSREC_TRY(multiply(c, slices, per_slice, steps - s * per_slice, from, error));
        const unsigned parts = (unsigned)c->tiles * (TILE / (ACROSS * ACROSS));
        CSREC_TRY(CSREC_CUDA_RUN(add_slices, parts, dim3(ACROSS, DOWN), error, c->n, c->tiles,
                                 slices, c->partial, c->unscale, c->C));
    }
    return CSREC_OK;
}

csrec_status csrec_cuda_covariance_add(csrec_cuda_covariance *c, int64_t m, const float *X,
                                       const double *weights, const double *mean, const float *peak,
                                       csrec_error *error) {
    const int64_t slice = slice_rows(c->n, m);
    CSREC_TRY(CSREC_CUDA_EACH(choose_scales, c->n, 128, error, c->n, peak, c->scale, c->unscale));
    const int64_t whole = c->rows >= slice ? c->rows / slice * slice : c->rows;
    for (int64_t i = 0; i < m; i += whole) {
        const int64_t rows = m - i < whole ? m - i : whole;
        const unsigned blocks = csrec_cuda_blocks(rows, ROWS) * (unsigned)c->blocks;
        auto pack = weights ? pack_rows<true> : pack_rows<false>;
        pack<<<blocks, THREADS>>>(c->n, (unsigned)c->blocks, rows, X + i * c->n,
                                  weights ? weights + i : NULL, mean, c->scale, (uint4 *)c->packed);
        CSREC_TRY(csrec_cuda_launched("pack_rows", error));
        CSREC_TRY(add_packed(c, rows, slice, error));
    }
    return CSREC_OK;
}

csrec_status csrec_cuda_covariance_divide(csrec_cuda_covariance *c, double weight,
                                          csrec_error *error) {
    const int64_t count = c->n * c->n;
    const unsigned blocks = count < 1 << 24 ? csrec_cuda_blocks(count, 256) : 1 << 16;
    return CSREC_CUDA_RUN(divide, blocks, 256, error, count, weight, c->C);
}
