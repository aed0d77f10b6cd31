/* rows.cuh - rows of sites on an adaptive grid; method/adaptive/rows.c is the reference.
 * Only for kernels/. */
#ifndef CSREC_KERNELS_METHOD_ADAPTIVE_ROWS_CUH
#define CSREC_KERNELS_METHOD_ADAPTIVE_ROWS_CUH

#include "kernels/method/adaptive/state.cuh"

enum { PART = 256 };

__device__ __forceinline__ float project(const csrec_cuda_axis *axis, float offset,
                                         const float (&base)[CSREC_CUDA_BASES]) {
    float t = offset;
    if (axis->count == 2) {
#pragma unroll
        for (int i = 0; i < 2; i++) t += axis->coefficient[i] * base[i];
    } else {
#pragma unroll
        for (int i = 0; i < CSREC_CUDA_FEATURES; i++) t += axis->coefficient[i] * base[2 + i];
    }
    return t;
}

/* Features are present only if the last axis uses them. */
__device__ __forceinline__ void load_bases(const csrec_adaptive_device *d,
                                           const csrec_cuda_axes *axes, int64_t site,
                                           float (&base)[CSREC_CUDA_BASES]) {
    const bool plain = axes->axis[axes->count - 1].count == 2;
#pragma unroll
    for (int b = 0; b < CSREC_CUDA_BASES; b++)
        base[b] = b < 2 || !plain ? d->bases[b * (int64_t)d->sites + site] : 0.0f;
}

/* All threads: the grid's axes into shared memory. */
__device__ __forceinline__ void load_axes(const csrec_cuda_axes *from, csrec_cuda_axes *to) {
    for (int k = threadIdx.x; k < (int)(sizeof *to / sizeof(int)); k += blockDim.x)
        ((int *)to)[k] = ((const int *)from)[k];
    __syncthreads();
}

/* A coordinate's bits at their places: low bytes of all axes, then high ones. All threads. */
typedef struct row_tables {
    uint64_t part[CSREC_CUDA_AXES][2][PART];
} row_tables;

__device__ __forceinline__ void fill_tables(const csrec_cuda_axes *axes, row_tables *tables) {
    for (int k = threadIdx.x; k < axes->count * 2 * PART; k += blockDim.x) {
        const int a = k / (2 * PART), half = k / PART % 2, v = k % PART;
        uint64_t bits = 0;
        for (int b = 0; b < 8; b++) {
            const int place = axes->axis[a].place[8 * half + b];
            if (place == CSREC_CUDA_AXIS_NONE) break; /* and all above */
            bits |= (uint64_t)(v >> b & 1) << place;
        }
        tables->part[a][half][v] = bits;
    }
    __syncthreads();
}

__device__ __forceinline__ uint64_t row_of(const csrec_adaptive_device *d,
                                           const csrec_cuda_axes *axes, const row_tables *tables,
                                           int64_t site) {
    float base[CSREC_CUDA_BASES];
    load_bases(d, axes, site, base);
    uint64_t row = 0;
    for (int a = 0; a < axes->count; a++) {
        const csrec_cuda_axis *axis = &axes->axis[a];
        float t = project(axis, axis->offset, base);
        t = t > axis->least ? t : axis->least;
        const int v = (int)(t < axis->most ? t : axis->most);
        row |= tables->part[a][0][v & 255] | tables->part[a][1][v >> 8 & 255];
    }
    return row;
}

#endif
