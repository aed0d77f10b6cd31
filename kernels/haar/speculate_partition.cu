/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_partition.cu - the row tree split into subtrees, the memory of the speculative pursuit,
 * and its run. */
#include "kernels/haar/speculate_round.cuh"

static __global__ void mark_tops(int64_t n, const int32_t *size, int32_t most, long long *flag) {
    int64_t j = csrec_cuda_thread();
    if (j <= n + 1) flag[j] = j < n && size[j] > most;
}

/* before[j]: nodes above the subtrees at entries below j, which is the number of sample j's
 * subtree. */
static __global__ void list_tops(csrec_speculate_tree tree, const long long *before, partition c) {
    int64_t j = csrec_cuda_thread();
    if (j >= tree.n || before[j + 1] == before[j]) return;
    int32_t t = (int32_t)before[j], first = tree.first[j];
    c.top[t] = (int32_t)j;
    c.range[t] = make_int2((int)before[first], (int)before[first + tree.size[j] - 1]);
}

/* Of the nodes at both ends of a run of subtrees the lower is its parent. */
static __global__ void list_above(csrec_speculate_tree tree, partition c) {
    int64_t u = csrec_cuda_thread();
    if (u >= c.subtrees) return;
    int2 run = make_int2((int)u, (int)u);
    for (int k = 0; k < DEPTH; k++) {
        int left = run.x > 0 ? tree.level[c.top[run.x - 1]] : 64;
        int right = run.y < c.tops ? tree.level[c.top[run.y]] : 64;
        int32_t t = left == 64 && right == 64 ? -1 : left < right ? run.x - 1 : run.y;
        c.above[u * DEPTH + k] = t;
        if (t >= 0) run = c.range[t];
    }
}

static void lay_out_parts(csrec_cuda_block *m, speculate_job *job) {
    partition *c = &job->parts;
    int64_t tops = c->tops, subtrees = c->subtrees;
    csrec_cuda_take(m, tops, &c->top, &c->range);
    csrec_cuda_take(m, subtrees * DEPTH, &c->above);
    csrec_cuda_take(m, subtrees * CHUNKS, &c->chunk, &c->widest);
    csrec_cuda_take(m, subtrees, &c->head, &c->ran);
    csrec_cuda_take(m, tops, &c->stamp, &c->touched);
}

static void lay_out_round(csrec_cuda_block *m, speculate_job *job) {
    timeline *t = &job->time;
    csrec_cuda_take(m, EVENTS, &t->events, &t->rank, &t->m, &t->order, &t->key, &t->code,
                    &t->change, &t->subtree, &t->gain);
    csrec_cuda_take(m, 3, &job->counts);
    csrec_cuda_take(m, 1, &job->arrived);
    csrec_cuda_take(m, 2 * CONTESTS * MOST_BLOCKS, &job->blocks.records);
}

csrec_status csrec_speculate_parts(csrec_speculate_state *s, int32_t most, speculate_job *job,
                                   csrec_cuda_block *memory, csrec_error *error) {
    int64_t n = s->tree.n;
    /* Small subtrees run at once in greater number, large ones leave fewer picks above the
     * subtrees: measured. */
    if (most == 0) most = n <= 1 << 17 ? 2048 : n <= 1 << 23 ? 4096 : 16384;
    job->tree = s->tree;
    job->rules = s->rules;
    job->totals = s->totals;
    job->link = s->link;
    CSREC_TRY(CSREC_CUDA_EACH(mark_tops, n + 2, BUILD_THREADS, error, n, job->tree.size, most,
                              s->prefix));
    CSREC_TRY(csrec_speculate_sums(s, error));
    long long tops = 0;
    CSREC_TRY(csrec_cuda_copy(&tops, s->prefix + n, sizeof tops, error));
    job->parts.tops = (int32_t)tops;
    job->parts.subtrees = (int32_t)tops + 1;
    csrec_status status = csrec_cuda_lay(memory, "the subtrees of the pursuit", error, [&] {
        lay_out_parts(memory, job);
        lay_out_round(memory, job);
    });
    if (!status) status = csrec_cuda_clear(memory->base, memory->used, NULL, error);
    if (status) return status;
    CSREC_TRY(
        CSREC_CUDA_EACH(list_tops, n, BUILD_THREADS, error, job->tree, s->prefix, job->parts));
    return CSREC_CUDA_EACH(list_above, tops + 1, BUILD_THREADS, error, job->tree, job->parts);
}

csrec_status csrec_speculate_run(csrec_speculate_state *state,
                                 const csrec_speculate_options *options,
                                 csrec_speculate_report *report, csrec_speculate_totals *totals,
                                 csrec_error *error) {
    bool one_sided = state->problem->columns == CSREC_COLUMNS_PAPER;
    speculate_job job = {};
    csrec_cuda_block memory = {};
    job.start = csrec_speculate_nothing();
    csrec_status status = csrec_speculate_parts(state, options->subtree, &job, &memory, error);
    if (!status) status = csrec_speculate_launch(&job, one_sided, error);
    if (!status) status = csrec_speculate_wait(state, options, error);
    if (!status) status = csrec_cuda_copy(totals, state->totals, sizeof *totals, error);
    report->subtrees = job.parts.subtrees;
    report->bytes += memory.used;
    csrec_cuda_block_destroy(&memory);
    return status;
}
