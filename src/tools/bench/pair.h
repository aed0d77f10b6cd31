/* pair.h - one solver on an operator and on its matrix. */
#ifndef CSREC_TOOLS_BENCH_PAIR_H
#define CSREC_TOOLS_BENCH_PAIR_H

#include "operator.h"

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
