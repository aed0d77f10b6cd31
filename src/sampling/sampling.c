/* SPDX-License-Identifier: BSD-3-Clause */
/* sampling.c - sampling patterns: the table of them, and uniform sampling without replacement. */
#include "sampling/sampling.h"

#include <stdlib.h>

#include "base/error.h"
#include "sampling/permutation.h"
#include "base/sort.h"
#include "base/threads.h"

/* The first `count` outputs of a random permutation: distinct without storing any, each a function
 * of its number alone, so threads share the work and the result does not depend on them. */
static csrec_status sample_uniform(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                   csrec_error *error) {
    (void)error;
    csrec_permutation permutation;
    csrec_permutation_init(&permutation, (uint64_t)plan->entries, plan->seed);
    int64_t *index = sampling->index;
    const int threads = csrec_threads_for(16 * plan->count, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < plan->count; i++)
        index[i] = (int64_t)csrec_permutation_at(&permutation, (uint64_t)i);
    return CSREC_OK;
}

typedef csrec_status (*sample_function)(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                        csrec_error *error);

static sample_function function_of(csrec_pattern pattern) {
    switch (pattern) {
    case CSREC_PATTERN_UNIFORM:
        return sample_uniform;
    case CSREC_PATTERN_POISSON:
        return csrec_sampling_poisson;
    case CSREC_PATTERN_JITTER:
        return csrec_sampling_jitter;
    case CSREC_PATTERN_NONE:
        break;
    }
    return NULL;
}

static csrec_status check_plan(csrec_sampling_plan *plan, csrec_error *error) {
    csrec_status status = csrec_shape_count(plan->shape, &plan->entries);
    if (status)
        return csrec_fail(error, status,
                          "shape: an extent is below 1 or the product overflows; "
                          "use extents whose product is at most 2^62");
    if (plan->count < 1 || plan->count > plan->entries)
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "count %lld is not in 1 .. %lld, the entries of the signal; ask for fewer",
            (long long)plan->count, (long long)plan->entries);
    return CSREC_OK;
}

csrec_status csrec_sampling_create(const csrec_shape *shape, csrec_pattern pattern, int64_t count,
                                   uint64_t seed, csrec_sampling *sampling, csrec_error *error) {
    return csrec_sampling_create_watched(shape, pattern, count, seed, NULL, NULL, sampling, error);
}

csrec_status csrec_sampling_create_watched(const csrec_shape *shape, csrec_pattern pattern,
                                           int64_t count, uint64_t seed, csrec_progress_fn progress,
                                           void *context, csrec_sampling *sampling,
                                           csrec_error *error) {
    csrec_sampling_plan plan = {shape, 0, count, seed, progress, context};
    sample_function sample = function_of(pattern);
    if (!sample)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "no such sampling pattern; use uniform, poisson or jitter");
    csrec_status status = check_plan(&plan, error);
    if (status) return status;
    csrec_sampling made = {count, NULL, 0.0};
    if ((uint64_t)count <= SIZE_MAX / sizeof *made.index)
        made.index = malloc((size_t)count * sizeof *made.index);
    if (!made.index)
        return csrec_fail(error, CSREC_MEMORY, "no memory for %lld positions; sample fewer",
                          (long long)count);
    status = sample(&plan, &made, error);
    if (!status && csrec_sort_rows(made.n, (uint64_t *)made.index, NULL))
        status = csrec_fail(error, CSREC_MEMORY, "no memory to sort %lld positions; sample fewer",
                            (long long)count);
    if (status)
        csrec_sampling_clear(&made);
    else
        *sampling = made;
    return status;
}

void csrec_sampling_clear(csrec_sampling *sampling) {
    if (!sampling) return;
    free(sampling->index);
    *sampling = (csrec_sampling){0, NULL, 0.0};
}
