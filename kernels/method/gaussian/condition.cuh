/* SPDX-License-Identifier: BSD-3-Clause */
/* condition.cuh - a patch conditioned on its samples by a warp. Only for kernels/.
 *
 * V = L^-1 C_o with L L^T = C_oo + noise I, sample after sample: row n of V is row o_n of C minus
 * the part explained by the previous rows. Four samples at a time: the part of earlier rows is
 * subtracted from all four in one pass over them, and each lane reduces the remaining four by four
 * block itself. A lane has two or four columns side by side. Pooled channels (CHANNELS, else 1) are
 * known at the same pixels and share V. */
#pragma once

#include "kernels/method/gaussian/state.cuh"

enum { TEAMS_MOST = 8, SAMPLES = 4 };

typedef struct fitting {
    float diagonal, trust, noise, em_diagonal, evenness, floor;
    int em, every, teams, rows; /* warps that condition, rows of V for each: of SAMPLES */
} fitting;

/* Shared memory of a block. */
typedef struct group_memory {
    float *C, *X, *V; /* [WIDE][WIDE], [CHANNELS][size][WIDE], [teams][rows][WIDE] */
    float *known;     /* [teams][rows][1 + CHANNELS] samples of the current patch: pixel, values
                         less means */
    float *mean;      /* [CHANNELS][WIDE] */
    int *samples;     /* [teams] rows of V that count */
    int *offset;      /* [WIDE] of the pixels from the corner of a patch */
    int64_t *corner;  /* [group] */
} group_memory;

/* A lane's pixels of a patch, side by side; lanes beyond the last repeat the first's work. */
template <int WIDE> struct pixels {
    enum { Q = WIDE > 64 ? 4 : 2 };
    int column;
    bool inside[Q], there;

    __device__ __forceinline__ void begin(int d) {
        const int first = threadIdx.x % 32 * Q;
        there = first < WIDE;
        column = there ? first : 0;
#pragma unroll
        for (int q = 0; q < Q; q++) inside[q] = there && first + q < d;
    }

    __device__ __forceinline__ void load(const float *row, float (&to)[Q]) const {
        if (Q == 4)
            *(float4 *)to = *(const float4 *)(row + column);
        else
            *(float2 *)to = *(const float2 *)(row + column);
    }

    __device__ __forceinline__ void store(float *row, const float (&from)[Q]) const {
        if (!there) return;
        if (Q == 4)
            *(float4 *)(row + column) = *(const float4 *)from;
        else
            *(float2 *)(row + column) = *(const float2 *)from;
    }
};

/* Means minus the prior's, and variance. */
template <int WIDE, int CHANNELS> struct posterior {
    __align__(16) float x[CHANNELS][pixels<WIDE>::Q];
    __align__(16) float variance[pixels<WIDE>::Q];
};

/* A column of a row that is spread over the warp, in all lanes. */
template <int Q> __device__ __forceinline__ float pick(const float (&row)[Q], int column) {
    const int q = column % Q;
    float own = row[0];
#pragma unroll
    for (int k = 1; k < Q; k++) own = q == k ? row[k] : own;
    return __shfl_sync(~0u, own, column / Q);
}

/* The samples' pixels in order, and values minus the means. y: of the first channel; a pixel
 * without a sample is NaN. Returns their number. */
template <int WIDE, int CHANNELS>
__device__ __forceinline__ int list_samples(const csrec_gaussian_device *g, const group_memory *m,
                                            const pixels<WIDE> &own, const float *y, int64_t corner,
                                            float *known) {
    enum { Q = pixels<WIDE>::Q };
    const unsigned lower = (1u << threadIdx.x % 32) - 1;
    float value[Q];
    int at = 0, n = 0;
#pragma unroll
    for (int q = 0; q < Q; q++)
        value[q] =
            own.inside[q] ? y[corner + m->offset[own.column + q]] : __int_as_float(0x7fffffff);
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const unsigned seen = __ballot_sync(~0u, value[q] == value[q]);
        at += __popc(seen & lower);
        n += __popc(seen);
    }
#pragma unroll
    for (int q = 0; q < Q; q++) {
        if (!(value[q] == value[q])) continue;
        float *to = known + (1 + CHANNELS) * at++;
        to[0] = __int_as_float(own.column + q);
        to[1] = value[q] - m->mean[own.column + q];
        for (int c = 1; c < CHANNELS; c++)
            to[1 + c] = y[c * g->entries + corner + m->offset[own.column + q]] -
                        m->mean[c * WIDE + own.column + q];
    }
    __syncwarp();
    return n;
}

/* Subtracts from four rows the part explained by n rows of V. */
template <int WIDE>
__device__ __forceinline__ void reduce(const pixels<WIDE> &own, const float *V, int n,
                                       const int (&pixel)[SAMPLES],
                                       float (&r)[SAMPLES][pixels<WIDE>::Q]) {
    enum { Q = pixels<WIDE>::Q };
#pragma unroll 4
    for (int j = 0; j < n; j++) {
        const float *row = V + j * WIDE;
        __align__(16) float v[Q];
        own.load(row, v);
#pragma unroll
        for (int s = 0; s < SAMPLES; s++) {
            const float l = row[pixel[s]];
#pragma unroll
            for (int k = 0; k < Q; k++) r[s][k] = __fmaf_rn(-l, v[k], r[s][k]);
        }
    }
}

/* Four samples, `left` of them valid: computes their rows of V and applies them. value[s]: of the
 * channels. block[s][t]: row s at the pixel of sample t. */
template <int WIDE, int CHANNELS>
__device__ __forceinline__ void
take_four(const pixels<WIDE> &own, float noise, int left, const int (&pixel)[SAMPLES],
          const float *known, float (&r)[SAMPLES][pixels<WIDE>::Q], posterior<WIDE, CHANNELS> *p) {
    enum { Q = pixels<WIDE>::Q };
    float block[SAMPLES][SAMPLES];
#pragma unroll
    for (int t = 0; t < SAMPLES; t++)
#pragma unroll
        for (int s = 0; s <= t; s++) block[s][t] = pick(r[s], pixel[t]);
#pragma unroll
    for (int s = 0; s < SAMPLES; s++) {
        const float scale = s < left ? rsqrtf(fmaxf(block[s][s], 0.0f) + noise) : 0.0f;
        const float *value = known + (s < left ? s : 0) * (1 + CHANNELS) + 1;
        float z[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) z[c] = (value[c] - pick(p->x[c], pixel[s])) * scale;
#pragma unroll
        for (int k = 0; k < Q; k++) {
            r[s][k] *= scale;
#pragma unroll
            for (int c = 0; c < CHANNELS; c++) p->x[c][k] = __fmaf_rn(z[c], r[s][k], p->x[c][k]);
            p->variance[k] = __fmaf_rn(-r[s][k], r[s][k], p->variance[k]);
        }
#pragma unroll
        for (int t = s + 1; t < SAMPLES; t++) {
            const float l = block[s][t] *= scale;
#pragma unroll
            for (int u = s + 1; u <= t; u++) block[u][t] = __fmaf_rn(-block[s][u], l, block[u][t]);
#pragma unroll
            for (int k = 0; k < Q; k++) r[t][k] = __fmaf_rn(-l, r[s][k], r[t][k]);
        }
    }
}

/* Conditions patch k of the group in `channel` and those pooled with it. Returns the rows of V, of
 * which the last may be 0. One warp. */
template <int WIDE, int CHANNELS>
__device__ __forceinline__ int condition(const csrec_gaussian_device *g, const fitting *f,
                                         const group_memory *m, const pixels<WIDE> &own,
                                         int channel, int k, posterior<WIDE, CHANNELS> *p) {
    enum { Q = pixels<WIDE>::Q, KNOWN = 1 + CHANNELS };
    const int warp = threadIdx.x / 32;
    float *V = m->V + warp * f->rows * WIDE, *known = m->known + KNOWN * warp * f->rows;
    const int n =
        list_samples<WIDE, CHANNELS>(g, m, own, g->y + channel * g->entries, m->corner[k], known);
#pragma unroll
    for (int q = 0; q < Q; q++) {
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) p->x[c][q] = 0.0f;
        p->variance[q] = m->C[(own.column + q) * (WIDE + 1)];
    }
    int first = 0;
    for (; first < n; first += SAMPLES) {
        __align__(16) float r[SAMPLES][Q];
        int pixel[SAMPLES];
        const float *samples = known + KNOWN * first;
#pragma unroll
        for (int s = 0; s < SAMPLES; s++) {
            pixel[s] = __float_as_int(samples[first + s < n ? KNOWN * s : 0]);
            own.load(m->C + pixel[s] * WIDE, r[s]);
        }
        reduce<WIDE>(own, V, first, pixel, r);
        take_four<WIDE, CHANNELS>(own, f->noise, n - first, pixel, samples, r, p);
#pragma unroll
        for (int s = 0; s < SAMPLES; s++) own.store(V + (first + s) * WIDE, r[s]);
        __syncwarp();
    }
    return first;
}
