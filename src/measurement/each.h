/* SPDX-License-Identifier: BSD-3-Clause */
/* each.h - numbers of rays and standard deviations of single samples. */
#pragma once

#include <math.h>

#include "base/pool.h"
#include "csrec/measurement.h"

enum { CSREC_RAYS_TOLD = 32 };

/* The standard deviation of channel c of sample i, without a guess; NAN: not known, as also where a
 * few rays were equal by chance. */
double csrec_noise_told(const csrec_measurement *measurement, int64_t i, int64_t c);

/* Whether samples may differ from the signal. */
static inline bool csrec_measurement_is_noisy(const csrec_measurement *m) {
    return m->sigma > 0.0 || m->rays || m->deviation;
}

/* Whether value i of y has no noise. */
static inline bool csrec_value_is_exact(const csrec_measurement *m, int64_t i) {
    return csrec_noise_told(m, i / m->channels, i % m->channels) == 0.0;
}

csrec_status csrec_each_check(const csrec_measurement *measurement, const char *name,
                              csrec_error *error);

/* Gives `part` memory from the pool for the rays and deviations of so many samples, if the
 * measurement has such. */
void csrec_each_take(csrec_pool *pool, const csrec_measurement *measurement, int64_t samples,
                     csrec_measurement *part);

/* The same by malloc, which csrec_measurement_clear frees. CSREC_MEMORY: nothing is allocated. */
csrec_status csrec_each_allocate(bool rays, bool deviation, csrec_measurement *measurement);

/* Leaves out samples of rays that are not finite, unless all are; returns their number. */
int64_t csrec_each_leave_lost(csrec_measurement *measurement);

/* Samples of rays, far brighter than their neighbours: 1 in [n], else 0. */
csrec_status csrec_fireflies_find(const csrec_measurement *measurement, int threads,
                                  uint8_t *firefly, csrec_error *error);

/* Values, rays and deviations of sample i become those of sample k of another measurement, of the
 * same channels, or of itself. */
void csrec_sample_copy(const csrec_measurement *from, int64_t i, csrec_measurement *to, int64_t k);
