/* SPDX-License-Identifier: BSD-3-Clause */
/* unit.h - a power of two that scales values to ordinary size. */
#pragma once

#include <stdint.h>

/* max |v| over the finite values. */
double csrec_largest(int64_t n, const double *v);

static inline double csrec_dot(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* ||v||^2. */
static inline double csrec_squares(int64_t n, const double *v) {
    return csrec_dot(n, v, v);
}

/* 1 where `largest` is 0 or 2^-64 to 2^64, else the largest power of two that is not above it. */
double csrec_unit_of(double largest);
