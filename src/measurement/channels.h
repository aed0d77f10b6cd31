/* SPDX-License-Identifier: BSD-3-Clause */
/* channels.h - channels that are measured at positions of their own: where one is not, it is NaN in
 * y. Channels that are measured at the same positions make a group, an even measurement. */
#pragma once

#include "base/error.h"
#include "csrec/measurement.h"

/* Whether every channel is measured at every position. O(n channels). */
bool csrec_measurement_even(const csrec_measurement *measurement);

/* Whether channels are complete beside others that have gaps, and may guide them. */
bool csrec_measurement_has_bands(const csrec_measurement *measurement);

/* Groups in the order of their first channels. */
typedef struct csrec_groups {
    const csrec_measurement *m;
    int64_t n;      /* groups */
    int64_t *count; /* [channels] positions of each channel */
    int64_t
        *channel;   /* [channels] those of group 0, of group 1, ..., then those measured nowhere */
    int64_t *first; /* [n + 1] the place there of the first of each group, and the end */
} csrec_groups;

static inline int64_t csrec_groups_channels(const csrec_groups *groups, int64_t k) {
    return groups->first[k + 1] - groups->first[k];
}

/* Group k: the measurement of its channels at their positions, in their order. sample: the number
 * of the sample that each is from; NULL: they are all. Any status but CSREC_OK ends the loop. */
typedef csrec_status (*csrec_group_fn)(void *context, const csrec_groups *groups, int64_t k,
                                       const csrec_measurement *part, const int64_t *sample,
                                       csrec_error *error);

/* Calls it with each group of a checked measurement of entries. Those with gaps have complete
 * channels among their guides, unless bands_apart. CSREC_MEMORY. */
csrec_status csrec_groups_each(const csrec_measurement *measurement, csrec_group_fn run,
                               void *context, csrec_error *error);

/* New guides of channels with gaps: those of the measurement, and its complete channels, evenly
 * chosen where they are many; NULL: there are none. CSREC_MEMORY. */
csrec_status csrec_bands_guides(const csrec_measurement *measurement, csrec_guides **guides,
                                csrec_error *error);

/* Copies values of group k, [n][its channels], into those of all channels, [n][channels], or with
 * `back` from there. */
void csrec_groups_copy(const csrec_groups *groups, int64_t k, int64_t n, double *values, bool back,
                       double *all);
