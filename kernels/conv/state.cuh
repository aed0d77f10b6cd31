/* SPDX-License-Identifier: BSD-3-Clause */
/* state.cuh - declarations shared by the products of a convolution. Only for kernels/. */
#pragma once

#include "kernels/conv/conv2d.h"
#include "kernels/device/device.h"
#include "kernels/device/mma.cuh"

/* The same numbers as an axis, and the picture's first entry and steps, in the form that kernels
 * read. */
typedef struct csrec_conv_place {
    int in[2], out[2], count[2], first[2], apart[2], step[2], base[2];
    int rows, channels;
    int64_t batch, positions, in_plane, out_plane; /* in_plane: of one channel */
    int64_t in_picture, out_picture;
    bool in_quads, out_quads;
} csrec_conv_place;

/* One column of the im2col matrix: the entry's place relative to the position's, what is added to
 * the position's coordinates, and the index of its weight less the row's. */
typedef struct __align__(16) csrec_conv_tap {
    int offset, down, right, weight;
}
csrec_conv_tap;

/* A tap outside the input at every position. */
enum { CSREC_CONV_NOWHERE = 1 << 29 };

static inline int64_t csrec_conv_taps_of(const csrec_cuda_conv_sum *sum) {
    return sum->axis[0].taps * sum->axis[1].taps;
}

static inline int64_t csrec_conv_whole(int64_t count, int64_t size) {
    return (count + size - 1) / size;
}

csrec_conv_place csrec_conv_place_of(const csrec_cuda_conv_sum *sum);

/* taps[padded]: channel, then taps, the last axis fastest; entries beyond channels * taps lie
 * outside the input. */
csrec_status csrec_conv_list_taps(const csrec_cuda_conv_sum *sum, int64_t padded,
                                  csrec_conv_tap *taps, csrec_error *error);

/* A position: its picture, and the offsets of its first tap's input and of its result. */
typedef struct csrec_conv_position {
    int64_t in, out;
    int down, right;
    bool there;
} csrec_conv_position;

__device__ __forceinline__ csrec_conv_position csrec_conv_locate(const csrec_conv_place *g,
                                                                 int64_t n, int i, int j) {
    csrec_conv_position p;
    p.there = n < g->batch;
    p.down = g->step[0] * i + g->base[0];
    p.right = g->step[1] * j + g->base[1];
    p.in = n * g->in_picture + (int64_t)p.down * g->in[1] + p.right;
    p.out = n * g->out_picture + (int64_t)(g->first[0] + g->apart[0] * i) * g->out[1] +
            g->first[1] + g->apart[1] * j;
    return p;
}

/* The input at a tap, to shared memory. */
__device__ __forceinline__ void csrec_conv_fetch(const csrec_conv_place *g,
                                                 const csrec_conv_position *p,
                                                 const csrec_conv_tap *tap, const float *in,
                                                 float *to) {
    const bool there = p->there && (unsigned)(p->down + tap->down) < (unsigned)g->in[0] &&
                       (unsigned)(p->right + tap->right) < (unsigned)g->in[1];
    csrec_async_4(to, in + (there ? p->in + tap->offset : 0), there);
}

__device__ __forceinline__ uint32_t csrec_conv_round(float x) {
    return (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
}

/* x = big + small, 11 bits each: big rounded, ties away from zero, the remainder has 12 bits, the
 * last is truncated. (cvt.rna.tf32 takes three instructions on sm_90; tensor cores ignore the bits
 * that the masks clear, so the masks cost nothing.) */
__device__ __forceinline__ void csrec_conv_split(float x, uint32_t *big, uint32_t *small) {
    *big = csrec_conv_round(x);
    *small = __float_as_uint(x - __uint_as_float(*big)) & 0xffffe000u;
}

/* Eight products deep: a warp's 16 MT rows by 32 positions. a: this lane's fragments of the first
 * rows, big pieces before small; left, right: its first inputs of the positions from 0 and from 16
 * on, `pitch` floats to the next of the eight. */
template <int MT>
__device__ __forceinline__ void csrec_conv_step(const uint4 *a, const float *left,
                                                const float *right, int pitch,
                                                float (&sum)[MT][4][4]) {
    uint32_t big[4][2], small[4][2];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const float *from = (j < 2 ? left : right) + j % 2 * 8;
#pragma unroll
        for (int k = 0; k < 2; k++) csrec_conv_split(from[4 * k * pitch], &big[j][k], &small[j][k]);
    }
#pragma unroll
    for (int i = 0; i < MT; i++) {
        const uint4 first = a[64 * i], second = a[64 * i + 32];
        const uint32_t high[4] = {first.x, first.y, first.z, first.w};
        const uint32_t low[4] = {second.x, second.y, second.z, second.w};
        float c[4][4] = {};
#pragma unroll
        for (int j = 0; j < 4; j++) csrec_mma_tf32(c[j], low, big[j], c[j]);
#pragma unroll
        for (int j = 0; j < 4; j++) csrec_mma_tf32(c[j], high, small[j], c[j]);
#pragma unroll
        for (int j = 0; j < 4; j++) csrec_mma_tf32(c[j], high, big[j], c[j]);
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int k = 0; k < 4; k++) sum[i][j][k] += c[j][k];
    }
}

/* The same with big pieces alone, which a has alone, too. Sums that tensor cores truncate are good
 * enough here: a unit in the 24th bit for each of some hundred of them. */
template <int MT>
__device__ __forceinline__ void csrec_conv_step_fast(const uint4 *a, const float *left,
                                                     const float *right, int pitch,
                                                     float (&sum)[MT][4][4]) {
    uint32_t big[4][2];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const float *from = (j < 2 ? left : right) + j % 2 * 8;
#pragma unroll
        for (int k = 0; k < 2; k++) big[j][k] = csrec_conv_round(from[4 * k * pitch]);
    }
#pragma unroll
    for (int i = 0; i < MT; i++) {
        const uint4 all = a[32 * i];
        const uint32_t high[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int j = 0; j < 4; j++) csrec_mma_tf32(sum[i][j], high, big[j], sum[i][j]);
    }
}

enum { CSREC_CONV_ROW = 36, CSREC_CONV_TURN = 16 * CSREC_CONV_ROW };

/* Where a row's results are, less those of row 0. */
__device__ __forceinline__ int64_t csrec_conv_row_at(const csrec_conv_place *g, int row) {
    const unsigned r = row;
    return g->out_quads ? (int64_t)(r / 4) * g->out_plane + (r / 2 % 2) * g->out[1] + r % 2
                        : row * g->out_plane;
}

/* N rows of results at a position, read from `line`. All of add is read before anything is written,
 * as one access at a time would wait for memory N times. */
template <int N>
__device__ __forceinline__ void csrec_conv_finish_rows(const csrec_conv_place *g,
                                                       const csrec_cuda_conv_finish &f, int first,
                                                       int64_t at, const float *line, float *out) {
    float value[N], other[N];
#pragma unroll
    for (int r = 0; r < N; r++) {
        const int row = first + r;
        const bool known = f.bias && row < g->rows;
        value[r] = line[r * CSREC_CONV_ROW] + (known ? f.bias[g->out_quads ? row / 4 : row] : 0.0f);
    }
    if (f.add) {
#pragma unroll
        for (int r = 0; r < N; r++)
            other[r] = first + r < g->rows ? f.add[at + csrec_conv_row_at(g, first + r)] : 0.0f;
#pragma unroll
        for (int r = 0; r < N; r++) value[r] += other[r];
    }
#pragma unroll
    for (int r = 0; r < N; r++)
        if (f.relu && !(value[r] > 0.0f)) value[r] = 0.0f;
    if (f.gate) {
#pragma unroll
        for (int r = 0; r < N; r++)
            other[r] = first + r < g->rows ? f.gate[at + csrec_conv_row_at(g, first + r)] : 0.0f;
#pragma unroll
        for (int r = 0; r < N; r++)
            if (!(other[r] > 0.0f)) value[r] = 0.0f;
    }
#pragma unroll
    for (int r = 0; r < N; r++)
        if (first + r < g->rows) out[at + csrec_conv_row_at(g, first + r)] = value[r];
}

/* Results of 16 rows and a warp's 32 positions, transposed so that the warp writes those of a row
 * at once; line: room of CSREC_CONV_TURN floats a warp. */
__device__ __forceinline__ void
csrec_conv_write_rows(const csrec_conv_place *g, const csrec_cuda_conv_finish &finish, int first,
                      const float (&sum)[4][4], int64_t at, bool there, float *line, float *out) {
    const int lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float *to = line + lane / 4 * CSREC_CONV_ROW + lane % 4 * 2 + 8 * j;
        *(float2 *)to = make_float2(sum[j][0], sum[j][1]);
        *(float2 *)(to + 8 * CSREC_CONV_ROW) = make_float2(sum[j][2], sum[j][3]);
    }
    __syncwarp();
    if (!there) return;
#pragma unroll 1
    for (int r = 0; r < 16 && first + r < g->rows; r += 8)
        csrec_conv_finish_rows<8>(g, finish, first + r, at, line + r * CSREC_CONV_ROW + lane, out);
}

/* Tiles of 16 rows per thread block of a product. */
static inline int csrec_conv_tiles_for(int64_t rows) {
    return rows <= 16 ? 1 : rows <= 32 ? 2 : 4;
}
