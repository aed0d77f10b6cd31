/* gaussian.c - the table row of the Gaussian groups: they recover pictures and volumes
 * as a whole (method/gaussian/gaussian.c), not coefficients of an operator. */
#include "solver/solver.h"

static csrec_status create(csrec_run *run, csrec_error *error) {
    (void)run;
    return csrec_fail(
        error, CSREC_UNSUPPORTED,
        "solver gaussian recovers pictures and volumes from samples, not coefficients; "
        "use csrec_recover, or another solver");
}

static void destroy(csrec_run *run) {
    (void)run;
}

static const csrec_param params[] = {
    {"effort", 1, 0, 1,
     "0: quick; 1: more rounds, in pictures with patches of 8 and 10 pixels, for the best result"},
    {0}};

const csrec_solver_type csrec_solver_gaussian = {
    .name = "gaussian",
    .brief =
        "a Gaussian for each group of similar patches, fitted to the samples; pictures, volumes",
    .source = "Yu, Sapiro and Mallat 2012, section III; docs/gaussian.md",
    .params = params,
    .create = create,
    .destroy = destroy};
