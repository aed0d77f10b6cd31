/* plan.h - how a recovery is to be run: as a whole or in tiles, by how many threads, and what that
 * takes. */
#ifndef CSREC_RECOVER_PLAN_H
#define CSREC_RECOVER_PLAN_H

#include "recover/tiles.h"

typedef struct csrec_plan {
    csrec_recover_options options; /* with the threads that fit */
    csrec_estimate estimate;
    csrec_tiling tiling;
    uint64_t available; /* to the process, whatever the options allow */
    bool parts;         /* can be recovered in tiles */
} csrec_plan;

/* parts: the signal may be recovered in tiles. */
csrec_status csrec_plan_make(const csrec_measurement *measurement,
                             const csrec_recover_options *options, bool parts, csrec_plan *plan,
                             csrec_error *error);

/* CSREC_MEMORY, where the plan does not fit. */
csrec_status csrec_plan_check(const csrec_plan *plan, csrec_error *error);

#endif
