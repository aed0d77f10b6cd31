/* unit.h - a power of two that scales values to ordinary size. */
#ifndef CSREC_BASE_UNIT_H
#define CSREC_BASE_UNIT_H

#include <stdint.h>

/* max |v| over the finite values. */
double csrec_largest(int64_t n, const double *v);

/* 1 where `largest` is 0 or 2^-64 to 2^64, else the largest power of two that is not above it. */
double csrec_unit_of(double largest);

#endif
