/* SPDX-License-Identifier: BSD-3-Clause */
/* guides.h - planes that are known beside the samples. */
#pragma once

#include "csrec/measurement.h"
#include "base/error.h"

/* n planes without names and values, to be freed with csrec_guides_destroy. NULL: out of memory. */
csrec_guides *csrec_guides_create(int64_t n, int64_t entries);
void csrec_guides_destroy(csrec_guides *guides);

/* The planes of a box of a signal of so many axes: [at, at + extent). NULL: out of memory. */
csrec_guides *csrec_guides_crop(const csrec_guides *guides, const csrec_shape *shape,
                                const int64_t *at, const csrec_shape *extent);

/* Whether a plane is a channel's samples at all of these, up to scale and offset: correlation above
 * 0.9999 at 32 or more. */
bool csrec_guides_repeat(const csrec_measurement *measurement);

/* What csrec_measurement says of guides and sequences. */
csrec_status csrec_guides_check(const csrec_measurement *measurement, const char *name,
                                csrec_error *error);

/* What a renderer calls by that name, of a layer or part of it: "albedo", "normal", "depth" or
 * "position"; NULL: none of these. */
const char *csrec_guide_kind(const char *layer);

/* What else it tells of single samples: "rays", their numbers, "inverse", 1 by them, "share", of
 * the most; "variance" of a ray, "moment", its mean square; NULL: none of these. */
const char *csrec_each_kind(const char *layer);
