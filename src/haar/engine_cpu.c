/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - all inner products on the CPU: level by level, or from the row tree. */
#include <stdlib.h>

#include "haar/engine.h"
#include "haar/levels.h"
#include "haar/transform.h"

/* all_levels: every one-sided column, not only the representative of equal ones. */
static csrec_status transform_tree(csrec_transform_job *job, bool all_levels) {
    csrec_tree tree;
    csrec_status status =
        csrec_tree_create(job->levels, job->n, job->rows, CSREC_COLUMNS_PAPER, &tree);
    if (status) return status;
    double *sums = malloc((size_t)job->n * sizeof *sums);
    status = sums ? csrec_tree_sums(&tree, job->r, sums) : CSREC_MEMORY;
    if (!status) {
        job->found = csrec_tree_products(&tree, job->r, sums, all_levels, NULL);
        if (job->found <= job->capacity)
            csrec_tree_products(&tree, job->r, sums, all_levels, job->products);
    }
    free(sums);
    csrec_tree_clear(&tree);
    return status;
}

static csrec_status cpu_transform(const csrec_context *context, csrec_transform_job *job,
                                  csrec_error *error) {
    (void)context;
    csrec_status status = job->method == CSREC_TRANSFORM_LEVELS
                              ? csrec_haar_levels(job->levels, job->n, job->rows, job->r,
                                                  job->capacity, job->products, &job->found)
                              : transform_tree(job, job->method == CSREC_TRANSFORM_TREE);
    return status ? csrec_fail(error, status, "transform of %lld samples: %s", (long long)job->n,
                               csrec_status_text(status))
                  : CSREC_OK;
}

const csrec_haar_engine csrec_haar_cpu = {cpu_transform};
