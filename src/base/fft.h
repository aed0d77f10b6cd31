/* SPDX-License-Identifier: BSD-3-Clause */
/* fft.h - discrete Fourier transforms by a library: PocketFFT or FFTW, chosen when csrec is built
 * (CSREC_FFT). */
#pragma once

#include "csrec/array.h"
#include "base/error.h"

CSREC_C_BEGIN

typedef struct csrec_fft csrec_fft;

/* The library, "FFTW" or "PocketFFT"; NULL: csrec is built without one. */
const char *csrec_fft_library(void);

/* For arrays of 1 to 3 axes of complex numbers, pairs of doubles. CSREC_MEMORY; CSREC_UNSUPPORTED:
 * no library. */
csrec_status csrec_fft_create(const csrec_shape *shape, csrec_fft **fft);
void csrec_fft_destroy(csrec_fft *fft);

/* x_k <- sum_j x_j exp(sign 2 pi i j k / n) along each axis, sign -1 or 1, unscaled, in place,
 * at a multiple of 16 bytes, as of malloc: FFTW takes 1.4 to 2 times as long elsewhere. Threads may
 * share an object. */
csrec_status csrec_fft_execute(const csrec_fft *fft, int sign, double *x);

CSREC_C_END
