/* SPDX-License-Identifier: BSD-3-Clause */
/* select.cuh - the least of an array of keys, by a thread block. Only for kernels/.
 *
 * The last one wanted is found by counting eight bits at a time; then the keys below it are listed
 * in their order. Bits of floats that are not negative sort as their values. */
#pragma once

enum { THREADS = 256, WARPS = THREADS / 32, BINS = 256 };

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
