/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_commit.cuh - valid picks are committed, the rest rolled back; a pick above the
 * subtrees. */
#pragma once

#include "kernels/haar/speculate_check.cuh"
#include "kernels/haar/speculate_run.cuh"

/* ---- commit */

/* Rolls back the picks of one subtree after the valid prefix; the others count. A subtree's own
 * picks keep their order, so the valid ones are its first. */
template <bool one_sided>
static __device__ inline void commit(const speculate_job *job, team_memory *team, int32_t subtree,
                                     int base, int picks, unsigned limit) {
    const event *made = &job->time.events[base];
    int kept = 0;
    for (int from = 0; from < picks; from += WARP) {
        int k = from + lane_id();
        bool valid = k < picks && (unsigned)job->time.rank[base + k] < limit;
        if (valid && warp_in_team() == 0)
            add_coefficient(job->tree, (int)(made[k].code & 3), made[k].code >> 2, made[k].d);
        kept += __popc(__ballot_sync(FULL, valid));
    }
    if (kept == picks) return;
    runner u = load_runner(job, team, subtree);
    take_back<one_sided>(job, &u, made, kept, picks);
    store_runner(job, subtree, &u);
    meet_team();
}

template <bool one_sided>
static __device__ inline void commit_all(const speculate_job *job, team_memory *team,
                                         unsigned limit, int stamp) {
    for (int64_t base = 0; team_id() + all_teams() * base < job->parts.subtrees; base += WARP) {
        int32_t u = lane_subtree(base);
        int4 ran = u < job->parts.subtrees ? job->parts.ran[u] : make_int4(0, 0, 0, 0);
        unsigned todo = __ballot_sync(FULL, ran.x == stamp && ran.z > 0);
        for (; todo; todo &= todo - 1) {
            int from = __ffs((int)todo) - 1;
            int first = __shfl_sync(FULL, ran.y, from), picks = __shfl_sync(FULL, ran.z, from);
            commit<one_sided>(job, team, __shfl_sync(FULL, u, from), first, picks, limit);
        }
    }
}

template <bool one_sided>
static __device__ inline void commit_above(const speculate_job *job, const view *time,
                                           const round_counts *b, unsigned limit) {
    for (unsigned k = warp_id(); k < b->touched; k += all_warps()) {
        int32_t t = job->parts.touched[k];
        int2 range = job->parts.range[t];
        double D = 0.0, S = 0.0, side;
        for (unsigned e = lane_id(); e < limit; e += WARP) {
            double change = change_below(time, range, t, e, &side);
            D += side * change;
            S += change;
        }
        D = warp_sum(D);
        if (one_sided) S = warp_sum(S);
        if (lane_id()) continue;
        job->tree.D[job->parts.top[t]] += D;
        if (one_sided) job->tree.S[job->parts.top[t]] += S;
    }
}

static __device__ inline void commit_totals(const speculate_job *job, unsigned limit,
                                            unsigned count) {
    csrec_wide gain = gain_until(job, limit);
    double change = 0.0;
    for (unsigned e = lane_id(); e < limit; e += WARP) change += job->time.change[e];
    change = warp_sum(change);
    if (lane_id()) return;
    job->totals->energy -= gain;
    job->totals->total += change;
    job->totals->iterations += limit;
    job->totals->undone += count - limit;
    job->totals->rounds++;
}

/* The valid picks of the round in their order, after those of the rounds before. */
static __device__ inline void log_valid(const speculate_job *job, unsigned count, unsigned limit,
                                        int64_t before) {
    const timeline *t = &job->time;
    for (unsigned e = blockIdx.x * THREADS + threadIdx.x; e < count; e += gridDim.x * THREADS) {
        unsigned place = (unsigned)t->rank[e];
        if (place >= limit) continue;
        const event *made = &t->events[e];
        job->log[before + place] = {(int64_t)made->key, made->code, made->d, made->change,
                                    t->gain[place]};
    }
}

/* ---- a pick above the subtrees */

template <bool one_sided>
static __device__ inline void apply_above(const speculate_job *job, const pick *p) {
    int64_t threads = (int64_t)gridDim.x * THREADS;
    for (int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x; t < job->parts.tops;
         t += threads) {
        int32_t at = job->parts.top[t];
        double D = job->tree.D[at], S = one_sided ? job->tree.S[at] : 0.0;
        if (!shift_node(p, at, job->tree.first[at], job->tree.size[at], &D, &S)) continue;
        job->tree.D[at] = D;
        if (one_sided) job->tree.S[at] = S;
    }
}

/* One chunk of a subtree. `start`: its widest node is not known yet. */
template <bool one_sided>
static __device__ inline void apply_to_chunk(const speculate_job *job, int32_t subtree, int chunk,
                                             const pick *p, bool start) {
    int32_t first = subtree_begin(&job->parts, subtree), last = subtree_end(job, subtree);
    int rows = rows_of(last - first), lane;
    int64_t begin = (int64_t)first + chunk * rows * WARP;
    int64_t end = min(begin + rows * WARP, (int64_t)last);
    int64_t at = (int64_t)subtree * CHUNKS + chunk;
    best found = {0, INT64_MAX, 0.0, 0, 0};
    if (begin < end) {
        found = apply<one_sided>(job->tree, (int32_t)begin, (int32_t)end, last - 1, p, &lane);
        found = shuffled(found, lane);
    }
    if (lane_id() == 0) job->parts.chunk[at] = found;
    if (!start) return;
    span widest = find_widest(job->tree, begin, min(end, (int64_t)last - 1));
    if (lane_id() == 0) job->parts.widest[at] = widest;
}

template <bool one_sided>
static __device__ inline void apply_to_all(const speculate_job *job, int2 range, const pick *p,
                                           bool start) {
    int64_t chunks = (int64_t)(range.y - range.x + 1) * CHUNKS;
    for (int64_t k = warp_id(); k < chunks; k += all_warps())
        apply_to_chunk<one_sided>(job, range.x + (int32_t)(k / CHUNKS), (int)(k % CHUNKS), p,
                                  start);
}
