/* SPDX-License-Identifier: BSD-3-Clause */
/* ordinary.h - operators of ordinary size: no square of their entries leaves the range of doubles.
 */
#ifndef CSREC_OPERATOR_ORDINARY_H
#define CSREC_OPERATOR_ORDINARY_H

#include "operator/operator.h"

/* Tests A's adjoint (csrec_adjoint_test) and measures its longest column, by a product if A knows
 * neither its columns' lengths nor its norm. *ordinary = NULL if that is 2^-64 to 2^64 or 0, else
 * A / 2^e with columns of at most about 1 and `exponent` larger by e: the same bits, and, of
 * matrices, the same algorithms; destroy it before A. CSREC_DATA: other columns are so short beside
 * the longest that they would be lost. */
csrec_status csrec_ordinary_create(const csrec_operator *A, csrec_operator **ordinary,
                                   csrec_error *error);

#endif
