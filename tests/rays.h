/* SPDX-License-Identifier: BSD-3-Clause */
/* rays.h - random samples with numbers of rays, or with deviations, until the test's end. */
#pragma once

#include "check.h"

SEED(drawn);

static inline double *draw_within(int64_t n, double low, double high) {
    double *v = check_room(n);
    for (int64_t i = 0; i < n; i++) v[i] = low + (high - low) * check_uniform(&drawn);
    return v;
}

/* 1 to 32. */
static inline double *draw_rays(int64_t n) {
    double *v = check_room(n);
    for (int64_t i = 0; i < n; i++) v[i] = (double)(1 + check_below(&drawn, 32));
    return v;
}

/* n samples of light, 1 to 3, in random order. */
static inline csrec_measurement draw_light_at(csrec_shape shape, int64_t channels, int64_t n) {
    const int64_t entries = entries_in(&shape);
    csrec_measurement m = room_for_samples(shape, channels, n);
    OWNED int64_t *order = check_order(&drawn, entries);
    m.n = n;
    memcpy(m.index, order, (size_t)n * sizeof *order);
    m.y = draw_within(n * channels, 1.0, 3.0);
    return m;
}

/* Some values become this. */
static inline void sprinkle(int64_t n, double share, double value, double *v) {
    for (int64_t i = 0; i < n; i++)
        if (check_uniform(&drawn) < share) v[i] = value;
}

static inline void expect_number(double got, double wanted, double tolerance, const char *what,
                                 int64_t i) {
    if (isnan(wanted) ? !isnan(got) : !(fabs(got - wanted) <= tolerance))
        fail_msg("%s %lld: %.17g, not %.17g", what, (long long)i, got, wanted);
}
