/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate.cu - the pursuit by subtrees that run at the same time, exact, for one large signal.
 *
 * The tree is split into its maximal blocks of at most U samples, the subtrees. A pick inside a
 * subtree changes nothing in another; above the subtrees it changes only the sums of the ancestors.
 * So each subtree, a few warps each, runs its own pursuit as long as its best key is at least
 * theta, and writes down its picks. All picks are then put into the order in which the pursuit
 * would have made them. With m = the smallest key of a subtree's picks so far, that order is: m
 * falling, then subtrees from left to right, then each subtree's own order. Reason: a pick whose
 * key is above m follows its predecessor at once, since no other subtree has a key above m at that
 * moment.
 *
 * Walking along that order, every touched node above the subtrees learns its sum after each pick.
 * The first moment at which such a node would have been picked ends the valid prefix: picks up to
 * it are committed, the others rolled back, and the node is picked in the next round. theta is
 * above the best key above the subtrees at the start, so nodes that no pick touches cannot come in
 * between.
 *
 * A round is four grid-wide barriers and an exchange. Results do not depend on theta, U or the
 * number of blocks, which decide only how much is rolled back.
 */
#include "kernels/haar/speculate_commit.cuh"

/* Best columns of the lanes' subtrees; those of `stale` are found from their chunks first. */
static __device__ inline best best_below(const speculate_job *job, int2 stale) {
    best mine = {0, INT64_MAX, 0.0, 0, 0};
    for (int64_t base = warp_in_team() * WARP; team_id() + all_teams() * base < job->parts.subtrees;
         base += TEAM * WARP) {
        int32_t u = lane_subtree(base);
        unsigned todo = __ballot_sync(FULL, u >= stale.x && u <= stale.y);
        for (; todo; todo &= todo - 1) {
            int32_t its = __shfl_sync(FULL, u, __ffs((int)todo) - 1);
            best chunk = job->parts.chunk[(int64_t)its * CHUNKS + lane_id()];
            store_head(job, its, &chunk);
        }
        __syncwarp();
        if (u >= job->parts.subtrees) continue;
        best head = job->parts.head[u];
        if (beats(head.key, head.code, mine.key, mine.code)) mine = head;
    }
    return mine;
}

template <bool one_sided> static __device__ inline best best_above(const speculate_job *job) {
    best mine = {0, INT64_MAX, 0.0, 0, 0};
    int64_t threads = (int64_t)gridDim.x * THREADS;
    for (int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x; t < job->parts.tops;
         t += threads) {
        top_node w = load_top<one_sided>(job, (int32_t)t);
        best b = best_of_top(&w);
        if (beats(b.key, b.code, mine.key, mine.code)) mine = b;
    }
    if (mine.key) {
        mine.first = job->tree.first[mine.code >> 2];
        mine.size = job->tree.size[mine.code >> 2];
    }
    return mine;
}

typedef struct winner {
    best column;
    double step;
} winner;

/* In shared memory. */
typedef struct common {
    best warp[CONTESTS][WARPS];
    winner won[CONTESTS];
    bool flag;
    int32_t subtree[IN_SHARED]; /* the timeline's beginning, see load_timeline */
    double change[IN_SHARED];
    uint64_t key[IN_SHARED];
    int64_t code[IN_SHARED];
} common;

static __device__ inline view load_timeline(const speculate_job *job, common *c, unsigned count) {
    const timeline *t = &job->time;
    if (count > IN_SHARED) return {t->subtree, t->change, t->key, t->code};
    for (unsigned e = threadIdx.x; e < count; e += THREADS) {
        c->subtree[e] = t->subtree[e];
        c->change[e] = t->change[e];
        c->key[e] = t->key[e];
        c->code[e] = t->code[e];
    }
    __syncthreads();
    return {c->subtree, c->change, c->key, c->code};
}

/* Best in (0) and above (1) the subtrees, over all blocks, in c->won. */
template <bool one_sided>
static __device__ inline void elect(const speculate_job *job, common *c, int64_t round, int2 stale,
                                    bool flag) {
    best mine[CONTESTS] = {best_below(job, stale), best_above<one_sided>(job)};
    int warp = threadIdx.x / WARP;
    for (int k = 0; k < CONTESTS; k++)
        if (lane_id() == warp_best(mine[k].key, mine[k].code)) c->warp[k][warp] = mine[k];
    __syncthreads();
    if (warp < CONTESTS) {
        best candidate = {0, INT64_MAX, 0.0, 0, 0};
        if (lane_id() < WARPS) candidate = c->warp[warp][lane_id()];
        best top = contest_winner(&job->blocks, warp, round, candidate, &flag);
        double step = csrec_pursuit_step(top.v, (double)top.size);
        if (lane_id() == 0) c->won[warp] = {top, step};
        if (threadIdx.x == 0) c->flag = flag;
    }
    __syncthreads();
}

/* How far below the best key subtrees may run: as bits of a double, so 2^52 is a factor of 2.
 * Chosen so that slightly more picks are made than prove valid. */
static __device__ inline uint64_t next_reach(uint64_t reach, bool decisive, unsigned events,
                                             unsigned valid) {
    enum { WANTED = IN_SHARED };
    uint64_t longest = UINT64_C(1) << 53, shortest = UINT64_C(1) << 20;
    if (events > EVENTS)
        reach /= 64;
    else if (4 * valid < events)
        reach /= 2;
    else if (2 * valid < events)
        reach -= reach / 4;
    else if (valid == events && decisive)
        reach += events < WANTED / 8 ? 3 * reach : reach / 2;
    return min(max(reach, shortest), longest);
}

/* Whether the next round should take equal keys alone, see plan_of. */
static __device__ inline bool go_for_ties(bool ties, unsigned events, unsigned valid) {
    enum { MANY = 64 };
    if (valid == 0 || events > EVENTS || (ties && valid >= MANY)) return true;
    return !ties && events > IN_SHARED && 16 * valid < events;
}

/* The subtree of a sample. */
static __device__ inline int32_t subtree_of(const speculate_job *job, int64_t sample) {
    int32_t low = 0, high = job->parts.subtrees - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (subtree_end(job, middle) <= sample)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which subtrees run, and down to which key. Usually all with a key near the best. Where thousands
 * of keys are equal there is no room for all picks: then those with the best key alone, from the
 * leftmost subtree on, as many subtrees as there is room for. The pursuit itself continues with
 * these, so some of these picks are always valid. If a node above the subtrees has the same key,
 * one pick is. */
static __device__ inline plan plan_of(const speculate_job *job, const best *below, uint64_t above,
                                      uint64_t reach, bool ties) {
    plan p = {max(below->key - min(reach, below->key), above + 1), 0, job->parts.subtrees - 1,
              CAPACITY, false};
    p.decisive = p.theta > above + 1;
    bool one = p.theta > below->key;
    if (!ties && !one) return p;
    p.theta = below->key;
    p.first = subtree_of(job, below->code >> 2);
    p.last = one ? p.first : min(p.last, p.first + EVENTS / (CAPACITY + 1) - 1);
    if (one) p.most = 1;
    return p;
}

template <bool one_sided>
static __global__ void __launch_bounds__(THREADS, 1)
    pursue(const __grid_constant__ speculate_job job) {
    __shared__ common c;
    __shared__ team_memory teams[TEAMS];
    team_memory *team = &teams[team_in_block()];
    enum { POLL = 64 };
    unsigned phase = 0;
    int stamp = 1;
    uint64_t reach = UINT64_C(1) << 50;
    bool ties = false;
    int outcome;
    int2 stale = make_int2(0, job.parts.subtrees - 1);
    apply_to_all<one_sided>(&job, stale, &job.start, true);
    apply_above<one_sided>(&job, &job.start);
    for (int64_t round = 0;; round++) {
        meet_all(&job, &phase);
        const csrec_speculate_totals now = *job.totals;
        bool flag = false;
        if (blockIdx.x == 0 && threadIdx.x < WARP && round % POLL == POLL - 1) {
            flag = job.link->stop != 0;
            job.link->iterations = now.iterations;
            job.link->energy =
                csrec_wide_double(now.energy) * job.rules.inverse * job.rules.inverse;
        }
        elect<one_sided>(&job, &c, round, stale, flag);
        winner below = c.won[0], above = c.won[1];
        flag = c.flag;
        stale = make_int2(0, -1);
        uint64_t all_key = key_of(now.total, job.rules.all_scale, 63);
        bool is_top =
            beats(above.column.key, above.column.code, below.column.key, below.column.code);
        winner top = is_top ? above : below;
        bool all = all_key >= top.column.key;
        if (all) {
            top.column = {0, -1, now.total, 0, (int32_t)job.tree.n};
            top.step = csrec_pursuit_step(now.total, (double)job.tree.n);
        }
        outcome = -1;
        if (reached(&job, now.energy))
            outcome = CSREC_CONVERGED;
        else if (now.iterations >= job.rules.limit)
            outcome = CSREC_STEP_LIMIT;
        else if (flag)
            outcome = CSREC_INTERRUPTED;
        else if (too_small(&job, top.column.v, top.column.size))
            outcome = CSREC_SMALL;
        else if (!gains(top.column.v, (double)top.column.size, top.step))
            outcome = CSREC_EXHAUSTED;
        if (outcome >= 0) break;
        if (all || is_top) {
            int kind = all ? ALL : (int)(top.column.code & 3);
            int64_t at = all ? 0 : top.column.code >> 2;
            pick p = pick_of(kind, at, top.column.first, top.column.size, top.step);
            stale = make_int2(0, job.parts.subtrees - 1);
            if (!all) stale = job.parts.range[subtree_of(&job, at)];
            apply_to_all<one_sided>(&job, stale, &p, false);
            apply_above<one_sided>(&job, &p);
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                double d = top.step;
                if (all)
                    job.totals->x_all += (long long)d;
                else
                    add_coefficient(job.tree, kind, at, d);
                csrec_wide gain = csrec_pursuit_gain(top.column.v, (double)top.column.size, d);
                job.totals->energy -= gain;
                job.totals->total += p.change;
                job.totals->iterations++;
                job.totals->rounds++;
                job.totals->top++;
            }
            continue;
        }
        round_counts *b = &job.counts[stamp % 3], *next = &job.counts[(stamp + 1) % 3];
        plan p = plan_of(&job, &below.column, max(above.column.key, all_key), reach, ties);
        if (blockIdx.x == 0 && threadIdx.x == 0) *next = {0, 0, UINT_MAX, 0};
        speculate_all<one_sided>(&job, b, team, &p, stamp);
        meet_all(&job, &phase);
        order_events(&job, b);
        meet_all(&job, &phase);
        view time = load_timeline(&job, &c, events_of(b));
        check_all_above<one_sided>(&job, &time, b, &now);
        meet_all(&job, &phase);
        unsigned count = events_of(b);
        int64_t left = job.rules.limit - now.iterations;
        unsigned limit = min(b->limit, count);
        if ((int64_t)limit > left) limit = (unsigned)left;
        commit_all<one_sided>(&job, team, limit, stamp);
        commit_above<one_sided>(&job, &time, b, limit);
        if (warp_id() == all_warps() - 1) commit_totals(&job, limit, count);
        if (!ties) reach = next_reach(reach, p.decisive, b->events, limit);
        ties = go_for_ties(ties, b->events, limit);
        stamp++;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) job.totals->outcome = outcome;
}

/* As zeroed memory is, but for the tables of the subtrees. */
static csrec_status start_rounds(speculate_job *job, csrec_error *error) {
    round_counts fresh[3] = {{0, 0, UINT_MAX, 0}, {0, 0, UINT_MAX, 0}, {0, 0, UINT_MAX, 0}};
    const partition *c = &job->parts;
    cudaError_t code = cudaMemcpy(job->counts, fresh, sizeof fresh, cudaMemcpyDefault);
    if (!code) code = cudaMemset(job->arrived, 0, sizeof *job->arrived);
    if (!code)
        code = cudaMemset(job->blocks.records, 0,
                          2 * CONTESTS * MOST_BLOCKS * sizeof *job->blocks.records);
    if (!code) code = cudaMemset(c->ran, 0, (size_t)c->subtrees * sizeof *c->ran);
    if (!code) code = cudaMemset(c->stamp, 0, (size_t)c->tops * sizeof *c->stamp);
    return csrec_cuda_check(code, "counts", error);
}

csrec_status csrec_speculate_launch(speculate_job *job, bool one_sided, csrec_error *error) {
    csrec_cuda_size size;
    CSREC_TRY(csrec_cuda_measure(&size, error));
    CSREC_TRY(start_rounds(job, error));
    int blocks = size.multiprocessors < MOST_BLOCKS ? size.multiprocessors : MOST_BLOCKS;
    job->blocks.blocks = blocks;
    void *arguments[] = {job};
    const void *kernel = one_sided ? (const void *)pursue<true> : (const void *)pursue<false>;
    return csrec_cuda_check(
        cudaLaunchCooperativeKernel(kernel, dim3((unsigned)blocks), dim3(THREADS), arguments, 0, 0),
        "the speculative loop's cooperative launch", error);
}
