/* omp.h - Batch-OMP of many right-hand sides on a dense matrix, as backends are asked for it. */
#ifndef CSREC_DEVICE_OMP_H
#define CSREC_DEVICE_OMP_H

#include "operator/operator.h"

typedef struct csrec_omp_job {
    const csrec_operator *A; /* dense */
    int64_t count, room;     /* right-hand sides; columns at most, of each */
    const double *y;         /* [count][m] finite */
    const csrec_stop *stop;
} csrec_omp_job;

/* Columns in the order of their picks, and A's coefficients on them. outcome < 0: not solved here,
 * as columns nearly depend on each other; the rest of that one means nothing. */
typedef struct csrec_omp_result {
    int32_t *outcome;    /* [count] a csrec_outcome */
    int32_t *size;       /* [count] columns picked */
    int32_t *iterations; /* [count] */
    double *residual;    /* [count] ||r|| / ||y|| */
    int32_t *column;     /* [count][room] */
    double *coefficient; /* [count][room] */
    double *r;           /* [count][m], or NULL */
} csrec_omp_result;

#endif
