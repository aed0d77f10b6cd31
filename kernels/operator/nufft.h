/* SPDX-License-Identifier: BSD-3-Clause */
/* nufft.h - Fourier transforms at any frequencies on the device by cuFINUFFT, if csrec is built
 * with it: as base/nufft.h, between device vectors. cuFINUFFT adds up in no fixed order, so the
 * last bits of an adjoint differ from run to run. */
#pragma once

#include "base/error.h"
#include "csrec/array.h"

#ifdef CSREC_HAS_CUFINUFFT
enum { CSREC_CUDA_NUFFT = 1 };
#else
enum { CSREC_CUDA_NUFFT = 0 }; /* every call fails */
#endif

typedef struct csrec_cuda_nufft csrec_cuda_nufft;

/* k: of the host. Of the calling thread's device. CSREC_UNSUPPORTED: no cuFINUFFT. */
csrec_status csrec_cuda_nufft_create(const csrec_shape *shape, int64_t m, const double *k,
                                     double precision, csrec_cuda_nufft **nufft,
                                     csrec_error *error);
void csrec_cuda_nufft_destroy(csrec_cuda_nufft *nufft);
csrec_status csrec_cuda_nufft_execute(const csrec_cuda_nufft *nufft, bool adjoint, double *grid,
                                      double *values, csrec_error *error);
