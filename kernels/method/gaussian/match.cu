/* match.cu - the patches most like each reference patch, within a
 * window.
 *
 * One thread block per reference: the window's guide in shared memory, all
 * distances as keys, those of four places side by side by a thread, the key of
 * the last one wanted by counting eight bits at a time, and a list of the keys below it in the
 * order of the window. The best are kept as candidates of the next round, and the group is chosen
 * from them in the same way. Bits of floats that are not negative sort as their values. */
#include <math.h>

#include "kernels/method/gaussian/state.cuh"

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    BINS = 256,
    KEPT = CSREC_CUDA_GAUSSIAN_KEPT,
    ABREAST = 4,   /* places of a thread */
    LARGEST = 256, /* pixels of a patch with its margin, for that */
    OVER = 16      /* floats after the window that it reads and leaves */
};

/* ---- kernels */

__global__ void mean_channels(csrec_gaussian_device g) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= g.area) return;
    float sum = 0.0f;
    for (int c = 0; c < g.channels; c++) sum += g.u[c * g.area + at];
    g.guide[at] = g.channels > 1 ? sum / (float)g.channels : sum;
}

/* The squares of columns first, as on the CPU. */
__device__ __forceinline__ float distance(const float *patch, const float *other, int wide,
                                          int height, int width) {
    float sum = 0.0f;
    for (int j = 0; j < width; j++) {
        float column = 0.0f;
        for (int i = 0; i < height; i++) {
            const float e = patch[i * wide + j] - other[i * wide + j];
            column = __fmaf_rn(e, e, column);
        }
        sum += column;
    }
    return sum;
}

typedef struct selection {
    int count[BINS];
    int rank;        /* of the wanted key among those that start with prefix */
    unsigned prefix; /* its first bits */
    int finite;
} selection;

/* The bin in which the wanted key falls. One warp. */
__device__ __forceinline__ void find_bin(selection *s) {
    const int lane = threadIdx.x, rank = s->rank;
    const int *count = s->count + lane * (BINS / 32);
    int own = 0;
    for (int b = 0; b < BINS / 32; b++) own += count[b];
    int before = own;
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(~0u, before, d);
        if (lane >= d) before += other;
    }
    before -= own;
    __syncwarp();
    if (rank < before || rank >= before + own) return; /* one lane continues */
    int left = rank - before, bin = 0;
    while (left >= count[bin]) left -= count[bin++];
    s->prefix = s->prefix << 8 | (unsigned)(lane * (BINS / 32) + bin);
    s->rank = left;
}

/* Leaves key number s->rank, from 0, of n in s->prefix, its number among equal
 * ones in s->rank. */
__device__ __forceinline__ void select_key(const unsigned *key, int n, selection *s) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int b = threadIdx.x; b < BINS; b += THREADS) s->count[b] = 0;
        __syncthreads();
        const unsigned prefix = s->prefix;
        for (int i = threadIdx.x; i < n; i += THREADS)
            if (shift == 24 || key[i] >> (shift + 8) == prefix)
                atomicAdd(&s->count[key[i] >> shift & (BINS - 1)], 1);
        __syncthreads();
        if (threadIdx.x < 32) find_bin(s);
        __syncthreads();
    }
}

/* Numbers of keys below the limit, and of those equal to it the first ones:
 * each warp counts its part of the keys, and then lists it after those before.
 */
__device__ __forceinline__ void list_keys(const unsigned *key, int n, unsigned limit, int equal,
                                          unsigned short *chosen) {
    __shared__ int below[WARPS], ties[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int part = (n + THREADS - 1) / THREADS * 32, begin = warp * part;
    const int end = begin + part < n ? begin + part : n;
    int lower = 0, same = 0;
    for (int i = begin + lane; i < end; i += 32) {
        lower += key[i] < limit;
        same += key[i] == limit;
    }
    lower = __reduce_add_sync(~0u, lower);
    same = __reduce_add_sync(~0u, same);
    if (lane == 0) {
        below[warp] = lower;
        ties[warp] = same;
    }
    __syncthreads();
    int listed = 0, met = 0; /* before this warp's */
    for (int w = 0; w < warp; w++) {
        listed += below[w];
        met += ties[w];
    }
    listed += met < equal ? met : equal;
    for (int first = begin; first < end; first += 32) {
        const int i = first + lane;
        const unsigned own = i < end ? key[i] : ~0u, before = (1u << lane) - 1;
        const unsigned tied = __ballot_sync(~0u, own == limit);
        const bool taken = own < limit || (own == limit && met + __popc(tied & before) < equal);
        const unsigned all = __ballot_sync(~0u, taken);
        if (taken) chosen[listed + __popc(all & before)] = (unsigned short)i;
        listed += __popc(all);
        met += __popc(tied);
    }
}

/* Numbers of the least finite ones of n keys, at most `wanted`, in their order.
 */
__device__ __forceinline__ int pick(const unsigned *key, int n, int wanted, selection *s,
                                    unsigned short *chosen) {
    if (threadIdx.x == 0) s->finite = 0;
    __syncthreads();
    int finite = 0;
    for (int k = threadIdx.x; k < n; k += THREADS) finite += key[k] < 0x7f800000u;
    atomicAdd(&s->finite, finite);
    __syncthreads();
    wanted = wanted < s->finite ? wanted : s->finite;
    if (threadIdx.x == 0) {
        s->rank = wanted - 1;
        s->prefix = 0;
    }
    __syncthreads();
    if (wanted == 0) return 0; /* an estimate that is not finite */
    select_key(key, n, s);
    list_keys(key, n, s->prefix, s->rank + 1, chosen);
    __syncthreads();
    return wanted;
}

/* Where many patches are equal to it a reference may be left out: it then takes the last slot. */
__device__ __forceinline__ void include_reference(unsigned short *shift, int n, int middle) {
    __syncthreads();
    if (threadIdx.x == 0) {
        int i = 0;
        while (i < n && shift[i] != middle) i++;
        if (i == n) shift[n - 1] = (unsigned short)middle;
    }
    __syncthreads();
}

/* The guide around a reference, its pixels at the edge repeated beyond the
 * picture. Rows are of multiples of four. */
typedef struct view {
    float *window;
    int wide, high, radius, height, width; /* of a patch and its margin */
} view;

__device__ __forceinline__ void look(const csrec_gaussian_device *g, int y, int x, int margin,
                                     const view *v) {
    for (int row = threadIdx.x / 32; row < v->high; row += WARPS) {
        int i = y - margin - v->radius + row;
        i = i < 0 ? 0 : i < g->height ? i : g->height - 1;
        const float *from = g->guide + (int64_t)i * g->width;
        for (int column = threadIdx.x % 32; column < v->wide; column += 32) {
            int j = x - margin - v->radius + column;
            j = j < 0 ? 0 : j < g->width ? j : g->width - 1;
            v->window[row * v->wide + column] = from[j];
        }
    }
    __syncthreads();
}

__device__ __forceinline__ unsigned key_of(const csrec_gaussian_device *g, const view *v, int y,
                                           int x, int shift) {
    const int side = 2 * v->radius + 1, i = shift / side, j = shift % side;
    const int top = y + i - v->radius, left = x + j - v->radius;
    const bool there = top >= 0 && top + g->patch_height <= g->height && left >= 0 &&
                       left + g->patch_width <= g->width;
    if (!there) return 0x7f800000u; /* infinity */
    return __float_as_uint(distance(v->window + v->radius * v->wide + v->radius,
                                    v->window + i * v->wide + j, v->wide, v->height, v->width));
}

/* Keys of all places for patches WIDTH wide with their margin: four distances
 * side by side, row after row, from pixels in registers. */
template <int WIDTH>
__device__ __forceinline__ void find_keys(const csrec_gaussian_device *g, const view *v, int y,
                                          int x, float *patch, unsigned *key) {
    enum { PATCH = (WIDTH + 3) / 4 * 4, OTHER = (WIDTH + ABREAST + 2) / 4 * 4 };
    const int side = 2 * v->radius + 1, across = (side + ABREAST - 1) / ABREAST;
    for (int k = threadIdx.x; k < v->height * PATCH; k += THREADS)
        patch[k] = v->window[(v->radius + k / PATCH) * v->wide + v->radius + k % PATCH];
    __syncthreads();
    for (int item = threadIdx.x; item < side * across; item += THREADS) {
        const int i = item / across, j = item % across * ABREAST;
        float sum[ABREAST] = {};
        for (int r = 0; r < v->height; r++) {
            __align__(16) float own[PATCH];
            __align__(16) float other[OTHER];
#pragma unroll
            for (int c = 0; c < PATCH; c += 4)
                *(float4 *)(own + c) = *(const float4 *)(patch + r * PATCH + c);
#pragma unroll
            for (int c = 0; c < OTHER; c += 4)
                *(float4 *)(other + c) = *(const float4 *)(v->window + (i + r) * v->wide + j + c);
#pragma unroll
            for (int c = 0; c < WIDTH; c++)
#pragma unroll
                for (int s = 0; s < ABREAST; s++) {
                    const float e = own[c] - other[c + s];
                    sum[s] = __fmaf_rn(e, e, sum[s]);
                }
        }
        const int top = y + i - v->radius, left = x + j - v->radius;
        const bool there = top >= 0 && top + g->patch_height <= g->height;
#pragma unroll
        for (int s = 0; s < ABREAST; s++) {
            if (j + s >= side) break;
            const bool whole = there && left + s >= 0 && left + s + g->patch_width <= g->width;
            key[i * side + j + s] = whole ? __float_as_uint(sum[s]) : 0x7f800000u; /* infinity */
        }
    }
    __syncthreads();
}

/* The widths that the rounds of method/gaussian/gaussian.c have, with and without a
 * margin. */
__device__ __forceinline__ void find_all_keys(const csrec_gaussian_device *g, const view *v, int y,
                                              int x, unsigned *key) {
    __shared__ __align__(16) float patch[LARGEST];
    const bool fits = v->height * ((v->width + 3) / 4 * 4) <= LARGEST;
    if (fits && v->width == 8)
        find_keys<8>(g, v, y, x, patch, key);
    else if (fits && v->width == 10)
        find_keys<10>(g, v, y, x, patch, key);
    else if (fits && v->width == 14)
        find_keys<14>(g, v, y, x, patch, key);
    else if (fits && v->width == 16)
        find_keys<16>(g, v, y, x, patch, key);
    else
        for (int k = threadIdx.x; k < (2 * v->radius + 1) * (2 * v->radius + 1); k += THREADS)
            key[k] = key_of(g, v, y, x, k);
}

__global__ void __launch_bounds__(THREADS)
    match_patches(const __grid_constant__ csrec_gaussian_device g, int columns, int radius,
                  int margin, bool again) {
    extern __shared__ __align__(16) float window[];
    __shared__ selection s;
    __shared__ unsigned short kept[KEPT], chosen[KEPT];
    __shared__ unsigned kept_key[KEPT];
    const int side = 2 * radius + 1, shifts = side * side;
    const int height = g.patch_height + 2 * margin, width = g.patch_width + 2 * margin;
    const view v = {window, (2 * radius + width + 3) / 4 * 4, 2 * radius + height, radius, height,
                    width};
    const int y = g.row[blockIdx.x / columns], x = g.column[blockIdx.x % columns];
    unsigned short *candidates = g.shift + (int64_t)blockIdx.x * KEPT;
    int count = again ? g.count[blockIdx.x] : 0;
    look(&g, y, x, margin, &v);
    if (!again) {
        unsigned *key = (unsigned *)window + v.wide * v.high + OVER;
        find_all_keys(&g, &v, y, x, key);
        count = pick(key, shifts, KEPT, &s, kept);
        if (count) include_reference(kept, count, shifts / 2);
        for (int k = threadIdx.x; k < count; k += THREADS) {
            candidates[k] = kept[k];
            kept_key[k] = key[kept[k]];
        }
        if (threadIdx.x == 0) g.count[blockIdx.x] = count;
    }
    for (int k = threadIdx.x; again && k < count; k += THREADS) {
        kept[k] = candidates[k];
        kept_key[k] = key_of(&g, &v, y, x, kept[k]);
    }
    const int size = pick(kept_key, count, g.group, &s, chosen);
    for (int k = threadIdx.x; k < size; k += THREADS) chosen[k] = kept[chosen[k]];
    if (size) include_reference(chosen, size, shifts / 2);
    for (int k = threadIdx.x; k < size; k += THREADS)
        g.match[(int64_t)blockIdx.x * g.group + k] =
            make_int2(y + chosen[k] / side - radius, x + chosen[k] % side - radius);
    if (threadIdx.x == 0) g.size[blockIdx.x] = size;
}

/* ---- launchers */

csrec_status csrec_gaussian_match(const csrec_gaussian_device *g,
                                  const csrec_cuda_gaussian_round *round, int shared,
                                  csrec_error *error) {
    enum { OWN = 4608 }; /* static shared memory, about */
    const int64_t side = 2 * (int64_t)round->radius + 1, edge = side - 1 + 2 * round->margin;
    const int64_t wide = (edge + g->patch_width + 3) / 4 * 4;
    const int64_t all = wide * (edge + g->patch_height) + (round->again ? 0 : side * side + OVER);
    const int64_t bytes = all * (int64_t)sizeof(float);
    if (bytes + OWN > shared || side * side > 65535)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: a window of radius %d does not fit; use --backend cpu",
                          round->radius);
    mean_channels<<<csrec_cuda_blocks(g->area, 256), 256>>>(*g);
    csrec_status status = csrec_cuda_launched("mean_channels", error);
    if (!status)
        status = csrec_cuda_check(cudaFuncSetAttribute(match_patches,
                                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       (int)bytes),
                                  "match_patches", error);
    if (status) return status;
    match_patches<<<(unsigned)(round->rows * round->columns), THREADS, (size_t)bytes>>>(
        *g, round->columns, round->radius, round->margin, round->again);
    return csrec_cuda_launched("match_patches", error);
}
