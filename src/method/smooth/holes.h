/* SPDX-License-Identifier: BSD-3-Clause */
/* holes.h - the large holes of a picture. */
#pragma once

#include "method/method.h"

/* With options->by_samples the large holes of a picture without noise, which the method has
 * recovered from even samples: discs without a sample, of a radius of 8 entries and of 3 times the
 * root of entries for each sample. They are filled by the membrane if the method is frames; by the
 * smoothest surface (biharmonic) if it errs less than it and than the method on samples left out in
 * holes of the same form. report->choice says so. kind: below 0, for a choice, and set to it; else
 * what was chosen for such a picture before. */
csrec_status csrec_holes_fill(const csrec_method_type *method, const csrec_recovery *recovery,
                              int *kind, csrec_error *error);
