/* fill.h - the signal that a list of atoms stands for, on the device. */
#ifndef CSREC_KERNELS_METHOD_GRIDS_FILL_H
#define CSREC_KERNELS_METHOD_GRIDS_FILL_H

#include "kernels/method/grids/synthesis.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that csrec_cuda_fill takes for a while; more than any device has if there are too many
 * levels. */
size_t csrec_cuda_fill_bytes(int levels, int64_t atoms);

/* signal[entry * channels] += the value of the atoms (columns ascending, host memory) at the row
 * of each entry; grid and signal in device memory. Same bits as csrec_atoms_fill. CSREC_MEMORY
 * names the bytes needed and had. */
csrec_status csrec_cuda_fill(const csrec_cuda_grid *grid, int levels, const csrec_atoms *atoms,
                             int64_t entries, int64_t channels, double *signal, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
