/* SPDX-License-Identifier: BSD-3-Clause */
/* coil_noise.c - noise of coils: the most that it can be; and made white, y and sensitivities times
 * the inverse of the Cholesky factor of its covariance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "measurement/through.h"

/* to -= a b, or a conj(b), of complex numbers. */
static void subtract(const double *a, const double *b, double sign, double *to) {
    const double bi = sign * b[1];
    to[0] -= a[0] * b[0] - a[1] * bi;
    to[1] -= a[0] * bi + a[1] * b[0];
}

static bool is_hermitian(int64_t n, const double *C) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k <= i; k++) {
            const double *a = C + 2 * (i * n + k), *b = C + 2 * (k * n + i);
            const double most = sqrt(fabs(C[2 * i * (n + 1)] * C[2 * k * (n + 1)]));
            if (!(hypot(a[0] - b[0], a[1] + b[1]) <= 1e-4 * most)) return false;
        }
    return true;
}

/* The covariance C = L L^H, L in its lower triangle. false: it has no such, but for rounding. */
static bool factor(int64_t n, double *C) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double *to = C + 2 * (i * n + j);
            const double least = 1e-12 * to[0];
            for (int64_t k = 0; k < j; k++)
                subtract(C + 2 * (i * n + k), C + 2 * (j * n + k), -1.0, to);
            const double root = i == j ? sqrt(to[0]) : C[2 * j * (n + 1)];
            if ((i == j && !(to[0] > least)) || !isfinite(root)) return false;
            to[0] = i == j ? root : to[0] / root;
            to[1] = i == j ? 0.0 : to[1] / root;
        }
    return true;
}

/* v <- L^-1 v, of entries that are `apart`. */
static void divide(int64_t n, const double *L, int64_t apart, double *v) {
    for (int64_t i = 0; i < n; i++) {
        double *to = v + 2 * i * apart;
        for (int64_t k = 0; k < i; k++) subtract(L + 2 * (i * n + k), v + 2 * k * apart, 1.0, to);
        to[0] /= L[2 * i * (n + 1)];
        to[1] /= L[2 * i * (n + 1)];
    }
}

csrec_status csrec_coils_whiten(csrec_measurement *m, const double *covariance,
                                csrec_error *error) {
    const bool maps = m->through && m->through->coils;
    const int64_t n = maps ? m->through->n_coils : m->channels;
    int64_t entries;
    CSREC_TRY(csrec_measurement_check(m, "measurement", error));
    if (!m->through || !m->is_complex || n > 4096)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "measurement: noise of coils is that of complex values of 1 to 4096 of "
                          "them through an operator");
    csrec_shape_count(&m->shape, &entries);
    double *L = malloc(2 * (size_t)(n * n) * sizeof *L);
    if (!L) return csrec_fail(error, CSREC_MEMORY, "coils: out of memory");
    memcpy(L, covariance, 2 * (size_t)(n * n) * sizeof *L);
    const bool hermitian = is_hermitian(n, L);
    if (!hermitian || !factor(n, L)) {
        free(L);
        return csrec_fail(error, CSREC_DATA, "noise covariance: is not that of %lld coils: %s",
                          (long long)n,
                          hermitian ? "an eigenvalue is not above 0; give more samples of noise "
                                      "than coils"
                                    : "not Hermitian, or not finite; give the mean of n n^H");
    }
    for (int64_t k = 0; k < m->n; k++) divide(n, L, 1, m->y + 2 * k * n);
    double *coils = maps ? (double *)(uintptr_t)m->through->coils : NULL;
    for (int64_t j = 0; j < entries && maps; j++) divide(n, L, entries, coils + 2 * j);
    m->sigma = sqrt(0.5); /* of a part of a complex number with variance 1 */
    free(L);
    return CSREC_OK;
}

/* Every value has its noise: as signals do not depend on it, |y|^2 is above the lower quartile of
 * noise alone, 2 sigma^2 log(4/3), in three quarters of a coil's samples at least, of any choice of
 * them. What is 0 was not measured. A coil's lower quartile by MOST of them. */
csrec_status csrec_coils_limit_noise(const csrec_measurement *m, double noise, double *sigma) {
    enum { MOST = 1 << 14 };
    const int64_t step = m->n / MOST + 1;
    uint64_t *squares = malloc((size_t)(m->n / step + 1) * sizeof *squares);
    csrec_status status = squares ? CSREC_OK : CSREC_MEMORY;
    double sum = 0.0, coils = 0.0;
    for (int64_t c = 0; c < m->channels && !status; c++) {
        int64_t n = 0;
        double quartile;
        for (int64_t i = 0; i < m->n; i += step) {
            const double *y = m->y + 2 * (i * m->channels + c), square = y[0] * y[0] + y[1] * y[1];
            if (square > 0.0) memcpy(&squares[n++], &square, sizeof square); /* bits ascend, too */
        }
        if (n == 0) continue;
        status = csrec_sort_rows(n, squares, NULL);
        memcpy(&quartile, &squares[n / 4], sizeof quartile);
        sum += quartile;
        coils += 1.0;
    }
    free(squares);
    if (!status)
        *sigma = coils > 0.0 ? fmin(noise, sqrt(sum / coils / (2.0 * log(4.0 / 3.0)))) : 0.0;
    return status;
}
