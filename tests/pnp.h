/* SPDX-License-Identifier: BSD-3-Clause */
/* pnp.h - measurements, and what plug-and-play recovery works with, for its tests. */
#ifndef CSREC_TESTS_PNP_H
#define CSREC_TESTS_PNP_H

#include "linear.h"
#include "method/pnp/pnp.h"
#include "solver/solver.h"

enum { SIDE = 32, ENTRIES = SIDE * SIDE };

/* A measurement, and what a recovery from it works with. */
typedef struct bench {
    csrec_measurement m;
    csrec_operator_spec spec;
    int64_t edge[2]; /* of a block */
    csrec_recover_options options;
    csrec_recovery r;
    csrec_pnp p;
} bench;

static inline double *room(int64_t n) {
    return calloc((size_t)n, sizeof(double));
}

static inline void bench_open(bench *b) {
    csrec_recover_defaults(&b->options);
    b->options.method = "pnp";
    b->r = (csrec_recovery){
        .measurement = &b->m, .options = &b->options, .context = &csrec_context_cpu, .unit = 1.0};
    b->p = (csrec_pnp){.recovery = &b->r, .sigma = b->m.sigma, .tone = 1.0};
    assert_well(csrec_products_create(&b->r, &b->p.data, &told));
    double **signals[] = {&b->p.x, &b->p.z, &b->p.w, &b->p.mean, &b->p.back, &b->p.along};
    double **rows[] = {&b->p.r, &b->p.q};
    for (int i = 0; i < 6; i++) *signals[i] = room(b->p.data.values);
    for (int i = 0; i < 2; i++) *rows[i] = room(b->p.data.y_values);
}

static inline void bench_close(bench *b) {
    double *all[] = {b->p.x, b->p.z, b->p.w, b->p.mean, b->p.back, b->p.along, b->p.r, b->p.q};
    for (int i = 0; i < 8; i++) free(all[i]);
    csrec_denoiser_clear(&b->p.denoiser);
    csrec_measured_clear(&b->p.data);
}

static inline double squares(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += b ? pow(a[i] - b[i], 2.0) : a[i] * a[i];
    return sum;
}

/* Root of the mean square that is off the truth, if there is one: of SIDE x SIDE. */
static inline double recovered(const bench *b, const char *method, const double *truth, double *x,
                               csrec_recover_report *report) {
    csrec_recover_options o = options_by(method);
    o.backend = "cpu";
    assert_well(csrec_recover(&b->m, &o, x, NULL, report, &told));
    return truth ? sqrt(squares(ENTRIES, x, truth) / ENTRIES) : 0.0;
}

#endif
