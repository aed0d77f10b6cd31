/* loop_state.cu - the row tree and the sums of a pursuit built on the device.
 *
 * The node of gap j is the smallest dyadic block with samples j and j + 1; where its samples begin
 * and end is found by galloping from the gap, as rows ascend. Its sums are differences of prefix
 * sums, exact on the grid of haar/pursuit.h.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "kernels/method/grids/loop_state.h"

enum { THREADS = 256, EACH = 8, TILE = THREADS * EACH, PARTS = 1024, TOP_THREADS = 1024 };

static __device__ __host__ inline int64_t tiles_of(int64_t n) {
    return (n + TILE - 1) / TILE;
}

static __device__ inline int64_t thread_id() {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline int64_t all_threads() {
    return (int64_t)gridDim.x * blockDim.x;
}

/* ---- sums */

static __global__ void largest_parts(int64_t n, const double *y, double *parts) {
    __shared__ double warps[THREADS / 32];
    double top = 0.0;
    for (int64_t j = thread_id(); j < n; j += all_threads()) top = fmax(top, fabs(y[j]));
    for (int k = 16; k; k /= 2) top = fmax(top, __shfl_xor_sync(0xFFFFFFFFu, top, k));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = top;
    __syncthreads();
    if (threadIdx.x) return;
    for (int k = 1; k < THREADS / 32; k++) top = fmax(top, warps[k]);
    parts[blockIdx.x] = top;
}

/* Samples in units, and parts of the sum of their squares. */
static __global__ void to_units(int64_t n, const double *y, double units, long long *u,
                                csrec_loop_wide *parts) {
    csrec_loop_wide energy = 0;
    for (int64_t j = thread_id(); j < n; j += all_threads()) {
        u[j] = (long long)rint(y[j] * units);
        energy += (csrec_loop_wide)u[j] * u[j];
    }
    if (thread_id() == 0) u[n] = 0;
    parts[thread_id()] = energy;
}

/* Inclusive sums over the block's threads; every thread receives the block's sum too. */
static __device__ inline long long block_scan(long long mine, long long *warps, long long *all) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = 1; k < 32; k *= 2) {
        long long below = __shfl_up_sync(0xFFFFFFFFu, mine, k);
        if (lane >= k) mine += below;
    }
    __syncthreads();
    if (lane == 31) warps[warp] = mine;
    __syncthreads();
    long long before = 0;
    *all = 0;
    for (int w = 0; w < (int)blockDim.x / 32; w++) {
        if (w == warp) before = *all;
        *all += warps[w];
    }
    return before + mine;
}

static __global__ void tile_sums(int64_t n, const long long *a, long long *tiles) {
    __shared__ long long warps[32];
    long long sum = 0, all;
    int64_t begin = (int64_t)blockIdx.x * TILE;
    for (int k = 0; k < EACH; k++) {
        int64_t j = begin + k * THREADS + threadIdx.x;
        if (j < n) sum += a[j];
    }
    block_scan(sum, warps, &all);
    if (threadIdx.x == 0) tiles[blockIdx.x] = all;
}

/* One block: tiles[t] = sum of the tiles before t. */
static __global__ void scan_tiles(int64_t count, long long *tiles) {
    __shared__ long long warps[32];
    long long carry = 0;
    for (int64_t base = 0; base < count; base += TOP_THREADS) {
        int64_t t = base + threadIdx.x;
        long long mine = t < count ? tiles[t] : 0, all;
        long long sum = block_scan(mine, warps, &all);
        if (t < count) tiles[t] = carry + sum - mine;
        carry += all;
    }
}

/* a[j] = a[0] + .. + a[j - 1] (exclusive) or .. + a[j]. */
static __global__ void scan_inside(int64_t n, long long *a, const long long *tiles,
                                   bool inclusive) {
    __shared__ long long warps[32];
    long long carry = tiles[blockIdx.x], all;
    for (int k = 0; k < EACH; k++) {
        int64_t j = (int64_t)blockIdx.x * TILE + k * THREADS + threadIdx.x;
        long long mine = j < n ? a[j] : 0, sum = block_scan(mine, warps, &all);
        if (j < n) a[j] = carry + sum - (inclusive ? 0 : mine);
        carry += all;
    }
}

csrec_status csrec_loop_scan(int64_t n, long long *a, long long *tiles, bool inclusive,
                             csrec_error *error) {
    unsigned blocks = csrec_cuda_blocks(n, TILE);
    tile_sums<<<blocks, THREADS>>>(n, a, tiles);
    scan_tiles<<<1, TOP_THREADS>>>(blocks, tiles);
    scan_inside<<<blocks, THREADS>>>(n, a, tiles, inclusive);
    return csrec_cuda_launched("prefix sums", error);
}

/* ---- the tree */

typedef struct tree_build {
    int64_t n;
    const uint64_t *rows;
    const long long *prefix;
    int32_t *first, *size;
    double *scale, *D, *S, *r;
    uint8_t *level, *node_edge, *leaf_edge;
} tree_build;

static __device__ inline int gap_level(const tree_build *b, int64_t j) {
    if (j < 0 || j + 1 >= b->n) return 64;
    return 64 - __clzll((long long)(b->rows[j] ^ b->rows[j + 1]));
}

static __device__ inline bool inside(const tree_build *b, int64_t j, int level, uint64_t block) {
    return j >= 0 && j < b->n && b->rows[j] >> level == block;
}

/* The last sample from `at` on in direction way (+1, -1) that lies in the block; `at` does. */
static __device__ inline int64_t gallop(const tree_build *b, int64_t at, int way, int level) {
    uint64_t block = b->rows[at] >> level;
    int64_t step = 1;
    while (inside(b, at + way * step, level, block)) {
        at += way * step;
        step *= 2;
    }
    for (step /= 2; step; step /= 2)
        if (inside(b, at + way * step, level, block)) at += way * step;
    return at;
}

/* As edge_level in haar/tree.c. */
static __device__ inline uint8_t edge_level(int parent, int child) {
    return (uint8_t)(parent < 64 && parent - 1 > child ? parent - 1 : 0);
}

static __global__ void build_tree(tree_build b) {
    int64_t j = thread_id();
    if (j >= b.n) return;
    int level = gap_level(&b, j), above = gap_level(&b, j - 1);
    if (b.leaf_edge) {
        b.leaf_edge[j] = edge_level(level < above ? level : above, 0);
        b.r[j] = (double)(b.prefix[j + 1] - b.prefix[j]);
    }
    if (j == b.n - 1) {
        b.first[j] = (int32_t)b.n;
        return;
    }
    int64_t first = gallop(&b, j, -1, level), end = gallop(&b, j, 1, level) + 1;
    long long before = b.prefix[first], after = b.prefix[end];
    b.first[j] = (int32_t)first;
    b.size[j] = (int32_t)(end - first);
    b.scale[j] = 1.0 / sqrt((double)(end - first));
    b.level[j] = (uint8_t)level;
    b.D[j] = (double)(2 * b.prefix[j + 1] - before - after);
    if (!b.node_edge) return;
    int left = gap_level(&b, first - 1), right = gap_level(&b, end - 1);
    b.node_edge[j] = edge_level(left < right ? left : right, level);
    b.S[j] = (double)(after - before);
}

/* ---- creation */

static void lay_out(csrec_loop_state *s, tree_build *b) {
    csrec_cuda_block *m = &s->memory;
    int64_t n = s->problem->n;
    bool one_sided = s->problem->columns == CSREC_COLUMNS_PAPER;
    csrec_loop_tree *t = &s->tree;
    t->D = b->D = (double *)csrec_cuda_block_take(m, n, sizeof(double));
    t->scale = b->scale = (double *)csrec_cuda_block_take(m, n, sizeof(double));
    t->x = (long long *)csrec_cuda_block_take(m, n, sizeof(long long));
    t->first = b->first = (int32_t *)csrec_cuda_block_take(m, n, sizeof(int32_t));
    t->size = b->size = (int32_t *)csrec_cuda_block_take(m, n, sizeof(int32_t));
    t->level = b->level = (uint8_t *)csrec_cuda_block_take(m, n, 1);
    if (one_sided) {
        t->S = b->S = (double *)csrec_cuda_block_take(m, n, sizeof(double));
        t->r = b->r = (double *)csrec_cuda_block_take(m, n, sizeof(double));
        t->x_sum = (long long *)csrec_cuda_block_take(m, n, sizeof(long long));
        t->x_leaf = (long long *)csrec_cuda_block_take(m, n, sizeof(long long));
        t->node_edge = b->node_edge = (uint8_t *)csrec_cuda_block_take(m, n, 1);
        t->leaf_edge = b->leaf_edge = (uint8_t *)csrec_cuda_block_take(m, n, 1);
    }
    s->rows = (uint64_t *)csrec_cuda_block_take(m, n, sizeof(uint64_t));
    s->y = (double *)csrec_cuda_block_take(m, n, sizeof(double));
    s->prefix = (long long *)csrec_cuda_block_take(m, n + 1, sizeof(long long));
    s->tiles = (long long *)csrec_cuda_block_take(m, tiles_of(n + 1), sizeof(long long));
    s->parts = (double *)csrec_cuda_block_take(m, PARTS * THREADS, sizeof(csrec_loop_wide));
    s->stand = (csrec_loop_stand *)csrec_cuda_block_take(m, 1, sizeof(csrec_loop_stand));
}

/* Units in 1.0 as csrec_pursuit_units gives them for samples up to `largest`. */
static double units_of(int64_t n, double largest) {
    if (largest == 0.0) return 1.0;
    int value_bits, count_bits;
    frexp(largest, &value_bits);
    frexp((double)n, &count_bits);
    int q = 52 - value_bits - count_bits;
    return ldexp(1.0, q > 1000 ? 1000 : q);
}

static csrec_status find_units(csrec_loop_state *s, csrec_error *error) {
    double parts[PARTS], largest = 0.0;
    largest_parts<<<PARTS, THREADS>>>(s->problem->n, s->y, s->parts);
    csrec_status status = csrec_cuda_launched("largest sample", error);
    if (status) return status;
    status = csrec_cuda_check(cudaMemcpy(parts, s->parts, sizeof parts, cudaMemcpyDefault),
                              "largest sample", error);
    for (int k = 0; k < PARTS && !status; k++) largest = fmax(largest, parts[k]);
    s->rules.units = units_of(s->problem->n, largest);
    return status;
}

static csrec_status sum_samples(csrec_loop_state *s, csrec_loop_stand *stand, csrec_error *error) {
    int64_t n = s->problem->n;
    to_units<<<PARTS, THREADS>>>(n, s->y, s->rules.units, s->prefix, (csrec_loop_wide *)s->parts);
    csrec_status status = csrec_cuda_launched("samples in units", error);
    size_t bytes = (size_t)PARTS * THREADS * sizeof(csrec_loop_wide);
    csrec_loop_wide *parts = (csrec_loop_wide *)malloc(bytes);
    if (!status && !parts) status = csrec_fail(error, CSREC_MEMORY, "out of memory");
    if (!status)
        status = csrec_cuda_check(cudaMemcpy(parts, s->parts, bytes, cudaMemcpyDefault),
                                  "energy of the samples", error);
    for (int k = 0; k < PARTS * THREADS && !status; k++) stand->energy += parts[k];
    free(parts);
    if (!status) status = csrec_loop_scan(n + 1, s->prefix, s->tiles, false, error);
    long long total = 0;
    if (!status)
        status = csrec_cuda_check(
            cudaMemcpy(&total, s->prefix + n, sizeof total, cudaMemcpyDefault), "sum", error);
    stand->total = (double)total;
    return status;
}

static void set_rules(csrec_loop_state *s, const csrec_stop *stop) {
    s->start = 0.0;
    for (int64_t j = 0; j < s->problem->n; j++) s->start += s->problem->y[j] * s->problem->y[j];
    s->rules.inverse = 1.0 / s->rules.units;
    s->rules.all_scale = 1.0 / sqrt((double)s->problem->n);
    s->rules.goal = fmax(stop->epsilon * stop->epsilon * s->start,
                         stop->sigma * stop->sigma * (double)s->problem->n);
    s->rules.min_coefficient = stop->min_coefficient;
    s->rules.limit = stop->atoms ? stop->atoms : 4 * s->problem->n;
}

static csrec_status upload(csrec_loop_state *s, csrec_error *error) {
    size_t n = (size_t)s->problem->n;
    csrec_status status = csrec_cuda_check(cudaMemset(s->memory.base, 0, s->memory.used),
                                           "memory of the loop", error);
    if (!status)
        status = csrec_cuda_check(
            cudaMemcpy(s->rows, s->problem->rows, n * sizeof *s->rows, cudaMemcpyDefault), "rows",
            error);
    if (!status)
        status = csrec_cuda_check(
            cudaMemcpy(s->y, s->problem->y, n * sizeof *s->y, cudaMemcpyDefault), "samples", error);
    return status;
}

csrec_status csrec_loop_state_create(csrec_loop_state *s, const csrec_loop_problem *problem,
                                     const csrec_stop *stop, csrec_error *error) {
    if (problem->n < 1 || problem->n > INT32_MAX)
        return csrec_fail(error, CSREC_ARGUMENT, "%lld samples; must be 1 to 2147483647",
                          (long long)problem->n);
    s->problem = problem;
    tree_build b = {};
    csrec_loop_stand stand = {};
    char what[64];
    snprintf(what, sizeof what, "a pursuit of %lld samples", (long long)problem->n);
    lay_out(s, &b);
    csrec_status status = csrec_cuda_block_create(&s->memory, what, error);
    if (status) return status;
    lay_out(s, &b);
    s->tree.n = problem->n;
    status =
        csrec_cuda_check(cudaHostAlloc((void **)&s->mail, sizeof *s->mail, cudaHostAllocMapped),
                         "mapped memory", error);
    if (!status) status = upload(s, error);
    if (!status) status = find_units(s, error);
    if (!status) status = sum_samples(s, &stand, error);
    if (status) return status;
    s->mail->iterations = 0;
    s->mail->energy = -1.0;
    s->mail->stop = 0;
    set_rules(s, stop);
    b.n = problem->n;
    b.rows = s->rows;
    b.prefix = s->prefix;
    build_tree<<<csrec_cuda_blocks(problem->n, THREADS), THREADS>>>(b);
    status = csrec_cuda_launched("the row tree", error);
    if (!status)
        status = csrec_cuda_check(cudaMemcpy(s->stand, &stand, sizeof stand, cudaMemcpyDefault),
                                  "start of the loop", error);
    return status;
}

void csrec_loop_state_clear(csrec_loop_state *s) {
    if (s->mail) cudaFreeHost(s->mail);
    s->mail = NULL;
    csrec_cuda_block_destroy(&s->memory);
}
