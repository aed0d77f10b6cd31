/* fourier.h - frequencies of a signal, as magnetic resonance measures: perhaps by several coils. */
#ifndef CSREC_OPERATOR_FOURIER_H
#define CSREC_OPERATOR_FOURIER_H

#include "base/fft.h"
#include "operator/operator.h"

/* y_kc = sum_j s_c(j) x_j exp(-2 pi i j k / n), of all axes; y: [m][coils] pairs. */
typedef struct csrec_fourier {
    csrec_shape shape;
    int64_t entries, m, n_coils;
    int64_t *index; /* [m] */
    double *coils;  /* [n_coils][entries] pairs, or NULL: ones */
    bool complex_x;
    csrec_fft *fft; /* of the CPU */
} csrec_fourier;

#endif
