/* SPDX-License-Identifier: BSD-3-Clause */
/* history.h - recoveries of random samples with a history, and what its steps must be. */
#pragma once

#include "check.h"

SEED(seed);

typedef struct problem {
    csrec_measurement m;
    int64_t entries;
    double *truth, *signal;
} problem;

static inline problem draw(int dims, int64_t edge, int64_t channels, double noise) {
    csrec_shape shape = {.dims = dims};
    for (int a = 0; a < dims; a++) shape.dim[a] = edge + check_below(&seed, 9);
    const int64_t entries = entries_in(&shape);
    problem p = {.m = room_for_samples(shape, channels, entries), .entries = entries};
    p.truth = check_room(p.entries * channels);
    p.signal = check_room(p.entries * channels);
    double phase = 6.0 * check_uniform(&seed);
    for (int64_t i = 0; i < p.entries * channels; i++)
        p.truth[i] = 100.0 + 50.0 * sin(phase + 0.05 * (double)(i % 97 + i / 97)) +
                     noise * check_uniform(&seed);
    p.m.n = p.entries / 2;
    for (int64_t k = 0; k < p.entries; k++) p.m.index[k] = k;
    for (int64_t k = 0; k < p.m.n; k++) {
        int64_t other = k + check_below(&seed, p.entries - k), held = p.m.index[k];
        p.m.index[k] = p.m.index[other];
        p.m.index[other] = held;
        for (int64_t c = 0; c < channels; c++)
            p.m.y[k * channels + c] = p.truth[p.m.index[k] * channels + c];
    }
    return p;
}

static inline double residual_of(const problem *p, const double *signal) {
    double energy = 0.0, whole = 0.0;
    for (int64_t i = 0; i < p->m.n * p->m.channels; i++) {
        int64_t place = p->m.index[i / p->m.channels] * p->m.channels + i % p->m.channels;
        energy += (p->m.y[i] - signal[place]) * (p->m.y[i] - signal[place]);
        whole += p->m.y[i] * p->m.y[i];
    }
    return sqrt(energy / whole);
}

/* Recovers with a history, which must not change the signal. */
static inline csrec_history *follow(problem *p, csrec_recover_options *options) {
    csrec_history *history;
    size_t bytes = (size_t)(p->entries * p->m.channels) * sizeof *p->signal;
    OWNED double *without = malloc(bytes);
    assert_ok(csrec_history_create(p->truth, 255.0, &history));
    assert_ok(csrec_recover(&p->m, options, without, NULL, NULL, NULL));
    options->history = history;
    assert_well(csrec_recover(&p->m, options, p->signal, NULL, NULL, &told));
    options->history = NULL;
    assert_memory_equal(without, p->signal, bytes);
    return history;
}

/* Sums of squares in another order, over at most 10^4 values; and residuals that the pursuit
 * updates instead of recomputing, on a grid of 2^-40 of the largest sample or finer. */
static inline void check_step(const csrec_history_step *step, const problem *p,
                              const double *signal) {
    double psnr = csrec_psnr(p->entries * p->m.channels, p->truth, signal, 255.0);
    if (fabs(step->psnr - psnr) > 1e-7) fail_msg("PSNR %.12g, not %.12g", step->psnr, psnr);
    double residual = residual_of(p, signal);
    if (fabs(step->residual - residual) > 1e-9)
        fail_msg("residual %.12g, not %.12g", step->residual, residual);
}

static inline const csrec_history_step *track_of(const csrec_history *history, int i,
                                                 const char *unit, int64_t *n) {
    const csrec_history_step *steps;
    const char *name, *is;
    assert_true(csrec_history_track(history, i, &name, &is, n, &steps));
    assert_string_equal(is, unit);
    assert_true(*n > 0);
    for (int64_t k = 1; k < *n; k++) assert_true(steps[k].iteration > steps[k - 1].iteration);
    return steps;
}

/* The last track is the delivered signal. */
static inline void check_result(const csrec_history *history, const problem *p, int tracks) {
    int64_t n;
    const char *name, *unit;
    const csrec_history_step *steps;
    check_step(track_of(history, tracks, "iteration", &n), p, p->signal);
    assert_int_equal(n, 1);
    assert_false(csrec_history_track(history, tracks + 1, &name, &unit, &n, &steps));
    assert_false(csrec_history_track(history, -1, &name, &unit, &n, &steps));
}

typedef enum { ATOMS, SHIFTS } stop_by;

/* Some steps of the track equal the result of a recovery limited to that iteration. */
static inline void check_steps(problem *p, csrec_recover_options *options,
                               const csrec_history *history, const char *unit, stop_by stop) {
    int64_t n;
    const csrec_history_step *steps = track_of(history, 0, unit, &n);
    double *signal = check_room(p->entries * p->m.channels);
    for (int64_t k = 0; k < n; k += 1 + check_below(&seed, 6)) {
        csrec_recover_options there = *options;
        if (stop == ATOMS) there.solve.stop.atoms = steps[k].iteration;
        if (stop == SHIFTS) there.shifts = steps[k].iteration;
        if (there.shifts == 1 && stop == SHIFTS) continue; /* one grid alone is the plain one */
        assert_ok(csrec_recover(&p->m, &there, signal, NULL, NULL, NULL));
        check_step(&steps[k], p, signal);
    }
}
