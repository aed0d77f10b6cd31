/* speculate_piece.cu - runs a piece of a long signal by the speculative pursuit, and takes picks
 * back.
 *
 * What picks do to the residual is linear, so picks are undone all at once: their steps are added
 * up as differences at the ends of their blocks, in integers, and prefix sums give the change of
 * every sample and of every node's sum.
 */
#include "kernels/method/grids/speculate_piece.h"

#include <algorithm>
#include <cmath>

#include "kernels/method/grids/speculate_round.cuh"

struct csrec_cuda_piece {
    csrec_speculate_problem problem;
    csrec_speculate_state state;
    speculate_job job;
    csrec_cuda_block parts, log;
    bool one_sided;
};

static_assert(sizeof(csrec_piece_log) == sizeof(logged_pick), "logs are copied as they are");

/* ---- undo */

static __device__ inline int64_t thread_id() {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline void add_at(long long *sum, int64_t at, double d) {
    atomicAdd((unsigned long long *)&sum[at], (unsigned long long)(long long)d);
}

static __global__ void scatter(csrec_speculate_tree tree, const logged_pick *log, int64_t count,
                               long long *change) {
    int64_t k = thread_id();
    if (k >= count) return;
    int kind = (int)(log[k].code & 3);
    int64_t at = log[k].code >> 2, first = kind == LEAF ? at : tree.first[at];
    int64_t end = kind == LEAF ? at + 1 : first + tree.size[at];
    double d = -log[k].d;
    add_coefficient(tree, kind, at, d);
    add_at(change, first, -d);
    if (kind == DIFFERENCE) add_at(change, at + 1, 2.0 * d);
    add_at(change, end, kind == DIFFERENCE ? -d : d);
}

/* sum[k]: of all changes of samples below k - 1. */
static __global__ void change_nodes(csrec_speculate_tree tree, const long long *sum) {
    int64_t j = thread_id();
    if (j >= tree.n) return;
    long long below = sum[j + 1], with = sum[j + 2];
    if (tree.r) tree.r[j] += (double)(with - below);
    if (j == tree.n - 1) return;
    int64_t first = tree.first[j], end = first + tree.size[j];
    long long before = sum[first + 1], after = sum[end + 1];
    tree.D[j] += (double)(2 * with - before - after);
    if (tree.S) tree.S[j] += (double)(after - before);
}

csrec_status csrec_cuda_piece_undo(csrec_cuda_piece *p, const csrec_piece_log *log, int64_t count,
                                   csrec_error *error) {
    csrec_speculate_state *s = &p->state;
    int64_t n = p->problem.n;
    csrec_status status = csrec_cuda_check(
        cudaMemset(s->prefix, 0, (size_t)(n + 2) * sizeof *s->prefix), "changes", error);
    for (int64_t from = 0, some; from < count && !status; from += some) {
        some = std::min(count - from, p->job.rules.limit);
        status = csrec_cuda_check(
            cudaMemcpy(p->job.log, log + from, (size_t)some * sizeof *log, cudaMemcpyDefault),
            "picks to take back", error);
        if (status) break;
        scatter<<<csrec_cuda_blocks(some, BUILD_THREADS), BUILD_THREADS>>>(s->tree, p->job.log,
                                                                           some, s->prefix);
        status = csrec_cuda_launched("changes of picks", error);
    }
    for (int k = 0; k < 2 && !status; k++) status = csrec_speculate_sums(s, error);
    if (status) return status;
    change_nodes<<<csrec_cuda_blocks(n, BUILD_THREADS), BUILD_THREADS>>>(s->tree, s->prefix);
    return csrec_cuda_launched("changes of nodes", error);
}

/* ---- run */

static pick pick_of_shift(const csrec_piece_shift *shift) {
    pick p = {DIFFERENCE,
              (int32_t)(shift->middle - 1),
              (int32_t)shift->first,
              (int32_t)shift->end,
              shift->d,
              0.0};
    return p;
}

csrec_status csrec_cuda_piece_run(csrec_cuda_piece *p, uint64_t least,
                                  const csrec_piece_shift *shift, csrec_piece_log *log,
                                  int64_t *count, csrec_piece_head *head, csrec_error *error) {
    csrec_speculate_totals totals = {};
    csrec_speculate_options options = {};
    p->job.floor = least;
    p->job.start = shift ? pick_of_shift(shift) : csrec_speculate_nothing();
    csrec_status status = csrec_cuda_check(
        cudaMemcpy(p->job.totals, &totals, sizeof totals, cudaMemcpyDefault), "totals", error);
    if (!status) status = csrec_speculate_launch(&p->job, p->one_sided, error);
    if (!status) status = csrec_speculate_wait(&p->state, &options, error);
    if (!status)
        status =
            csrec_cuda_check(cudaMemcpy(&totals, p->job.totals, sizeof totals, cudaMemcpyDefault),
                             "end of a piece's run", error);
    *count = totals.iterations;
    *head = {totals.head, totals.outcome != CSREC_STALLED, totals.outcome == CSREC_ATOM_LIMIT};
    if (status || *count == 0) return status;
    return csrec_cuda_check(
        cudaMemcpy(log, p->job.log, (size_t)*count * sizeof *log, cudaMemcpyDefault), "picks",
        error);
}

csrec_status csrec_cuda_piece_atoms(csrec_cuda_piece *p, csrec_atoms *atoms, csrec_error *error) {
    csrec_speculate_totals none = {};
    return csrec_speculate_state_atoms(&p->state, &none, atoms, error);
}

/* ---- creation */

/* No rule of its own: neither column 0, nor energy, nor the size of coefficients. */
static csrec_status make_job(csrec_cuda_piece *p, int64_t room, csrec_error *error) {
    csrec_status status = csrec_speculate_parts(&p->state, 0, &p->job, &p->parts, error);
    if (status) return status;
    p->job.rules.all_scale = 0.0;
    p->job.rules.goal = -INFINITY;
    p->job.rules.min_coefficient = 0.0;
    p->job.rules.limit = room;
    csrec_cuda_block_take(&p->log, room, sizeof *p->job.log);
    status = csrec_cuda_block_create(&p->log, "the picks of a piece", error);
    if (!status)
        p->job.log = (logged_pick *)csrec_cuda_block_take(&p->log, room, sizeof *p->job.log);
    return status;
}

csrec_status csrec_cuda_piece_create(const csrec_speculate_problem *problem, int64_t room,
                                     csrec_cuda_piece **piece, csrec_error *error) {
    csrec_stop stop = {};
    csrec_cuda_piece *p = (csrec_cuda_piece *)calloc(1, sizeof *p);
    if (!p) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    p->problem = *problem;
    p->one_sided = problem->columns == CSREC_COLUMNS_PAPER;
    csrec_status status = csrec_speculate_state_create(&p->state, &p->problem, &stop, error);
    if (!status) status = make_job(p, room, error);
    if (status)
        csrec_cuda_piece_destroy(p);
    else
        *piece = p;
    return status;
}

void csrec_cuda_piece_destroy(csrec_cuda_piece *p) {
    if (!p) return;
    csrec_cuda_block_destroy(&p->log);
    csrec_cuda_block_destroy(&p->parts);
    csrec_speculate_state_clear(&p->state);
    free(p);
}
