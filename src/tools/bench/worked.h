/* SPDX-License-Identifier: BSD-3-Clause */
/* worked.h - the worked example of Park 2015: six rows of the 32 x 32 Haar matrix, step by
 * step as section 3.1 does it, apart from the library. */
#ifndef CSREC_TOOLS_BENCH_WORKED_H
#define CSREC_TOOLS_BENCH_WORKED_H

#include "bench.h"

enum { BENCH_WORKED_LEVELS = 5, BENCH_WORKED_ROWS = 6, BENCH_WORKED_SIZE = 32 };

extern const uint64_t bench_worked_rows[BENCH_WORKED_ROWS];
extern const double bench_worked_r[BENCH_WORKED_ROWS];

/* Step n, span 2^n: an entry for each group that has samples, by its first row. */
typedef struct bench_step {
    int64_t span;
    int n;
    struct {
        int64_t row, group, member, count, column; /* count is # */
        double sub, add;
    } entry[BENCH_WORKED_ROWS];
} bench_step;

/* The steps of r: [BENCH_WORKED_LEVELS]. */
void bench_worked_steps(const double r[BENCH_WORKED_ROWS], bench_step *steps);

/* Column of Psi, by its definition: of unit length, or zeros. */
void bench_worked_column(int64_t column, double psi[BENCH_WORKED_ROWS]);

/* An iteration of Matching Pursuit (table 1): the pick, its product with r, and ||r|| / ||y||
 * after it. */
typedef struct bench_pick {
    int64_t column;
    double product, residual;
} bench_pick;

/* Up to `most` iterations on y = bench_worked_r, by the dense columns, until ||r|| <= epsilon
 * ||y||; returns their number. x: [BENCH_WORKED_SIZE]. Of equal products the coarsest column, then
 * the first. */
int bench_worked_pursuit(double epsilon, int most, bench_pick *picks, double *x);

/* Largest difference between these and the library: inner products of both transforms, and x of
 * the solver mp on the operator haar. */
csrec_status bench_worked_compare(double *products, double *coefficients, csrec_error *error);

#endif
