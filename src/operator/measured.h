/* measured.h - the operator A of a measurement y = A x, with what methods need to know of it. */
#ifndef CSREC_OPERATOR_MEASURED_H
#define CSREC_OPERATOR_MEASURED_H

#include "measurement/through.h"
#include "operator/engine.h"

/* The measurement is checked, and real (csrec_measurement_real). */
csrec_status csrec_measured_operator(const csrec_context *context, const csrec_measurement *m,
                                     csrec_operator **A, csrec_error *error);

/* Channel c of y [n][channels][width], or of a signal [entries][channels][width]: to and from a
 * vector [n][width]. */
void csrec_channel_take(int64_t n, int64_t channels, int64_t c, int width, const double *from,
                        double *to);
void csrec_channel_put(int64_t n, int64_t channels, int64_t c, int width, const double *from,
                       double *to);

/* y = A signal of all channels; x [A->n] and out [A->m] are scratch. */
csrec_status csrec_measured_product(const csrec_measurement *m, const csrec_operator *A,
                                    const double *signal, double *x, double *out, double *y);

/* ||A||_2, or a bound that the operator knows, or 2 % more than a power iteration finds; and
 * whether A A^T = ||A||^2 I to rounding, as of distinct rows of an orthogonal matrix. Random
 * vectors decide that: it is wrong with probability 0. */
csrec_status csrec_measured_norm(const csrec_operator *A, double *norm, bool *tight);

#endif
