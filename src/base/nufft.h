/* SPDX-License-Identifier: BSD-3-Clause */
/* nufft.h - Fourier transforms at any frequencies by FINUFFT, if csrec is built with it. */
#pragma once

#include "base/error.h"
#include "csrec/array.h"

#ifdef CSREC_HAS_FINUFFT
enum { CSREC_NUFFT = 1 };
#else
enum { CSREC_NUFFT = 0 }; /* every call fails */
#endif

/* The angles [m] along axis a of FINUFFT, whose axes begin with the fastest. */
static inline void csrec_nufft_angles(const csrec_shape *shape, int64_t m, const double *k, int a,
                                      double *angles) {
    const int from = shape->dims - 1 - a;
    for (int64_t i = 0; i < m; i++)
        angles[i] = 6.28318530717958647692 * k[i * shape->dims + from] / (double)shape->dim[from];
}

typedef struct csrec_nufft csrec_nufft;

/* k [m][dims], of a shape of 2 or 3 axes: frequencies in cycles per field of view, with the
 * signal's axes; entry 0 of the signal is at extent / 2. CSREC_MEMORY; CSREC_UNSUPPORTED: no
 * FINUFFT. Sums are in one order, as a transform takes one thread; threads may share an object. */
csrec_status csrec_nufft_create(const csrec_shape *shape, int64_t m, const double *k,
                                double precision, csrec_nufft **nufft);
void csrec_nufft_destroy(csrec_nufft *nufft);

/* values_i [m][2] = sum_j grid_j exp(-2 pi i k_i j / n), j from -extent / 2; the adjoint sets grid
 * from values. Errors are `precision` of the largest; the two are adjoint to rounding. */
csrec_status csrec_nufft_execute(const csrec_nufft *nufft, bool adjoint, double *grid,
                                 double *values);
