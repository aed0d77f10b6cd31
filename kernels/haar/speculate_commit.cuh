/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_commit.cuh - the picks of a round in their order, and how far that order is valid:
 * valid picks are committed, the rest rolled back; a pick above the subtrees. */
#pragma once

#include "kernels/haar/speculate_round.cuh"
#include "kernels/haar/speculate_run.cuh"

/* ---- the order of all picks */

static __device__ inline unsigned events_of(const round_counts *b) {
    return min(b->events, (unsigned)EVENTS);
}

/* An event's place is the number of events before it: a warp counts them. */
static __device__ inline void order_events(const speculate_job *job, round_counts *b) {
    const timeline *t = &job->time;
    unsigned count = events_of(b);
    for (unsigned e = warp_id(); e < count; e += all_warps()) {
        uint64_t m = t->m[e], order = t->order[e];
        unsigned before = 0;
#pragma unroll 4
        for (unsigned other = lane_id(); other < count; other += WARP) {
            uint64_t theirs = t->m[other];
            before += theirs > m || (theirs == m && t->order[other] < order);
        }
        before = __reduce_add_sync(FULL, before);
        if (lane_id()) continue;
        event mine = t->events[e];
        t->rank[e] = (int32_t)before;
        t->key[before] = mine.key;
        t->code[before] = mine.code;
        t->change[before] = mine.change;
        t->subtree[before] = mine.subtree;
        t->gain[before] = mine.barrier ? 0 : csrec_pursuit_gain(mine.v, (double)mine.size, mine.d);
        if (mine.barrier || m <= b->floor) atomicMin(&b->limit, before);
    }
}

/* ---- the nodes above the subtrees, along that order */

typedef struct top_node {
    double D, S, scale;
    int level, edge;
    int64_t at;
    int2 range;
} top_node;

template <bool one_sided>
static __device__ inline top_node load_top(const speculate_job *job, int32_t t) {
    top_node w;
    w.at = job->parts.top[t];
    w.range = job->parts.range[t];
    w.D = job->tree.D[w.at];
    w.S = one_sided ? job->tree.S[w.at] : 0.0;
    w.scale = job->tree.scale[w.at];
    w.level = job->tree.level[w.at];
    w.edge = one_sided ? job->tree.node_edge[w.at] : 0;
    return w;
}

/* Of difference and sum of a node above the subtrees. */
static __device__ inline best best_of_top(const top_node *w) {
    best b = {key_of(w->D, w->scale, w->level), 4 * w->at + DIFFERENCE, w->D, 0, 0};
    uint64_t sum = w->edge ? key_of(w->S, w->scale, w->edge) : 0;
    if (sum > b.key) b = {sum, 4 * w->at + SUM, w->S, 0, 0};
    return b;
}

/* What the checks read: in shared memory, but for rounds of very many picks. */
typedef struct view {
    const int32_t *subtree;
    const double *change;
    const uint64_t *key;
    const int64_t *code;
} view;

/* What pick e adds to the sum below t, and its sign for D: subtrees up to number t are on the left.
 */
static __device__ inline double change_below(const view *time, int2 range, int32_t t, unsigned e,
                                             double *side) {
    int32_t u = time->subtree[e];
    *side = u <= t ? 1.0 : -1.0;
    return u >= range.x && u <= range.y ? time->change[e] : 0.0;
}

static __device__ inline double warp_sum(double x) {
    for (int k = WARP / 2; k; k /= 2) x += __shfl_xor_sync(FULL, x, k);
    return x;
}

/* Inclusive over the lanes. */
static __device__ inline double warp_scan(double x) {
    for (int k = 1; k < WARP; k *= 2) {
        double below = __shfl_up_sync(FULL, x, k);
        if (lane_id() >= k) x += below;
    }
    return x;
}

/* The least key of all picks of the round: a node whose sums cannot exceed it needs no check. */
static __device__ inline bool may_be_picked(const view *time, const top_node *w, int32_t t,
                                            unsigned count, uint64_t least) {
    double sum = 0.0, side;
    for (unsigned e = lane_id(); e < count; e += WARP)
        sum += fabs(change_below(time, w->range, t, e, &side));
    sum = warp_sum(sum);
    top_node bound = *w;
    bound.D = fabs(w->D) + sum;
    bound.S = fabs(w->S) + sum;
    return best_of_top(&bound).key >= least;
}

template <bool one_sided>
static __device__ inline void check_top(const speculate_job *job, const view *time, round_counts *b,
                                        int32_t t, unsigned count, uint64_t least) {
    top_node w = load_top<one_sided>(job, t);
    if (!may_be_picked(time, &w, t, count, least)) return;
    double D = w.D, S = w.S;
    for (unsigned base = 0; base + 1 < count; base += WARP) {
        unsigned e = base + lane_id();
        double side = 1.0, change = e < count ? change_below(time, w.range, t, e, &side) : 0.0;
        w.D = D + warp_scan(side * change);
        D = __shfl_sync(FULL, w.D, WARP - 1);
        if (one_sided) {
            w.S = S + warp_scan(change);
            S = __shfl_sync(FULL, w.S, WARP - 1);
        }
        best top = best_of_top(&w);
        bool wins = e + 1 < count && beats(top.key, top.code, time->key[e + 1], time->code[e + 1]);
        unsigned winners = __ballot_sync(FULL, wins);
        if (!winners) continue;
        if (lane_id() == 0) atomicMin(&b->limit, base + (unsigned)__ffs((int)winners));
        return;
    }
}

/* Column 0: its sum is that of all samples. */
static __device__ inline void check_all(const speculate_job *job, const view *time, round_counts *b,
                                        double total, unsigned count) {
    for (unsigned base = 0; base + 1 < count; base += WARP) {
        unsigned e = base + lane_id();
        double sum = total + warp_scan(e < count ? time->change[e] : 0.0);
        total = __shfl_sync(FULL, sum, WARP - 1);
        bool wins = e + 1 < count && key_of(sum, job->rules.all_scale, 63) >= time->key[e + 1];
        unsigned winners = __ballot_sync(FULL, wins);
        if (!winners) continue;
        if (lane_id() == 0) atomicMin(&b->limit, base + (unsigned)__ffs((int)winners));
        return;
    }
}

static __device__ inline csrec_wide gain_until(const speculate_job *job, unsigned count) {
    csrec_wide gain = 0;
    for (unsigned e = lane_id(); e < count; e += WARP) gain += job->time.gain[e];
    return warp_sum_wide(gain);
}

static __device__ inline bool reached(const speculate_job *job, csrec_wide energy) {
    return csrec_wide_double(energy) * job->rules.inverse * job->rules.inverse <= job->rules.goal;
}

/* Picks stop where the residual is short enough: checked only in the last round. */
static __device__ inline void check_energy(const speculate_job *job, round_counts *b,
                                           csrec_wide energy, unsigned count) {
    if (!reached(job, energy - gain_until(job, count)) || lane_id()) return;
    for (unsigned e = 0; e < count; e++) {
        energy -= job->time.gain[e];
        if (!reached(job, energy)) continue;
        atomicMin(&b->limit, e + 1);
        return;
    }
}

template <bool one_sided>
static __device__ inline void check_all_above(const speculate_job *job, const view *time,
                                              round_counts *b, const csrec_speculate_totals *now) {
    unsigned count = events_of(b), touched = b->touched;
    uint64_t least = UINT64_MAX;
    for (unsigned e = lane_id(); e < count; e += WARP) least = min(least, time->key[e]);
    least = ~warp_max(~least);
    for (unsigned k = warp_id(); k < touched; k += all_warps())
        check_top<one_sided>(job, time, b, job->parts.touched[k], count, least);
    if (warp_id() == all_warps() - 1) check_all(job, time, b, now->total, count);
    if (warp_id() == all_warps() - 2) check_energy(job, b, now->energy, count);
}

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
