/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse.c - shared by solvers with a target sparsity. */
#include "solver/sparse.h"

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
    void *state = csrec_run_state(run, size);
    return state ? csrec_support_create(run, state, error) : CSREC_MEMORY;
}

csrec_status csrec_sparse_begin(csrec_run *run, size_t size, csrec_error *error) {
    csrec_status status = csrec_sparse_create(run, size, error);
    csrec_support *s = run->state;
    if (!status) status = find_target(run, &s->k, error);
    if (status || !run->options->start) return status;
    csrec_support_prune(s, s->k);
    status = run->type->fits ? csrec_support_fit(s, CSREC_FIT_EXACT) : CSREC_STOPPED;
    return status == CSREC_STOPPED ? csrec_support_subtract(s) : status;
}
