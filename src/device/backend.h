/* backend.h - where the work is done: a const table of backends, chosen at run time by name. */
#ifndef CSREC_DEVICE_BACKEND_H
#define CSREC_DEVICE_BACKEND_H

#include "device/learn.h"
#include "device/omp.h"
#include "device/statistics.h"
#include "device/threshold.h"

typedef struct csrec_backend {
    const char *name;
    /* One line about device i; false past the last. What cannot be used says why as entry 0. */
    bool (*device)(int i, char *text, size_t size);
    /* CSREC_OK if the work can be done here now, else the reason in one line. */
    csrec_status (*usable)(csrec_error *error);
    /* As csrec_recover_grids of recover/recover.h; NULL: not offered. */
    csrec_status (*recover_grids)(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, double *signal,
                                  csrec_atoms *atoms, csrec_recover_report *report,
                                  csrec_error *error);
    /* Whether auto should take this backend for it, if it is usable; NULL: always. */
    bool (*pays)(const csrec_measurement *measurement, const csrec_recover_options *options);
    /* As csrec_haar_transform, with the reason of a failure; NULL: not offered. */
    csrec_status (*transform)(int levels, int64_t n, const uint64_t *rows, const double *r,
                              csrec_transform_method method, int64_t capacity,
                              csrec_product *products, int64_t *found, csrec_error *error);
    /* The mean over frames of thresholded block cosines; NULL: not offered. */
    csrec_status (*threshold)(const csrec_threshold_job *job, double *mean, double *energy,
                              csrec_error *error);
    /* Computes an operator's products from now on: sets A->type and A->device. NULL: not offered.
     */
    csrec_status (*take_operator)(csrec_operator *A, csrec_error *error);
    void (*release_operator)(csrec_operator *A);
    /* Batch-OMP on an operator that this backend has taken; NULL: not offered. CSREC_UNSUPPORTED:
     * not for this one. */
    csrec_status (*omp)(const csrec_omp_job *job, const csrec_omp_result *result);
    /* Mean and covariance; NULL: those of csrec.h. */
    const csrec_statistics_device *statistics;
    csrec_stream_fn stream;          /* of device/learn.h; NULL: csrec_statistics_stream */
    const csrec_eigen_device *eigen; /* likewise; NULL: LAPACK */
    const struct csrec_conv2d_device *conv2d;     /* of conv/conv2d.h; NULL: not offered */
    const struct csrec_gaussian_device *gaussian; /* of method/gaussian/gaussian.h; NULL: not offered */
    /* Of method/adaptive/device.h; NULL: not offered. */
    const struct csrec_adaptive_device *adaptive;
} csrec_backend;

extern const csrec_backend csrec_backend_cpu;
extern const csrec_backend csrec_backend_cuda;

/* Whether the choice is left to us: "auto", or NULL. */
bool csrec_backend_automatic(const char *name);

/* name: "auto" (or NULL), "cpu" or "cuda". auto takes cuda where it is usable and offers
 * recovery, else cpu. CSREC_ARGUMENT: unknown name; CSREC_DEVICE: cuda is not built or has no
 * usable device. */
csrec_status csrec_backend_choose(const char *name, const csrec_backend **backend,
                                  csrec_error *error);

/* The same for this recovery by its options->backend: auto passes over what does not pay. */
csrec_status csrec_backend_choose_for(const csrec_measurement *measurement,
                                      const csrec_recover_options *options,
                                      const csrec_backend **backend, csrec_error *error);

/* Sets A->backend, and has it take the operator. auto is cpu: whether a product pays for its
 * transfers depends on the solver. CSREC_UNSUPPORTED: the backend has no such operator. */
csrec_status csrec_backend_take_operator(const char *name, csrec_operator *A, csrec_error *error);

#endif
