/* operator.h - an operator and its matrix, written out. */
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

#endif
