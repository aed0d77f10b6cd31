/* fista_active.h - the l1 problem on an operator with its columns in memory: a few columns at a
 * time, and the proof that no other belongs to them. */
#ifndef CSREC_SOLVER_FISTA_ACTIVE_H
#define CSREC_SOLVER_FISTA_ACTIVE_H

#include "solver/support.h"

typedef struct csrec_active csrec_active;

/* For the share `lambda` > 0 of max_j |<a_j, y>|, from s->x and s->r. *active is NULL where A
 * offers no columns or x has too many that are not 0. CSREC_MEMORY. */
csrec_status csrec_active_create(csrec_support *s, double lambda, csrec_active **active);
void csrec_active_destroy(csrec_active *active);

/* What came of a round: x and r are better; they are the minimum or the run is stopped, and stay;
 * more columns are needed than a Gram matrix pays for, and x stays. */
typedef enum csrec_round { CSREC_ROUND_BETTER, CSREC_ROUND_DONE, CSREC_ROUND_FULL } csrec_round;

csrec_round csrec_active_round(csrec_active *active);

#endif
