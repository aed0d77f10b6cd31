/* classes.cu - classes of grids weighed at each pixel by their errors at the samples
 * around it; method/adaptive/features.c and adaptive.c are the reference. */
#include "kernels/method/adaptive/state.cuh"

enum { THREADS = 256, SUM_THREADS = 1024 };

/* Scales of the sums. */
typedef struct class_scales {
    float scale[CSREC_CUDA_SUMS];
    int count;
} class_scales;

/* ---- kernels */

/* Mean of squared errors over channels; in doubles, so that equal channels give the bits of a
   single one. */
__device__ __forceinline__ float square_error(const csrec_adaptive_device *d, const int *from,
                                              int64_t site, float scale) {
    double sum = 0.0;
    for (int64_t k = site * d->channels; k < (site + 1) * d->channels; k++) {
        const double e = (double)(d->z[k] - scale * (float)from[k]);
        sum += e * e;
    }
    return (float)(sum / d->channels);
}

__device__ __forceinline__ const int *sum_of(const csrec_adaptive_device *d, int number) {
    return d->sum + (int64_t)number * d->sites * d->channels;
}

/* The CPU adds sequentially: equal up to rounding of the double. One block per class. */
__global__ void __launch_bounds__(SUM_THREADS)
    mean_errors(const __grid_constant__ csrec_adaptive_device d,
                const __grid_constant__ class_scales s) {
    __shared__ double part[SUM_THREADS];
    const int *from = sum_of(&d, blockIdx.x);
    double sum = 0.0;
    for (int64_t i = threadIdx.x; i < d.samples; i += SUM_THREADS)
        sum += (double)square_error(&d, from, i, s.scale[blockIdx.x]);
    part[threadIdx.x] = sum;
    for (int half = SUM_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) d.means[blockIdx.x] = (float)(part[0] / d.samples);
}

/* One thread per cell: its samples in their order. */
__global__ void gather_errors(const __grid_constant__ csrec_adaptive_device d,
                              const __grid_constant__ class_scales s) {
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t cells = (int64_t)d.high * d.wide;
    if (k >= cells) return;
    const int *from = sum_of(&d, blockIdx.y);
    const int top = (int)(k / d.wide) * d.cell, left = (int)(k % d.wide) * d.cell;
    float sum = 0.0f;
    for (int y = top; y < top + d.cell && y < d.height; y++)
        for (int x = left; x < left + d.cell && x < d.width; x++) {
            const int site = d.site[(int64_t)y * d.width + x];
            if (site < d.samples) sum += square_error(&d, from, site, s.scale[blockIdx.y]);
        }
    d.cells[blockIdx.y * cells + k] = sum;
}

__global__ void blur_lines(const __grid_constant__ csrec_adaptive_device d) {
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t cells = (int64_t)d.high * d.wide;
    if (k >= cells) return;
    const float *from = d.cells + blockIdx.y * cells + k;
    const int x = (int)(k % d.wide), right = d.wide - 1 - x;
    float sum = 0.0f;
    for (int i = x < d.reach ? -x : -d.reach; i <= (right < d.reach ? right : d.reach); i++)
        sum += d.kernel[i + d.reach] * from[i];
    d.lines[blockIdx.y * cells + k] = sum;
}

/* Far from all samples the mean over the whole picture takes over. */
__global__ void blur_columns(const __grid_constant__ csrec_adaptive_device d) {
    const float little = 1e-6f;
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t cells = (int64_t)d.high * d.wide;
    if (k >= cells) return;
    const float *from = d.lines + blockIdx.y * cells + k;
    const int y = (int)(k / d.wide), below = d.high - 1 - y;
    float sum = 0.0f;
    for (int i = y < d.reach ? -y : -d.reach; i <= (below < d.reach ? below : d.reach); i++)
        sum += d.kernel[i + d.reach] * from[(int64_t)i * d.wide];
    d.cells[blockIdx.y * cells + k] = (sum + little * d.means[blockIdx.y]) / (d.mass[k] + little);
}

/* weigh_cells of adaptive.c: a thread a cell, all classes. */
__global__ void weigh_cells(const __grid_constant__ csrec_adaptive_device d, int count,
                            bool first) {
    const float little = 4.0f;
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t cells = (int64_t)d.high * d.wide;
    if (k >= cells) return;
    float reference = first ? d.cells[k] + little : d.reference[k];
    if (first) d.reference[k] = reference;
    for (int n = 0; n < count; n++) {
        float ratio = reference / (d.cells[n * cells + k] + little);
        ratio = ratio < 1e4f ? ratio : 1e4f;
        ratio = ratio > 1e-4f ? ratio : 1e-4f;
        d.cells[n * cells + k] = ratio * ratio * ratio * ratio * ratio * ratio;
    }
}

/* Position of a pixel between the centres of two cells. */
__device__ __forceinline__ float between(int at, int cell, int cells, int *first, int *second) {
    float f = ((float)at + 0.5f) / (float)cell - 0.5f;
    f = f > 0.0f ? f : 0.0f;
    *first = (int)f < cells ? (int)f : cells - 1;
    *second = *first + 1 < cells ? *first + 1 : *first;
    return f - (float)*first;
}

/* A thread a pixel, one class after another. */
__global__ void combine_classes(const __grid_constant__ csrec_adaptive_device d,
                                const __grid_constant__ class_scales s) {
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= d.sites) return;
    int top, below, left, right;
    const float t = between((int)(p / d.width), d.cell, d.high, &top, &below);
    const float u = between((int)(p % d.width), d.cell, d.wide, &left, &right);
    const int64_t site = d.site[p], cells = (int64_t)d.high * d.wide;
    float weights = d.weights[site];
    for (int k = 0; k < s.count; k++) {
        const float *upper = d.cells + k * cells + (int64_t)top * d.wide;
        const float *lower = d.cells + k * cells + (int64_t)below * d.wide;
        const float near = (1.0f - t) * upper[left] + t * lower[left];
        const float far = (1.0f - t) * upper[right] + t * lower[right];
        const float weight = (1.0f - u) * near + u * far;
        const int *sum = sum_of(&d, k);
        weights += weight;
        for (int64_t c = site * d.channels; c < (site + 1) * d.channels; c++)
            d.weighted[c] += weight * (s.scale[k] * (float)sum[c]);
    }
    d.weights[site] = weights;
}

/* ---- launchers */

csrec_status csrec_adaptive_combine(const csrec_adaptive_device *d, const int *grids, int count,
                                    bool first, csrec_error *error) {
    class_scales s = {{0.0f}, count};
    for (int k = 0; k < count; k++) s.scale[k] = 1.0f / ((float)grids[k] * d->units);
    const unsigned blocks = csrec_cuda_blocks((int64_t)d->high * d->wide, THREADS);
    const dim3 grid(blocks, (unsigned)count);
    mean_errors<<<(unsigned)count, SUM_THREADS>>>(*d, s);
    csrec_status status = csrec_cuda_launched("mean_errors", error);
    if (status) return status;
    gather_errors<<<grid, THREADS>>>(*d, s);
    blur_lines<<<grid, THREADS>>>(*d);
    blur_columns<<<grid, THREADS>>>(*d);
    weigh_cells<<<blocks, THREADS>>>(*d, count, first);
    status = csrec_cuda_launched("weigh_cells", error);
    if (status) return status;
    combine_classes<<<csrec_cuda_blocks(d->sites, THREADS), THREADS>>>(*d, s);
    return csrec_cuda_launched("combine_classes", error);
}
