/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_check.h - random cases and comparisons to the bit, shared by the tests of the device. */
#pragma once

#include "device.h"

static inline double draw_value(uint64_t *seed, int kind, int64_t j) {
    if (kind == 0) return 2.0 * check_uniform(seed) - 1.0;
    if (kind == 1) return (double)(check_below(seed, 3) - 1); /* many ties and zeros */
    if (kind == 2) return sin((double)j * 0.01) + (j % 50 < 25 ? 1.0 : 0.0);
    if (kind < 5) return kind == 3 ? 7.0 : 0.0;
    return ldexp(check_uniform(seed) - 0.5, (int)check_below(seed, 60) - 30);
}

static inline void assert_same_bits(const double *a, const double *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i]) fail_msg("item %lld: %.17g, not %.17g", (long long)i, a[i], b[i]);
}

static inline void assert_same_atoms(const csrec_atoms *a, const csrec_atoms *b) {
    assert_int_equal(a->n, b->n);
    if (a->n == 0) return;
    assert_memory_equal(a->column, b->column, (size_t)a->n * sizeof *a->column);
    assert_memory_equal(a->count, b->count, (size_t)a->n * sizeof *a->count);
    assert_same_bits(b->coefficient, a->coefficient, a->n);
}

static inline csrec_columns draw_columns(uint64_t *seed) {
    return check_below(seed, 2) ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED;
}

static inline csrec_stop draw_stop(uint64_t *seed) {
    csrec_stop stop = {0};
    const int64_t kind = check_below(seed, 6);
    if (kind == 0) stop.epsilon = check_uniform(seed) * 0.5;
    if (kind == 1) stop.min_coefficient = check_uniform(seed);
    if (kind == 2) stop.atoms = 1 + check_below(seed, 100);
    if (kind == 3) stop.sigma = check_uniform(seed) * 0.3;
    if (kind == 4) stop.stagnation = check_uniform(seed) * 0.1;
    return stop;
}
