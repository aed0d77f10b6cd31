/* SPDX-License-Identifier: BSD-3-Clause */
/* signal.h - how a signal of a CUDA batch starts and where it stops, to the bit as on the CPU.
 */
#pragma once

#include "csrec/solve.h"
#include "haar/pursuit.h"
#include "kernels/method/grids/batch.h"

/* y: [n] in any order. Sets unit, total, energy, limit, min_coefficient and keep. */
void csrec_cuda_signal_init(csrec_cuda_signal *signal, int64_t n, const double *y,
                            const csrec_stop *stop);

/* Those fields from another signal of the same samples. */
void csrec_cuda_signal_start(csrec_cuda_signal *signal, const csrec_cuda_signal *start);

/* Sets the goal of a signal of n samples; whole is known. */
void csrec_cuda_signal_goal(csrec_cuda_signal *signal, int64_t n, const csrec_stop *stop);

/* ||r|| / ||y||. */
double csrec_cuda_signal_residual(const csrec_cuda_signal *signal);

/* The atoms that a finished signal found, in the CPU's order. */
csrec_status csrec_cuda_signal_atoms(const csrec_cuda_tree *tree, const csrec_cuda_signal *signal,
                                     csrec_atoms *atoms, csrec_error *error);
