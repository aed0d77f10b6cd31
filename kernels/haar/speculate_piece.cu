/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_piece.cu - runs a piece of a long signal by the speculative pursuit, and takes picks
 * back.
 *
 * What picks do to the residual is linear, so they are taken back all at once: their steps are
 * added up as differences at the ends of their blocks, in integers, and prefix sums give the change
 * of every sample and of every node's sum.
 */
#include "kernels/haar/speculate_piece.h"

#include <algorithm>
#include <cmath>

#include "kernels/haar/speculate_round.cuh"

struct csrec_cuda_piece {
    csrec_speculate_problem problem;
    csrec_speculate_state state;
    speculate_job job;
    csrec_cuda_block parts;
    csrec_cuda_steps room;
    csrec_speculate_totals start;
    double shift; /* of all samples, not done yet */
    bool fresh;   /* the best key is not known */
};

static __device__ inline void add_at(long long *sum, int64_t at, double d) {
    atomicAdd((unsigned long long *)&sum[at], (unsigned long long)(long long)d);
}

static __global__ void scatter(csrec_speculate_tree tree, const csrec_step *step, int64_t count,
                               long long *change) {
    int64_t k = csrec_cuda_thread();
    if (k >= count) return;
    int kind = (int)(step[k].code & 3);
    int64_t at = step[k].code >> 2, first = kind == LEAF ? at : tree.first[at];
    int64_t end = kind == LEAF ? at + 1 : first + tree.size[at];
    double d = -step[k].d;
    add_coefficient(tree, kind, at, d);
    add_at(change, first, -d);
    if (kind == DIFFERENCE) add_at(change, at + 1, 2.0 * d);
    add_at(change, end, kind == DIFFERENCE ? -d : d);
}

/* sum[k]: of the changes of all samples below k - 1. */
static __global__ void change_nodes(csrec_speculate_tree tree, const long long *sum) {
    int64_t j = csrec_cuda_thread();
    if (j >= tree.n) return;
    long long below = sum[j + 1], with = sum[j + 2];
    if (tree.r) tree.r[j] += (double)(with - below);
    if (j == tree.n - 1) return;
    int64_t first = tree.first[j], end = first + tree.size[j];
    long long before = sum[first + 1], after = sum[end + 1];
    tree.D[j] += (double)(2 * with - before - after);
    if (tree.S) tree.S[j] += (double)(after - before);
}

/* Calls for the contiguous runs of the ring from step `from` on. */
static int64_t run_of(const csrec_steps *s, int64_t from, int64_t count) {
    int64_t place = (s->begin + from) & (s->room - 1);
    return std::min(count, s->room - place);
}

csrec_status csrec_cuda_piece_undo(csrec_cuda_piece *p, csrec_steps *steps, csrec_error *error) {
    csrec_speculate_state *s = &p->state;
    int64_t n = p->problem.n;
    csrec_status status =
        csrec_cuda_clear(s->prefix, (size_t)(n + 2) * sizeof *s->prefix, NULL, error);
    for (int64_t from = 0, some; from < steps->count && !status; from += some) {
        some = std::min(run_of(steps, from, steps->count - from), p->room.room);
        status = csrec_cuda_copy(p->room.step, csrec_steps_at(steps, from),
                                 (size_t)some * sizeof *p->room.step, error);
        if (!status)
            status = CSREC_CUDA_EACH(scatter, some, BUILD_THREADS, error, s->tree, p->room.step,
                                     some, s->prefix);
    }
    for (int k = 0; k < 2 && !status; k++) status = csrec_speculate_sums(s, error);
    if (status) return status;
    steps->count = 0;
    p->fresh = true;
    return CSREC_CUDA_EACH(change_nodes, n, BUILD_THREADS, error, s->tree, s->prefix);
}

void csrec_cuda_piece_shift(csrec_cuda_piece *p, double t) {
    p->shift += t;
    p->fresh = true;
}

/* From the best key down to theta, or as many picks as there is room for. */
static csrec_status launch(csrec_cuda_piece *p, int64_t theta, int64_t room,
                           csrec_speculate_totals *totals, csrec_error *error) {
    csrec_speculate_options options = {};
    pick shift = {SUM, 0, 0, (int32_t)p->problem.n, -p->shift, 0.0};
    *totals = csrec_speculate_totals();
    p->job.floor = (uint64_t)theta;
    p->job.rules.limit = room;
    p->job.start = p->shift != 0.0 ? shift : csrec_speculate_nothing();
    csrec_status status = csrec_cuda_copy(p->job.totals, totals, sizeof *totals, error);
    if (!status)
        status = csrec_speculate_launch(&p->job, p->problem.columns == CSREC_COLUMNS_PAPER, error);
    if (!status) status = csrec_speculate_wait(&p->state, &options, error);
    p->shift = 0.0;
    return status ? status : csrec_cuda_copy(totals, p->job.totals, sizeof *totals, error);
}

/* Appends the steps of a launch. */
static csrec_status take_steps(const csrec_cuda_piece *p, int64_t count, csrec_steps *steps,
                               csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int64_t from = 0, some; from < count && !status; from += some) {
        some = run_of(steps, steps->count, count - from);
        status = csrec_cuda_copy(csrec_steps_at(steps, steps->count), p->room.step + from,
                                 (size_t)some * sizeof *p->room.step, error);
        steps->count += some;
    }
    return status;
}

csrec_status csrec_cuda_piece_run(csrec_cuda_piece *p, int64_t theta, csrec_steps *steps,
                                  csrec_error *error) {
    csrec_speculate_totals totals = {};
    csrec_status status = CSREC_OK;
    if (!p->fresh && steps->head < theta) {
        steps->halt = CSREC_HALT_NONE;
        return CSREC_OK;
    }
    do {
        int64_t room = std::min(steps->room - steps->count, p->room.room);
        status = launch(p, theta, room, &totals, error);
        if (!status) status = take_steps(p, totals.iterations, steps, error);
    } while (!status && totals.outcome == CSREC_STEP_LIMIT && steps->count < steps->room);
    p->fresh = false;
    steps->head = (int64_t)totals.head;
    steps->halt = totals.outcome == CSREC_STEP_LIMIT  ? CSREC_HALT_FULL
                  : totals.outcome == CSREC_SMALL     ? CSREC_HALT_SMALL
                  : totals.outcome == CSREC_EXHAUSTED ? CSREC_HALT_STALL
                                                      : CSREC_HALT_NONE;
    return status;
}

csrec_status csrec_cuda_piece_atoms(csrec_cuda_piece *p, csrec_atoms *atoms, csrec_error *error) {
    csrec_speculate_totals none = {};
    return csrec_speculate_state_atoms(&p->state, &none, atoms, error);
}

csrec_status csrec_cuda_steps_create(int64_t room, csrec_cuda_steps *steps, csrec_error *error) {
    void *memory = NULL;
    csrec_status status = csrec_cuda_check(cudaMalloc(&memory, (size_t)room * sizeof *steps->step),
                                           "memory for the steps of a piece", error);
    *steps = {(csrec_step *)memory, status ? 0 : room};
    return status;
}

void csrec_cuda_steps_destroy(csrec_cuda_steps *steps) {
    cudaFree(steps->step);
    *steps = {};
}

/* The rules that only the whole signal has do not stop a piece: column 0, and the energy. */
static csrec_status make_job(csrec_cuda_piece *p, csrec_error *error) {
    csrec_status status = csrec_cuda_copy(&p->start, p->state.totals, sizeof p->start, error);
    if (!status) status = csrec_speculate_parts(&p->state, 0, &p->job, &p->parts, error);
    p->job.rules.all_scale = 0.0;
    p->job.rules.goal = -INFINITY;
    p->job.log = p->room.step;
    return status;
}

csrec_status csrec_cuda_piece_create(const csrec_speculate_problem *problem, double small,
                                     const csrec_cuda_steps *steps, csrec_cuda_piece **piece,
                                     csrec_error *error) {
    csrec_stop stop = {};
    stop.min_coefficient = small;
    csrec_cuda_piece *p = (csrec_cuda_piece *)calloc(1, sizeof *p);
    if (!p) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    p->problem = *problem;
    p->room = *steps;
    p->fresh = true;
    csrec_status status = csrec_speculate_state_create(&p->state, &p->problem, &stop, error);
    if (!status) status = make_job(p, error);
    return CSREC_SETTLE(status, csrec_cuda_piece_destroy(p), *piece = p);
}

void csrec_cuda_piece_destroy(csrec_cuda_piece *p) {
    if (!p) return;
    csrec_cuda_block_destroy(&p->parts);
    csrec_speculate_state_clear(&p->state);
    free(p);
}

void csrec_cuda_piece_start(const csrec_cuda_piece *p, double *sum, csrec_wide *energy) {
    *sum = p->start.total;
    *energy = p->start.energy;
}
