/* gaussian_estimate.cu - mean and covariance of each group of patches, steps of expectation
 * maximisation, and each patch conditioned on its samples; recover/gaussian_simd.h is the
 * reference.
 *
 * A thread block a group, everything in shared memory: the covariance, 64 or 128 wide, the patches,
 * and rows V of the patches at work. A warp conditions a patch, sample after sample: V = L^-1 C_o
 * with L L^T = C_oo + noise I, two or four columns a lane. Products X^T X and V^T V are summed in
 * registers, 4 x 4 or 8 x 8 entries a thread. Estimates are added to the picture as integers of
 * 2^-32, so that their order does not matter. */
#include "kernels/gaussian_state.cuh"

enum { THREADS = 256, WARPS = THREADS / 32, WIDEST = CSREC_CUDA_GAUSSIAN_PIXELS };

static __device__ const double UNIT = 4294967296.0; /* 2^32 */

typedef struct fitting {
    float diagonal, trust, noise, em_diagonal, evenness;
    int em, every, teams, rows; /* warps that condition, rows of V for each */
} fitting;

/* Shared memory of a block. */
typedef struct group_memory {
    float *C, *X, *V; /* [WIDTH][WIDTH], [group][WIDTH], [teams][rows][WIDTH] */
    float *mean, *parts;
    int *samples; /* [WARPS] rows of V that count */
} group_memory;

/* A lane's pixels of a patch: columns lane, lane + 32, ... */
template <int WIDTH> struct share { float x[WIDTH / 32], variance[WIDTH / 32]; };

/* ---- kernels */

__device__ __forceinline__ int64_t pixel_at(const csrec_gaussian_device *g, int2 corner,
                                            int pixel) {
    return (int64_t)(corner.x + pixel / g->patch_width) * g->width + corner.y +
           pixel % g->patch_width;
}

/* gram += sign rows^T rows; thread (i, j) has entries T i.. by T j.., T = WIDTH / 16. */
template <int WIDTH>
__device__ __forceinline__ void add_gram(const float *rows, int n, float sign,
                                         float (&gram)[WIDTH / 16][WIDTH / 16]) {
    enum { T = WIDTH / 16 };
    const float *left = rows + threadIdx.x / 16 * T, *right = rows + threadIdx.x % 16 * T;
    for (int k = 0; k < n; k++) {
        float l[T], r[T];
#pragma unroll
        for (int i = 0; i < T; i += 4) {
            *(float4 *)(l + i) = *(const float4 *)(left + k * WIDTH + i);
            *(float4 *)(r + i) = *(const float4 *)(right + k * WIDTH + i);
        }
#pragma unroll
        for (int i = 0; i < T; i++) {
            l[i] *= sign;
#pragma unroll
            for (int j = 0; j < T; j++) gram[i][j] = __fmaf_rn(l[i], r[j], gram[i][j]);
        }
    }
}

/* C = gram or, if it is kept, C - gram; and `diagonal` more where i = j < d. */
template <int WIDTH>
__device__ __forceinline__ void put_gram(const float (&gram)[WIDTH / 16][WIDTH / 16], bool kept,
                                         float diagonal, int d, float *C) {
    enum { T = WIDTH / 16 };
    const int first = threadIdx.x / 16 * T, second = threadIdx.x % 16 * T;
#pragma unroll
    for (int i = 0; i < T; i++)
#pragma unroll
        for (int j = 0; j < T; j++) {
            float *c = C + (first + i) * WIDTH + second + j;
            const float value = kept ? *c - gram[i][j] : gram[i][j];
            *c = value + (first + i == second + j && first + i < d ? diagonal : 0.0f);
        }
}

/* Takes the mean from the rows of X and adds it to `mean`, or makes it the mean. */
template <int WIDTH>
__device__ __forceinline__ void centre(const group_memory *m, int size, bool first) {
    enum { PARTS = THREADS / WIDTH };
    const int c = threadIdx.x % WIDTH, part = threadIdx.x / WIDTH;
    float sum = 0.0f;
    for (int k = part; k < size; k += PARTS) sum += m->X[k * WIDTH + c];
    m->parts[threadIdx.x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int p = 0; p < PARTS; p++) sum += m->parts[p * WIDTH + c];
    sum *= 1.0f / (float)size;
    for (int k = part; k < size; k += PARTS) m->X[k * WIDTH + c] -= sum;
    if (part == 0) m->mean[c] = first ? sum : m->mean[c] + sum;
    __syncthreads();
}

/* The mean variance of the group's pixels, the same in all threads. */
__device__ __forceinline__ float mean_variance(const csrec_gaussian_device *g,
                                               const group_memory *m, int channel,
                                               const int2 *match, int size, int d) {
    const float *variance = g->variance + channel * g->area;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < size * d; k += THREADS)
        sum += variance[pixel_at(g, match[k / d], k % d)];
    m->parts[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) m->parts[threadIdx.x] += m->parts[threadIdx.x + half];
    }
    __syncthreads();
    sum = m->parts[0] / (float)(size * d);
    __syncthreads();
    return sum;
}

/* Conditions on one sample after another: x is the posterior mean less the prior's. Returns the
 * number of samples, the rows of V. One warp. */
template <int WIDTH>
__device__ __forceinline__ int condition(const csrec_gaussian_device *g, const group_memory *m,
                                         int channel, int2 corner, float noise, float *V,
                                         share<WIDTH> *out) {
    enum { Q = WIDTH / 32 };
    const int lane = threadIdx.x % 32, d = g->patch_height * g->patch_width;
    const float *y = g->y + channel * g->area;
    float value[Q];
    unsigned seen[Q];
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const int pixel = lane + 32 * q;
        const int64_t at = pixel < d ? pixel_at(g, corner, pixel) : 0;
        const bool sampled = pixel < d && g->mask[at];
        seen[q] = __ballot_sync(~0u, sampled);
        value[q] = sampled ? y[at] - m->mean[pixel] : 0.0f;
        out->x[q] = 0.0f;
        out->variance[q] = m->C[pixel * (WIDTH + 1)];
    }
    int n = 0;
#pragma unroll
    for (int q = 0; q < Q; q++)
        for (unsigned left = seen[q]; left; left &= left - 1, n++) {
            const int owner = __ffs((int)left) - 1, pixel = owner + 32 * q;
            float r[Q];
#pragma unroll
            for (int k = 0; k < Q; k++) r[k] = m->C[pixel * WIDTH + lane + 32 * k];
            for (int j = 0; j < n; j++) {
                const float *row = V + j * WIDTH, l = row[pixel];
#pragma unroll
                for (int k = 0; k < Q; k++) r[k] = __fmaf_rn(-l, row[lane + 32 * k], r[k]);
            }
            const float variance = __shfl_sync(~0u, r[q], owner);
            const float innovation = __shfl_sync(~0u, value[q] - out->x[q], owner);
            const float scale = 1.0f / sqrtf(fmaxf(variance, 0.0f) + noise);
            const float z = innovation * scale;
#pragma unroll
            for (int k = 0; k < Q; k++) {
                r[k] *= scale;
                V[n * WIDTH + lane + 32 * k] = r[k];
                out->x[k] = __fmaf_rn(z, r[k], out->x[k]);
                out->variance[k] = __fmaf_rn(-r[k], r[k], out->variance[k]);
            }
            __syncwarp();
        }
    return n;
}

/* Covariance of the posterior means, and mean of the posterior covariances of every so many. */
template <int WIDTH>
__device__ __forceinline__ void step_em(const csrec_gaussian_device *g, const fitting *f,
                                        const group_memory *m, int channel, const int2 *match,
                                        int size, int d) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float averaged = (float)((size + f->every - 1) / f->every);
    float gram[WIDTH / 16][WIDTH / 16] = {};
    for (int first = 0; first < size; first += f->teams) {
        const int k = first + warp;
        int n = 0;
        if (warp < f->teams && k < size) {
            share<WIDTH> p;
            n = condition<WIDTH>(g, m, channel, match[k], f->noise, m->V + warp * f->rows * WIDTH,
                                 &p);
#pragma unroll
            for (int q = 0; q < WIDTH / 32; q++) m->X[k * WIDTH + lane + 32 * q] = p.x[q];
        }
        if (lane == 0) m->samples[warp] = k % f->every == 0 ? n : 0;
        __syncthreads();
        for (int w = 0; w < f->teams; w++)
            add_gram<WIDTH>(m->V + w * f->rows * WIDTH, m->samples[w], 1.0f / averaged, gram);
        __syncthreads();
    }
    centre<WIDTH>(m, size, false);
    add_gram<WIDTH>(m->X, size, -1.0f / (float)size, gram);
    put_gram<WIDTH>(gram, true, f->em_diagonal, d, m->C);
    __syncthreads();
}

__device__ __forceinline__ void add_fixed(unsigned long long *to, float value) {
    atomicAdd(to, (unsigned long long)__double2ll_rn((double)value * UNIT));
}

template <int WIDTH>
__device__ __forceinline__ void add_patch(const csrec_gaussian_device *g, const group_memory *m,
                                          int channel, int2 corner, float evenness,
                                          const share<WIDTH> *p) {
    const int64_t all = g->channels * g->area;
#pragma unroll
    for (int q = 0; q < WIDTH / 32; q++) {
        const int pixel = threadIdx.x % 32 + 32 * q;
        if (pixel >= g->patch_height * g->patch_width) continue;
        const float variance = fmaxf(p->variance[q], 0.0f), weight = 1.0f / (variance + evenness);
        unsigned long long *to = g->sums + channel * g->area + pixel_at(g, corner, pixel);
        add_fixed(to, weight);
        add_fixed(to + all, weight * (p->x[q] + m->mean[pixel]));
        add_fixed(to + 2 * all, weight * variance);
    }
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS, WIDTH == 64 ? 2 : 1)
    estimate_groups(const __grid_constant__ csrec_gaussian_device g,
                    const __grid_constant__ fitting f) {
    extern __shared__ __align__(16) float memory[];
    __shared__ float mean[WIDTH], parts[THREADS];
    __shared__ int samples[WARPS];
    float *X = memory + WIDTH * WIDTH;
    const group_memory m = {memory, X, X + g.group * WIDTH, mean, parts, samples};
    const int channel = blockIdx.y, size = g.size[blockIdx.x], d = g.patch_height * g.patch_width;
    const int2 *match = g.match + (int64_t)blockIdx.x * g.group;
    if (size == 0) return;
    const float *u = g.u + channel * g.area;
    for (int k = threadIdx.x; k < size * WIDTH; k += THREADS) {
        const int c = k % WIDTH;
        m.X[k] = c < d ? u[pixel_at(&g, match[k / WIDTH], c)] : 0.0f;
    }
    float diagonal = f.diagonal;
    if (f.trust > 0.0f) diagonal += f.trust * mean_variance(&g, &m, channel, match, size, d);
    __syncthreads();
    centre<WIDTH>(&m, size, true);
    float gram[WIDTH / 16][WIDTH / 16] = {};
    add_gram<WIDTH>(m.X, size, 1.0f / (float)size, gram);
    put_gram<WIDTH>(gram, false, diagonal, d, m.C);
    __syncthreads();
    for (int t = 0; t < f.em; t++) step_em<WIDTH>(&g, &f, &m, channel, match, size, d);
    const int warp = threadIdx.x / 32;
    if (warp >= f.teams) return;
    for (int k = warp; k < size; k += f.teams) {
        share<WIDTH> p;
        condition<WIDTH>(&g, &m, channel, match[k], f.noise, m.V + warp * f.rows * WIDTH, &p);
        add_patch<WIDTH>(&g, &m, channel, match[k], f.evenness, &p);
        __syncwarp();
    }
}

/* Samples without noise are put back: nothing knows better. */
__global__ void finish_round(const __grid_constant__ csrec_gaussian_device g) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, all = g.channels * g.area;
    if (at >= all) return;
    const double weight = (double)(long long)g.sums[at];
    const bool known = g.mask[at % g.area] && g.keep;
    if (!known && weight == 0.0) return; /* a group that was not finite: as it was */
    g.u[at] = known ? g.y[at] : (float)((double)(long long)g.sums[all + at] / weight);
    g.variance[at] = known ? 0.0f : (float)((double)(long long)g.sums[2 * all + at] / weight);
}

/* ---- launchers */

static int bytes_for(const csrec_gaussian_device *g, const fitting *f, int width) {
    return (width + g->group + f->teams * f->rows) * width * (int)sizeof(float);
}

template <int WIDTH>
static csrec_status launch(const csrec_gaussian_device *g, const csrec_cuda_gaussian_round *round,
                           fitting f, int shared, csrec_error *error) {
    enum { OWN = 2048 }; /* static shared memory, about */
    while (f.teams > 1 && bytes_for(g, &f, WIDTH) + OWN > shared) f.teams /= 2;
    const int bytes = bytes_for(g, &f, WIDTH);
    if (bytes + OWN > shared)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: a group of %d patches does not fit; use --backend cpu", g->group);
    csrec_status status =
        csrec_cuda_check(cudaFuncSetAttribute(estimate_groups<WIDTH>,
                                              cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                         "estimate_groups", error);
    if (status) return status;
    const dim3 grid((unsigned)(round->rows * round->columns), (unsigned)g->channels);
    estimate_groups<WIDTH><<<grid, THREADS, (size_t)bytes>>>(*g, f);
    return csrec_cuda_launched("estimate_groups", error);
}

csrec_status csrec_gaussian_estimate(const csrec_gaussian_device *g,
                                     const csrec_cuda_gaussian_round *round, int most, int shared,
                                     csrec_error *error) {
    const fitting f = {round->diagonal,
                       round->trust,
                       round->noise,
                       round->em_diagonal,
                       round->evenness,
                       round->em,
                       round->every > 0 ? round->every : 1,
                       WARPS,
                       most > 0 ? most : 1};
    const int64_t all = g->channels * g->area;
    csrec_status status = csrec_cuda_check(
        cudaMemsetAsync(g->sums, 0, (size_t)(3 * all) * sizeof *g->sums), "clear", error);
    if (status) return status;
    status = g->patch_height * g->patch_width <= WIDEST / 2
                 ? launch<WIDEST / 2>(g, round, f, shared, error)
                 : launch<WIDEST>(g, round, f, shared, error);
    if (status) return status;
    finish_round<<<csrec_cuda_blocks(all, 256), 256>>>(*g);
    return csrec_cuda_launched("finish_round", error);
}
