/* SPDX-License-Identifier: BSD-3-Clause */
/* shrink.cu - an iteration over all blocks of a picture; operator/dct_shrink.c is the reference. */
#include <math.h>
#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/method/frames/shrink.h"
#include "kernels/method/frames/shrink_dct.cuh"

enum { WARPS = 4, LARGEST = 32, TILE_ACROSS = 32, TILE_DOWN = 8, SUMS = 256, SUM_THREADS = 256 };

/* One size of blocks. */
typedef struct frame {
    int block, step, shift, ratio; /* step = 2^shift, ratio = block / step */
    int64_t blocks[2], H, W, pixels;
    float *picture; /* [H][W] */
    float *target;  /* the same: samples, NaN elsewhere; after the last iteration their errors */
    float *planes;  /* [ratio * ratio][H][W] block (p, q) in plane (p % ratio, q % ratio) */
} frame;

/* Parameters of one iteration. */
typedef struct moved {
    int down, right;
    float threshold[2][2], less[2][2];
} moved;

typedef struct work {
    frame frames[CSREC_SHRINK_FRAMES];
    moved moves[CSREC_SHRINK_FRAMES];
    int64_t first[CSREC_SHRINK_FRAMES + 1]; /* thread blocks of the launch */
    int n;
    bool last;
    float relax, impose;
} work;

struct csrec_cuda_shrink {
    csrec_cuda_block memory;
    work job;
    int64_t height, width, m;
    int64_t *index;
    double *y, *picture; /* [m]; [height * width] the start, then the mean */
    double *sums;        /* [frames][SUMS] */
};

__device__ __forceinline__ float shrink(float x, float t, float less) {
    float moved = x < 0.0f ? x + less : x - less;
    return fabsf(x) > t ? moved : 0.0f;
}

/* Per thread: forward transform of its column, forward and inverse of its row, inverse of its
   column. */
template <int B>
__device__ __forceinline__ void shrink_block(const frame *f, const moved *way, int64_t group,
                                             float *shared) {
    enum { MANY = 32 / B, LINE = B + 1 };
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, j = lane % B;
    int64_t number = (group * WARPS + warp) * MANY + lane / B;
    const bool here = number < f->blocks[0] * f->blocks[1];
    if (!here) number = 0;
    float *tile = shared + (warp * MANY + lane / B) * B * LINE;
    const int64_t down = number / f->blocks[1], right = number - down * f->blocks[1];
    const int64_t at = (down * f->step + way->down) * f->W + right * f->step + way->right + j;
    float x[B];
#pragma unroll
    for (int i = 0; i < B; i++) x[i] = f->picture[at + i * f->W];
    dct<B>::forward(x);
#pragma unroll
    for (int i = 0; i < B; i++) tile[i * LINE + j] = x[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < B; i++) x[i] = tile[j * LINE + i];
    dct<B>::forward(x);
    x[0] = shrink(x[0], way->threshold[j > 0][0], way->less[j > 0][0]) * 0.5f;
    const float t = way->threshold[j > 0][1], less = way->less[j > 0][1];
#pragma unroll
    for (int i = 1; i < B; i++) x[i] = shrink(x[i], t, less);
    dct<B>::transposed(x);
    const float scale = j ? 1.0f : 0.5f;
#pragma unroll
    for (int i = 0; i < B; i++) tile[j * LINE + i] = x[i] * scale;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < B; i++) x[i] = tile[i * LINE + j];
    dct<B>::transposed(x);
    if (!here) return;
    const int64_t plane = down % f->ratio * f->ratio + right % f->ratio;
    float *to = f->planes + plane * f->pixels + at;
#pragma unroll
    for (int i = 0; i < B; i++) to[i * f->W] = x[i];
}

__device__ __forceinline__ int frame_of(const work *w) {
    int k = 0;
    while (k + 1 < w->n && blockIdx.x >= w->first[k + 1]) k++;
    return k;
}

__global__ void __launch_bounds__(32 * WARPS) shrink_blocks(const __grid_constant__ work w) {
    __shared__ float shared[WARPS * LARGEST * (LARGEST + 8)];
    const int k = frame_of(&w);
    const frame *f = &w.frames[k];
    const int64_t group = blockIdx.x - w.first[k];
    if (f->block == 32)
        shrink_block<32>(f, &w.moves[k], group, shared);
    else if (f->block == 16)
        shrink_block<16>(f, &w.moves[k], group, shared);
    else if (f->block == 8)
        shrink_block<8>(f, &w.moves[k], group, shared);
    else
        shrink_block<4>(f, &w.moves[k], group, shared);
}

/* The blocks that cover pixel i of an axis: numbers *first .. *last. */
__device__ __forceinline__ void cover(const frame *f, int axis, int64_t i, int64_t *first,
                                      int64_t *last) {
    *last = i >> f->shift; /* i may be negative: rounds down */
    *first = *last - f->ratio + 1;
    if (*first < 0) *first = 0;
    if (*last >= f->blocks[axis]) *last = f->blocks[axis] - 1;
}

__device__ __forceinline__ float sum_planes(const frame *f, int64_t at, const int64_t *a,
                                            const int64_t *b) {
    float sum = 0.0f;
    for (int64_t p = a[0]; p <= a[1]; p++)
        for (int64_t q = b[0]; q <= b[1]; q++)
            sum += f->planes[((p & (f->ratio - 1)) * f->ratio + (q & (f->ratio - 1))) * f->pixels +
                             at];
    return sum;
}

/* v, the mean of the blocks, and u from it. */
__global__ void __launch_bounds__(TILE_ACROSS *TILE_DOWN)
    blend_planes(const __grid_constant__ work w) {
    const int k = frame_of(&w);
    const frame *f = &w.frames[k];
    const int64_t tile = blockIdx.x - w.first[k], wide = (f->W + TILE_ACROSS - 1) / TILE_ACROSS;
    const int64_t i = tile / wide * TILE_DOWN + threadIdx.x / TILE_ACROSS;
    const int64_t j = tile % wide * TILE_ACROSS + threadIdx.x % TILE_ACROSS, at = i * f->W + j;
    if (i >= f->H || j >= f->W) return;
    int64_t a[2], b[2];
    cover(f, 0, i - w.moves[k].down, &a[0], &a[1]);
    cover(f, 1, j - w.moves[k].right, &b[0], &b[1]);
    float u = f->picture[at], target = f->target[at], v = u;
    if (a[0] <= a[1] && b[0] <= b[1]) {
        float share = 2.0f / ((float)f->block * (float)(a[1] - a[0] + 1));
        share *= 2.0f / ((float)f->block * (float)(b[1] - b[0] + 1));
        v = sum_planes(f, at, a, b) * share;
    }
    bool sampled = target == target;
    f->picture[at] = sampled ? v + w.impose * (target - v) : v + w.relax * (v - u);
    if (w.last && sampled) f->target[at] = target - v;
}

__device__ __forceinline__ int64_t reflected(int64_t i, int step, int64_t extent) {
    i -= step - 1;
    if (i < 0) i = -1 - i;
    i %= 2 * extent;
    return i < extent ? i : 2 * extent - 1 - i;
}

__global__ void fill_frame(frame f, int64_t height, int64_t width, const double *start) {
    const int64_t at = csrec_cuda_thread();
    if (at >= f.pixels) return;
    int64_t i = at / f.W, j = at % f.W;
    f.picture[at] =
        (float)start[reflected(i, f.step, height) * width + reflected(j, f.step, width)];
    f.target[at] = __int_as_float(0x7fc00000);
}

__device__ __forceinline__ int64_t place(const frame *f, int64_t at, int64_t width) {
    return (at / width + f->step - 1) * f->W + at % width + f->step - 1;
}

__global__ void put_samples(frame f, int64_t width, int64_t m, const int64_t *index,
                            const double *y) {
    const int64_t k = csrec_cuda_thread();
    if (k < m) f.target[place(&f, index[k], width)] = (float)y[k];
}

/* The frames' sum is taken in the CPU's order. */
__global__ void mean_frames(const __grid_constant__ work w, int64_t pixels, int64_t width,
                            double *mean) {
    const int64_t at = csrec_cuda_thread();
    if (at >= pixels) return;
    double sum = 0.0;
    for (int k = 0; k < w.n; k++)
        sum += (double)w.frames[k].picture[place(&w.frames[k], at, width)];
    mean[at] = sum / w.n;
}

/* Part of the squared errors at the samples: a fixed order whatever the device. */
__global__ void sum_errors(frame f, int64_t width, int64_t m, const int64_t *index, double *sums) {
    __shared__ double part[SUM_THREADS];
    double sum = 0.0;
    for (int64_t k = (int64_t)blockIdx.x * SUM_THREADS + threadIdx.x; k < m;
         k += (int64_t)SUMS * SUM_THREADS) {
        double error = f.target[place(&f, index[k], width)];
        sum += error * error;
    }
    part[threadIdx.x] = sum;
    for (int half = SUM_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

/* Whether blocks and steps are among those of shrink.h. */
static bool suitable(const csrec_cuda_shrink_spec *spec) {
    bool suits = spec->frames >= 1 && spec->frames <= CSREC_SHRINK_FRAMES;
    for (int k = 0; suits && k < spec->frames; k++) {
        int b = spec->block[k], s = spec->step[k];
        suits = (b == 4 || b == 8 || b == 16 || b == 32) && (s == b || 2 * s == b || 4 * s == b) &&
                spec->height >= b && spec->width >= b;
    }
    return suits;
}

static void lay_axis(const frame *f, int64_t extent, int64_t *blocks, int64_t *cells) {
    int64_t beyond = f->step - 1 + extent - f->block;
    *blocks = (beyond + f->step - 1) / f->step + 1;
    *cells = *blocks + f->ratio;
}

static void lay_frames(const csrec_cuda_shrink_spec *spec, work *w) {
    w->n = spec->frames;
    for (int k = 0; k < w->n; k++) {
        frame *f = &w->frames[k];
        int64_t cells[2];
        f->block = spec->block[k];
        f->step = spec->step[k];
        f->ratio = f->block / f->step;
        while (1 << f->shift < f->step) f->shift++;
        lay_axis(f, spec->height, &f->blocks[0], &cells[0]);
        lay_axis(f, spec->width, &f->blocks[1], &cells[1]);
        f->H = cells[0] * f->step;
        f->W = cells[1] * f->step;
        f->pixels = f->H * f->W;
    }
}

static void lay_out(csrec_cuda_shrink *s) {
    csrec_cuda_block *block = &s->memory;
    for (int k = 0; k < s->job.n; k++) {
        frame *f = &s->job.frames[k];
        int64_t planes = (int64_t)f->ratio * f->ratio;
        csrec_cuda_take(block, f->pixels, &f->picture, &f->target);
        csrec_cuda_take(block, f->pixels * planes, &f->planes);
    }
    csrec_cuda_take(block, s->m, &s->index, &s->y);
    csrec_cuda_take(block, s->height * s->width, &s->picture);
    csrec_cuda_take(block, s->job.n * SUMS, &s->sums);
}

csrec_status csrec_cuda_shrink_create(const csrec_cuda_shrink_spec *spec,
                                      csrec_cuda_shrink **shrink, csrec_error *error) {
    if (!suitable(spec))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: blocks are of 4, 8, 16 or 32 pixels, at most the picture's, their "
                          "steps of a block, half or a quarter; use backend cpu");
    csrec_cuda_shrink *s = (csrec_cuda_shrink *)calloc(1, sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    s->height = spec->height;
    s->width = spec->width;
    s->m = spec->m;
    lay_frames(spec, &s->job);
    csrec_status status =
        csrec_cuda_lay(&s->memory, "thresholding a picture", error, [&] { lay_out(s); });
    if (!status)
        status = csrec_cuda_copy(s->index, spec->index, (size_t)s->m * sizeof(int64_t), error);
    return CSREC_SETTLE(status, csrec_cuda_shrink_destroy(s), *shrink = s);
}

void csrec_cuda_shrink_destroy(csrec_cuda_shrink *s) {
    if (s) csrec_cuda_block_destroy(&s->memory);
    free(s);
}

csrec_status csrec_cuda_shrink_start(csrec_cuda_shrink *s, const double *start, const double *y,
                                     csrec_error *error) {
    size_t bytes = (size_t)(s->height * s->width) * sizeof(double);
    csrec_status status = csrec_cuda_copy(s->picture, start, bytes, error);
    if (!status) status = csrec_cuda_copy(s->y, y, (size_t)s->m * sizeof(double), error);
    for (int k = 0; k < s->job.n && !status; k++) {
        const frame *f = &s->job.frames[k];
        fill_frame<<<csrec_cuda_blocks(f->pixels, 256), 256>>>(*f, s->height, s->width, s->picture);
        status = CSREC_CUDA_EACH(put_samples, s->m, 256, error, *f, s->width, s->m, s->index, s->y);
    }
    return status;
}

/* In units of the unscaled transform; the mean of a block always stays. */
static void set_move(const frame *f, const csrec_cuda_shrink_round *round, int k, moved *way) {
    way->down = round->down[k];
    way->right = round->right[k];
    for (int u = 0; u < 2; u++)
        for (int v = 0; v < 2; v++) {
            double scale = f->block / sqrt((u ? 2.0 : 1.0) * (v ? 2.0 : 1.0));
            way->threshold[u][v] = (float)(round->threshold * scale);
            way->less[u][v] = round->soft ? way->threshold[u][v] : 0.0f;
        }
    way->threshold[0][0] = -1.0f;
    way->less[0][0] = 0.0f;
}

static int64_t whole(int64_t count, int64_t size) {
    return (count + size - 1) / size;
}

csrec_status csrec_cuda_shrink_step(csrec_cuda_shrink *s, const csrec_cuda_shrink_round *round,
                                    csrec_error *error) {
    work *w = &s->job;
    w->last = round->last;
    w->relax = (float)round->relax;
    w->impose = (float)round->impose;
    for (int k = 0; k < w->n; k++) {
        const frame *f = &w->frames[k];
        set_move(f, round, k, &w->moves[k]);
        int64_t blocks = f->blocks[0] * f->blocks[1];
        w->first[k + 1] = w->first[k] + whole(blocks, WARPS * (32 / f->block));
    }
    csrec_status status =
        CSREC_CUDA_RUN(shrink_blocks, (unsigned)w->first[w->n], 32 * WARPS, error, *w);
    for (int k = 0; k < w->n; k++) {
        const frame *f = &w->frames[k];
        w->first[k + 1] = w->first[k] + whole(f->H, TILE_DOWN) * whole(f->W, TILE_ACROSS);
    }
    if (status) return status;
    return CSREC_CUDA_RUN(blend_planes, (unsigned)w->first[w->n], TILE_ACROSS * TILE_DOWN, error,
                          *w);
}

csrec_status csrec_cuda_shrink_result(csrec_cuda_shrink *s, double *mean, double *energy,
                                      csrec_error *error) {
    const work *w = &s->job;
    double sums[CSREC_SHRINK_FRAMES * SUMS];
    int64_t pixels = s->height * s->width;
    CSREC_TRY(CSREC_CUDA_EACH(mean_frames, pixels, 256, error, *w, pixels, s->width, s->picture));
    for (int k = 0; k < w->n; k++)
        CSREC_TRY(CSREC_CUDA_RUN(sum_errors, SUMS, SUM_THREADS, error, w->frames[k], s->width, s->m,
                                 s->index, s->sums + k * SUMS));
    size_t bytes = (size_t)pixels * sizeof(double);
    CSREC_TRY(csrec_cuda_copy(mean, s->picture, bytes, error));
    CSREC_TRY(csrec_cuda_copy(sums, s->sums, w->n * SUMS * sizeof(double), error));
    for (int k = 0; k < w->n; k++) {
        energy[k] = 0.0;
        for (int i = 0; i < SUMS; i++) energy[k] += sums[k * SUMS + i];
    }
    return CSREC_OK;
}
