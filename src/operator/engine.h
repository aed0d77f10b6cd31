/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - an operator's products as a device computes them. */
#ifndef CSREC_OPERATOR_ENGINE_H
#define CSREC_OPERATOR_ENGINE_H

#include "operator/operator.h"

typedef struct csrec_operator_engine {
    /* Computes the products of A, which A->context says where, from now on: sets A->type to one
     * that does, and A->state. CSREC_UNSUPPORTED: not of such an operator. */
    csrec_status (*take)(csrec_operator *A, csrec_error *error);
    void (*release)(csrec_operator *A); /* A->type and A->state are as before */
} csrec_operator_engine;

/* The CPU has none: its products are those of the operator's own row, the reference of all. */
extern const csrec_operator_engine csrec_operator_cuda;

/* csrec_operator_create with products on a device that is passed down; it must outlive A. */
csrec_status csrec_operator_create_on(const csrec_context *context, const csrec_operator_spec *spec,
                                      csrec_operator **A, csrec_error *error);

#endif
