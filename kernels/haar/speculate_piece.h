/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_piece.h - a piece of a long signal on a device (haar/pieces.h), run by the speculative
 * pursuit. */
#pragma once

#include "kernels/haar/speculate.h"

CSREC_C_BEGIN

#include "haar/pieces.h"

typedef struct csrec_cuda_piece csrec_cuda_piece;

/* Room for `room` steps on the device, which pieces that run one after another share: a run has as
 * many at a time. Free with csrec_cuda_steps_destroy. */
typedef struct csrec_cuda_steps {
    csrec_step *step;
    int64_t room;
} csrec_cuda_steps;

csrec_status csrec_cuda_steps_create(int64_t room, csrec_cuda_steps *steps, csrec_error *error);
void csrec_cuda_steps_destroy(csrec_cuda_steps *steps);

/* problem: with units and the level above; small: least coefficient, in units of y. Works on the
 * calling thread's device; the steps must outlive it. */
csrec_status csrec_cuda_piece_create(const csrec_speculate_problem *problem, double small,
                                     const csrec_cuda_steps *steps, csrec_cuda_piece **piece,
                                     csrec_error *error);
void csrec_cuda_piece_destroy(csrec_cuda_piece *piece);

/* Before the first pick. */
void csrec_cuda_piece_start(const csrec_cuda_piece *piece, double *sum, csrec_wide *energy);

/* As of csrec_pieces_type. theta: at least 64. undo: O(n). */
csrec_status csrec_cuda_piece_run(csrec_cuda_piece *piece, int64_t theta, csrec_steps *steps,
                                  csrec_error *error);
csrec_status csrec_cuda_piece_undo(csrec_cuda_piece *piece, csrec_steps *steps, csrec_error *error);
void csrec_cuda_piece_shift(csrec_cuda_piece *piece, double t);
csrec_status csrec_cuda_piece_atoms(csrec_cuda_piece *piece, csrec_atoms *atoms,
                                    csrec_error *error);

CSREC_C_END
