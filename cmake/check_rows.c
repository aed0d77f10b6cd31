/* SPDX-License-Identifier: BSD-3-Clause */
/* check_rows.c - run by the build: every row of every table has what its header asks for; else the
 * first that lacks something is told in a line, and the build stops. */
#include <stdio.h>

#include "files/format.h"
#include "learn/model.h"
#include "method/method.h"
#include "operator/operator.h"
#include "recover/recover.h"
#include "solver/solver.h"

#define CHECK_METHOD(name)                                                                         \
    status = status ? status : csrec_method_check_row(&csrec_method_##name, &error);
#define CHECK_SOLVER(name)                                                                         \
    status = status ? status : csrec_solver_check_row(&csrec_solver_##name, &error);
#define CHECK_OPERATOR(name)                                                                       \
    status = status ? status : csrec_operator_check_row(&csrec_operator_##name, &error);
#define CHECK_FORMAT(name)                                                                         \
    status = status ? status : csrec_format_check_row(&csrec_##name##_format, &error);

int main(void) {
    csrec_error error;
    csrec_status status = CSREC_OK;
    const csrec_model_type *kind;
    CSREC_METHODS(CHECK_METHOD)
    CSREC_SOLVERS(CHECK_SOLVER)
    CSREC_OPERATORS(CHECK_OPERATOR)
    CSREC_FORMATS(CHECK_FORMAT)
    for (int i = 0; !status && (kind = csrec_model_type_at(i)); i++)
        status = csrec_model_check_type(kind, &error);
    for (int i = 0; !status; i++) status = csrec_preset_check_row(i, &error);
    if (status == CSREC_UNSUPPORTED) return 0; /* past the last preset */
    fprintf(stderr, "%s\n", error.text);
    return 1;
}
