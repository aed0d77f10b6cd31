/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_round.cuh - what a round of the speculative pursuit works on: the subtrees, the
 * timeline of picks, the counts of the round; see speculate.cu. */
#pragma once

#include "kernels/haar/speculate_device.cuh"

/* 16: one team a block, whose meetings are plain __syncthreads. The race checker does not recognise
 * the named barriers of several teams. */
#ifndef CSREC_SPECULATE_TEAM
#define CSREC_SPECULATE_TEAM 8
#endif

enum {
    THREADS = 512,
    WARPS = THREADS / WARP,
    TEAM = CSREC_SPECULATE_TEAM, /* warps that run a subtree together */
    TEAMS = WARPS / TEAM,
    CHUNKS = WARP,    /* of a subtree, a lane each */
    CAPACITY = 111,   /* picks of a subtree a round */
    EVENTS = 16384,   /* picks of a round */
    IN_SHARED = 1024, /* picks of a round that a block looks at in shared memory */
    DEPTH = 64,
    BUILD_THREADS = 256
};

/* ---- the subtrees */

typedef struct partition {
    int32_t tops, subtrees; /* subtrees = tops + 1 */
    int32_t *top;     /* [tops] entry of each node above the subtrees, ascending: subtree u ends
                         with entry top[u] */
    int2 *range;      /* [tops] first and last subtree below */
    int32_t *above;   /* [subtrees][DEPTH] nodes above, as numbers of top, -1 after them */
    best *chunk;      /* [subtrees][CHUNKS] */
    span *widest;     /* [subtrees][CHUNKS] */
    best *head;       /* [subtrees] best column of each */
    int4 *ran;        /* [subtrees] round + 1 and first event and picks of its last run */
    int32_t *stamp;   /* [tops] round + 1 in which it was touched last */
    int32_t *touched; /* [tops] those of the round */
} partition;

/* One pick of a subtree, or a barrier: the subtree's picks after it are unknown. */
typedef struct event {
    uint64_t m, order; /* the order: m falling, order rising */
    uint64_t key;
    int64_t code;
    double v, d, change;
    int32_t first, size, subtree, barrier;
} event;

/* The events of a round in their order: the data that the nodes above need. */
typedef struct timeline {
    event *events;       /* [EVENTS] as written */
    int32_t *rank;       /* [EVENTS] place of each in the order */
    uint64_t *m, *order; /* [EVENTS] as written */
    uint64_t *key;       /* [EVENTS] from here on in order */
    int64_t *code;
    double *change;
    int32_t *subtree;
    csrec_wide *gain;
} timeline;

typedef struct round_counts {
    unsigned events, touched, limit;
    unsigned long long floor; /* events with m up to this must not be committed */
} round_counts;

typedef struct speculate_job {
    csrec_speculate_tree tree;
    csrec_speculate_rules rules;
    csrec_speculate_totals *totals;
    csrec_speculate_link *link;
    exchange blocks;
    partition parts;
    timeline time;
    round_counts *counts; /* [3] */
    unsigned *arrived;
    pick start; /* applied before the first round */
} speculate_job;

static __device__ inline int32_t subtree_begin(const partition *c, int32_t u) {
    return u ? c->top[u - 1] + 1 : 0;
}

static __device__ inline int32_t subtree_end(const speculate_job *job, int32_t u) {
    return u < job->parts.tops ? job->parts.top[u] + 1 : (int32_t)job->tree.n;
}

/* The node of a subtree's last entry lies above the subtrees. */
static __device__ inline int32_t nodes_end(const speculate_job *job, int32_t u) {
    return subtree_end(job, u) - 1;
}

/* Rows of 32 entries that a chunk has. */
static __device__ inline int rows_of(int32_t entries) {
    return (entries + WARP * CHUNKS - 1) / (WARP * CHUNKS);
}

static __device__ inline int lane_id() {
    return (int)threadIdx.x % WARP;
}

static __device__ inline int warp_in_team() {
    return (int)threadIdx.x / WARP % TEAM;
}

/* Neighbouring numbers lie in different blocks: neighbouring subtrees are busy at the same time. */
static __device__ inline int warp_id() {
    return (int)(threadIdx.x / WARP * gridDim.x + blockIdx.x);
}

static __device__ inline int all_warps() {
    return (int)gridDim.x * WARPS;
}

/* All blocks arrive before any continues; earlier writes are visible after it. */
static __device__ inline void meet_all(const speculate_job *job, unsigned *phase) {
    __syncthreads();
    if (threadIdx.x == 0) {
        *phase += gridDim.x;
        __threadfence();
        atomicAdd(job->arrived, 1u);
        unsigned seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(seen)
                         : "l"(job->arrived)
                         : "memory");
        } while ((int)(seen - *phase) < 0);
        __threadfence();
    }
    __syncthreads();
}

/* Allocates and makes the subtrees, of at most `most` samples (0: chosen by size). */
csrec_status csrec_speculate_parts(csrec_speculate_state *state, int32_t most, speculate_job *job,
                                   csrec_cuda_block *memory, csrec_error *error);

/* speculate.cu */
csrec_status csrec_speculate_launch(speculate_job *job, bool one_sided, csrec_error *error);
