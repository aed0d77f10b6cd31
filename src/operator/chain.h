/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.h - the product of two operators, for devices. */
#ifndef CSREC_OPERATOR_CHAIN_H
#define CSREC_OPERATOR_CHAIN_H

#include "operator/operator.h"

typedef struct csrec_chain {
    const csrec_operator *first, *second;
} csrec_chain;

/* Of chains and pairs: what their factors say. */
bool csrec_chain_explain(const csrec_operator *A, csrec_error *error);

#endif
