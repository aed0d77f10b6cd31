/* SPDX-License-Identifier: BSD-3-Clause */
/* left_out.c - what errors at samples that were left out tell of those elsewhere. */
#include "measurement/left_out.h"

#include <math.h>

/* The squared error falls about as rate^-0.7 on pictures. */
static const double FALL = 0.7;

/* What noise leaves of the squares may be below 0 by chance. */
double csrec_left_out_factor(int64_t n, double squares, double noise, double expected) {
    if (n < CSREC_LEAST_LEFT_OUT || !(expected > 0.0)) return 1.0;
    return fmax(squares - noise, CSREC_LEAST_SIGNAL * squares) / expected;
}

double csrec_left_out_fall(double share) {
    return pow(1.0 - share, FALL);
}
