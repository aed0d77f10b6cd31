/* SPDX-License-Identifier: BSD-3-Clause */
/* group.cuh - the moments of a group by a thread block: its patches, their means and the products
 * of rows. Only for kernels/.
 *
 * Products X^T X and V^T V are symmetric: only half of the pairs of tiles 8 columns wide is summed,
 * 8 x 8 entries a thread in registers, by several teams of threads that take turns at the rows;
 * their parts are added up at the end. The rows of pooled channels follow each other in X. */
#pragma once

#include "kernels/method/gaussian/condition.cuh"
#include "method/gaussian/whiten.h"

enum { TILE = 8, ENTRIES = TILE * TILE };

/* Threads of a block, pairs of tiles, and how many teams sum them. */
template <int WIDE> struct shape {
    enum {
        THREADS = WIDE > 64 ? 384 : 256,
        BLOCKS = WIDE > 64 ? 1 : 2, /* on a multiprocessor */
        TILES = WIDE / TILE,
        PAIRS = TILES * (TILES + 1) / 2,
        TEAMS = THREADS / PAIRS
    };
};

/* Sums of products of rows: a thread's 8 x 8 entries for the pair of tiles (a, b), a <= b. Tile a
 * has the columns 4 a .. 4 a + 3 of either half, so that adjacent lanes read adjacent words. */
template <int WIDE> struct product {
    float entry[TILE][TILE];
    int a, b, team, turn; /* team: -1 for threads in no team */

    __device__ __forceinline__ void begin() {
        enum { PAIRS = shape<WIDE>::PAIRS, TILES = shape<WIDE>::TILES };
        const int pair = threadIdx.x % PAIRS;
        team = threadIdx.x / PAIRS < shape<WIDE>::TEAMS ? (int)(threadIdx.x / PAIRS) : -1;
        turn = team;
        a = 0;
        b = pair;
        while (b >= TILES - a) b -= TILES - a++;
        b += a;
#pragma unroll
        for (int i = 0; i < TILE; i++)
#pragma unroll
            for (int j = 0; j < TILE; j++) entry[i][j] = 0.0f;
    }

    __device__ __forceinline__ void load(const float *row, int tile, float (&to)[TILE]) const {
        *(float4 *)to = *(const float4 *)(row + 4 * tile);
        *(float4 *)(to + 4) = *(const float4 *)(row + WIDE / 2 + 4 * tile);
    }

    /* += sign rows^T rows; the teams continue to take turns with the next rows. */
    __device__ __forceinline__ void add(const float *rows, int n, float sign) {
        if (team < 0) return;
        int k = turn;
        for (; k < n; k += shape<WIDE>::TEAMS) {
            float l[TILE], r[TILE];
            load(rows + k * WIDE, a, l);
            load(rows + k * WIDE, b, r);
#pragma unroll
            for (int i = 0; i < TILE; i++) {
                l[i] *= sign;
#pragma unroll
                for (int j = 0; j < TILE; j++) entry[i][j] = __fmaf_rn(l[i], r[j], entry[i][j]);
            }
        }
        turn = k - n;
    }
};

__device__ __forceinline__ int column_of(int wide, int tile, int i) {
    return (i < 4 ? 0 : wide / 2 - 4) + 4 * tile + i;
}

/* C = product or, if it is kept, C - product; and `diagonal` more where i = j < d. The teams add
 * their entries one after the other. scratch: a float for each entry of each pair. All threads. */
template <int WIDE>
__device__ __forceinline__ void put(const product<WIDE> &p, bool kept, float diagonal, int d,
                                    float *scratch, float *C) {
    enum { PAIRS = shape<WIDE>::PAIRS, TEAMS = shape<WIDE>::TEAMS };
    __shared__ unsigned char first[PAIRS], second[PAIRS];
    const int pair = threadIdx.x % PAIRS;
    if (p.team == 0) {
        first[pair] = (unsigned char)p.a;
        second[pair] = (unsigned char)p.b;
    }
#pragma unroll 1
    for (int team = 0; team < TEAMS; team++) {
        __syncthreads();
        if (p.team != team) continue;
#pragma unroll
        for (int e = 0; e < ENTRIES; e++) {
            float *to = scratch + e * PAIRS + pair;
            *to = team > 0 ? *to + p.entry[e / TILE][e % TILE] : p.entry[e / TILE][e % TILE];
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < ENTRIES * PAIRS; k += shape<WIDE>::THREADS) {
        const int e = k / PAIRS, a = first[k % PAIRS], b = second[k % PAIRS];
        const int i = column_of(WIDE, a, e / TILE), j = column_of(WIDE, b, e % TILE);
        const float value = kept ? C[i * WIDE + j] - scratch[k] : scratch[k];
        C[i * WIDE + j] = value + (i == j && i < d ? diagonal : 0.0f);
        if (a != b) C[j * WIDE + i] = value;
    }
    __syncthreads();
}

/* Takes the mean from `size` rows and adds it to `mean`, or makes it the mean. All threads. */
template <int WIDE>
__device__ __forceinline__ void centre_rows(float *rows, int size, bool first, float *mean) {
    enum { PARTS = shape<WIDE>::THREADS / WIDE };
    __shared__ float parts[PARTS][WIDE];
    const int c = threadIdx.x % WIDE, part = threadIdx.x / WIDE;
    float sum = 0.0f;
    for (int k = part; k < size && part < PARTS; k += PARTS) sum += rows[k * WIDE + c];
    if (part < PARTS) parts[part][c] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int p = 0; p < PARTS; p++) sum += parts[p][c];
    sum *= 1.0f / (float)size;
    for (int k = part; k < size && part < PARTS; k += PARTS) rows[k * WIDE + c] -= sum;
    if (part == 0) mean[c] = first ? sum : mean[c] + sum;
    __syncthreads();
}

/* Each channel by itself. */
template <int WIDE, int CHANNELS>
__device__ __forceinline__ void centre(const group_memory *m, int size, bool first) {
    for (int c = 0; c < CHANNELS; c++)
        centre_rows<WIDE>(m->X + c * size * WIDE, size, first, m->mean + c * WIDE);
}

/* The group's patches into X. Returns the mean variance of their pixels, the same in all threads.
 */
template <int WIDE, int CHANNELS>
__device__ __forceinline__ float gather(const csrec_gaussian_device *g, const group_memory *m,
                                        const pixels<WIDE> &own, int channel, int size) {
    enum { WARPS = shape<WIDE>::THREADS / 32, Q = pixels<WIDE>::Q };
    __shared__ float parts[WARPS];
    const int warp = threadIdx.x / 32;
    float sum = 0.0f;
    for (int c = 0; c < CHANNELS; c++) {
        const float *u = g->u + (channel + c) * g->entries;
        const float *variance = g->variance + (channel + c) * g->entries;
#pragma unroll 4
        for (int k = warp; k < size; k += WARPS) {
            __align__(16) float x[Q];
#pragma unroll
            for (int q = 0; q < Q; q++) {
                const int64_t at = m->corner[k] + m->offset[own.column + q];
                x[q] = own.inside[q] ? u[at] : 0.0f;
                sum += own.inside[q] ? variance[at] : 0.0f;
            }
            own.store(m->X + (c * size + k) * WIDE, x);
        }
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) parts[warp] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < WARPS; w++) sum += parts[w];
    return sum / (float)(CHANNELS * size * g->patch_depth * g->patch_height * g->patch_width);
}

typedef struct whitening {
    float L[CSREC_GAUSSIAN_POOLED][CSREC_GAUSSIAN_POOLED];
    float inverse[CSREC_GAUSSIAN_POOLED], scale; /* of the diagonal */
} whitening;

/* From the channels' mean products over the centred rows and d pixels; the columns of X after these
 * are 0. All threads; w in shared memory. */
template <int WIDE>
__device__ __forceinline__ void find_whitening(const group_memory *m, int size, int d, float floor,
                                               whitening *w) {
    enum { C = CSREC_GAUSSIAN_POOLED, THREADS = shape<WIDE>::THREADS, WARPS = THREADS / 32 };
    __shared__ float parts[WARPS][C][C];
    const int all = size * WIDE;
    float sum[C][C] = {};
#pragma unroll 1
    for (int i = threadIdx.x; i < all; i += THREADS)
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
            for (int e = 0; e <= c; e++)
                sum[c][e] = __fmaf_rn(m->X[c * all + i], m->X[e * all + i], sum[c][e]);
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int e = 0; e <= c; e++) {
            for (int s = 16; s > 0; s /= 2) sum[c][e] += __shfl_xor_sync(~0u, sum[c][e], s);
            if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32][c][e] = sum[c][e];
        }
    __syncthreads();
    const int c = threadIdx.x / C, e = threadIdx.x % C;
    if (c < C) {
        float whole = 0.0f;
        for (int k = 0; k < WARPS && e <= c; k++) whole += parts[k][c][e];
        w->L[c][e] = whole / (float)(size * d);
    }
    __syncwarp(); /* the first warp has all of them */
    if (threadIdx.x == 0) w->scale = csrec_gaussian_whitening(C, floor, w->L);
    __syncwarp();
    if (threadIdx.x < C) w->inverse[threadIdx.x] = 1.0f / w->L[threadIdx.x][threadIdx.x];
    __syncthreads();
}

/* Decorrelates the channels of the centred rows (gaussian_simd.h). All threads. */
template <int WIDE>
__device__ __forceinline__ void whiten(const group_memory *m, int size, int d, float floor) {
    enum { C = CSREC_GAUSSIAN_POOLED };
    __shared__ whitening w;
    const int all = size * WIDE;
    find_whitening<WIDE>(m, size, d, floor, &w);
#pragma unroll 1
    for (int i = threadIdx.x; i < all; i += shape<WIDE>::THREADS) {
        float x[C];
#pragma unroll
        for (int c = 0; c < C; c++) {
            x[c] = m->X[c * all + i];
#pragma unroll
            for (int e = 0; e < c; e++) x[c] = __fmaf_rn(-w.L[c][e], x[e], x[c]);
            x[c] *= w.inverse[c];
        }
#pragma unroll
        for (int c = 0; c < C; c++) m->X[c * all + i] = x[c] * w.scale;
    }
    __syncthreads();
}

/* += sign * the covariance of the pixels, from centred rows; overwrites those of several channels.
 * All threads. */
template <int WIDE, int CHANNELS>
__device__ __forceinline__ void add_covariance(const group_memory *m, int size, int d, float floor,
                                               float sign, product<WIDE> *to) {
    if (CHANNELS > 1) whiten<WIDE>(m, size, d, floor);
    to->add(m->X, CHANNELS * size, sign / (float)size);
}
