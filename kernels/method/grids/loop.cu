/* loop.cu - the pursuit as one cooperative kernel (loop_grid.cuh): shares of the blocks, launch,
 * results. */
#include "kernels/method/grids/loop_grid.cuh"

static const void *kernel_of(bool one_sided, bool shared) {
    if (one_sided)
        return shared ? (const void *)pursue<true, true> : (const void *)pursue<true, false>;
    return shared ? (const void *)pursue<false, true> : (const void *)pursue<false, false>;
}

static int64_t divided(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* Entries a block, chunks; false if shared memory cannot hold them. */
static bool plan_shared(grid_job *job, int64_t room, bool one_sided, int blocks) {
    int64_t chunk = WARP * divided(divided(job->tree.n, blocks), WARP * WARPS);
    job->chunks_per_warp = 1;
    job->per_chunk = (int32_t)chunk;
    job->per_block = (int32_t)(chunk * WARPS);
    job->blocks.blocks = (int)divided(job->tree.n, job->per_block);
    return (int64_t)entry_bytes(one_sided) * job->per_block + WARPS * (int64_t)chunk_bytes() <=
           room;
}

static void plan_memory(grid_job *job, int64_t room, int blocks) {
    int64_t most = room / (int64_t)chunk_bytes() / WARPS, chunk = 128;
    int64_t per_block = divided(job->tree.n, blocks);
    while (divided(per_block, chunk * WARPS) > most) chunk *= 2;
    job->per_chunk = (int32_t)chunk;
    job->chunks_per_warp = (int)divided(per_block, chunk * WARPS);
    job->per_block = (int32_t)(divided(per_block, chunk) * chunk);
    job->blocks.blocks = (int)divided(job->tree.n, job->per_block);
}

/* One block needs no exchange; more share the work as far as there are entries for their threads.
 */
static bool plan(grid_job *job, const csrec_loop_options *options, const csrec_cuda_size *size,
                 bool one_sided) {
    enum { STATIC = 2048, WORTH_A_BLOCK = 512 };
    int64_t room = size->shared - STATIC, n = job->tree.n;
    int most = size->multiprocessors < MOST_BLOCKS ? size->multiprocessors : MOST_BLOCKS;
    if (options->blocks > 0 && options->blocks < most) most = options->blocks;
    if (!options->memory) {
        if (options->blocks == 0 && plan_shared(job, room, one_sided, 1)) return true;
        int64_t blocks = divided(n, WORTH_A_BLOCK);
        if (plan_shared(job, room, one_sided, (int)(blocks < most ? blocks : most))) return true;
    }
    plan_memory(job, room, most);
    return false;
}

/* Memory for what blocks tell each other, and for the log of picks. */
static csrec_status take_memory(grid_job *job, const csrec_loop_options *options,
                                csrec_cuda_block *block, csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int pass = 0; pass < 2 && !status; pass++) {
        job->blocks.records =
            (record *)csrec_cuda_block_take(block, 2 * CONTESTS * MOST_BLOCKS, sizeof(record));
        job->log = (csrec_loop_pick *)csrec_cuda_block_take(block, options->log_capacity,
                                                            sizeof *job->log);
        if (pass == 0) status = csrec_cuda_block_create(block, "the log of picks", error);
    }
    job->log_capacity = options->log_capacity;
    return status;
}

static csrec_status launch(grid_job *job, bool one_sided, bool shared, csrec_error *error) {
    const void *kernel = kernel_of(one_sided, shared);
    void *arguments[] = {job};
    size_t bytes = (size_t)job->chunks_per_warp * WARPS * chunk_bytes() +
                   (shared ? (size_t)job->per_block * entry_bytes(one_sided) : 0);
    csrec_status status = csrec_cuda_check(
        cudaMemset(job->blocks.records, 0, 2 * CONTESTS * MOST_BLOCKS * sizeof(record)), "records",
        error);
    if (!status)
        status = csrec_cuda_check(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
            "shared memory of the loop", error);
    if (status) return status;
    return csrec_cuda_check(cudaLaunchCooperativeKernel(kernel, dim3((unsigned)job->blocks.blocks),
                                                        dim3(GRID_THREADS), arguments, bytes, 0),
                            "the loop's cooperative launch", error);
}

/* Where the pursuit ended, and the picks that were logged. */
static csrec_status fetch(const grid_job *job, const csrec_loop_options *options,
                          csrec_loop_stand *stand, csrec_error *error) {
    csrec_status status = csrec_cuda_check(
        cudaMemcpy(stand, job->stand, sizeof *stand, cudaMemcpyDefault), "end of the loop", error);
    int64_t logged = options->log_capacity;
    if (!status && logged > stand->iterations) logged = stand->iterations;
    if (status || logged <= 0) return status;
    return csrec_cuda_check(
        cudaMemcpy(options->log, job->log, (size_t)logged * sizeof *job->log, cudaMemcpyDefault),
        "log of picks", error);
}

csrec_status csrec_loop_grid_run(csrec_loop_state *state, const csrec_loop_options *options,
                                 csrec_loop_report *report, csrec_loop_stand *stand,
                                 csrec_error *error) {
    csrec_cuda_size size;
    csrec_status status = csrec_cuda_measure(&size, error);
    if (status) return status;
    bool one_sided = state->problem->columns == CSREC_COLUMNS_PAPER;
    grid_job job = {};
    job.tree = state->tree;
    job.rules = state->rules;
    job.stand = state->stand;
    job.mail = state->mail;
    bool shared = plan(&job, options, &size, one_sided);
    csrec_cuda_block scratch = {};
    status = take_memory(&job, options, &scratch, error);
    if (!status) status = launch(&job, one_sided, shared, error);
    if (!status) status = csrec_loop_wait(state, options, error);
    if (!status) status = fetch(&job, options, stand, error);
    csrec_cuda_block_destroy(&scratch);
    report->shared = shared;
    return status;
}
