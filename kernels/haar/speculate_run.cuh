/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_run.cuh - subtrees run their own pursuits, each by a team of warps, and write down
 * their picks. */
#pragma once

#include "kernels/haar/speculate_round.cuh"

/* ---- one subtree, by a team of warps */

static __device__ inline int team_in_block() {
    return (int)threadIdx.x / (WARP * TEAM);
}

static __device__ inline int team_id() {
    return (int)(team_in_block() * gridDim.x + blockIdx.x);
}

static __device__ inline int all_teams() {
    return (int)gridDim.x * TEAMS;
}

static __device__ inline void meet_team() {
    static_assert(TEAMS <= 2, "a barrier a team");
    if (TEAMS == 1)
        __syncthreads();
    else if (team_in_block() == 0)
        asm volatile("bar.sync 1, %0;" ::"n"(TEAM * WARP) : "memory");
    else
        asm volatile("bar.sync 2, %0;" ::"n"(TEAM * WARP) : "memory");
}

/* In shared memory: the columns of the subtree that the team runs. */
typedef struct team_memory {
    best chunk[CHUNKS];
    event made[CAPACITY + 1]; /* its picks of the round, and a barrier */
    unsigned base;
} team_memory;

typedef struct runner {
    int32_t begin, end, nodes_end;
    int rows;
    span widest; /* of the lane's chunk */
    team_memory *team;
} runner;

/* The affected chunks, distributed over the warps. The team has met when it returns. */
template <bool one_sided>
static __device__ inline void run_pick(const csrec_speculate_tree &tree, runner *u, const pick *p) {
    int32_t mine = u->begin + lane_id() * u->rows * WARP;
    bool concerned = mine < u->end && p->first < mine + u->rows * WARP && p->end > mine;
    if (one_sided || p->change != 0.0)
        concerned |= u->widest.first <= p->first && p->first < u->widest.end;
    unsigned todo = __ballot_sync(FULL, concerned);
    for (int k = 0; todo; todo &= todo - 1, k++) {
        if (k % TEAM != warp_in_team()) continue;
        int chunk = __ffs((int)todo) - 1, lane;
        int32_t begin = u->begin + chunk * u->rows * WARP;
        best found = apply<one_sided>(tree, begin, min(begin + u->rows * WARP, u->end),
                                      u->nodes_end, p, &lane);
        if (lane_id() == lane) u->team->chunk[chunk] = found;
    }
    meet_team();
}

/* Each warp finds the same result. No warp changes a chunk before all have read it. */
static __device__ inline best head_of(const runner *u) {
    best chunk = u->team->chunk[lane_id()];
    best head = shuffled(chunk, warp_best(chunk.key, chunk.code));
    meet_team();
    return head;
}

static __device__ inline runner load_runner(const speculate_job *job, team_memory *team,
                                            int32_t subtree) {
    runner u;
    u.begin = subtree_begin(&job->parts, subtree);
    u.end = subtree_end(job, subtree);
    u.nodes_end = nodes_end(job, subtree);
    u.rows = rows_of(u.end - u.begin);
    u.widest = job->parts.widest[(int64_t)subtree * CHUNKS + lane_id()];
    u.team = team;
    if (warp_in_team() == 0)
        team->chunk[lane_id()] = job->parts.chunk[(int64_t)subtree * CHUNKS + lane_id()];
    meet_team();
    return u;
}

static __device__ inline void store_head(const speculate_job *job, int32_t subtree,
                                         const best *chunk) {
    if (lane_id() == warp_best(chunk->key, chunk->code)) job->parts.head[subtree] = *chunk;
}

static __device__ inline void store_runner(const speculate_job *job, int32_t subtree,
                                           const runner *u) {
    if (warp_in_team()) return;
    best chunk = u->team->chunk[lane_id()];
    job->parts.chunk[(int64_t)subtree * CHUNKS + lane_id()] = chunk;
    store_head(job, subtree, &chunk);
}

static __device__ inline bool too_small(const speculate_job *job, double v, int32_t size) {
    return job->rules.min_coefficient > 0.0 &&
           __dmul_rn(fabs(v), 1.0 / sqrt((double)size)) * job->rules.inverse <
               job->rules.min_coefficient;
}

/* Runs until its best key is below theta, or has done `most` picks: *picks of them, and a barrier
 * behind them if the subtree stopped above theta. Returns whether it did. */
template <bool one_sided>
static __device__ inline bool run_subtree(const speculate_job *job, runner *u, int32_t subtree,
                                          uint64_t theta, int most, int *picks) {
    uint64_t m = UINT64_MAX;
    for (int count = 0;; count++) {
        best head = head_of(u);
        *picks = count;
        if (head.key < theta) return false;
        m = min(m, head.key);
        double d = csrec_pursuit_step(head.v, (double)head.size);
        bool stop = count == most || too_small(job, head.v, head.size) ||
                    !gains(head.v, (double)head.size, d);
        pick p = pick_of((int)(head.code & 3), head.code >> 2, head.first, head.size, d);
        if (warp_in_team() == 0 && lane_id() == 0)
            u->team->made[count] = {m,
                                    (uint64_t)subtree * (CAPACITY + 1) + count,
                                    head.key,
                                    head.code,
                                    head.v,
                                    d,
                                    stop ? 0.0 : p.change,
                                    head.first,
                                    head.size,
                                    subtree,
                                    stop};
        if (stop) return true;
        run_pick<one_sided>(job->tree, u, &p);
    }
}

/* Picks `to` - 1 down to `from`. */
template <bool one_sided>
static __device__ inline void take_back(const speculate_job *job, runner *u, const event *made,
                                        int from, int to) {
    for (int k = to - 1; k >= from; k--) {
        const event *e = &made[k];
        pick p = pick_of((int)(e->code & 3), e->code >> 2, e->first, e->size, -e->d);
        run_pick<one_sided>(job->tree, u, &p);
    }
}

static __device__ inline void write_event(const timeline *t, unsigned at, const event *e) {
    t->events[at] = *e;
    t->m[at] = e->m;
    t->order[at] = e->order;
}

/* No room for the subtree's events: nothing below its first pick is valid, and the space it did get
 * is filled with barriers at the end of the order. */
static __device__ inline void give_up(const speculate_job *job, round_counts *b, const event *made,
                                      unsigned base, unsigned count) {
    if (lane_id() == 0) atomicMax(&b->floor, (unsigned long long)made->m);
    for (unsigned at = base + lane_id(); at < base + count && at < EVENTS; at += WARP) {
        event none = {0, UINT64_MAX - at, 0, 0, 0.0, 0.0, 0.0, 0, 1, -1, 1};
        write_event(&job->time, at, &none);
    }
}

static __device__ inline void touch_above(const speculate_job *job, round_counts *b,
                                          int32_t subtree, int stamp) {
    for (int k = lane_id(); k < DEPTH; k += WARP) {
        int32_t t = job->parts.above[(int64_t)subtree * DEPTH + k];
        if (t < 0 || atomicExch(&job->parts.stamp[t], stamp) == stamp) continue;
        job->parts.touched[atomicAdd(&b->touched, 1u)] = t;
    }
}

template <bool one_sided>
static __device__ inline void speculate(const speculate_job *job, round_counts *b,
                                        team_memory *team, int32_t subtree, uint64_t theta,
                                        int most, int stamp) {
    runner u = load_runner(job, team, subtree);
    int picks;
    bool barrier = run_subtree<one_sided>(job, &u, subtree, theta, most, &picks);
    bool first = warp_in_team() == 0;
    unsigned count = (unsigned)(picks + barrier);
    if (first && lane_id() == 0) team->base = atomicAdd(&b->events, count);
    meet_team();
    unsigned base = team->base;
    if (base + count > EVENTS) {
        if (first) give_up(job, b, team->made, base, count);
        take_back<one_sided>(job, &u, team->made, 0, picks);
        picks = 0;
    } else if (first) {
        for (unsigned k = lane_id(); k < count; k += WARP)
            write_event(&job->time, base + k, &team->made[k]);
        touch_above(job, b, subtree, stamp);
    }
    store_runner(job, subtree, &u);
    if (first && lane_id() == 0) job->parts.ran[subtree] = make_int4(stamp, (int)base, picks, 0);
    meet_team();
}

/* The lanes' subtrees of the team: u = team + all_teams * (base + lane). */
static __device__ inline int32_t lane_subtree(int64_t base) {
    int64_t u = team_id() + (int64_t)all_teams() * (base + lane_id());
    return u > INT_MAX ? INT_MAX : (int32_t)u;
}

typedef struct plan {
    uint64_t theta;
    int32_t first, last; /* subtrees that run */
    int most;            /* picks of each */
    bool decisive;       /* theta follows from the reach */
} plan;

template <bool one_sided>
static __device__ inline void speculate_all(const speculate_job *job, round_counts *b,
                                            team_memory *team, const plan *p, int stamp) {
    for (int64_t base = 0; team_id() + all_teams() * base < job->parts.subtrees; base += WARP) {
        int32_t u = lane_subtree(base);
        bool runs = u >= p->first && u <= p->last && job->parts.head[u].key >= p->theta;
        unsigned todo = __ballot_sync(FULL, runs);
        for (; todo; todo &= todo - 1)
            speculate<one_sided>(job, b, team, __shfl_sync(FULL, u, __ffs((int)todo) - 1), p->theta,
                                 p->most, stamp);
    }
}
