/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.h - the signal that a list of atoms stands for, on the device. */
#pragma once

#include "kernels/method/grids/synthesis.h"

CSREC_C_BEGIN

/* Temporary bytes of csrec_cuda_fill; more than any device has if there are too many levels. */
size_t csrec_cuda_fill_bytes(int levels, int64_t atoms);

/* signal[entry * channels] += the value of the atoms (columns ascending, host memory) at the row
 * of each entry; grid and signal in device memory. Bit-identical to csrec_atoms_fill. CSREC_MEMORY
 * names the bytes needed and available. */
csrec_status csrec_cuda_fill(const csrec_cuda_grid *grid, int levels, const csrec_atoms *atoms,
                             int64_t entries, int64_t channels, double *signal, csrec_error *error);

CSREC_C_END
