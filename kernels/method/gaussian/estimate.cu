/* estimate.cu - mean and covariance of each group of patches, steps of expectation
 * maximisation, and each patch conditioned on its samples; method/gaussian/gaussian_simd.h is the
 * reference.
 *
 * One thread block per group, all in shared memory: the covariance, patches, and rows V of the
 * current patches. A warp conditions a patch (gaussian_condition.cuh). Products X^T X and V^T V are
 * symmetric: only half of the pairs of tiles 8 columns wide is summed, 8 x 8 entries a thread in
 * registers, by several teams of threads that take turns at the rows; their parts are added up at
 * the end. Estimates are added to the picture as integers of 2^-32, so that their order does not
 * matter. */
#include "kernels/method/gaussian/condition.cuh"

enum { TILE = 8, ENTRIES = TILE * TILE };

/* Threads of a block, pairs of tiles, and how many teams sum them. */
template <int WIDE> struct shape {
    enum {
        THREADS = WIDE > 64 ? 384 : 256,
        BLOCKS = WIDE > 64 ? 1 : 2, /* on a multiprocessor */
        TILES = WIDE / TILE,
        PAIRS = TILES * (TILES + 1) / 2,
        TEAMS = THREADS / PAIRS
    };
};

/* Sums of products of rows: a thread's 8 x 8 entries for the pair of tiles (a, b), a <= b. Tile a
 * has the columns 4 a .. 4 a + 3 of either half, so that adjacent lanes read adjacent words. */
template <int WIDE> struct product {
    float entry[TILE][TILE];
    int a, b, team, turn; /* team: -1 for threads in no team */

    __device__ __forceinline__ void begin() {
        enum { PAIRS = shape<WIDE>::PAIRS, TILES = shape<WIDE>::TILES };
        const int pair = threadIdx.x % PAIRS;
        team = threadIdx.x / PAIRS < shape<WIDE>::TEAMS ? (int)(threadIdx.x / PAIRS) : -1;
        turn = team;
        a = 0;
        b = pair;
        while (b >= TILES - a) b -= TILES - a++;
        b += a;
#pragma unroll
        for (int i = 0; i < TILE; i++)
#pragma unroll
            for (int j = 0; j < TILE; j++) entry[i][j] = 0.0f;
    }

    __device__ __forceinline__ void load(const float *row, int tile, float (&to)[TILE]) const {
        *(float4 *)to = *(const float4 *)(row + 4 * tile);
        *(float4 *)(to + 4) = *(const float4 *)(row + WIDE / 2 + 4 * tile);
    }

    /* += sign rows^T rows; the teams continue to take turns with the next rows. */
    __device__ __forceinline__ void add(const float *rows, int n, float sign) {
        if (team < 0) return;
        int k = turn;
        for (; k < n; k += shape<WIDE>::TEAMS) {
            float l[TILE], r[TILE];
            load(rows + k * WIDE, a, l);
            load(rows + k * WIDE, b, r);
#pragma unroll
            for (int i = 0; i < TILE; i++) {
                l[i] *= sign;
#pragma unroll
                for (int j = 0; j < TILE; j++) entry[i][j] = __fmaf_rn(l[i], r[j], entry[i][j]);
            }
        }
        turn = k - n;
    }
};

__device__ __forceinline__ int column_of(int wide, int tile, int i) {
    return (i < 4 ? 0 : wide / 2 - 4) + 4 * tile + i;
}

/* C = product or, if it is kept, C - product; and `diagonal` more where i = j < d. scratch: a float
 * for each entry of each thread of the teams. All threads. */
template <int WIDE>
__device__ __forceinline__ void put(const product<WIDE> &p, bool kept, float diagonal, int d,
                                    float *scratch, float *C) {
    enum { PAIRS = shape<WIDE>::PAIRS, TEAMS = shape<WIDE>::TEAMS };
    __shared__ unsigned char first[PAIRS], second[PAIRS];
    const int pair = threadIdx.x % PAIRS;
    __syncthreads();
#pragma unroll
    for (int e = 0; e < ENTRIES && p.team >= 0; e++)
        scratch[(p.team * ENTRIES + e) * PAIRS + pair] = p.entry[e / TILE][e % TILE];
    if (p.team == 0) {
        first[pair] = (unsigned char)p.a;
        second[pair] = (unsigned char)p.b;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < ENTRIES * PAIRS; k += shape<WIDE>::THREADS) {
        float sum = 0.0f;
        for (int t = 0; t < TEAMS; t++) sum += scratch[t * ENTRIES * PAIRS + k];
        const int e = k / PAIRS, a = first[k % PAIRS], b = second[k % PAIRS];
        const int i = column_of(WIDE, a, e / TILE), j = column_of(WIDE, b, e % TILE);
        const float value = kept ? C[i * WIDE + j] - sum : sum;
        C[i * WIDE + j] = value + (i == j && i < d ? diagonal : 0.0f);
        if (a != b) C[j * WIDE + i] = value;
    }
    __syncthreads();
}

/* Takes the mean from the rows of X and adds it to `mean`, or makes it the mean. All threads. */
template <int WIDE>
__device__ __forceinline__ void centre(const group_memory *m, int size, bool first) {
    enum { PARTS = shape<WIDE>::THREADS / WIDE };
    __shared__ float parts[PARTS][WIDE];
    const int c = threadIdx.x % WIDE, part = threadIdx.x / WIDE;
    float sum = 0.0f;
    for (int k = part; k < size && part < PARTS; k += PARTS) sum += m->X[k * WIDE + c];
    if (part < PARTS) parts[part][c] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int p = 0; p < PARTS; p++) sum += parts[p][c];
    sum *= 1.0f / (float)size;
    for (int k = part; k < size && part < PARTS; k += PARTS) m->X[k * WIDE + c] -= sum;
    if (part == 0) m->mean[c] = first ? sum : m->mean[c] + sum;
    __syncthreads();
}

/* The group's patches into X. Returns the mean variance of their pixels, the same in all threads.
 */
template <int WIDE>
__device__ __forceinline__ float gather(const csrec_gaussian_device *g, const group_memory *m,
                                        const pixels<WIDE> &own, int channel, int size) {
    enum { WARPS = shape<WIDE>::THREADS / 32, Q = pixels<WIDE>::Q };
    __shared__ float parts[WARPS];
    const int warp = threadIdx.x / 32;
    const float *u = g->u + channel * g->area, *variance = g->variance + channel * g->area;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = warp; k < size; k += WARPS) {
        __align__(16) float x[Q];
#pragma unroll
        for (int q = 0; q < Q; q++) {
            const int64_t at = m->corner[k] + own.offset[q];
            x[q] = own.inside[q] ? u[at] : 0.0f;
            sum += own.inside[q] ? variance[at] : 0.0f;
        }
        own.store(m->X + k * WIDE, x);
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) parts[warp] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < WARPS; w++) sum += parts[w];
    return sum / (float)(size * g->patch_height * g->patch_width);
}

/* Covariance of the posterior means, and mean of the posterior covariances of every
 * f->every-th patch: those patches first, one per team at a time, then the others. */
template <int WIDE>
__device__ __forceinline__ void step_em(const csrec_gaussian_device *g, const fitting *f,
                                        const group_memory *m, const pixels<WIDE> &own, int channel,
                                        int size) {
    const int warp = threadIdx.x / 32, every = f->every;
    const int averaged = (size + every - 1) / every, others = size - averaged;
    product<WIDE> covariance;
    covariance.begin();
    for (int first = 0; first < averaged; first += f->teams) {
        const int number = first + warp, k = number * every;
        const bool at_work = warp < f->teams && number < averaged;
        int n = 0;
        if (at_work) {
            posterior<WIDE> p;
            n = condition<WIDE>(g, f, m, own, channel, k, &p);
            own.store(m->X + k * WIDE, p.x);
        }
        if (threadIdx.x % 32 == 0 && warp < f->teams) m->samples[warp] = n;
        __syncthreads();
        for (int w = 0; w < f->teams; w++)
            covariance.add(m->V + w * f->rows * WIDE, m->samples[w], 1.0f / (float)averaged);
        __syncthreads();
    }
    for (int number = warp; number < others && warp < f->teams; number += f->teams) {
        const int k = number / (every - 1) * every + number % (every - 1) + 1;
        posterior<WIDE> p;
        condition<WIDE>(g, f, m, own, channel, k, &p);
        own.store(m->X + k * WIDE, p.x);
    }
    __syncthreads();
    centre<WIDE>(m, size, false);
    covariance.add(m->X, size, -1.0f / (float)size);
    put<WIDE>(covariance, true, f->em_diagonal, g->patch_height * g->patch_width, m->V, m->C);
}

__device__ __forceinline__ void add_fixed(unsigned long long *to, float value) {
    const float unit = 4294967296.0f; /* 2^32 */
    atomicAdd(to, (unsigned long long)__float2ll_rn(value * unit));
}

/* Buffered in V, so that adjacent lanes add to adjacent pixels. */
template <int WIDE>
__device__ __forceinline__ void add_patch(const csrec_gaussian_device *g, const fitting *f,
                                          const group_memory *m, const pixels<WIDE> &own,
                                          int channel, int k, const posterior<WIDE> *p) {
    const int64_t all = g->channels * g->area, start = channel * g->area + m->corner[k];
    const int lane = threadIdx.x % 32;
    float *x = m->V + (int)(threadIdx.x / 32) * f->rows * WIDE, *spread = x + WIDE;
    __syncwarp();
    own.store(x, p->x);
    own.store(spread, p->variance);
    __syncwarp();
    for (int pixel = lane; pixel < g->patch_height * g->patch_width; pixel += 32) {
        const float variance = fmaxf(spread[pixel], 0.0f), weight = 1.0f / (variance + f->evenness);
        unsigned long long *to = g->sums + start + m->offset[pixel];
        add_fixed(to, weight);
        add_fixed(to + all, weight * (x[pixel] + m->mean[pixel]));
        add_fixed(to + 2 * all, weight * variance);
    }
    __syncwarp();
}

/* Corners and offsets of pixels into shared memory. All threads. */
template <int WIDE>
__device__ __forceinline__ void place(const csrec_gaussian_device *g, const int2 *match, int size,
                                      int64_t *corner, int *offset) {
    for (int k = threadIdx.x; k < size; k += shape<WIDE>::THREADS)
        corner[k] = (int64_t)match[k].x * g->width + match[k].y;
    for (int k = threadIdx.x; k < WIDE; k += shape<WIDE>::THREADS)
        offset[k] = k / g->patch_width * g->width + k % g->patch_width;
    __syncthreads();
}

template <int WIDE>
__global__ void __launch_bounds__(shape<WIDE>::THREADS, shape<WIDE>::BLOCKS)
    estimate_groups(const __grid_constant__ csrec_gaussian_device g,
                    const __grid_constant__ fitting f) {
    extern __shared__ __align__(16) float memory[];
    __shared__ float mean[WIDE];
    __shared__ int samples[TEAMS_MOST], offset[WIDE];
    __shared__ int64_t corner[CSREC_CUDA_GAUSSIAN_GROUP];
    const int channel = blockIdx.y, size = g.size[blockIdx.x], d = g.patch_height * g.patch_width;
    if (size == 0) return;
    float *X = memory + WIDE * WIDE, *V = X + g.group * WIDE;
    const group_memory m = {memory, X,       V,      V + f.teams * f.rows * WIDE,
                            mean,   samples, offset, corner};
    place<WIDE>(&g, g.match + (int64_t)blockIdx.x * g.group, size, corner, offset);
    pixels<WIDE> own;
    own.begin(offset, d);
    const float spread = gather<WIDE>(&g, &m, own, channel, size);
    centre<WIDE>(&m, size, true);
    {
        product<WIDE> covariance;
        covariance.begin();
        covariance.add(X, size, 1.0f / (float)size);
        const float more = f.trust > 0.0f ? f.trust * spread : 0.0f;
        put<WIDE>(covariance, false, f.diagonal + more, d, V, m.C);
    }
    for (int t = 0; t < f.em; t++) step_em<WIDE>(&g, &f, &m, own, channel, size);
    const int warp = threadIdx.x / 32;
    for (int k = warp; k < size && warp < f.teams; k += f.teams) {
        posterior<WIDE> p;
        condition<WIDE>(&g, &f, &m, own, channel, k, &p);
        add_patch<WIDE>(&g, &f, &m, own, channel, k, &p);
    }
}

/* Noise-free samples are restored: they are exact. */
__global__ void finish_round(const __grid_constant__ csrec_gaussian_device g) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, all = g.channels * g.area;
    if (at >= all) return;
    const double weight = (double)(long long)g.sums[at];
    const bool known = g.mask[at % g.area] && g.keep;
    if (!known && weight == 0.0) return; /* a group with non-finite values stays unchanged */
    g.u[at] = known ? g.y[at] : (float)((double)(long long)g.sums[all + at] / weight);
    g.variance[at] = known ? 0.0f : (float)((double)(long long)g.sums[2 * all + at] / weight);
}

/* ---- launchers */

/* V is also the scratch memory of the products' sums. */
template <int WIDE> static int bytes_for(const csrec_gaussian_device *g, const fitting *f) {
    const int products = shape<WIDE>::TEAMS * shape<WIDE>::PAIRS * ENTRIES;
    int rows = f->teams * f->rows * WIDE + 2 * f->teams * f->rows;
    if (rows < products) rows = products;
    return ((WIDE + g->group) * WIDE + rows) * (int)sizeof(float);
}

template <int WIDE>
static csrec_status launch(const csrec_gaussian_device *g, const csrec_cuda_gaussian_round *round,
                           fitting f, int shared, csrec_error *error) {
    enum { OWN = 5120 }; /* static shared memory, about */
    while (f.teams > 1 && bytes_for<WIDE>(g, &f) + OWN > shared) f.teams--;
    const int bytes = bytes_for<WIDE>(g, &f);
    if (bytes + OWN > shared)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: a group of %d patches does not fit; use --backend cpu", g->group);
    csrec_status status =
        csrec_cuda_check(cudaFuncSetAttribute(estimate_groups<WIDE>,
                                              cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                         "estimate_groups", error);
    if (status) return status;
    const dim3 grid((unsigned)(round->rows * round->columns), (unsigned)g->channels);
    estimate_groups<WIDE><<<grid, shape<WIDE>::THREADS, (size_t)bytes>>>(*g, f);
    return csrec_cuda_launched("estimate_groups", error);
}

csrec_status csrec_gaussian_estimate(const csrec_gaussian_device *g,
                                     const csrec_cuda_gaussian_round *round, int most, int shared,
                                     csrec_error *error) {
    const int rows = (most + SAMPLES - 1) / SAMPLES * SAMPLES;
    const fitting f = {round->diagonal,
                       round->trust,
                       round->noise,
                       round->em_diagonal,
                       round->evenness,
                       round->em,
                       round->every > 0 ? round->every : 1,
                       TEAMS_MOST,
                       rows > 0 ? rows : SAMPLES};
    const int64_t all = g->channels * g->area;
    const int pixels = g->patch_height * g->patch_width;
    csrec_status status = csrec_cuda_check(
        cudaMemsetAsync(g->sums, 0, (size_t)(3 * all) * sizeof *g->sums), "clear", error);
    if (status) return status;
    status = pixels <= 64    ? launch<64>(g, round, f, shared, error)
             : pixels <= 104 ? launch<104>(g, round, f, shared, error)
                             : launch<128>(g, round, f, shared, error);
    if (status) return status;
    finish_round<<<csrec_cuda_blocks(all, 256), 256>>>(*g);
    return csrec_cuda_launched("finish_round", error);
}
