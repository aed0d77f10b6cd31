/* SPDX-License-Identifier: BSD-3-Clause */
/* data.h - passes over a data matrix that is read in pieces, and statistics beyond csrec.h. */
#ifndef CSREC_LEARN_DATA_H
#define CSREC_LEARN_DATA_H

#include "csrec/learn.h"

typedef struct csrec_data_pass {
    const char *stage;
    csrec_progress_fn progress; /* may be NULL */
    void *context;
    csrec_status (*take)(void *taker, int64_t first, int64_t count, const float *X,
                         csrec_error *error);
    void *taker;
    int64_t number, of; /* the pass is one of so many; 0: a single one */
} csrec_data_pass;

csrec_status csrec_data_check(const csrec_data *data, csrec_error *error);

/* Rows of a piece: 4 MiB, at least 8 rows. */
int64_t csrec_data_piece(const csrec_data *data);

/* Passes all rows to pass->take in order, a piece at a time. */
csrec_status csrec_data_each(const csrec_data *data, const csrec_data_pass *pass, bool *stopped,
                             csrec_error *error);

/* Data in memory: `held` reads from X [m][n], which the caller frees. */
typedef struct csrec_held {
    csrec_data data;
    float *X;
} csrec_held;

/* Reads the data into memory if they fit in half of the free memory; else held->X is NULL and
 * held->data is the data itself. */
csrec_status csrec_data_hold(const csrec_data *data, const csrec_data_pass *pass, csrec_held *held,
                             bool *stopped, csrec_error *error);

/* CSREC_DATA if a row that was centred on a device is not finite, as csrec_center. */
csrec_status csrec_statistics_check_centred(int64_t m, int64_t n, const float *X, int threads,
                                            csrec_error *error);

/* Resets all sums; rows added next give second moments about `mean` [n], whatever their own mean
 * is. Keeps the memory. */
void csrec_statistics_restart(csrec_statistics *statistics, const double *mean);

#endif
