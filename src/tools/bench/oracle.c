/* SPDX-License-Identifier: BSD-3-Clause */
/* oracle.c - what who knows the support S of x would miss it by: least squares on its columns
 * has the error (A_S^T A_S)^-1 A_S^T w for the noise w, whose mean square is sigma^2 times the
 * trace of (A_S^T A_S)^-1. */
#include <math.h>
#include <stdlib.h>

#include "bench.h"

/* A pivot below this share of its column's square is rounding. */
static const double DEPENDENT = 1e-12;

/* G = L L^T in the lower half; false: the columns depend on each other. */
static bool factor(int64_t k, double *G) {
    for (int64_t j = 0; j < k; j++) {
        double whole = G[j * k + j];
        for (int64_t i = j; i < k; i++)
            for (int64_t l = 0; l < j; l++) G[i * k + j] -= G[i * k + l] * G[j * k + l];
        if (!(G[j * k + j] > DEPENDENT * whole)) return false;
        double root = sqrt(G[j * k + j]);
        for (int64_t i = j; i < k; i++) G[i * k + j] /= root;
    }
    return true;
}

/* trace (L L^T)^-1, the sum of squares of L^-1; column: scratch [k]. */
static double trace_of_inverse(int64_t k, const double *L, double *column) {
    double sum = 0.0;
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = j; i < k; i++) {
            double v = i == j;
            for (int64_t l = j; l < i; l++) v -= L[i * k + l] * column[l];
            column[i] = v / L[i * k + i];
            sum += column[i] * column[i];
        }
    return sum;
}

static void fill_gram(int64_t m, int64_t n, const double *matrix, int64_t k, const int64_t *list,
                      double *G) {
    for (int64_t a = 0; a < k * k; a++) G[a] = 0.0;
    for (int64_t i = 0; i < m; i++) {
        const double *row = matrix + i * n;
        for (int64_t a = 0; a < k; a++)
            for (int64_t b = 0; b <= a; b++) G[a * k + b] += row[list[a]] * row[list[b]];
    }
}

csrec_status bench_oracle(int64_t m, int64_t n, const double *matrix, const double *x,
                          double *square) {
    int64_t k = 0, *list = malloc((size_t)n * sizeof *list);
    for (int64_t j = 0; list && j < n; j++)
        if (x[j] != 0.0) list[k++] = j;
    double *G = malloc(((size_t)(k * k) + 1) * sizeof *G);
    double *column = malloc(((size_t)k + 1) * sizeof *column);
    csrec_status status = list && G && column ? CSREC_OK : CSREC_MEMORY;
    if (!status) {
        fill_gram(m, n, matrix, k, list, G);
        *square = factor(k, G) ? trace_of_inverse(k, G, column) : INFINITY;
    }
    free(list);
    free(G);
    free(column);
    return status;
}
