/* SPDX-License-Identifier: BSD-3-Clause */
/* left_out.c - what errors at samples that were left out tell of those elsewhere. */
#include "measurement/left_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

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

/* Numbers of 0 or more have the order of their bits. */
csrec_status csrec_scores_sort(int64_t n, const double *score, int64_t *place) {
    uint64_t *bits = malloc((size_t)(n + 1) * sizeof *bits);
    if (!bits) return CSREC_MEMORY;
    if (n > 0) memcpy(bits, score, (size_t)n * sizeof *bits);
    for (int64_t i = 0; i < n; i++) place[i] = i;
    const csrec_status status = csrec_sort_rows(n, bits, place);
    free(bits);
    return status;
}

double csrec_score_at(int64_t n, const double *score, const double *weight, const int64_t *place,
                      double rest, double share) {
    double all = rest, sum = 0.0;
    for (int64_t i = 0; i < n; i++) all += weight ? weight[i] : 1.0;
    for (int64_t i = 0; i < n; i++) {
        sum += weight ? weight[place[i]] : 1.0;
        if (sum >= share * all * (1.0 - 1e-12)) return score[place[i]];
    }
    return INFINITY;
}
