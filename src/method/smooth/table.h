/* SPDX-License-Identifier: BSD-3-Clause */
/* table.h - two axes of which one is that of time: unlike series beside one another. */
#ifndef CSREC_METHOD_SMOOTH_TABLE_H
#define CSREC_METHOD_SMOOTH_TABLE_H

#include "csrec/measurement.h"

/* The axis along which the series of a table run; -1: a picture, or too little is known to tell.
 * Series are unlike: neighbours in different ones differ at least ten times as much (squares, the
 * median of all pairs) as neighbours in one, and as much as if they were independent. O(n), of the
 * first 2^22 entries. */
int csrec_table_axis(const csrec_measurement *measurement);

/* Fills y [series][n], known [series][n], into x: each series as a line (csrec_series_vote), then
 * as a ridge regression on the others, the rest of which is filled as a line; both blended by their
 * errors on samples left out in holes like the real ones. CSREC_MEMORY. */
csrec_status csrec_table_fill(int64_t n, int64_t series, const uint8_t *known, const double *y,
                              int ways, uint64_t seed, double *x);

#endif
