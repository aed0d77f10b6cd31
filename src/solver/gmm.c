/* gmm.c - the table row of the mixture of Gaussians: it recovers pictures as a whole
 * (method/mixture/mixture.c), not coefficients of an operator. */
#include "solver/solver.h"

static csrec_status create(csrec_run *run, csrec_error *error) {
    (void)run;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "solver gmm recovers pictures from samples, not coefficients; use "
                      "csrec_recover, or another solver");
}

static void destroy(csrec_run *run) {
    (void)run;
}

/* method/mixture/mixture.c takes the first four by their place. */
static const csrec_param params[] = {
    {"components", 40, 2, 400, "Gaussians of the mixture; a model has its own"},
    {"rounds", 4, 1, 100, "rounds of choosing, conditioning and fitting"},
    {"patch", 8, 2, 24, "edge of a patch; a model has its own"},
    {"step", 2, 1, 24, "pixels between patches"},
    {"adapt", 1, 0, 1, "1: fit the mixture to the samples (with a model 0, which keeps it)"},
    {0}};

const csrec_solver_type csrec_solver_gmm = {
    .name = "gmm",
    .brief =
        "one mixture of Gaussians over all patches, fitted to the samples or learned; pictures",
    .source = "Yu, Sapiro and Mallat 2012, section III; docs/learning.md",
    .params = params,
    .create = create,
    .destroy = destroy};
