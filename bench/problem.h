/* SPDX-License-Identifier: BSD-3-Clause */
/* problem.h - sampled signals and random numbers to measure on. */
#ifndef CSREC_BENCH_PROBLEM_H
#define CSREC_BENCH_PROBLEM_H

#include "csrec.h"

typedef enum bench_signal {
    BENCH_NOISE,     /* uniform white noise */
    BENCH_PIECEWISE, /* smooth pieces of a 1-D signal, 24 jumps */
    BENCH_PICTURE,   /* a picture made by code, Morton order */
    BENCH_SIGNALS
} bench_signal;

extern const char *const bench_signal_names[BENCH_SIGNALS];

typedef struct bench_problem {
    int levels;
    int64_t n;
    uint64_t *rows; /* ascending, distinct, uniformly random */
    double *y;
} bench_problem;

bench_problem bench_problem_create(bench_signal signal, int levels, int64_t n, uint64_t seed);
/* Every fourth pixel, chosen at random, of a PNG as gray, Morton order. */
bench_problem bench_problem_image(const char *path, uint64_t seed);
void bench_problem_destroy(bench_problem *problem);

/* Gray value 0 .. 255 of the picture at u, v in [0, 1), with detail down to 1 / side. */
double bench_picture_value(double u, double v, int64_t side);

/* Every fourth pixel of side x side, chosen at random; y [n * channels] is the caller's to fill. */
csrec_measurement bench_sampled(int64_t side, int64_t channels, csrec_dtype dtype);

#endif
