/* sum.c - the sums over grids between ranks and the device (src/method/grids/chain.h), through host
 * memory: a hand-over is short beside the pursuits of a batch. */
#include <stdlib.h>

#include "kernels/method/grids/job.h"

bool csrec_cuda_hear(csrec_cuda_job *j, const csrec_progress *now) {
    const csrec_solve_options *solve = &j->options->solve;
    j->last = *now;
    if (!j->stopped && solve->progress) j->stopped = solve->progress(now, solve->context);
    return j->stopped;
}

static csrec_status pass_chunk(csrec_cuda_job *j, const csrec_cuda_pass *p, int64_t at,
                               int64_t count, double *values) {
    const int64_t channels = j->m->channels;
    double *received = NULL, *sums = j->work.signal + at;
    const size_t bytes = (size_t)count * sizeof *sums;
    csrec_status status = CSREC_OK;
    if (p->receive) status = csrec_grids_chain_receive(&j->chain, at, &received, j->error);
    if (received) status = csrec_cuda_copy(sums, received, bytes, j->error);
    free(received);
    if (!status && p->add) status = p->add(p->context, at / channels, count / channels, j->error);
    if (status || !p->send) return status;
    status = csrec_cuda_copy(values, sums, bytes, j->error);
    return status ? status : csrec_grids_chain_send(&j->chain, at, values, j->error);
}

csrec_status csrec_cuda_sum_pass(csrec_cuda_job *j, const csrec_cuda_pass *p) {
    csrec_status status = CSREC_OK;
    if (!csrec_grids_chain_shared(&j->chain))
        return p->add ? p->add(p->context, 0, j->entries, j->error) : CSREC_OK;
    int64_t most = csrec_grids_chain_chunk(&j->chain, 0);
    double *values = malloc((size_t)most * sizeof *values);
    if (!values) return csrec_fail(j->error, CSREC_MEMORY, "out of memory for a message");
    for (int64_t at = 0, count; !status && (count = csrec_grids_chain_chunk(&j->chain, at)) > 0;
         at += count)
        status = pass_chunk(j, p, at, count, values);
    free(values);
    return status;
}
