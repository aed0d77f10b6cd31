/* condition.cuh - a patch conditioned on its samples by a warp. Only for kernels/.
 *
 * V = L^-1 C_o with L L^T = C_oo + noise I, sample after sample: row n of V is row o_n of C minus
 * the part explained by the previous rows. Four samples at a time: the part of earlier rows is
 * subtracted from all four in one pass over them, and each lane reduces the remaining four by four
 * block itself. A lane has two or four columns side by side. */
#ifndef CSREC_KERNELS_METHOD_GAUSSIAN_CONDITION_CUH
#define CSREC_KERNELS_METHOD_GAUSSIAN_CONDITION_CUH

#include "kernels/method/gaussian/state.cuh"

enum { TEAMS_MOST = 8, SAMPLES = 4 };

typedef struct fitting {
    float diagonal, trust, noise, em_diagonal, evenness;
    int em, every, teams, rows; /* warps that condition, rows of V for each: of SAMPLES */
} fitting;

/* Shared memory of a block. */
typedef struct group_memory {
    float *C, *X, *V; /* [WIDE][WIDE], [group][WIDE], [teams][rows][WIDE] */
    float *known;     /* [teams][rows][2] samples of the current patch: pixel, value - mean */
    float *mean;      /* [WIDE] */
    int *samples;     /* [teams] rows of V that count */
    int *offset;      /* [WIDE] of the pixels from the corner of a patch */
    int64_t *corner;  /* [group] */
} group_memory;

/* A lane's pixels of a patch, side by side; lanes beyond the last repeat the first's work. */
template <int WIDE> struct pixels {
    enum { Q = WIDE > 64 ? 4 : 2 };
    int offset[Q], column;
    bool inside[Q], there;

    __device__ __forceinline__ void begin(const int *offsets, int d) {
        const int first = threadIdx.x % 32 * Q;
        there = first < WIDE;
        column = there ? first : 0;
#pragma unroll
        for (int q = 0; q < Q; q++) {
            offset[q] = offsets[column + q];
            inside[q] = there && first + q < d;
        }
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

/* Mean minus the prior's mean, and variance. */
template <int WIDE> struct posterior {
    __align__(16) float x[pixels<WIDE>::Q];
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

/* The samples' pixels in order, and values minus the mean; a pixel without a sample is NaN. */
template <int WIDE>
__device__ __forceinline__ int list_samples(const csrec_gaussian_device *g, const group_memory *m,
                                            const pixels<WIDE> &own, const float *y, int64_t corner,
                                            float *known) {
    enum { Q = pixels<WIDE>::Q };
    const unsigned lower = (1u << threadIdx.x % 32) - 1;
    float value[Q];
    int at = 0, n = 0;
#pragma unroll
    for (int q = 0; q < Q; q++)
        value[q] = own.inside[q] ? y[corner + own.offset[q]] : __int_as_float(0x7fffffff);
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const unsigned seen = __ballot_sync(~0u, value[q] == value[q]);
        at += __popc(seen & lower);
        n += __popc(seen);
    }
#pragma unroll
    for (int q = 0; q < Q; q++) {
        if (!(value[q] == value[q])) continue;
        known[2 * at] = __int_as_float(own.column + q);
        known[2 * at + 1] = value[q] - m->mean[own.column + q];
        at++;
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

/* Four samples, `left` of them valid: computes their rows of V and applies them. block[s][t]: row s
 * at the pixel of sample t. */
template <int WIDE>
__device__ __forceinline__ void
take_four(const pixels<WIDE> &own, float noise, int left, const int (&pixel)[SAMPLES],
          const float (&value)[SAMPLES], float (&r)[SAMPLES][pixels<WIDE>::Q], posterior<WIDE> *p) {
    enum { Q = pixels<WIDE>::Q };
    float block[SAMPLES][SAMPLES], x[SAMPLES];
#pragma unroll
    for (int t = 0; t < SAMPLES; t++) {
        x[t] = pick(p->x, pixel[t]);
#pragma unroll
        for (int s = 0; s <= t; s++) block[s][t] = pick(r[s], pixel[t]);
    }
#pragma unroll
    for (int s = 0; s < SAMPLES; s++) {
        const float scale = s < left ? rsqrtf(fmaxf(block[s][s], 0.0f) + noise) : 0.0f;
        const float z = (value[s] - x[s]) * scale;
#pragma unroll
        for (int k = 0; k < Q; k++) {
            r[s][k] *= scale;
            p->x[k] = __fmaf_rn(z, r[s][k], p->x[k]);
            p->variance[k] = __fmaf_rn(-r[s][k], r[s][k], p->variance[k]);
        }
#pragma unroll
        for (int t = s + 1; t < SAMPLES; t++) {
            const float l = block[s][t] *= scale;
            x[t] = __fmaf_rn(z, l, x[t]);
#pragma unroll
            for (int u = s + 1; u <= t; u++) block[u][t] = __fmaf_rn(-block[s][u], l, block[u][t]);
#pragma unroll
            for (int k = 0; k < Q; k++) r[t][k] = __fmaf_rn(-l, r[s][k], r[t][k]);
        }
    }
}

/* Conditions patch k of the group. Returns the rows of V, of which the last may be 0. One warp. */
template <int WIDE>
__device__ __forceinline__ int condition(const csrec_gaussian_device *g, const fitting *f,
                                         const group_memory *m, const pixels<WIDE> &own,
                                         int channel, int k, posterior<WIDE> *p) {
    enum { Q = pixels<WIDE>::Q };
    const int warp = threadIdx.x / 32;
    float *V = m->V + warp * f->rows * WIDE, *known = m->known + 2 * warp * f->rows;
    const int n = list_samples<WIDE>(g, m, own, g->y + channel * g->area, m->corner[k], known);
#pragma unroll
    for (int q = 0; q < Q; q++) {
        p->x[q] = 0.0f;
        p->variance[q] = m->C[(own.column + q) * (WIDE + 1)];
    }
    int first = 0;
    for (; first < n; first += SAMPLES) {
        __align__(16) float r[SAMPLES][Q];
        int pixel[SAMPLES];
        float value[SAMPLES];
#pragma unroll
        for (int s = 0; s < SAMPLES; s++) {
            const int number = first + s < n ? first + s : first;
            pixel[s] = __float_as_int(known[2 * number]);
            value[s] = known[2 * number + 1];
            own.load(m->C + pixel[s] * WIDE, r[s]);
        }
        reduce<WIDE>(own, V, first, pixel, r);
        take_four<WIDE>(own, f->noise, n - first, pixel, value, r, p);
#pragma unroll
        for (int s = 0; s < SAMPLES; s++) own.store(V + (first + s) * WIDE, r[s]);
        __syncwarp();
    }
    return first;
}

#endif
