/* SPDX-License-Identifier: BSD-3-Clause */
/* pnp.h - measurements, and what plug-and-play recovery works with, for its tests. */
#pragma once

#include "linear.h"
#include "method/pnp/pnp.h"

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
    double **signals[] = {&b->p.x,    &b->p.z,     &b->p.w,   &b->p.mean,
                          &b->p.back, &b->p.along, &b->p.step};
    for (int i = 0; i < 7; i++) *signals[i] = room(b->p.data.values);
    b->p.r = room(b->p.data.y_values);
    b->p.response = room(b->p.data.entries);
}

static inline void bench_close(bench *b) {
    double *all[] = {b->p.x,     b->p.z,    b->p.w, b->p.mean,    b->p.back,
                     b->p.along, b->p.step, b->p.r, b->p.response};
    for (int i = 0; i < 9; i++) free(all[i]);
    csrec_denoiser_clear(&b->p.denoiser);
    csrec_products_clear(&b->p.data);
}

static inline double squares(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += b ? pow(a[i] - b[i], 2.0) : a[i] * a[i];
    return sum;
}

/* A disc on a slope, in tones. */
static inline void draw_picture(uint64_t *seed, double *x) {
    const double cx = SIDE * check_uniform(seed), cy = SIDE * check_uniform(seed);
    for (int i = 0; i < ENTRIES; i++) {
        const double u = i % SIDE - cx, v = i / SIDE - cy;
        x[i] = 60.0 + 120.0 * (u * u + v * v < 90.0) + 2.0 * (i % SIDE) + 10.0 * sin(0.5 * v);
    }
}

/* A measurement of the picture through b->spec, without its rows. */
static inline void open_picture(bench *b, int64_t *index, double *y) {
    b->m = (csrec_measurement){.shape = {2, {SIDE, SIDE}},
                               .channels = 1,
                               .index = index,
                               .y = y,
                               .is_complex = strcmp(b->spec.name, "fourier") == 0,
                               .scale = {0.0, 255.0},
                               .through = &b->spec};
}

static inline void draw_rows(bench *b, csrec_row_choice choice, int64_t count, uint64_t key) {
    CLEARED(csrec_sampling) rows;
    assert_ok(csrec_sampling_rows(&b->m, choice, count, key, &rows, NULL));
    memcpy(b->m.index, rows.index, (size_t)rows.n * sizeof *rows.index);
    b->m.n = rows.n;
}

/* So many rows of an operator of the picture. */
static inline void measure_part(bench *b, const char *name, bool scrambled, csrec_row_choice choice,
                                int64_t count, const double *truth, uint64_t *seed, int64_t *index,
                                double *y) {
    *b = (bench){.spec = {.name = name, .scrambled = scrambled, .seed = check_next(seed)}};
    open_picture(b, index, y);
    draw_rows(b, choice, count, check_next(seed));
    assert_ok(csrec_measurement_simulate(&b->m, truth, y, NULL));
}

/* A^T y / n, of Hadamard's rows. */
static inline void least_squares(const bench *b, double *x) {
    ENDS_BY(end_operator) csrec_operator *A;
    assert_ok(csrec_measurement_operator(&b->m, NULL, &A, NULL));
    assert_ok(csrec_operator_adjoint(A, b->m.y, x));
    for (int i = 0; i < ENTRIES; i++) x[i] /= ENTRIES;
}

/* Root of the mean square that is off the truth, if there is one: of SIDE x SIDE. */
static inline double recovered(const bench *b, const char *method, const double *truth, double *x,
                               csrec_recover_report *report) {
    csrec_recover_options o = options_on_cpu(method, NULL);
    assert_well(csrec_recover(&b->m, &o, x, NULL, report, &told));
    return truth ? sqrt(squares(ENTRIES, x, truth) / ENTRIES) : 0.0;
}
