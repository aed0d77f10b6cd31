/* SPDX-License-Identifier: BSD-3-Clause */
/* haar.c - csrec_haar_transform: checks, and choice of the device. */
#include <math.h>

#include "haar/engine.h"

static const csrec_haar_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(&csrec_haar_cpu, &csrec_haar_cuda);

static csrec_status run(const csrec_context *context, void *job, csrec_error *error) {
    return engines[context->kind]->transform(context, job, error);
}

/* auto is the CPU: no measurement yet gives the size where CUDA is faster (bench/cuda.py). */
static const csrec_device_work work = {.run = run};

static csrec_status check(const csrec_transform_job *job, csrec_error *error) {
    const int64_t n = job->n;
    const uint64_t *rows = job->rows;
    if (job->levels < 0 || job->levels > 62)
        return csrec_fail(error, CSREC_ARGUMENT, "transform: levels = %d; must be 0 to 62",
                          job->levels);
    if (job->method < CSREC_TRANSFORM_LEVELS || job->method > CSREC_TRANSFORM_DISTINCT)
        return csrec_fail(error, CSREC_ARGUMENT, "transform: method %d is unknown", job->method);
    if (n < 1 || (uint64_t)n > UINT64_C(1) << job->levels)
        return csrec_fail(error, CSREC_ARGUMENT, "transform: %lld samples; must be 1 to 2^%d",
                          (long long)n, job->levels);
    for (int64_t j = 0; j < n; j++) {
        if (!isfinite(job->r[j]))
            return csrec_fail(error, CSREC_ARGUMENT, "transform: r[%lld] is not finite",
                              (long long)j);
        if (j && rows[j] <= rows[j - 1])
            return csrec_fail(error, CSREC_ARGUMENT,
                              "transform: row %lld is not above the row before it; rows must be "
                              "ascending and distinct",
                              (long long)j);
    }
    return rows[n - 1] >> job->levels
               ? csrec_fail(error, CSREC_ARGUMENT, "transform: row %llu is beyond 2^%d - 1",
                            (unsigned long long)rows[n - 1], job->levels)
               : CSREC_OK;
}

csrec_status csrec_haar_transform(const char *device, int levels, int64_t n, const uint64_t *rows,
                                  const double *r, csrec_transform_method method, int64_t capacity,
                                  csrec_product *products, int64_t *found, csrec_error *error) {
    csrec_transform_job job = {levels, n, rows, r, method, capacity, products, 0};
    csrec_status status = check(&job, error);
    if (!status) status = csrec_device_run(device, &work, &job, NULL, error);
    if (!status) *found = job.found;
    return status;
}
