/* SPDX-License-Identifier: BSD-3-Clause */
/* operator.h - an operator and its matrix, written out; solvers on both. */
#ifndef CSREC_TOOLS_BENCH_OPERATOR_H
#define CSREC_TOOLS_BENCH_OPERATOR_H

#include "bench.h"

enum { BENCH_COLUMNS_MOST = 8192 };

typedef struct bench_operator {
    char what[128]; /* in words */
    csrec_operator *A;
    int64_t m, n;
    double *matrix;   /* [m][n], row-major */
    uint64_t *number; /* [n] of Haar's columns; NULL: of another operator */
} bench_operator;

/* The sampled Haar matrix: the operator `haar`, and the matrix by its definition (Park 2015), of
 * the columns that are not zero; of those that are equal up to their sign, the one with the
 * smallest number. */
csrec_status bench_operator_haar(int levels, int64_t m, const uint64_t *rows, csrec_columns columns,
                                 bench_operator *o, csrec_error *error);

/* The operator that a measurement was made through, its matrix column by column from products with
 * unit vectors; of points, Haar's columns of their rows in Morton order. */
csrec_status bench_operator_read(const char *path, csrec_columns columns, bench_operator *o,
                                 csrec_error *error);

void bench_operator_clear(bench_operator *o);

typedef struct bench_pair {
    const bench_operator *o;
    const csrec_operator *dense; /* of o's matrix */
    const double *y, *norms;     /* [m]; [n] lengths of the columns */
    double tolerance;
    double *one, *two, *before, *r; /* scratch: [n] three times, [m] */
} bench_pair;

typedef struct bench_agreement {
    const char *name;
    double difference;       /* bench_difference of the results */
    int64_t columns, others; /* columns that the matrix's result has; in one result only; -1, 0 of
                                products */
    const char *equal;       /* NULL, or why the results are equally good although they differ */
} bench_agreement;

/* max |a - b| / max |b|; 0 of equal vectors. */
double bench_difference(int64_t n, const double *a, const double *b);

csrec_status bench_pair_compare(const bench_pair *pair, const char *solver, int64_t k,
                                bench_agreement *to, csrec_error *error);

#endif
