/* loop_grid.cuh - the cooperative kernel of loop.cu.
 *
 * Each block owns a range of entries, cut into chunks of which it remembers the best column and the
 * widest node. An iteration: the blocks exchange their best columns (loop_device.cuh), every block
 * takes the largest, applies that pick to those of its chunks that hold samples of the picked block
 * or an ancestor of it, and finds their best anew. A chunk holds an ancestor if and only if its
 * widest node is one, as the other nodes of the chunk lie inside that. D moves by shifts
 * (haar/eager.h), so nothing is ever summed again: what the paper's transform would give is always
 * there. State lives in shared memory where it fits, else in device memory.
 */
#ifndef CSREC_KERNELS_METHOD_GRIDS_LOOP_GRID_CUH
#define CSREC_KERNELS_METHOD_GRIDS_LOOP_GRID_CUH

#include "kernels/method/grids/loop_device.cuh"

/* Few warps: what each of them does alike is done one after another. */
enum { GRID_THREADS = 512, WARPS = GRID_THREADS / WARP };

/* Entries in flight a lane. */
enum { TOGETHER = 4 };

/* Iterations between two looks at the host's wish to stop. */
enum { POLL = 1024 };

typedef struct grid_job {
    csrec_loop_tree tree;
    csrec_loop_rules rules;
    csrec_loop_stand *stand;
    csrec_loop_mail *mail;
    exchange blocks;
    int32_t per_block, per_chunk;
    int chunks_per_warp;
    int64_t log_capacity;
    csrec_loop_pick *log;
} grid_job;

/* ---- shared memory */

static size_t entry_bytes(bool one_sided) {
    return one_sided ? 43 : 25;
}

static size_t chunk_bytes() {
    return sizeof(best) + sizeof(span);
}

template <typename T> static __device__ inline T *take(char **at, int64_t count) {
    T *array = (T *)*at;
    *at += (size_t)count * sizeof(T);
    return array;
}

template <typename T>
static __device__ inline const T *copied(char **at, const T *from, int64_t begin, int64_t end,
                                         int64_t room) {
    T *array = take<T>(at, room);
    for (int64_t j = begin + threadIdx.x; j < end; j += GRID_THREADS) array[j - begin] = from[j];
    return array;
}

/* Largest type first: everything stays aligned. */
template <bool one_sided>
static __device__ inline csrec_loop_tree in_shared(const csrec_loop_tree &from, char *at,
                                                   int64_t begin, int64_t end, int64_t room) {
    csrec_loop_tree tree = from;
    tree.base = begin;
    tree.D = (double *)copied(&at, (const double *)from.D, begin, end, room);
    if (one_sided) tree.S = (double *)copied(&at, (const double *)from.S, begin, end, room);
    if (one_sided) tree.r = (double *)copied(&at, (const double *)from.r, begin, end, room);
    tree.scale = copied(&at, from.scale, begin, end, room);
    tree.first = copied(&at, from.first, begin, end, room);
    tree.size = copied(&at, from.size, begin, end, room);
    tree.level = copied(&at, from.level, begin, end, room);
    if (one_sided) tree.node_edge = copied(&at, from.node_edge, begin, end, room);
    if (one_sided) tree.leaf_edge = copied(&at, from.leaf_edge, begin, end, room);
    return tree;
}

/* ---- chunks */

typedef struct block_view {
    int64_t begin, end; /* entries of the block */
    best *top;          /* [chunks] */
    span *widest;       /* [chunks] */
    int first, last;    /* chunks of this warp: first .. last - 1 */
} block_view;

template <bool one_sided>
static __device__ inline void apply_to_chunk(const grid_job *job, const csrec_loop_tree &tree,
                                             const block_view *view, int chunk, const pick *p) {
    int64_t begin = view->begin + (int64_t)chunk * job->per_chunk;
    int64_t end = min(begin + job->per_chunk, view->end);
    int lane;
    best found = apply<one_sided, TOGETHER>(tree, (int32_t)begin, (int32_t)end, INT_MAX, p, &lane);
    if (threadIdx.x % WARP == lane) view->top[chunk] = found;
}

static __device__ inline bool concerns(const grid_job *job, const block_view *view, int chunk,
                                       const pick *p, bool above) {
    int64_t begin = view->begin + (int64_t)chunk * job->per_chunk;
    if (p->first < begin + job->per_chunk && p->end > begin) return true;
    span widest = view->widest[chunk];
    return above && widest.first <= p->first && p->first < widest.end;
}

/* The warp's chunks, the concerned ones. Returns whether there was any. */
template <bool one_sided>
static __device__ inline bool apply_to_warp(const grid_job *job, const csrec_loop_tree &tree,
                                            const block_view *view, const pick *p) {
    bool any = false, above = one_sided || p->change != 0.0;
    for (int base = view->first; base < view->last; base += WARP) {
        int chunk = base + threadIdx.x % WARP;
        bool mine = chunk < view->last && concerns(job, view, chunk, p, above);
        unsigned todo = __ballot_sync(FULL, mine);
        any |= todo != 0;
        for (; todo; todo &= todo - 1)
            apply_to_chunk<one_sided>(job, tree, view, base + __ffs((int)todo) - 1, p);
    }
    __syncwarp();
    return any;
}

/* The best of the warp's chunks, in *to. */
static __device__ inline void gather_warp(const block_view *view, int *to) {
    uint64_t key = 0;
    int64_t code = INT64_MAX;
    int at = view->first;
    for (int c = view->first + threadIdx.x % WARP; c < view->last; c += WARP)
        if (beats(view->top[c].key, view->top[c].code, key, code)) {
            key = view->top[c].key;
            code = view->top[c].code;
            at = c;
        }
    if (threadIdx.x % WARP == warp_best(key, code)) *to = at;
}

template <bool one_sided>
static __device__ inline block_view start(const grid_job *job, const csrec_loop_tree &tree,
                                          char *shared) {
    block_view view;
    int chunks = job->chunks_per_warp * WARPS, warp = threadIdx.x / WARP;
    view.begin = (int64_t)blockIdx.x * job->per_block;
    view.end = min(view.begin + job->per_block, tree.n);
    view.top = take<best>(&shared, chunks);
    view.widest = take<span>(&shared, chunks);
    view.first = warp * job->chunks_per_warp;
    view.last = view.first + job->chunks_per_warp;
    pick none = no_pick();
    for (int c = view.first; c < view.last; c++) {
        int64_t begin = view.begin + (int64_t)c * job->per_chunk;
        span widest = find_widest(tree, begin, min(begin + job->per_chunk, view.end));
        if (threadIdx.x % WARP == 0) view.widest[c] = widest;
        apply_to_chunk<one_sided>(job, tree, &view, c, &none);
    }
    __syncwarp();
    return view;
}

/* ---- the loop */

/* A pick for the books. */
typedef struct entry {
    int64_t code;
    int32_t size;
    double v, d;
} entry;

/* What warp 0 tells the others. */
typedef struct decision {
    pick p;
    entry made;
    int outcome; /* -1: go on */
} decision;

/* Kept by the last warp. ||r||^2 must be exact where it meets the goal and at the end; in between
 * an estimate tells how far that is, and picks wait in the lanes until there are 32 of them. */
typedef struct books {
    csrec_loop_wide energy;
    double estimate, near;
    long long x_all;
    entry waiting;
    int count;
} books;

static __device__ inline double energy_of(const books *b, double inverse) {
    return wide_double(b->energy) * inverse * inverse;
}

/* Until 32 picks wait the estimate is off by as many roundings of terms below its first value. */
static __device__ inline void open_estimate(const grid_job *job, books *b) {
    b->estimate = wide_double(b->energy);
    b->near = job->rules.goal * job->rules.units * job->rules.units + 0x1p-44 * b->estimate;
    b->count = 0;
}

static __device__ inline void settle_books(const grid_job *job, const block_view *view, books *b) {
    csrec_loop_wide gain = 0;
    long long all = 0;
    if ((int)threadIdx.x % WARP < b->count) {
        entry e = b->waiting;
        int64_t at = e.code >> 2;
        gain = gain_of(e.v, (double)e.size, e.d);
        if (e.code < 0)
            all = (long long)e.d;
        else if (at >= view->begin && at < view->end)
            add_coefficient(job->tree, (int)(e.code & 3), at, e.d);
    }
    b->energy -= warp_sum_wide(gain);
    b->x_all += (long long)warp_sum_wide(all);
    open_estimate(job, b);
}

static __device__ inline books open_books(const grid_job *job) {
    books b = {};
    b.energy = job->stand->energy;
    b.x_all = job->stand->x_all;
    open_estimate(job, &b);
    return b;
}

/* Returns whether the goal is reached. */
static __device__ inline bool enter(const grid_job *job, const block_view *view, books *b,
                                    const entry *made, int64_t iteration) {
    if ((int)threadIdx.x % WARP == b->count) b->waiting = *made;
    b->count++;
    b->estimate -= (2.0 * made->v - made->d * (double)made->size) * made->d;
    bool first = blockIdx.x == 0 && threadIdx.x % WARP == 0;
    if (first && iteration < job->log_capacity) job->log[iteration] = {made->code, made->d};
    if (first && iteration % POLL == 0) {
        job->mail->iterations = iteration + 1;
        job->mail->energy = b->estimate * job->rules.inverse * job->rules.inverse;
    }
    if (b->count == WARP || b->estimate <= b->near) settle_books(job, view, b);
    return b->count == 0 && energy_of(b, job->rules.inverse) <= job->rules.goal;
}

static __device__ inline int outcome_of(const grid_job *job, int64_t iteration, const best *top,
                                        double d, bool flag) {
    if (iteration >= job->rules.limit) return CSREC_ATOM_LIMIT;
    if (flag) return CSREC_INTERRUPTED;
    if (job->rules.min_coefficient > 0.0 &&
        __dmul_rn(fabs(top->v), 1.0 / sqrt((double)top->size)) * job->rules.inverse <
            job->rules.min_coefficient)
        return CSREC_SMALL;
    return gains(top->v, (double)top->size, d) ? -1 : CSREC_STALLED;
}

/* Warp 0: the exchange, and what follows from it. total: sum of r. */
static __device__ inline void decide(const grid_job *job, int64_t iteration, best mine,
                                     double *total, decision *all_read) {
    bool flag = blockIdx.x == 0 && iteration % POLL == POLL - 1 && job->mail->stop != 0;
    best top = contest_winner(&job->blocks, 0, iteration, mine, &flag);
    bool all = key_of(*total, job->rules.all_scale, 63) >= top.key;
    if (all) top = {0, -1, *total, 0, (int32_t)job->tree.n};
    double d = step_of(top.v, (double)top.size);
    pick p =
        pick_of(all ? ALL : (int)(top.code & 3), all ? 0 : top.code >> 2, top.first, top.size, d);
    int outcome = outcome_of(job, iteration, &top, d, flag);
    if (outcome < 0) *total += p.change;
    if (threadIdx.x) return;
    all_read->p = p;
    all_read->made = {top.code, top.size, top.v, d};
    all_read->outcome = outcome;
}

/* The block's entries in shared memory, behind its chunks. */
template <bool one_sided>
static __device__ inline csrec_loop_tree copied_tree(const grid_job *job, char *memory) {
    int64_t begin = (int64_t)blockIdx.x * job->per_block;
    size_t chunks = (size_t)job->chunks_per_warp * WARPS;
    return in_shared<one_sided>(job->tree, memory + chunks * (sizeof(best) + sizeof(span)), begin,
                                min(begin + job->per_block, job->tree.n), job->per_block);
}

static __device__ inline void conclude(const grid_job *job, const books *b, int64_t iteration,
                                       int outcome) {
    job->stand->energy = b->energy;
    job->stand->x_all = b->x_all;
    job->stand->iterations = iteration;
    job->stand->outcome = outcome;
}

template <bool one_sided, bool shared>
static __global__ void __launch_bounds__(GRID_THREADS, 1)
    pursue(const __grid_constant__ grid_job job) {
    extern __shared__ __align__(16) char memory[];
    __shared__ decision decided;
    __shared__ int warp_top[WARPS];
    __shared__ bool converged;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    bool accountant = warp == WARPS - 1;
    csrec_loop_tree tree = shared ? copied_tree<one_sided>(&job, memory) : job.tree;
    __syncthreads();
    block_view view = start<one_sided>(&job, tree, memory);
    gather_warp(&view, &warp_top[warp]);
    books b = open_books(&job);
    double total = job.stand->total;
    entry made = {};
    int64_t iteration = 0;
    int outcome;
    bool reached = energy_of(&b, job.rules.inverse) <= job.rules.goal;
    for (;; iteration++) {
        __syncthreads();
        if (warp == 0) {
            best mine = {0, INT64_MAX, 0.0, 0, 0};
            if (lane < WARPS) mine = view.top[warp_top[lane]];
            decide(&job, iteration, mine, &total, &decided);
        }
        /* While warp 0 waits for the other blocks the last warp does the books. */
        if (accountant) {
            if (iteration) reached = enter(&job, &view, &b, &made, iteration - 1);
            if (lane == 0) converged = reached;
        }
        __syncthreads();
        outcome = converged ? CSREC_CONVERGED : decided.outcome;
        if (outcome >= 0) break;
        pick p = decided.p;
        if (accountant) made = decided.made;
        if (apply_to_warp<one_sided>(&job, tree, &view, &p)) gather_warp(&view, &warp_top[warp]);
    }
    if (accountant) settle_books(&job, &view, &b);
    if (blockIdx.x == 0 && accountant && lane == 0) conclude(&job, &b, iteration, outcome);
}

#endif
