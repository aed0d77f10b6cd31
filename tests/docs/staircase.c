/* staircase.c - the operator that docs/adding.md writes, BLOCK, tested as that page says: adjoint,
 * the dense matrix of its definition, and a sparse x found through it. */
#include BLOCK

#include "csrec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 40 };

static double uniform(void) {
    return 2.0 * rand() / RAND_MAX - 1.0;
}

static double dot(int64_t n, const double *a, const double *b) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* The entry of row k, column i: 1 where the jump at i comes before the sample k. */
static double entry(int64_t k, int64_t i) {
    return i <= k ? 1.0 : 0.0;
}

/* Sums of at most MOST products of numbers of at most MOST. */
static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-11;
}

static bool products_are_right(const csrec_operator *A) {
    double x[MOST], y[MOST], Ax[MOST], Aty[MOST];
    for (int64_t i = 0; i < A->n; i++) x[i] = uniform();
    for (int64_t k = 0; k < A->m; k++) y[k] = uniform();
    bool right = !csrec_operator_forward(A, x, Ax) && !csrec_operator_adjoint(A, y, Aty);
    for (int64_t k = 0; k < A->m; k++) {
        double sum = 0;
        for (int64_t i = 0; i < A->n; i++) sum += entry(k, i) * x[i];
        right = right && is_near(Ax[k], sum);
    }
    return right && is_near(dot(A->m, Ax, y), dot(A->n, x, Aty));
}

/* One jump is one column: the first pick explains it all. */
static bool jump_is_found(const csrec_operator *A) {
    double y[MOST];
    csrec_atoms x = {0};
    csrec_solve_options options = {.solver = "omp", .stop = {.epsilon = 1e-9}};
    int64_t at = rand() % A->n;
    for (int64_t k = 0; k < A->m; k++) y[k] = 5.0 * entry(k, at);
    bool right = !csrec_solve(A, y, &options, &x, NULL, NULL, NULL) && x.n == 1 &&
                 x.column[0] == (uint64_t)at && is_near(x.coefficient[0], 5.0);
    csrec_atoms_clear(&x);
    return right;
}

int main(void) {
    unsigned seed = (unsigned)time(NULL);
    csrec_error error;
    srand(seed);
    for (int64_t m = 0; m <= MOST; m++) {
        csrec_operator_spec spec = {.m = m};
        csrec_operator A = {
            .type = &csrec_operator_staircase, .row = &csrec_operator_staircase, .parts = 1};
        csrec_status status = csrec_operator_staircase.create(&A, &spec, &error);
        bool right = m < 1 ? status == CSREC_ARGUMENT
                           : !status && products_are_right(&A) && jump_is_found(&A);
        if (!right) {
            printf("seed %u, m = %lld: wrong\n", seed, (long long)m);
            return 1;
        }
        if (!status) csrec_operator_staircase.destroy(&A);
    }
    return 0;
}
