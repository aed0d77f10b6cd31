/* learn.h - what learners ask of backends: the covariance of data read in pieces, eigenvectors. */
#ifndef CSREC_DEVICE_LEARN_H
#define CSREC_DEVICE_LEARN_H

#include "base/error.h"

/* Mean and covariance as csrec_statistics_stream has them; mean may be written without C. */
typedef csrec_status (*csrec_stream_fn)(const csrec_data *data, csrec_progress_fn progress,
                                        void *context, double *mean, double *C, bool *stopped,
                                        csrec_error *error);

typedef struct csrec_eigen_device {
    csrec_status (*usable)(csrec_error *error);
    /* As csrec_eigen_largest of learn/lapack.h, but for A, which stays as it is. */
    csrec_status (*largest)(int n, const double *A, int count, double *values, double *V,
                            csrec_error *error);
    bool (*pays)(int n, int count); /* whether auto should take it, transfers counted */
} csrec_eigen_device;

/* CSREC_OK if a learner can work on this backend, so that it does not fail half way:
 * CSREC_ARGUMENT, CSREC_DEVICE. auto always can. */
csrec_status csrec_learn_usable(const char *backend, csrec_error *error);

/* csrec_statistics_stream and csrec_eigen_largest (A is destroyed) by the backend's name; *used is
 * that of the one that did it. auto takes a device where that pays, and leaves to the CPU what the
 * device refuses. */
csrec_status csrec_stream_on(const char *backend, const csrec_data *data, int threads,
                             csrec_progress_fn progress, void *context, double *mean, double *C,
                             bool *stopped, const char **used, csrec_error *error);
csrec_status csrec_eigen_largest_on(const char *backend, int n, double *A, int count,
                                    double *values, double *V, const char **used,
                                    csrec_error *error);

#endif
