/* SPDX-License-Identifier: BSD-3-Clause */
/* each.h - numbers of rays and standard deviations of single samples. */
#pragma once

#include <math.h>

#include "base/pool.h"
#include "csrec/measurement.h"

/* Whether samples may differ from the signal. */
static inline bool csrec_measurement_is_noisy(const csrec_measurement *m) {
    return m->sigma > 0.0 || m->rays || m->deviation;
}

/* Whether value i of y has no noise. */
static inline bool csrec_value_is_exact(const csrec_measurement *m, int64_t i) {
    const double own = m->deviation ? m->deviation[i] : NAN;
    return isnan(own) ? m->sigma == 0.0 && !m->rays : own == 0.0;
}

csrec_status csrec_each_check(const csrec_measurement *measurement, const char *name,
                              csrec_error *error);

/* Gives `part` memory from the pool for the rays and deviations of so many samples, if the
 * measurement has such. */
void csrec_each_take(csrec_pool *pool, const csrec_measurement *measurement, int64_t samples,
                     csrec_measurement *part);

/* The same by malloc, which csrec_measurement_clear frees. CSREC_MEMORY: nothing is allocated. */
csrec_status csrec_each_allocate(bool rays, bool deviation, csrec_measurement *measurement);

/* Values, rays and deviations of sample i become those of sample k of another measurement, of the
 * same channels, or of itself. */
void csrec_sample_copy(const csrec_measurement *from, int64_t i, csrec_measurement *to, int64_t k);
