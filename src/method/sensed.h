/* sensed.h - a recovery from measurements y = A x, of entries or through an operator, as methods
 * see it that need products with A alone. */
#ifndef CSREC_METHOD_SENSED_H
#define CSREC_METHOD_SENSED_H

#include "method/method.h"
#include "operator/measured.h"

typedef struct csrec_sensed {
    const csrec_recovery *r;
    const csrec_measurement *m;
    csrec_operator *A;                 /* of one channel */
    double norm;                       /* of A */
    bool tight;                        /* A A^T = norm^2 I */
    int64_t entries, values, y_values; /* values: of the signal, all channels */
    int wide, each;                    /* doubles of an entry, and of a row, of a channel */
    double eps;        /* ||A x - y|| that is asked for: sigma sqrt(y_values), or epsilon ||y|| */
    double *from, *to; /* one channel of the signal and of y */
} csrec_sensed;

/* May be cleared after a failure, too. */
csrec_status csrec_sensed_create(const csrec_recovery *recovery, csrec_sensed *sensed,
                                 csrec_error *error);
void csrec_sensed_clear(csrec_sensed *sensed);

/* out [y_values] = A x; = A x - y; x [values] = A^T v, of all channels. */
csrec_status csrec_sensed_product(csrec_sensed *sensed, const double *x, double *out);
csrec_status csrec_sensed_residual(csrec_sensed *sensed, const double *x, double *out);
csrec_status csrec_sensed_adjoint(csrec_sensed *sensed, const double *v, double *x);

/* x = A^T y / ||A||^2; of samples of entries these, and their mean elsewhere. */
csrec_status csrec_sensed_start(csrec_sensed *sensed, double *x);

/* ||A x - y|| / ||y|| into the report. Where it is above what eps allows the outcome is
 * CSREC_UNMET, and the remark says so. */
csrec_status csrec_sensed_report(csrec_sensed *sensed, const double *x, int64_t iterations,
                                 bool stopped);

/* Bytes of the operator and of vectors, about, and seconds of a product, one thread. */
csrec_need csrec_sensed_need(const csrec_task *task);

/* csrec_method_type.complete: without epsilon the measurements are met as sigma says. */
void csrec_sensed_complete(const csrec_measurement *measurement, bool atoms,
                           csrec_recover_options *options);

/* One to three axes. */
bool csrec_sensed_suits(const csrec_measurement *measurement);

#endif
