/* backend.h - what methods have on each kind of device, until they have engines of their own. */
#ifndef CSREC_DEVICE_BACKEND_H
#define CSREC_DEVICE_BACKEND_H

#include "device/device.h"
#include "device/threshold.h"

typedef struct csrec_backend {
    const char *name;
    /* A mean over grids (method/grids); NULL: the CPU does it. */
    csrec_status (*recover_grids)(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, double *signal,
                                  csrec_atoms *atoms, csrec_recover_report *report,
                                  csrec_error *error);
    /* The mean over frames of thresholded block cosines; NULL: not offered. */
    csrec_status (*threshold)(const csrec_threshold_job *job, double *mean, double *energy,
                              csrec_error *error);
    const struct csrec_gaussian_device
        *gaussian; /* of method/gaussian/gaussian.h; NULL: not offered */
    /* Of method/adaptive/device.h; NULL: not offered. */
    const struct csrec_adaptive_device *adaptive;
} csrec_backend;

extern const csrec_backend csrec_backend_cpu;
extern const csrec_backend csrec_backend_cuda;

/* Of the context's kind of device. */
const csrec_backend *csrec_backend_of(const csrec_context *context);

#endif
