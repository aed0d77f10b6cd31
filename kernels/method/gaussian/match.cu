/* SPDX-License-Identifier: BSD-3-Clause */
/* match.cu - the patches most like each reference patch, within a window.
 *
 * One thread block per reference: the window's guide in shared memory, one guide after another, and
 * all distances as keys. A thread finds those of four places side by side. The key of the last one
 * wanted comes from counting eight bits at a time; then the keys below it are listed in the order
 * of the window. The best are kept as candidates of the next round, and the group is chosen from
 * them in the same way. Bits of floats that are not negative sort as their values. */
#include <math.h>

#include "kernels/method/gaussian/select.cuh"
#include "kernels/method/gaussian/state.cuh"

enum {
    KEPT = CSREC_CUDA_GAUSSIAN_KEPT,
    ABREAST = 4, /* places of a thread */
    ANY = 0,     /* width of a patch with its margin */
    OVER = 16    /* floats after the window that it reads and leaves */
};

__global__ void mean_channels(csrec_gaussian_device g) {
    const int64_t at = csrec_cuda_thread();
    if (at >= g.entries) return;
    float sum = 0.0f;
    for (int c = 0; c < g.channels; c++) sum += g.u[c * g.entries + at];
    g.guide[at] = sum / (float)g.channels;
}

/* Part of a guide around a reference, rows of multiples of four, and sizes of a patch: all with
 * margins. Beyond the picture its entries at the edge are repeated. */
typedef struct view {
    float *window;
    int wide, high, thick, depth, height, width;
    int deep, radius; /* of the places */
    int front, frame; /* margins */
} view;

__device__ __forceinline__ view view_of(const csrec_gaussian_device *g, float *window, int deep,
                                        int radius, int margin) {
    const int front = g->depth > 1 ? margin : 0, depth = g->patch_depth + 2 * front;
    const int height = g->patch_height + 2 * margin, width = g->patch_width + 2 * margin;
    return (view){window,
                  (2 * radius + width + 3) / 4 * 4,
                  2 * radius + height,
                  2 * deep + depth,
                  depth,
                  height,
                  width,
                  deep,
                  radius,
                  front,
                  margin};
}

__device__ __forceinline__ int inside(int at, int size) {
    return at < 0 ? 0 : at < size ? at : size - 1;
}

/* All threads. */
__device__ __forceinline__ void look(const csrec_gaussian_device *g, const float *guide, int3 at,
                                     const view *v) {
    for (int row = threadIdx.x / 32; row < v->thick * v->high; row += WARPS) {
        const int z = inside(at.z - v->front - v->deep + row / v->high, g->depth);
        const int y = inside(at.y - v->frame - v->radius + row % v->high, g->height);
        const float *from = guide + ((int64_t)z * g->height + y) * g->width;
        for (int column = threadIdx.x % 32; column < v->wide; column += 32)
            v->window[row * v->wide + column] =
                from[inside(at.x - v->frame - v->radius + column, g->width)];
    }
    __syncthreads();
}

/* Whether the patch at the place `shift` of the window lies in the picture. */
__device__ __forceinline__ bool is_whole(const csrec_gaussian_device *g, const view *v, int3 at,
                                         int3 shift) {
    const int z = at.z + shift.z - v->deep, y = at.y + shift.y - v->radius;
    const int x = at.x + shift.x - v->radius;
    return z >= 0 && z + g->patch_depth <= g->depth && y >= 0 && y + g->patch_height <= g->height &&
           x >= 0 && x + g->patch_width <= g->width;
}

__device__ __forceinline__ int3 shift_of(const view *v, int place) {
    const int side = 2 * v->radius + 1;
    return make_int3(place % side, place / side % side, place / side / side);
}

/* The distance of the patch at a place, the squares of columns first, as on the CPU. */
__device__ __forceinline__ float distance(const view *v, int3 shift) {
    const int slice = v->high * v->wide;
    const float *patch = v->window + v->deep * slice + v->radius * (v->wide + 1);
    const float *other = v->window + shift.z * slice + shift.y * v->wide + shift.x;
    float sum = 0.0f;
    for (int j = 0; j < v->width; j++) {
        float column = 0.0f;
        for (int i = 0; i < v->depth * v->height; i++) {
            const int at = i / v->height * slice + i % v->height * v->wide + j;
            const float e = patch[at] - other[at];
            column = __fmaf_rn(e, e, column);
        }
        sum += column;
    }
    return sum;
}

/* Adds a guide's distance to those of the guides before. */
__device__ __forceinline__ unsigned key_of(const csrec_gaussian_device *g, const view *v, int3 at,
                                           int place, bool first, unsigned before) {
    const int3 shift = shift_of(v, place);
    if (!is_whole(g, v, at, shift)) return 0x7f800000u; /* infinity */
    const float sum = distance(v, shift);
    return __float_as_uint(first ? sum : __uint_as_float(before) + sum);
}

/* Keys of all places for patches WIDTH wide with their margin: four distances
 * side by side, row after row, from pixels in registers. */
template <int WIDTH>
__device__ __forceinline__ void find_keys(const csrec_gaussian_device *g, const view *v, int3 at,
                                          bool begin, float *patch, unsigned *key) {
    enum { PATCH = (WIDTH + 3) / 4 * 4, OTHER = (WIDTH + ABREAST + 2) / 4 * 4 };
    const int side = 2 * v->radius + 1, across = (side + ABREAST - 1) / ABREAST;
    const int slice = v->high * v->wide, rows = v->depth * v->height;
    for (int k = threadIdx.x; k < rows * PATCH; k += THREADS) {
        const int r = k / PATCH, z = v->deep + r / v->height, y = v->radius + r % v->height;
        patch[k] = v->window[z * slice + y * v->wide + v->radius + k % PATCH];
    }
    __syncthreads();
    for (int item = threadIdx.x; item < (2 * v->deep + 1) * side * across; item += THREADS) {
        const int line = item / across, j = item % across * ABREAST;
        const int3 shift = make_int3(j, line % side, line / side);
        const float *others = v->window + shift.z * slice + shift.y * v->wide + j, *mine = patch;
        float sum[ABREAST] = {};
        for (int k = 0; k < v->depth; k++)
            for (int r = 0; r < v->height; r++, mine += PATCH) {
                const float *from = others + k * slice + r * v->wide;
                __align__(16) float own[PATCH];
                __align__(16) float other[OTHER];
#pragma unroll
                for (int c = 0; c < PATCH; c += 4)
                    *(float4 *)(own + c) = *(const float4 *)(mine + c);
#pragma unroll
                for (int c = 0; c < OTHER; c += 4)
                    *(float4 *)(other + c) = *(const float4 *)(from + c);
#pragma unroll
                for (int c = 0; c < WIDTH; c++)
#pragma unroll
                    for (int s = 0; s < ABREAST; s++) {
                        const float e = own[c] - other[c + s];
                        sum[s] = __fmaf_rn(e, e, sum[s]);
                    }
            }
#pragma unroll
        for (int s = 0; s < ABREAST; s++) {
            if (j + s >= side) break;
            unsigned *to = key + line * side + j + s;
            const float all = begin ? sum[s] : __uint_as_float(*to) + sum[s];
            const bool whole = is_whole(g, v, at, make_int3(j + s, shift.y, shift.z));
            *to = whole ? __float_as_uint(all) : 0x7f800000u; /* infinity */
        }
    }
    __syncthreads();
}

/* The same for any width. */
template <>
__device__ __forceinline__ void find_keys<ANY>(const csrec_gaussian_device *g, const view *v,
                                               int3 at, bool begin, float *, unsigned *key) {
    const int side = 2 * v->radius + 1, places = (2 * v->deep + 1) * side * side;
    for (int k = threadIdx.x; k < places; k += THREADS)
        key[k] = key_of(g, v, at, k, begin, begin ? 0 : key[k]);
    __syncthreads();
}

/* Floats of a patch with rows of multiples of four. */
__host__ __device__ __forceinline__ int patch_floats(int depth, int height, int width) {
    return depth * height * ((width + 3) / 4 * 4);
}

typedef struct search {
    int64_t first; /* number of the first reference */
    int rows, columns, deep, radius, margin;
    bool again;
} search;

template <int WIDTH>
__global__ void __launch_bounds__(THREADS)
    match_patches(const __grid_constant__ csrec_gaussian_device g,
                  const __grid_constant__ search f) {
    extern __shared__ __align__(16) float window[];
    __shared__ selection s;
    __shared__ unsigned short kept[KEPT], chosen[KEPT];
    __shared__ unsigned kept_key[KEPT];
    const view v = view_of(&g, window, f.deep, f.radius, f.margin);
    const int shifts = (2 * f.deep + 1) * (2 * f.radius + 1) * (2 * f.radius + 1);
    const int64_t number = f.first + blockIdx.x, row = number / f.columns;
    const int3 at =
        make_int3(g.column[number % f.columns], g.row[row % f.rows], g.slice[row / f.rows]);
    unsigned short *candidates = g.shift + number * KEPT;
    float *patch = window + v.thick * v.high * v.wide + OVER;
    unsigned *key = (unsigned *)patch + patch_floats(v.depth, v.height, v.width);
    int count = f.again ? g.count[number] : 0;
    for (int k = threadIdx.x; k < count; k += THREADS) kept[k] = candidates[k];
    for (int guide = 0; guide < g.guides; guide++) {
        look(&g, g.guide + guide * g.entries, at, &v);
        if (!f.again) find_keys<WIDTH>(&g, &v, at, guide == 0, patch, key);
        for (int k = threadIdx.x; k < count; k += THREADS)
            kept_key[k] = key_of(&g, &v, at, kept[k], guide == 0, guide ? kept_key[k] : 0);
        __syncthreads(); /* before the next guide overwrites the window */
    }
    if (!f.again) {
        count = pick(key, shifts, KEPT, &s, kept);
        if (count) include_reference(kept, count, shifts / 2);
        for (int k = threadIdx.x; k < count; k += THREADS) {
            candidates[k] = kept[k];
            kept_key[k] = key[kept[k]];
        }
        if (threadIdx.x == 0) g.count[number] = count;
    }
    const int size = pick(kept_key, count, g.group, &s, chosen);
    for (int k = threadIdx.x; k < size; k += THREADS) chosen[k] = kept[chosen[k]];
    if (size) include_reference(chosen, size, shifts / 2);
    for (int k = threadIdx.x; k < size; k += THREADS) {
        const int3 by = shift_of(&v, chosen[k]);
        const int64_t line = (int64_t)(at.z + by.z - f.deep) * g.height + at.y + by.y - f.radius;
        g.corner[(int64_t)blockIdx.x * g.group + k] = line * g.width + at.x + by.x - f.radius;
    }
    if (threadIdx.x == 0) g.size[blockIdx.x] = size;
}

csrec_status csrec_gaussian_guide(const csrec_gaussian_device *g, csrec_error *error) {
    if (g->guides == g->channels) return CSREC_OK; /* u */
    return CSREC_CUDA_EACH(mean_channels, g->entries, 256, error, *g);
}

/* Of dynamic shared memory: the window and, in a search of all of it, the patch and the keys. */
static int64_t bytes_of(const csrec_gaussian_device *g, const csrec_cuda_gaussian_round *round) {
    const int64_t side = 2 * (int64_t)round->radius + 1, margin = 2 * (int64_t)round->margin;
    const int64_t depth = g->patch_depth + (g->depth > 1 ? margin : 0);
    const int64_t height = g->patch_height + margin, width = g->patch_width + margin;
    const int64_t wide = (side - 1 + width + 3) / 4 * 4, thick = 2 * (int64_t)round->deep + depth;
    int64_t floats = thick * (side - 1 + height) * wide + OVER;
    if (!round->again)
        floats += patch_floats((int)depth, (int)height, (int)width) +
                  (2 * (int64_t)round->deep + 1) * side * side;
    return floats * (int64_t)sizeof(float);
}

typedef void match_kernel(csrec_gaussian_device, search);

/* For the widths that the rounds of method/gaussian/gaussian.c have, with and without a margin. */
static match_kernel *kernel_for(int width) {
    switch (width) {
    case 4:
        return match_patches<4>;
    case 5:
        return match_patches<5>;
    case 8:
        return match_patches<8>;
    case 9:
        return match_patches<9>;
    case 10:
        return match_patches<10>;
    case 14:
        return match_patches<14>;
    case 16:
        return match_patches<16>;
    default:
        return match_patches<ANY>;
    }
}

csrec_status csrec_gaussian_match(const csrec_gaussian_device *g,
                                  const csrec_cuda_gaussian_round *round, int64_t first, int n,
                                  csrec_error *error) {
    const int64_t side = 2 * (int64_t)round->radius + 1, bytes = bytes_of(g, round);
    const search f = {first,         round->rows,   round->columns, round->deep,
                      round->radius, round->margin, round->again};
    /* Candidates are compared one by one. */
    match_kernel *kernel = kernel_for(round->again ? ANY : g->patch_width + 2 * round->margin);
    int most = 0;
    CSREC_TRY(csrec_cuda_allow_shared((const void *)kernel, "match_patches", &most, error));
    if (bytes > most || (2 * round->deep + 1) * side * side > 65535)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: a window of radius %d does not fit; use backend cpu",
                          round->radius);
    kernel<<<(unsigned)n, THREADS, (size_t)bytes>>>(*g, f);
    return csrec_cuda_launched("match_patches", error);
}
