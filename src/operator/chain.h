/* chain.h - the product of two operators, for devices. */
#ifndef CSREC_OPERATOR_CHAIN_H
#define CSREC_OPERATOR_CHAIN_H

#include "operator/operator.h"

typedef struct csrec_chain {
    const csrec_operator *first, *second;
} csrec_chain;

#endif
