/* SPDX-License-Identifier: BSD-3-Clause */
/* unit.c - units of values. */
#include "base/unit.h"

#include <math.h>

double csrec_largest(int64_t n, const double *v) {
    double largest = 0.0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(v[i]) && fabs(v[i]) > largest) largest = fabs(v[i]);
    return largest;
}

double csrec_unit_of(double largest) {
    int exponent;
    if (largest == 0.0 || (largest >= 0x1p-64 && largest <= 0x1p64)) return 1.0;
    frexp(largest, &exponent);
    return ldexp(1.0, exponent - 1);
}
