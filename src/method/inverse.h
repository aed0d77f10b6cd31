/* SPDX-License-Identifier: BSD-3-Clause */
/* inverse.h - the exact steps towards measurements of an operator whose A A^T has blocks that can
 * be decomposed: U diag(d) U^T each, once for all steps (csrec_operator_type.gram). */
#pragma once

#include "operator/engine.h"

typedef struct csrec_inverse csrec_inverse;

/* data->inverse, of data->pool; it stays NULL where A has no such blocks. */
csrec_status csrec_inverse_create(csrec_measured *data, csrec_error *error);

/* r [y_values] <- (A A^T + share I)^-1 r; directions that A cannot reach are left out. */
csrec_status csrec_inverse_apply(const csrec_measured *data, double share, double *r);

/* r = y - A x <- u so that x + A^T u is the nearest signal to x with ||A x - y|| <= data->eps, or
 * the nearest of those that fit best, where none fits so well. */
csrec_status csrec_inverse_meet(const csrec_measured *data, double *r);
