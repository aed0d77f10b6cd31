/* SPDX-License-Identifier: BSD-3-Clause */
/* products.c - what methods share that need products with A alone. */
#include "method/products.h"

#include "method/inverse.h"
#include "method/spectrum.h"
#include "operator/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

csrec_status csrec_products_create(const csrec_recovery *r, csrec_measured *A, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const csrec_stop *stop = &r->options->solve.stop;
    CSREC_TRY(csrec_measured_create(r->context, m, A, error));
    csrec_status status = csrec_measured_norm(A);
    if (status) return csrec_fail(error, status, "operator: %s", csrec_status_text(status));
    if (!(A->norm > 0.0))
        return csrec_fail(error, CSREC_DATA, "operator: is zero; nothing was measured");
    double sigma = stop->sigma > 0.0 ? stop->sigma : m->sigma;
    A->eps = sigma * sqrt((double)A->y_values);
    if (stop->epsilon > 0.0)
        A->eps = fmax(A->eps, stop->epsilon * sqrt(csrec_squares(A->y_values, m->y)));
    status = csrec_inverse_create(A, error);
    return status ? status : csrec_spectrum_create(A, error);
}

void csrec_products_clear(csrec_measured *A) {
    csrec_spectrum_clear(A);
    csrec_measured_clear(A);
}

/* What ||A x - y|| may exceed the bound by, as a share of ||y||: methods end at about three digits;
 * and as a share of the bound. */
static const double NEAR = 5e-3, ABOVE = 1.05;

static const char MISSES[] =
    "The result misses its measurements by more than sigma and epsilon allow: it is not to be "
    "trusted. Tell their noise (sigma), or try another method.";

csrec_status csrec_products_residual(const csrec_measured *A, const double *x, double squares[2],
                                     double *residual) {
    double *off = malloc((size_t)A->y_values * sizeof *off);
    csrec_status status = off ? csrec_measured_residual(A, x, off) : CSREC_MEMORY;
    if (!status) {
        squares[0] = csrec_squares(A->y_values, off);
        squares[1] = csrec_squares(A->y_values, A->m->y);
        *residual = squares[1] > 0.0 ? sqrt(squares[0] / squares[1]) : 0.0;
    }
    free(off);
    return status;
}

/* Where no coil is sensitive nothing was measured: 0, not what a prior makes of it. */
static void clear_unseen(const csrec_recovery *r, const csrec_measured *A) {
    const csrec_operator_spec *through = A->m->through;
    const int64_t n = A->entries, parts = A->values / n;
    for (int64_t j = 0; j < n && through && through->coils; j++)
        if (csrec_fourier_square(through->coils, n, through->n_coils, j) == 0.0)
            memset(r->signal + parts * j, 0, (size_t)parts * sizeof *r->signal);
}

csrec_status csrec_products_report(const csrec_recovery *r, const csrec_measured *A,
                                   int64_t iterations, bool stopped) {
    csrec_recover_report *report = r->report;
    double squares[2];
    clear_unseen(r, A);
    CSREC_TRY(csrec_products_residual(A, r->signal, squares, &report->residual));
    report->pursuits = 1;
    report->iterations = iterations;
    const bool misses = sqrt(squares[0]) > ABOVE * A->eps + NEAR * sqrt(squares[1]);
    report->outcome = stopped ? CSREC_INTERRUPTED : misses ? CSREC_UNMET : CSREC_DONE;
    if (misses && !stopped) report->remark = MISSES;
    return CSREC_OK;
}

/* Of a fast transform; a matrix takes longer. */
static const double PER_ENTRY = 2e-9;

csrec_need csrec_products_need(const csrec_task *task) {
    double n = (double)task->entries, levels = log2(n + 2.0);
    /* of nufft half of A^T A */
    double parts = task->any ? (double)(1 << task->shape.dims) : 1.0;
    double lanes = fmin(task->coils, (double)task->threads);
    double own = task->any ? n * (parts + 6.0 * lanes) : 0.0, maps = task->coils - 1.0;
    double seconds =
        csrec_task_share(task, PER_ENTRY * n * levels * parts * task->coils, (int64_t)task->coils);
    return (csrec_need){.bytes = 8.0 *
                                 (3.0 * n + own + 2.0 * (maps * n + task->coils * (double)task->n)),
                        .seconds = seconds};
}

void csrec_products_complete(const csrec_measurement *measurement, bool atoms,
                             csrec_recover_options *options) {
    (void)measurement, (void)atoms;
    if (options->solve.stop.epsilon == CSREC_EPSILON_UNSET) options->solve.stop.epsilon = 0.0;
}

bool csrec_products_suits(const csrec_measurement *measurement) {
    int64_t entries;
    return measurement->shape.dims <= 3 && !csrec_shape_count(&measurement->shape, &entries) &&
           entries <= INT32_MAX;
}
