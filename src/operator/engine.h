/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - an operator's products as a device computes them. */
#pragma once

#include "measurement/through.h"
#include "operator/operator.h"

typedef struct csrec_operator_engine {
    /* Computes the products of A, which A->context says where, from now on: sets A->type to one
     * that does, and A->state. CSREC_UNSUPPORTED: not of such an operator. */
    csrec_status (*take)(csrec_operator *A, csrec_error *error);
    void (*release)(csrec_operator *A); /* A->type and A->state are as before */
} csrec_operator_engine;

/* The CPU has none: its products are those of the operator's own row, the reference of all. */
extern const csrec_operator_engine csrec_operator_cuda;

/* csrec_operator_create with products on a device that is passed down; it must outlive A. */
csrec_status csrec_operator_create_on(const csrec_context *context, const csrec_operator_spec *spec,
                                      csrec_operator **A, csrec_error *error);

/* ---- the operator A of a measurement y = A x, with what methods need to know of it. */

/* Channel c of y [n][channels][width], or of a signal [entries][channels][width]: to a vector
 * [n][width], and from one. */
void csrec_channel_take(int64_t n, int64_t channels, int64_t c, int width, const double *from,
                        double *to);
void csrec_channel_put(int64_t n, int64_t channels, int64_t c, int width, const double *from,
                       double *to);

typedef struct csrec_measured {
    const csrec_measurement *m;
    csrec_operator *A;                 /* of one channel */
    int64_t entries, values, y_values; /* values: of the signal, all channels */
    int wide, each;                    /* doubles of an entry, and of a row, of a channel */
    double *from, *to;                 /* one channel of the signal and of y */
    double norm;                       /* ||A||_2, after csrec_measured_norm */
    bool tight;                        /* A A^T = norm^2 I */
    double eps;                        /* ||A x - y|| that is asked for; the caller's */
    struct csrec_inverse *inverse;     /* of the methods: exact steps, or NULL */
    struct csrec_spectrum *spectrum;   /* and what A^T A is near to, or NULL */
    csrec_pool pool;                   /* and what it owns */
} csrec_measured;

/* The measurement is checked, and real, and outlives the result. May be cleared after a failure,
 * too. */
csrec_status csrec_measured_create(const csrec_context *context, const csrec_measurement *m,
                                   csrec_measured *measured, csrec_error *error);
void csrec_measured_clear(csrec_measured *measured);

/* out [y_values] = A x; = A x - y; x [values] = A^T v; out [values] = A^T A x, of all channels. */
csrec_status csrec_measured_product(const csrec_measured *measured, const double *x, double *out);
csrec_status csrec_measured_residual(const csrec_measured *measured, const double *x, double *out);
csrec_status csrec_measured_adjoint(const csrec_measured *measured, const double *v, double *x);
csrec_status csrec_measured_normal(const csrec_measured *measured, const double *x, double *out);

/* Sets norm: what the operator knows, a bound, or 2 % more than a power iteration finds; and tight:
 * whether A A^T = norm^2 I to rounding, as of distinct rows of an orthogonal matrix. Random vectors
 * decide that: it is wrong with probability 0. */
csrec_status csrec_measured_norm(csrec_measured *measured);

/* x = c + A^T (y - A c) / norm^2, with the constants c that fit y best; of samples of entries
 * these, and their mean elsewhere. */
csrec_status csrec_measured_start(const csrec_measured *measured, double *x);
