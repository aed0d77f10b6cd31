/* statistics.h - statistics for learners, beyond csrec.h. */
#ifndef CSREC_LEARN_STATISTICS_H
#define CSREC_LEARN_STATISTICS_H

#include "csrec/learn.h"

/* CSREC_DATA if a row that was centred on a device is not finite, as csrec_center. */
csrec_status csrec_statistics_check_centred(int64_t m, int64_t n, const float *X, int threads,
                                            csrec_error *error);

/* Resets all sums; rows added next give second moments about `mean` [n], whatever their own mean
 * is. Keeps the memory. */
void csrec_statistics_restart(csrec_statistics *statistics, const double *mean);

#endif
