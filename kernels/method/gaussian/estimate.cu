/* SPDX-License-Identifier: BSD-3-Clause */
/* estimate.cu - mean and covariance of each group of patches, steps of expectation
 * maximisation, and each patch conditioned on its samples; method/gaussian/gaussian_simd.h is the
 * reference.
 *
 * One thread block per group, all in shared memory: the covariance, patches, and rows V of the
 * current patches. A warp conditions a patch (condition.cuh); all threads sum products of rows
 * (group.cuh). Estimates are added to the picture as integers of 2^-32, so that their order does
 * not matter. */
#include "kernels/method/gaussian/group.cuh"

template <int WIDE, int CHANNELS>
__device__ __forceinline__ void keep_means(const group_memory *m, const pixels<WIDE> &own, int size,
                                           int k, const posterior<WIDE, CHANNELS> &p) {
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) own.store(m->X + (c * size + k) * WIDE, p.x[c]);
}

/* Covariance of the posterior means, and mean of the posterior covariances of every
 * f->every-th patch: those patches first, one per team at a time, then the others. */
template <int WIDE, int CHANNELS>
__device__ __forceinline__ void step_em(const csrec_gaussian_device *g, const fitting *f,
                                        const group_memory *m, const pixels<WIDE> &own, int channel,
                                        int size, int d) {
    const int warp = threadIdx.x / 32, every = f->every;
    const int averaged = (size + every - 1) / every, others = size - averaged;
    product<WIDE> covariance;
    covariance.begin();
    for (int first = 0; first < averaged; first += f->teams) {
        const int number = first + warp, k = number * every;
        const bool at_work = warp < f->teams && number < averaged;
        int n = 0;
        if (at_work) {
            posterior<WIDE, CHANNELS> p;
            n = condition<WIDE, CHANNELS>(g, f, m, own, channel, k, &p);
            keep_means<WIDE, CHANNELS>(m, own, size, k, p);
        }
        if (threadIdx.x % 32 == 0 && warp < f->teams) m->samples[warp] = n;
        __syncthreads();
        for (int w = 0; w < f->teams; w++)
            covariance.add(m->V + w * f->rows * WIDE, m->samples[w], 1.0f / (float)averaged);
        __syncthreads();
    }
    for (int number = warp; number < others && warp < f->teams; number += f->teams) {
        const int k = number / (every - 1) * every + number % (every - 1) + 1;
        posterior<WIDE, CHANNELS> p;
        condition<WIDE, CHANNELS>(g, f, m, own, channel, k, &p);
        keep_means<WIDE, CHANNELS>(m, own, size, k, p);
    }
    __syncthreads();
    centre<WIDE, CHANNELS>(m, size, false);
    add_covariance<WIDE, CHANNELS>(m, size, d, f->floor, -1.0f, &covariance);
    put<WIDE>(covariance, true, f->em_diagonal, d, m->V, m->C);
}

__device__ __forceinline__ void add_fixed(unsigned long long *to, float value) {
    const float unit = 4294967296.0f; /* 2^32 */
    atomicAdd(to, (unsigned long long)__float2ll_rn(value * unit));
}

/* Buffered in V, so that adjacent lanes add to adjacent pixels. Pooled channels share their
 * weights. */
template <int WIDE, int CHANNELS>
__device__ __forceinline__ void
add_patch(const csrec_gaussian_device *g, const fitting *f, const group_memory *m,
          const pixels<WIDE> &own, int channel, int k, int d, const posterior<WIDE, CHANNELS> *p) {
    static_assert(CHANNELS < SAMPLES, "a team has at least SAMPLES rows of V");
    const int lane = threadIdx.x % 32;
    float *x = m->V + (int)(threadIdx.x / 32) * f->rows * WIDE, *spread = x + CHANNELS * WIDE;
    unsigned long long *values = g->sums + channel * g->entries + m->corner[k];
    unsigned long long *weights =
        g->sums + (g->channels + channel / CHANNELS) * g->entries + m->corner[k];
    unsigned long long *variances = weights + csrec_gaussian_spreads(g) * g->entries;
    __syncwarp();
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) own.store(x + c * WIDE, p->x[c]);
    own.store(spread, p->variance);
    __syncwarp();
    for (int pixel = lane; pixel < d; pixel += 32) {
        const float variance = fmaxf(spread[pixel], 0.0f), weight = 1.0f / (variance + f->evenness);
        const int at = m->offset[pixel];
        add_fixed(weights + at, weight);
        add_fixed(variances + at, weight * variance);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            add_fixed(values + c * g->entries + at,
                      weight * (x[c * WIDE + pixel] + m->mean[c * WIDE + pixel]));
    }
    __syncwarp();
}

/* Corners and offsets of pixels into shared memory; those after the last pixel are 0. All threads.
 */
template <int WIDE>
__device__ __forceinline__ void place(const csrec_gaussian_device *g, const int64_t *corners,
                                      int size, int d, int64_t *corner, int *offset) {
    const int slice = g->patch_height * g->patch_width;
    for (int k = threadIdx.x; k < size; k += shape<WIDE>::THREADS) corner[k] = corners[k];
    for (int k = threadIdx.x; k < WIDE; k += shape<WIDE>::THREADS)
        offset[k] = k < d ? (k / slice * g->height + k % slice / g->patch_width) * g->width +
                                k % g->patch_width
                          : 0;
    __syncthreads();
}

template <int WIDE, int CHANNELS>
__global__ void __launch_bounds__(shape<WIDE>::THREADS, shape<WIDE>::BLOCKS)
    estimate_groups(const __grid_constant__ csrec_gaussian_device g,
                    const __grid_constant__ fitting f) {
    extern __shared__ __align__(16) float memory[];
    __shared__ float mean[CHANNELS * WIDE];
    __shared__ int samples[TEAMS_MOST], offset[WIDE];
    __shared__ int64_t corner[CSREC_CUDA_GAUSSIAN_GROUP];
    const int channel = (int)blockIdx.y * CHANNELS, size = g.size[blockIdx.x];
    const int d = g.patch_depth * g.patch_height * g.patch_width;
    if (size == 0) return;
    float *X = memory + WIDE * WIDE, *V = X + CHANNELS * g.group * WIDE;
    const group_memory m = {memory, X,       V,      V + f.teams * f.rows * WIDE,
                            mean,   samples, offset, corner};
    place<WIDE>(&g, g.corner + (int64_t)blockIdx.x * g.group, size, d, corner, offset);
    pixels<WIDE> own;
    own.begin(d);
    const float spread = gather<WIDE, CHANNELS>(&g, &m, own, channel, size);
    centre<WIDE, CHANNELS>(&m, size, true);
    {
        product<WIDE> covariance;
        covariance.begin();
        add_covariance<WIDE, CHANNELS>(&m, size, d, f.floor, 1.0f, &covariance);
        const float more = f.trust > 0.0f ? f.trust * spread : 0.0f;
        put<WIDE>(covariance, false, f.diagonal + more, d, V, m.C);
    }
    for (int t = 0; t < f.em; t++) step_em<WIDE, CHANNELS>(&g, &f, &m, own, channel, size, d);
    const int warp = threadIdx.x / 32;
    for (int k = warp; k < size && warp < f.teams; k += f.teams) {
        posterior<WIDE, CHANNELS> p;
        condition<WIDE, CHANNELS>(&g, &f, &m, own, channel, k, &p);
        add_patch<WIDE, CHANNELS>(&g, &f, &m, own, channel, k, d, &p);
    }
}

/* Noise-free samples are restored: they are exact. */
__global__ void finish_round(const __grid_constant__ csrec_gaussian_device g) {
    const int64_t at = csrec_cuda_thread(), all = g.channels * g.entries;
    if (at >= all) return;
    const int64_t entry = at % g.entries;
    const unsigned long long *weights = g.sums + all + at / g.entries / g.pooled * g.entries;
    const unsigned long long *variances = weights + csrec_gaussian_spreads(&g) * g.entries;
    const double weight = (double)(long long)weights[entry];
    const bool known = g.mask[entry] && g.keep;
    if (!known && weight == 0.0) return; /* a group with non-finite values stays unchanged */
    g.u[at] = known ? g.y[at] : (float)((double)(long long)g.sums[at] / weight);
    g.variance[at] = known ? 0.0f : (float)((double)(long long)variances[entry] / weight);
}

/* Dynamic shared memory. V is also the scratch memory of the products' sums. */
template <int WIDE, int CHANNELS>
static int bytes_for(const csrec_gaussian_device *g, const fitting *f) {
    const int products = shape<WIDE>::PAIRS * ENTRIES;
    int rows = f->teams * f->rows * (WIDE + 1 + CHANNELS);
    if (rows < products) rows = products;
    return ((WIDE + CHANNELS * g->group) * WIDE + rows) * (int)sizeof(float);
}

template <int WIDE, int CHANNELS>
static csrec_status launch(const csrec_gaussian_device *g, int n, fitting f, csrec_error *error) {
    const auto kernel = estimate_groups<WIDE, CHANNELS>;
    int most = 0;
    CSREC_TRY(csrec_cuda_allow_shared((const void *)kernel, "estimate_groups", &most, error));
    while (f.teams > 1 && bytes_for<WIDE, CHANNELS>(g, &f) > most) f.teams--;
    const int bytes = bytes_for<WIDE, CHANNELS>(g, &f);
    if (bytes > most)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: a group of %d patches of %d pixels, %d of them samples, does not "
                          "fit into shared memory; use backend cpu",
                          g->group, g->patch_depth * g->patch_height * g->patch_width, f.rows);
    const dim3 grid((unsigned)n, (unsigned)csrec_gaussian_spreads(g));
    kernel<<<grid, shape<WIDE>::THREADS, (size_t)bytes>>>(*g, f);
    return csrec_cuda_launched("estimate_groups", error);
}

template <int WIDE>
static csrec_status launch_wide(const csrec_gaussian_device *g, int n, const fitting &f,
                                csrec_error *error) {
    return g->pooled > 1 ? launch<WIDE, CSREC_GAUSSIAN_POOLED>(g, n, f, error)
                         : launch<WIDE, 1>(g, n, f, error);
}

csrec_status csrec_gaussian_estimate(const csrec_gaussian_device *g,
                                     const csrec_cuda_gaussian_round *round, int n, int most,
                                     csrec_error *error) {
    const int rows = (most + SAMPLES - 1) / SAMPLES * SAMPLES;
    const int pixels = g->patch_depth * g->patch_height * g->patch_width;
    const fitting f = {round->diagonal, round->trust,
                       round->noise,    round->em_diagonal,
                       round->evenness, round->floor,
                       round->em,       round->every > 0 ? round->every : 1,
                       TEAMS_MOST,      rows > 0 ? rows : SAMPLES};
    return pixels <= 64    ? launch_wide<64>(g, n, f, error)
           : pixels <= 104 ? launch_wide<104>(g, n, f, error)
                           : launch_wide<128>(g, n, f, error);
}

csrec_status csrec_gaussian_clear(const csrec_gaussian_device *g, csrec_error *error) {
    const int64_t planes = g->channels + 2 * csrec_gaussian_spreads(g);
    return csrec_cuda_clear(g->sums, (size_t)(planes * g->entries) * sizeof *g->sums, NULL, error);
}

csrec_status csrec_gaussian_finish(const csrec_gaussian_device *g, csrec_error *error) {
    return CSREC_CUDA_EACH(finish_round, g->channels * g->entries, 256, error, *g);
}
