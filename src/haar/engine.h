/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - all inner products with the sampled Haar matrix, as a device computes them;
 * csrec_haar_transform has checked the job. */
#pragma once

#include "csrec/haar.h"
#include "device/device.h"

/* As the arguments of csrec_haar_transform, all in host memory. */
typedef struct csrec_transform_job {
    int levels;
    int64_t n;
    const uint64_t *rows; /* [n] */
    const double *r;      /* [n] */
    csrec_transform_method method;
    int64_t capacity;
    csrec_product *products; /* [capacity], written if all fit */
    int64_t found;
} csrec_transform_job;

typedef struct csrec_haar_engine {
    csrec_status (*transform)(const csrec_context *context, csrec_transform_job *job,
                              csrec_error *error);
} csrec_haar_engine;

extern const csrec_haar_engine csrec_haar_cpu, csrec_haar_cuda;
