/* SPDX-License-Identifier: BSD-3-Clause */
/* middle.c - values at the middles of cells, by local radial functions. */
#include "measurement/middle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "measurement/nearby.h"

enum { NEAR = 16, MOST = NEAR + 1 + CSREC_MIDDLE_DIMS };

typedef struct job {
    csrec_measurement *m;
    const double *offset;
    csrec_nearby nearby;
    int64_t values; /* of a sample */
    double *y;      /* [n * values] results */
    /* Of one sample: */
    int n; /* it and its neighbours, in this order */
    int64_t sample[NEAR];
    double at[NEAR][CSREC_MIDDLE_DIMS]; /* in cells from the middle of its cell */
} job;

static void gather(job *j, int64_t rank) {
    csrec_neighbour found[NEAR - 1];
    const int dims = j->nearby.dims;
    const int64_t *middle = csrec_nearby_place(&j->nearby, rank);
    j->n = 1 + csrec_nearby_find(&j->nearby, rank, NEAR - 1, found);
    for (int i = 0; i < j->n; i++) {
        const int64_t r = i ? found[i - 1].rank : rank;
        const int64_t *place = csrec_nearby_place(&j->nearby, r);
        j->sample[i] = csrec_nearby_sample(&j->nearby, r);
        for (int d = 0; d < dims; d++)
            j->at[i][d] = (double)(place[d] - middle[d]) + j->offset[j->sample[i] * dims + d];
    }
}

/* Of the square of the distance: what bends least in so many axes. */
static double radial(int dims, double square) {
    if (dims == 2) return square > 0.0 ? square * log(square) : 0.0;
    return sqrt(square);
}

/* Solves A [size][MOST] x = b by elimination with pivots, in place; false: near singular. */
static bool solve(int size, double A[MOST][MOST], double *b) {
    for (int k = 0; k < size; k++) {
        int p = k;
        for (int i = k + 1; i < size; i++)
            if (fabs(A[i][k]) > fabs(A[p][k])) p = i;
        if (!(fabs(A[p][k]) > 1e-9)) return false;
        for (int c = 0; c < size && p != k; c++) {
            const double kept = A[k][c];
            A[k][c] = A[p][c];
            A[p][c] = kept;
        }
        const double kept = b[k];
        b[k] = b[p];
        b[p] = kept;
        for (int i = k + 1; i < size; i++) {
            const double f = A[i][k] / A[k][k];
            for (int c = k; c < size; c++) A[i][c] -= f * A[k][c];
            b[i] -= f * b[k];
        }
    }
    for (int k = size; k-- > 0;) {
        for (int c = k + 1; c < size; c++) b[k] -= A[k][c] * b[c];
        b[k] /= A[k][k];
    }
    return true;
}

/* The value in the middle is sum of weight[i] y_i over the n points at[use[i]]: the system of the
 * function's coefficients is symmetric, so that its inverse may be applied to the radial functions
 * of the middle instead of to y. One axis needs constants alone, others linear functions, too. */
static bool find_weights(const job *j, int n, const int *use, double weight[MOST]) {
    const int dims = j->nearby.dims, plain = 1 + (dims > 1 ? dims : 0), size = n + plain;
    double A[MOST][MOST] = {{0.0}};
    for (int i = 0; i < n; i++) {
        const double *p = j->at[use[i]];
        double far = 0.0;
        for (int k = 0; k < n; k++) {
            double square = 0.0;
            for (int d = 0; d < dims; d++) {
                const double off = p[d] - j->at[use[k]][d];
                square += off * off;
            }
            A[i][k] = radial(dims, square);
        }
        for (int d = 0; d < dims; d++) far += p[d] * p[d];
        weight[i] = radial(dims, far);
        for (int c = 0; c < plain; c++) A[i][n + c] = A[n + c][i] = c ? p[c - 1] : 1.0;
    }
    for (int c = 0; c < plain; c++) weight[n + c] = c == 0;
    return n >= plain && solve(size, A, weight);
}

/* Value c of the sample: those of its neighbours that are not measured are left out. */
static double value_of(const job *j, int64_t c, int *n, double weight[MOST]) {
    const double *y = j->m->y + c;
    int use[NEAR], found = 0;
    for (int i = 0; i < j->n; i++)
        if (!isnan(y[j->sample[i] * j->values])) use[found++] = i;
    if (found != *n) *n = find_weights(j, found, use, weight) ? found : 0;
    double sum = 0.0, least = INFINITY, most = -INFINITY;
    for (int i = 0; i < *n; i++) {
        const double value = y[j->sample[use[i]] * j->values];
        sum += weight[i] * value;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    return *n ? fmin(fmax(sum, least), most) : y[j->sample[0] * j->values];
}

static double move(job *j, int64_t rank) {
    double weight[MOST], moved = 0.0;
    int n = -1;
    gather(j, rank);
    for (int64_t c = 0; c < j->values; c++) {
        const int64_t at = j->sample[0] * j->values + c;
        if (j->values > 1 && n != j->n) n = -1; /* another channel may lack others */
        j->y[at] = isnan(j->m->y[at]) ? NAN : value_of(j, c, &n, weight);
        if (!isnan(j->y[at])) moved = fmax(moved, fabs(j->y[at] - j->m->y[at]));
    }
    return moved;
}

csrec_status csrec_measurement_to_middles(csrec_measurement *m, const double *offset, double *moved,
                                          csrec_error *error) {
    job j = {.m = m, .offset = offset, .values = m->channels * (m->is_complex ? 2 : 1)};
    double most = 0.0;
    *moved = 0.0;
    if (m->shape.dims > CSREC_MIDDLE_DIMS)
        return csrec_fail(error, CSREC_ARGUMENT, "values are moved along at most three axes");
    j.y = malloc((size_t)(m->n * j.values) * sizeof *j.y);
    csrec_status status = csrec_nearby_create(m, 1, &j.nearby, error);
    if (!status && !j.y) status = csrec_memory_fail(error, NULL);
    const int64_t n = status ? 0 : m->n;
#pragma omp parallel for firstprivate(j) reduction(max : most) num_threads(csrec_threads_for(n, 0))
    for (int64_t r = 0; r < n; r++) most = fmax(most, move(&j, r));
    if (!status) memcpy(m->y, j.y, (size_t)(m->n * j.values) * sizeof *j.y);
    if (!status) *moved = most;
    free(j.y);
    csrec_nearby_clear(&j.nearby);
    return status;
}
