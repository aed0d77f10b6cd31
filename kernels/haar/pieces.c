/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.c - pieces of a long signal on a CUDA device, one after another. */
#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/haar/speculate_piece.h"

typedef struct pieces {
    const csrec_pieces_job *job;
    csrec_cuda_piece **piece; /* [job->count] */
    csrec_cuda_steps steps;
    csrec_status status; /* of undo */
    csrec_error error;
} pieces;

static void cuda_destroy(void *state) {
    pieces *all = state;
    if (!all) return;
    for (int32_t k = 0; all->piece && k < all->job->count; k++)
        csrec_cuda_piece_destroy(all->piece[k]);
    csrec_cuda_steps_destroy(&all->steps);
    free(all->piece);
    free(all);
}

static csrec_status create_piece(pieces *all, int32_t own, csrec_error *error) {
    const csrec_pieces_job *job = all->job;
    const csrec_piece *where = &job->cut->piece[job->piece[own]];
    csrec_speculate_problem problem = {.levels = job->cut->levels,
                                       .n = where->size,
                                       .rows = job->rows + where->first,
                                       .y = job->y + where->first,
                                       .columns = job->cut->columns,
                                       .units = job->units};
    if (where->parent < 0)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%lld samples in one piece are too few to share; use one device",
                          (long long)where->size);
    problem.above = job->cut->top[where->parent].level;
    return csrec_cuda_piece_create(&problem, job->small, &all->steps, &all->piece[own], error);
}

static csrec_status cuda_create(const csrec_pieces_job *job, void **state, csrec_error *error) {
    csrec_status status = csrec_cuda_enter(job->context, error);
    if (status) return status;
    pieces *all = calloc(1, sizeof *all);
    if (!all) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    all->job = job;
    all->piece = calloc((size_t)job->count + 1, sizeof(csrec_cuda_piece *));
    status = all->piece ? csrec_cuda_steps_create(job->log, &all->steps, error)
                        : csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int32_t k = 0; k < job->count && !status; k++) status = create_piece(all, k, error);
    return CSREC_SETTLE(status, cuda_destroy(all), *state = all);
}

static void cuda_start(const void *state, double *sum, csrec_wide *energy) {
    const pieces *all = state;
    csrec_wide one;
    *energy = 0;
    for (int32_t k = 0; k < all->job->count; k++) {
        csrec_cuda_piece_start(all->piece[k], &sum[k], &one);
        *energy += one;
    }
}

static csrec_status cuda_run(void *state, int64_t theta, csrec_steps *steps, csrec_error *error) {
    pieces *all = state;
    csrec_status status = all->status;
    if (status) return csrec_fail(error, status, "%s", all->error.text);
    for (int32_t k = 0; k < all->job->count && !status; k++)
        status = csrec_cuda_piece_run(all->piece[k], theta, &steps[k], error);
    return status;
}

static void cuda_undo(void *state, int32_t own, csrec_steps *steps) {
    pieces *all = state;
    if (!all->status) all->status = csrec_cuda_piece_undo(all->piece[own], steps, &all->error);
}

static void cuda_shift(void *state, int32_t own, double t) {
    csrec_cuda_piece_shift(((pieces *)state)->piece[own], t);
}

static csrec_status cuda_result(const void *state, int32_t own, csrec_atoms *atoms, double *r,
                                csrec_error *error) {
    const pieces *all = state;
    if (all->status) return csrec_fail(error, all->status, "%s", all->error.text);
    if (r)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "backend cuda: a shared pursuit gives no residual vector; use the atoms");
    return atoms ? csrec_cuda_piece_atoms(all->piece[own], atoms, error) : CSREC_OK;
}

const csrec_pieces_type csrec_pieces_cuda = {cuda_create, cuda_destroy, cuda_start, cuda_run,
                                             cuda_undo,   cuda_shift,   cuda_result};
