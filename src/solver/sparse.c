/* sparse.c - shared by solvers with a target sparsity. */
#include "solver/sparse.h"

#include <stdlib.h>

static csrec_status find_target(const csrec_run *run, int64_t *k, csrec_error *error) {
    int64_t parts = run->A->parts;
    int64_t m = run->A->m / parts, n = run->A->n / parts, most = m < n ? m : n;
    int64_t wanted = (int64_t)csrec_run_param(run, "k");
    if (wanted == 0) wanted = m / 4 < most ? m / 4 : most;
    if (wanted == 0) wanted = 1;
    if (wanted > most)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "k = %lld; solver %s fits at most %lld columns to %lld samples of %lld",
                          (long long)wanted, run->type->name, (long long)most, (long long)m,
                          (long long)n);
    *k = wanted;
    return CSREC_OK;
}

csrec_status csrec_sparse_create(csrec_run *run, size_t size, csrec_error *error) {
    run->state = calloc(1, size);
    if (!run->state)
        return csrec_fail(error, CSREC_MEMORY, "solver %s: out of memory", run->type->name);
    return csrec_support_create(run, run->state, error);
}

csrec_status csrec_sparse_begin(csrec_run *run, size_t size, int64_t *k, csrec_error *error) {
    csrec_status status = csrec_sparse_create(run, size, error);
    if (!status) status = find_target(run, k, error);
    if (status || !run->options->start) return status;
    csrec_support_prune(run->state, *k);
    status = run->type->fits ? csrec_support_fit(run->state, CSREC_FIT_EXACT) : CSREC_STOPPED;
    if (status == CSREC_STOPPED) status = csrec_support_subtract(run->state);
    return status ? csrec_fail(error, status, "solver %s: %s", run->type->name,
                               csrec_status_text(status))
                  : CSREC_OK;
}

void csrec_sparse_destroy(csrec_run *run) {
    if (run->state) csrec_support_clear(run->state);
    free(run->state);
}
