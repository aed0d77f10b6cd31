/* SPDX-License-Identifier: BSD-3-Clause */
/* none.c - csrec is built without a library for Fourier transforms. */
#include "base/fft.h"

const char *csrec_fft_library(void) {
    return NULL;
}

csrec_status csrec_fft_create(const csrec_shape *shape, csrec_fft **fft) {
    (void)shape, (void)fft;
    return CSREC_UNSUPPORTED;
}

void csrec_fft_destroy(csrec_fft *fft) {
    (void)fft;
}

csrec_status csrec_fft_execute(const csrec_fft *fft, int sign, double *x) {
    (void)fft, (void)sign, (void)x;
    return CSREC_UNSUPPORTED;
}
