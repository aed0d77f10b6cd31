/* statistics.h - what learners ask of statistics beyond csrec.h. */
#ifndef CSREC_LEARN_STATISTICS_H
#define CSREC_LEARN_STATISTICS_H

#include "csrec.h"

/* CSREC_DATA if a row that was centred on a device is not finite, as csrec_center. */
csrec_status csrec_statistics_check_centred(int64_t m, int64_t n, const float *X, int threads,
                                            csrec_error *error);

/* Forgets all rows; what is added next are second moments about `mean` [n], whatever the rows' own
 * mean is. Keeps the memory. */
void csrec_statistics_restart(csrec_statistics *statistics, const double *mean);

#endif
