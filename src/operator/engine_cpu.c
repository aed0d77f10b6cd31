/* engine_cpu.c - products on the CPU: the functions of the operator's row, which are the reference
 * for every device. */
#include "operator/engine.h"

static csrec_status take(csrec_operator *A, csrec_error *error) {
    (void)error;
    A->type = A->row;
    return CSREC_OK;
}

static void release(csrec_operator *A) {
    A->type = A->row;
}

const csrec_operator_engine csrec_operator_cpu = {take, release};
