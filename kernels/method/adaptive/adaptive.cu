/* adaptive.cu - device state of a picture, and the passes over adaptive grids. */
#include "kernels/method/adaptive/adaptive.h"

#include <stdlib.h>

#include "kernels/method/adaptive/state.cuh"
#include "shim/shim.h"

enum { THREADS = 256, TILE_ACROSS = 32, TILE_DOWN = 8 };

struct csrec_cuda_adaptive {
    csrec_cuda_block memory;
    csrec_adaptive_device d;
    int grids, sums; /* most at the same time */
    int number;      /* bits of a grid's number */
    uint64_t *key;   /* rows before they are sorted */
    unsigned *order;
    void *scratch;
    size_t scratch_bytes;
};

/* ---- kernels */

__global__ void set_position(const __grid_constant__ csrec_adaptive_device d) {
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= d.sites) return;
    d.bases[d.site[p]] = (float)(p % d.width);
    d.bases[(int64_t)d.sites + d.site[p]] = (float)(p / d.width);
}

__global__ void take_residual(const __grid_constant__ csrec_adaptive_device d, float alpha) {
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < (int64_t)d.samples * d.channels) d.z[k] = d.y[k] - alpha * d.u[k];
}

/* Mean of the channels; with noise the samples are not more accurate than the recovery. */
__global__ void take_picture(const __grid_constant__ csrec_adaptive_device d) {
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= d.sites) return;
    const int64_t site = d.site[p];
    const float *from = site < d.samples && !d.noisy ? d.y : d.u;
    double sum = 0.0;
    for (int c = 0; c < d.channels; c++) sum += (double)from[site * d.channels + c];
    d.plain[p] = (float)(sum / d.channels);
}

__device__ __forceinline__ int reflect(int i, int n) {
    if (n == 1) return 0;
    const int period = 2 * (n - 1);
    i = (i % period + period) % period;
    return i < n ? i : period - i;
}

/* One thread per pixel, the tile and its border in shared memory. */
__global__ void __launch_bounds__(THREADS)
    filter_picture(const __grid_constant__ csrec_adaptive_device d,
                   const __grid_constant__ csrec_cuda_filters f) {
    enum { WIDE = TILE_ACROSS + 2 * CSREC_CUDA_BORDER, HIGH = TILE_DOWN + 2 * CSREC_CUDA_BORDER };
    __shared__ float tile[HIGH][WIDE];
    const int tiles = (d.width + TILE_ACROSS - 1) / TILE_ACROSS;
    const int left = (int)(blockIdx.x % tiles) * TILE_ACROSS;
    const int top = (int)(blockIdx.x / tiles) * TILE_DOWN;
    for (int k = threadIdx.x; k < HIGH * WIDE; k += THREADS) {
        const int y = reflect(top + k / WIDE - CSREC_CUDA_BORDER, d.height);
        const int x = reflect(left + k % WIDE - CSREC_CUDA_BORDER, d.width);
        tile[k / WIDE][k % WIDE] = d.plain[(int64_t)y * d.width + x];
    }
    __syncthreads();
    const int across = threadIdx.x % TILE_ACROSS, down = threadIdx.x / TILE_ACROSS;
    if (left + across >= d.width || top + down >= d.height) return;
    float feature[CSREC_CUDA_FEATURES] = {};
    for (int k = 0; k < f.taps; k++) {
        const float v =
            tile[down + CSREC_CUDA_BORDER + f.dy[k]][across + CSREC_CUDA_BORDER + f.dx[k]];
#pragma unroll
        for (int i = 0; i < CSREC_CUDA_FEATURES; i++) feature[i] += f.tap[i][k] * v;
    }
    const int64_t site = d.site[(int64_t)(top + down) * d.width + left + across];
#pragma unroll
    for (int i = 0; i < CSREC_CUDA_FEATURES; i++)
        d.bases[(int64_t)(2 + i) * d.sites + site] = feature[i];
}

__global__ void add_weighted(const __grid_constant__ csrec_adaptive_device d, float alpha) {
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= (int64_t)d.sites * d.channels) return;
    const float scale = 1.0f / d.weights[k / d.channels];
    d.u[k] = alpha * d.u[k] + d.weighted[k] * scale;
}

__global__ void add_mean(const __grid_constant__ csrec_adaptive_device d, float alpha,
                         float scale) {
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= (int64_t)d.sites * d.channels) return;
    const float u = d.u[k];
    d.before[k] = u;
    d.u[k] = alpha * u + scale * (float)d.sum[k];
}

/* ---- memory */

static void lay_out_picture(csrec_cuda_block *block, csrec_adaptive_device *d, int sums) {
    const int64_t sites = d->sites, all = sites * d->channels, cells = (int64_t)d->high * d->wide;
    const int64_t known = (int64_t)d->samples * d->channels;
    d->site = (int *)csrec_cuda_block_take(block, sites, sizeof(int));
    d->y = (float *)csrec_cuda_block_take(block, known, sizeof(float));
    d->z = (float *)csrec_cuda_block_take(block, known, sizeof(float));
    d->u = (float *)csrec_cuda_block_take(block, all, sizeof(float));
    d->before = (float *)csrec_cuda_block_take(block, all, sizeof(float));
    d->bases = (float *)csrec_cuda_block_take(block, CSREC_CUDA_BASES * sites, sizeof(float));
    d->plain = (float *)csrec_cuda_block_take(block, sites, sizeof(float));
    d->weighted = (float *)csrec_cuda_block_take(block, all, sizeof(float));
    d->weights = (float *)csrec_cuda_block_take(block, sites, sizeof(float));
    d->mass = (float *)csrec_cuda_block_take(block, cells, sizeof(float));
    d->reference = (float *)csrec_cuda_block_take(block, cells, sizeof(float));
    d->cells = (float *)csrec_cuda_block_take(block, sums * cells, sizeof(float));
    d->lines = (float *)csrec_cuda_block_take(block, sums * cells, sizeof(float));
    d->means = (float *)csrec_cuda_block_take(block, sums, sizeof(float));
    d->sum = (int *)csrec_cuda_block_take(block, sums * all, sizeof(int));
    d->leaves = (unsigned long long *)csrec_cuda_block_take(block, 1, sizeof *d->leaves);
}

static void lay_out_grids(csrec_cuda_block *block, csrec_adaptive_device *d, int64_t grids) {
    const int64_t n = grids * d->samples, values = 2 * n * d->channels;
    const bool settle = d->threshold > 0.0f;
    d->axes = (csrec_cuda_axes *)csrec_cuda_block_take(block, CSREC_CUDA_GRIDS, sizeof *d->axes);
    d->range = (unsigned *)csrec_cuda_block_take(block, CSREC_CUDA_GRIDS,
                                                 2 * CSREC_CUDA_AXES * sizeof *d->range);
    d->key = (uint64_t *)csrec_cuda_block_take(block, n, sizeof *d->key);
    d->order = (unsigned *)csrec_cuda_block_take(block, n, sizeof *d->order);
    d->node = (csrec_adaptive_node *)csrec_cuda_block_take(block, n, sizeof *d->node);
    d->met = (int *)csrec_cuda_block_take(block, n, sizeof(int));
    d->up = (int *)csrec_cuda_block_take(block, 2 * n, sizeof(int));
    d->root = (int *)csrec_cuda_block_take(block, grids, sizeof(int));
    d->mean = (float *)csrec_cuda_block_take(block, values, sizeof(float));
    d->value = (int *)csrec_cuda_block_take(block, values, sizeof(int));
    d->settled = (float *)csrec_cuda_block_take(block, settle ? values / 2 : 1, sizeof(float));
    d->plain_mean = (float *)csrec_cuda_block_take(block, settle ? values : 1, sizeof(float));
    d->weight = (float *)csrec_cuda_block_take(block, settle ? values : 1, sizeof(float));
    d->size = (float *)csrec_cuda_block_take(block, settle ? 2 * n : 1, sizeof(float));
}

static void lay_out(csrec_cuda_adaptive *s) {
    const int64_t n = (int64_t)s->grids * s->d.samples;
    lay_out_picture(&s->memory, &s->d, s->sums);
    lay_out_grids(&s->memory, &s->d, s->grids);
    s->key = (uint64_t *)csrec_cuda_block_take(&s->memory, n, sizeof *s->key);
    s->order = (unsigned *)csrec_cuda_block_take(&s->memory, n, sizeof *s->order);
    s->scratch = csrec_cuda_block_take(&s->memory, (int64_t)s->scratch_bytes, 1);
}

/* Fewer grids or sums at a time while they take more than half of the memory that is free. */
static csrec_status choose_sizes(csrec_cuda_adaptive *s, csrec_error *error) {
    csrec_cuda_size size;
    csrec_status status = csrec_cuda_measure(&size, error);
    while (!status) {
        status = csrec_shim_sort(NULL, &s->scratch_bytes, (int64_t)s->grids * s->d.samples, 64,
                                 NULL, NULL, NULL, NULL, error);
        s->memory.used = 0;
        if (!status) lay_out(s);
        const bool fits = s->memory.used <= size.free / 2 &&
                          (int64_t)s->grids * s->d.samples <= INT64_C(0x7fffffff);
        if (fits || (s->grids == 1 && s->sums == 1)) break;
        if (s->grids > 1) s->grids = (s->grids + 1) / 2;
        if (s->sums > 1) s->sums = (s->sums + 1) / 2;
    }
    return status;
}

static csrec_status fill(csrec_cuda_adaptive *s, const csrec_cuda_adaptive_spec *spec,
                         csrec_error *error) {
    const csrec_adaptive_device *d = &s->d;
    const size_t all = (size_t)d->sites * (size_t)d->channels * sizeof(float);
    csrec_status status =
        csrec_cuda_copy(d->site, spec->site, (size_t)d->sites * sizeof(int), error);
    if (!status)
        status = csrec_cuda_copy(d->y, spec->y,
                                 (size_t)d->samples * (size_t)d->channels * sizeof(float), error);
    if (!status)
        status = csrec_cuda_copy(d->mass, spec->mass,
                                 (size_t)d->high * (size_t)d->wide * sizeof(float), error);
    if (!status) status = csrec_cuda_check(cudaMemsetAsync(d->u, 0, all), "clear", error);
    if (!status)
        status = csrec_cuda_check(cudaMemsetAsync(d->leaves, 0, sizeof *d->leaves), "clear", error);
    if (status) return status;
    set_position<<<csrec_cuda_blocks(d->sites, THREADS), THREADS>>>(*d);
    return csrec_cuda_launched("set_position", error);
}

csrec_status csrec_cuda_adaptive_create(const csrec_cuda_adaptive_spec *spec,
                                        csrec_cuda_adaptive **adaptive, int *sums,
                                        csrec_error *error) {
    csrec_cuda_adaptive *s = (csrec_cuda_adaptive *)calloc(1, sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_adaptive_device *d = &s->d;
    d->height = spec->height;
    d->width = spec->width;
    d->sites = spec->height * spec->width;
    d->samples = spec->samples;
    d->channels = spec->channels;
    d->cell = spec->cell;
    d->high = spec->high;
    d->wide = spec->wide;
    d->reach = spec->reach;
    d->threshold = spec->threshold;
    d->units = spec->units;
    d->noisy = spec->noisy;
    for (int i = 0; i <= 2 * spec->reach; i++) d->kernel[i] = spec->kernel[i];
    s->grids = CSREC_CUDA_GRIDS;
    s->sums = spec->sums;
    csrec_status status = choose_sizes(s, error);
    if (!status) status = csrec_cuda_block_create(&s->memory, "the adaptive grids", error);
    if (!status) {
        lay_out(s);
        status = fill(s, spec, error);
    }
    if (status) {
        csrec_cuda_adaptive_destroy(s);
        return status;
    }
    *sums = s->sums;
    *adaptive = s;
    return CSREC_OK;
}

void csrec_cuda_adaptive_destroy(csrec_cuda_adaptive *s) {
    if (s) csrec_cuda_block_destroy(&s->memory);
    free(s);
}

csrec_status csrec_cuda_adaptive_get(const csrec_cuda_adaptive *s, float *u, float *before,
                                     int64_t *leaves, csrec_error *error) {
    const size_t bytes = (size_t)s->d.sites * (size_t)s->d.channels * sizeof(float);
    csrec_status status = csrec_cuda_copy(u, s->d.u, bytes, error);
    if (!status && before) status = csrec_cuda_copy(before, s->d.before, bytes, error);
    if (!status && leaves) status = csrec_cuda_copy(leaves, s->d.leaves, sizeof *leaves, error);
    return status;
}

/* ---- passes */

csrec_status csrec_cuda_adaptive_residual(csrec_cuda_adaptive *s, float alpha, csrec_error *error) {
    const int64_t values = (int64_t)s->d.samples * s->d.channels;
    take_residual<<<csrec_cuda_blocks(values, THREADS), THREADS>>>(s->d, alpha);
    return csrec_cuda_launched("take_residual", error);
}

csrec_status csrec_cuda_adaptive_features(csrec_cuda_adaptive *s, const csrec_cuda_filters *filters,
                                          csrec_error *error) {
    const csrec_adaptive_device *d = &s->d;
    const int64_t tiles = (int64_t)((d->width + TILE_ACROSS - 1) / TILE_ACROSS) *
                          ((d->height + TILE_DOWN - 1) / TILE_DOWN);
    take_picture<<<csrec_cuda_blocks(d->sites, THREADS), THREADS>>>(*d);
    csrec_status status = csrec_cuda_launched("take_picture", error);
    if (status) return status;
    filter_picture<<<(unsigned)tiles, THREADS>>>(*d, *filters);
    return csrec_cuda_launched("filter_picture", error);
}

static float from_ordered(unsigned bits) {
    bits = bits & 0x80000000u ? bits & 0x7fffffffu : ~bits;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

csrec_status csrec_cuda_adaptive_reach(csrec_cuda_adaptive *s, csrec_cuda_axes *axes, int count,
                                       csrec_error *error) {
    unsigned range[CSREC_CUDA_GRIDS][CSREC_CUDA_AXES][2];
    csrec_status status = csrec_cuda_copy(s->d.axes, axes, (size_t)count * sizeof *axes, error);
    if (!status) status = csrec_adaptive_reach(&s->d, count, error);
    if (!status) status = csrec_cuda_copy(range, s->d.range, (size_t)count * sizeof *range, error);
    for (int g = 0; g < count && !status; g++)
        for (int a = 0; a < axes[g].count; a++) {
            axes[g].axis[a].least = from_ordered(~range[g][a][0]);
            axes[g].axis[a].most = from_ordered(range[g][a][1]);
        }
    return status;
}

csrec_status csrec_cuda_adaptive_clear(csrec_cuda_adaptive *s, int count, csrec_error *error) {
    const size_t all = (size_t)s->d.sites * (size_t)s->d.channels * sizeof(int);
    return csrec_cuda_check(cudaMemsetAsync(s->d.sum, 0, (size_t)count * all), "clear", error);
}

static csrec_status add_some(csrec_cuda_adaptive *s, int first, int count, int bits,
                             int number_bits, csrec_error *error) {
    const csrec_adaptive_device *d = &s->d;
    const int64_t n = (int64_t)count * d->samples;
    csrec_status status = csrec_adaptive_rows(d, first, count, bits, s->key, s->order, error);
    if (!status)
        status = csrec_shim_sort(s->scratch, &s->scratch_bytes, n, bits + number_bits, s->key,
                                 d->key, s->order, d->order, error);
    if (!status)
        status = csrec_cuda_check(cudaMemsetAsync(d->met, 0xff, (size_t)n * sizeof *d->met),
                                  "clear", error);
    return status ? status : csrec_adaptive_fit(d, first, count, bits, error);
}

/* Grids per batch: limited by the key bits left beside the rows, and by memory. */
csrec_status csrec_cuda_adaptive_add(csrec_cuda_adaptive *s, const csrec_cuda_axes *axes, int count,
                                     csrec_error *error) {
    int bits = 1, number_bits = 0;
    for (int g = 0; g < count; g++) bits = axes[g].bits > bits ? axes[g].bits : bits;
    while (1 << number_bits < count && number_bits < 64 - bits) number_bits++;
    int most = 1 << number_bits;
    if (most > s->grids) most = s->grids;
    csrec_status status = csrec_cuda_copy(s->d.axes, axes, (size_t)count * sizeof *axes, error);
    for (int first = 0; first < count && !status; first += most) {
        const int part = count - first < most ? count - first : most;
        status = add_some(s, first, part, bits, number_bits, error);
    }
    return status;
}

csrec_status csrec_cuda_adaptive_combine(csrec_cuda_adaptive *s, const int *grids, int count,
                                         bool first, csrec_error *error) {
    const csrec_adaptive_device *d = &s->d;
    const size_t sites = (size_t)d->sites * sizeof(float);
    csrec_status status = CSREC_OK;
    if (first)
        status = csrec_cuda_check(cudaMemsetAsync(d->weighted, 0, sites * (size_t)d->channels),
                                  "clear", error);
    if (first && !status)
        status = csrec_cuda_check(cudaMemsetAsync(d->weights, 0, sites), "clear", error);
    return status ? status : csrec_adaptive_combine(d, grids, count, first, error);
}

csrec_status csrec_cuda_adaptive_weighted(csrec_cuda_adaptive *s, float alpha, csrec_error *error) {
    const int64_t values = (int64_t)s->d.sites * s->d.channels;
    add_weighted<<<csrec_cuda_blocks(values, THREADS), THREADS>>>(s->d, alpha);
    return csrec_cuda_launched("add_weighted", error);
}

csrec_status csrec_cuda_adaptive_mean(csrec_cuda_adaptive *s, float alpha, int grids,
                                      csrec_error *error) {
    const int64_t values = (int64_t)s->d.sites * s->d.channels;
    const float scale = 1.0f / ((float)grids * s->d.units);
    add_mean<<<csrec_cuda_blocks(values, THREADS), THREADS>>>(s->d, alpha, scale);
    return csrec_cuda_launched("add_mean", error);
}
