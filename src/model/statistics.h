/* statistics.h - what learners ask of statistics beyond csrec.h. */
#ifndef CSREC_MODEL_STATISTICS_H
#define CSREC_MODEL_STATISTICS_H

#include "csrec.h"

/* Forgets all rows; what is added next are second moments about `mean` [n], whatever the rows' own
 * mean is. Keeps the memory. */
void csrec_statistics_restart(csrec_statistics *statistics, const double *mean);

#endif
