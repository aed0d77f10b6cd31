/* SPDX-License-Identifier: BSD-3-Clause */
/* samples.h - samples of signals that a test knows. */
#pragma once

#include "check.h"

/* Between two positions. */
static inline double distance_of(const csrec_shape *shape, int64_t a, int64_t b) {
    double sum = 0;
    for (int d = shape->dims - 1; d >= 0; d--) {
        double step = (double)(a % shape->dim[d] - b % shape->dim[d]);
        sum += step * step;
        a /= shape->dim[d];
        b /= shape->dim[d];
    }
    return sqrt(sum);
}

/* Of so many places of a pattern; their values are to be set. */
static inline csrec_measurement draw_places(const csrec_shape *shape, int64_t channels,
                                            csrec_pattern pattern, int64_t count, uint64_t key) {
    csrec_sampling s;
    assert_ok(csrec_sampling_create(shape, pattern, count, key, &s, NULL));
    csrec_measurement m = {
        .shape = *shape, .n = s.n, .channels = channels, .index = s.index, .dtype = CSREC_F64};
    m.y = malloc((size_t)(m.n * channels) * sizeof *m.y);
    assert_non_null(m.y);
    return m;
}

/* Values of x [entries][channels], with the noise that the measurement tells. */
static inline void take_samples(csrec_measurement *m, const double *x, uint64_t *seed) {
    const int64_t C = m->channels;
    for (int64_t i = 0; i < m->n * C; i++) {
        m->y[i] = x[m->index[i / C] * C + i % C];
        if (m->sigma > 0.0) m->y[i] += m->sigma * check_normal(seed);
    }
}
