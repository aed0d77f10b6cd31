/* tree.cu - rows of the samples on each grid, the trees of the sorted rows with their values, and
 * the trees' values at every site.
 *
 * A tree is built from its leaves up. One thread per leaf climbs; at each node the second thread to
 * arrive continues, so that both halves are complete (Apetrei 2014, for the ranges). Sums over
 * grids are of integers: their order does not matter. */
#include <math_constants.h>

#include "kernels/method/adaptive/rows.cuh"

enum { THREADS = 256, SITES = 8, DEEPEST = 64 };

/* ---- kernels */

/* Unsigned numbers in the order of the floats. */
__device__ __forceinline__ unsigned in_order(float v) {
    const unsigned bits = __float_as_uint(v);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__global__ void __launch_bounds__(THREADS)
    reach_of_samples(const __grid_constant__ csrec_adaptive_device d) {
    __shared__ csrec_cuda_axes axes;
    load_axes(&d.axes[blockIdx.y], &axes);
    float least[CSREC_CUDA_AXES], most[CSREC_CUDA_AXES];
#pragma unroll
    for (int a = 0; a < CSREC_CUDA_AXES; a++) {
        least[a] = CUDART_INF_F;
        most[a] = -CUDART_INF_F;
    }
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < d.samples;
         i += (int64_t)gridDim.x * THREADS) {
        float base[CSREC_CUDA_BASES];
        load_bases(&d, &axes, i, base);
#pragma unroll
        for (int a = 0; a < CSREC_CUDA_AXES; a++) {
            if (a >= axes.count) break;
            const float t = project(&axes.axis[a], 0.0f, base);
            least[a] = t < least[a] ? t : least[a];
            most[a] = t > most[a] ? t : most[a];
        }
    }
    unsigned *range = d.range + (int64_t)blockIdx.y * 2 * CSREC_CUDA_AXES;
#pragma unroll
    for (int a = 0; a < CSREC_CUDA_AXES; a++) {
        if (a >= axes.count) break;
        const unsigned low = __reduce_max_sync(~0u, ~in_order(least[a]));
        const unsigned high = __reduce_max_sync(~0u, in_order(most[a]));
        if (threadIdx.x % 32 == 0) {
            atomicMax(&range[2 * a], low);
            atomicMax(&range[2 * a + 1], high);
        }
    }
}

__global__ void __launch_bounds__(THREADS)
    number_samples(const __grid_constant__ csrec_adaptive_device d, int first, int bits,
                   uint64_t *key, unsigned *order) {
    __shared__ csrec_cuda_axes axes;
    __shared__ row_tables tables;
    load_axes(&d.axes[first + blockIdx.y], &axes);
    fill_tables(&axes, &tables);
    const int64_t begin = (int64_t)blockIdx.x * THREADS * SITES + threadIdx.x;
    for (int k = 0; k < SITES; k++) {
        const int64_t i = begin + k * THREADS, at = blockIdx.y * (int64_t)d.samples + i;
        if (i >= d.samples) return;
        key[at] = row_of(&d, &axes, &tables, i) | (bits < 64 ? (uint64_t)blockIdx.y << bits : 0);
        order[at] = (unsigned)i;
    }
}

/* One grid's slice of the arrays. */
typedef struct tree {
    const uint64_t *key;
    const unsigned *order;
    csrec_adaptive_node *node;
    int *met, *up, *root, *value;
    float *mean, *settled, *plain, *weight, *size;
} tree;

__device__ __forceinline__ tree tree_of(const csrec_adaptive_device *d, int64_t grid) {
    const int64_t n = grid * d->samples, ids = 2 * n, values = ids * d->channels;
    const bool settle = d->threshold > 0.0f;
    tree t = {
        d->key + n,        d->order + n,     d->node + n, d->met + n, d->up + ids, d->root + grid,
        d->value + values, d->mean + values, NULL,        NULL,       NULL,        NULL};
    if (!settle) return t;
    t.settled = d->settled + values / 2;
    t.plain = d->plain_mean + values;
    t.weight = d->weight + values;
    t.size = d->size + ids;
    return t;
}

/* A least squares fit may leave the range of its samples; sums must not overflow. */
__device__ __forceinline__ int to_units(float value, float units) {
    const float most = 67108864.0f; /* 2^26 */
    float scaled = value * units;
    scaled = scaled < most ? scaled : most;
    return __float2int_rn(scaled > -most ? scaled : -most);
}

__device__ __forceinline__ void set_value(const csrec_adaptive_device *d, const tree *t, int64_t at,
                                          float mean) {
    t->mean[at] = mean;
    if (!t->size) t->value[at] = to_units(mean, d->units);
}

/* Of the samples i .. end of one row. */
__device__ __forceinline__ void set_leaf(const csrec_adaptive_device *d, const tree *t, int i,
                                         int end) {
    const int channels = d->channels, count = end - i + 1;
    const int64_t at = (int64_t)(d->samples + i) * channels;
    for (int c = 0; c < channels; c++) {
        float sum = 0.0f;
        for (int k = i; k <= end; k++) sum += d->z[(int64_t)t->order[k] * channels + c];
        sum = count > 1 ? sum / (float)count : sum;
        set_value(d, t, at + c, sum);
        if (!t->size) continue;
        t->plain[at + c] = sum;
        t->weight[at + c] = (float)count;
    }
    if (t->size) t->size[d->samples + i] = (float)count;
}

__device__ __forceinline__ bool is_left_out(const tree *t, int channels, int id, int left,
                                            int right, int c, float threshold) {
    const float scale =
        sqrtf(__ldcg(&t->size[left]) * __ldcg(&t->size[right]) / __ldcg(&t->size[id]));
    const float apart = __ldcg(&t->plain[(int64_t)left * channels + c]) -
                        __ldcg(&t->plain[(int64_t)right * channels + c]);
    return fabsf(apart) * scale < threshold;
}

/* weigh_upward of adaptive_fit.c, at one node. */
__device__ __forceinline__ void weigh_node(const csrec_adaptive_device *d, const tree *t, int id,
                                           int left, int right) {
    const int channels = d->channels;
    const float sl = __ldcg(&t->size[left]), sr = __ldcg(&t->size[right]);
    t->size[id] = sl + sr;
    for (int c = 0; c < channels; c++) {
        const int64_t l = (int64_t)left * channels + c, r = (int64_t)right * channels + c;
        const int64_t at = (int64_t)id * channels + c;
        const float wl = __ldcg(&t->weight[l]), wr = __ldcg(&t->weight[r]);
        const float ml = __ldcg(&t->mean[l]), mr = __ldcg(&t->mean[r]);
        t->plain[at] = (__ldcg(&t->plain[l]) * sl + __ldcg(&t->plain[r]) * sr) / (sl + sr);
        const bool out = is_left_out(t, channels, id, left, right, c, d->threshold);
        t->weight[at] = out ? wl + wr : 4.0f * wl * wr / (wl + wr);
        t->mean[at] = out ? (ml * wl + mr * wr) / (wl + wr) : 0.5f * (ml + mr);
    }
}

__device__ __forceinline__ void set_node(const csrec_adaptive_device *d, const tree *t, int id,
                                         int left, int right) {
    if (t->size) {
        weigh_node(d, t, id, left, right);
        return;
    }
    for (int c = 0; c < d->channels; c++) {
        const float l = __ldcg(&t->mean[(int64_t)left * d->channels + c]);
        const float r = __ldcg(&t->mean[(int64_t)right * d->channels + c]);
        set_value(d, t, (int64_t)id * d->channels + c, 0.5f * (l + r));
    }
}

/* Climbs from the leaf of samples low .. high while this thread is the second to arrive. */
__device__ __forceinline__ void go_up(const csrec_adaptive_device *d, const tree *t, uint64_t mask,
                                      int low, int high) {
    const int n = d->samples;
    int id = n + low;
    while (low > 0 || high < n - 1) {
        const uint64_t before = low > 0 ? t->key[low - 1] ^ t->key[low] : ~UINT64_C(0);
        const uint64_t after = high < n - 1 ? t->key[high] ^ t->key[high + 1] : ~UINT64_C(0);
        const int side = before < after; /* the smaller block is the parent's */
        const int parent = side ? low - 1 : high;
        t->node[parent].child[side] = id;
        t->up[id] = 2 * parent + side;
        __threadfence();
        const int met = atomicExch(&t->met[parent], side ? high : low);
        if (met < 0) return;
        __threadfence();
        const int other = __ldcg(&t->node[parent].child[1 - side]);
        const int shift = 64 - __clzll((long long)(side ? before : after));
        const uint64_t row = t->key[parent] & mask;
        t->node[parent].prefix = row >> shift << shift | UINT64_C(1) << (shift - 1);
        set_node(d, t, parent, side ? other : id, side ? id : other);
        if (side)
            low = met;
        else
            high = met;
        id = parent;
    }
    *t->root = id;
}

__global__ void __launch_bounds__(THREADS)
    link_rows(const __grid_constant__ csrec_adaptive_device d, int bits) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const tree t = tree_of(&d, blockIdx.y);
    const bool fresh = i < d.samples && (i == 0 || t.key[i] != t.key[i - 1]);
    const int leaves = __syncthreads_count(fresh);
    if (threadIdx.x == 0 && leaves) atomicAdd(d.leaves, (unsigned long long)leaves);
    if (!fresh) return;
    int end = (int)i;
    while (end + 1 < d.samples && t.key[end + 1] == t.key[i]) end++;
    set_leaf(&d, &t, (int)i, end);
    go_up(&d, &t, bits < 64 ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0), (int)i, end);
}

/* settle_downward of adaptive_fit.c, along the path to each leaf; a node is written by the thread
   of its first leaf. */
__global__ void __launch_bounds__(THREADS)
    settle_rows(const __grid_constant__ csrec_adaptive_device d) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const tree t = tree_of(&d, blockIdx.y);
    if (i >= d.samples || (i > 0 && t.key[i] == t.key[i - 1])) return;
    const int leaf = d.samples + (int)i, root = *t.root, channels = d.channels;
    int way[DEEPEST], depth = 0, own = 0;
    bool first = true;
    for (int id = leaf; id != root; id = way[depth++]) {
        way[depth] = t.up[id] / 2;
        first = first && t.up[id] % 2 == 0;
        own += first;
    }
    for (int c = 0; c < channels; c++) {
        float v = t.mean[(int64_t)root * channels + c];
        for (int k = depth - 1; k >= 0; k--) {
            const int id = way[k], next = k ? way[k - 1] : leaf;
            const int left = t.node[id].child[0], right = t.node[id].child[1];
            const int64_t l = (int64_t)left * channels + c, r = (int64_t)right * channels + c;
            if (k < own) t.value[(int64_t)id * channels + c] = to_units(v, d.units);
            float off = 0.0f;
            if (!is_left_out(&t, channels, id, left, right, c, d.threshold)) {
                const float wl = t.weight[l], wr = t.weight[r];
                off = (wr * (v - t.mean[r]) - wl * (v - t.mean[l])) / (wl + wr);
            }
            v = next == left ? v + off : v - off;
        }
        t.value[(int64_t)leaf * channels + c] = to_units(v, d.units);
        t.settled[i * channels + c] = v;
    }
}

/* Without z_i, a leaf of k samples has the mean mean - (z_i - mean) / (k - 1). */
__device__ __forceinline__ void add_shared_leaf(const csrec_adaptive_device *d, const tree *t,
                                                int64_t i, int64_t end, int *sum) {
    const int channels = d->channels;
    for (int c = 0; c < channels; c++) {
        const float own =
            t->settled ? t->settled[i * channels + c] : t->mean[(d->samples + i) * channels + c];
        float mean = 0.0f;
        for (int64_t k = i; k < end; k++) mean += d->z[(int64_t)t->order[k] * channels + c];
        mean /= (float)(end - i);
        for (int64_t k = i; k < end; k++) {
            const int64_t at = (int64_t)t->order[k] * channels + c;
            const float without = own - (d->z[at] - mean) / (float)(end - i - 1);
            atomicAdd(&sum[at], to_units(without, d->units));
        }
    }
}

/* A grid's value at a sample excludes that sample: its sibling's value. */
__global__ void __launch_bounds__(THREADS)
    add_samples(const __grid_constant__ csrec_adaptive_device d, int first) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const tree t = tree_of(&d, blockIdx.y);
    const int channels = d.channels;
    if (i >= d.samples || (i > 0 && t.key[i] == t.key[i - 1])) return;
    int *sum = d.sum + (int64_t)d.axes[first + blockIdx.y].to * d.sites * channels;
    int64_t end = i + 1;
    while (end < d.samples && t.key[end] == t.key[i]) end++;
    if (end > i + 1) {
        add_shared_leaf(&d, &t, i, end, sum);
        return;
    }
    int sibling = d.samples + (int)i; /* a single leaf: its own value */
    if (sibling != *t.root) sibling = t.node[t.up[sibling] / 2].child[1 - t.up[sibling] % 2];
    for (int c = 0; c < channels; c++)
        atomicAdd(&sum[(int64_t)t.order[i] * channels + c],
                  t.value[(int64_t)sibling * channels + c]);
}

/* The node whose block the row leaves, or the leaf where it ends. */
__device__ __forceinline__ int find(const csrec_adaptive_node *node, int root, int leaves,
                                    uint64_t row) {
    int id = root;
    while (id < leaves) {
        const int4 at = __ldg((const int4 *)(node + id));
        const uint64_t prefix = (uint64_t)(unsigned)at.y << 32 | (unsigned)at.x;
        const uint64_t bit = prefix & (0 - prefix); /* the one that tells the halves apart */
        if ((row ^ prefix) >= 2 * bit) return id;
        id = row & bit ? at.w : at.z;
    }
    return id;
}

__global__ void __launch_bounds__(THREADS)
    add_sites(const __grid_constant__ csrec_adaptive_device d, int first) {
    __shared__ csrec_cuda_axes axes;
    __shared__ row_tables tables;
    load_axes(&d.axes[first + blockIdx.y], &axes);
    fill_tables(&axes, &tables);
    const tree t = tree_of(&d, blockIdx.y);
    const int root = *t.root, channels = d.channels;
    int *sum = d.sum + (int64_t)axes.to * d.sites * channels;
    const int64_t begin = d.samples + (int64_t)blockIdx.x * THREADS * SITES + threadIdx.x;
    for (int k = 0; k < SITES; k++) {
        const int64_t site = begin + k * THREADS;
        if (site >= d.sites) return;
        const int id = find(t.node, root, d.samples, row_of(&d, &axes, &tables, site));
        for (int c = 0; c < channels; c++)
            atomicAdd(&sum[site * channels + c], t.value[(int64_t)id * channels + c]);
    }
}

/* ---- launchers */

csrec_status csrec_adaptive_reach(const csrec_adaptive_device *d, int count, csrec_error *error) {
    const unsigned most = 32;
    const size_t bytes = (size_t)count * 2 * CSREC_CUDA_AXES * sizeof *d->range;
    csrec_status status = csrec_cuda_check(cudaMemsetAsync(d->range, 0, bytes), "clear", error);
    if (status) return status;
    const unsigned blocks = csrec_cuda_blocks(d->samples, THREADS);
    const dim3 grid(blocks < most ? blocks : most, (unsigned)count);
    reach_of_samples<<<grid, THREADS>>>(*d);
    return csrec_cuda_launched("reach_of_samples", error);
}

csrec_status csrec_adaptive_rows(const csrec_adaptive_device *d, int first, int count, int bits,
                                 uint64_t *key, unsigned *order, csrec_error *error) {
    const dim3 grid(csrec_cuda_blocks(d->samples, THREADS * SITES), (unsigned)count);
    number_samples<<<grid, THREADS>>>(*d, first, bits, key, order);
    return csrec_cuda_launched("number_samples", error);
}

csrec_status csrec_adaptive_fit(const csrec_adaptive_device *d, int first, int count, int bits,
                                csrec_error *error) {
    const dim3 grid(csrec_cuda_blocks(d->samples, THREADS), (unsigned)count);
    link_rows<<<grid, THREADS>>>(*d, bits);
    csrec_status status = csrec_cuda_launched("link_rows", error);
    if (!status && d->threshold > 0.0f) {
        settle_rows<<<grid, THREADS>>>(*d);
        status = csrec_cuda_launched("settle_rows", error);
    }
    if (status) return status;
    add_samples<<<grid, THREADS>>>(*d, first);
    status = csrec_cuda_launched("add_samples", error);
    if (status || d->sites == d->samples) return status;
    const dim3 others(csrec_cuda_blocks(d->sites - d->samples, THREADS * SITES), (unsigned)count);
    add_sites<<<others, THREADS>>>(*d, first);
    return csrec_cuda_launched("add_sites", error);
}
