/* plan.c - the largest tiles that fit into memory. */
#include "recover/plan.h"

#include <math.h>

#include "base/memory.h"

/* Tiles are the same for any number of threads: they leave room for so many. */
enum { TILE_THREADS = 8 };

/* Below this nothing is asked of the system. */
static const double SMALL = 16 * 1048576.0;

static csrec_need need_of(const csrec_task *task, int threads) {
    csrec_task own = *task;
    own.threads = threads;
    return csrec_method_of(task->options)->need(&own);
}

/* A tile's signal and samples, beside those of the whole. */
static double tile_bytes(const csrec_task *tile, int threads) {
    return need_of(tile, threads).bytes + 8.0 * (double)(tile->n * (tile->channels + 1));
}

/* Most threads whose memory fits beside `taken` bytes; at least one. */
static int threads_within(const csrec_task *task, double taken, double memory) {
    int threads = task->threads;
    while (threads > 1 && taken + need_of(task, threads).bytes > memory)
        threads -= (threads + 7) / 8;
    return threads;
}

static void set_estimate(csrec_plan *plan, double bytes, double seconds, int threads) {
    csrec_estimate *e = &plan->estimate;
    e->bytes = bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX;
    e->seconds = seconds;
    e->threads = threads;
    e->tiles = plan->tiling.tiles;
}

static void plan_whole(const csrec_task *task, double memory, csrec_plan *plan) {
    int threads = threads_within(task, 0.0, memory);
    csrec_need need = need_of(task, threads);
    plan->tiling = (csrec_tiling){.shape = task->shape, .tiles = 1};
    set_estimate(plan, need.bytes, need.seconds, threads);
    plan->estimate.tile = task->shape;
}

static csrec_status plan_tiles(const csrec_measurement *measurement, const csrec_task *task,
                               double memory, csrec_plan *plan, csrec_error *error) {
    double signal = csrec_signal_bytes(task);
    csrec_task tile = *task;
    csrec_status status = CSREC_OK;
    plan->tiling = csrec_tiling_whole(task);
    do {
        if (!csrec_tiling_split(&plan->tiling)) break;
        status = csrec_tiling_task(&plan->tiling, measurement, task, &tile);
    } while (!status && signal + tile_bytes(&tile, TILE_THREADS) > memory);
    if (status) return csrec_fail(error, status, "out of memory");
    if (plan->tiling.tiles == 1) return CSREC_OK;
    tile.threads = task->threads;
    double beside = signal + 8.0 * (double)(tile.n * (tile.channels + 1));
    int threads = threads_within(&tile, beside, memory);
    csrec_need need = need_of(&tile, threads);
    set_estimate(plan, beside + need.bytes, (double)plan->tiling.tiles * need.seconds, threads);
    plan->estimate.tile = csrec_tiling_largest(&plan->tiling);
    return CSREC_OK;
}

/* Whether the method can work on parts, and the smallest of them would be smaller than all. */
static bool has_parts(const csrec_task *task) {
    const csrec_method *method = csrec_method_of(task->options);
    return task->shape.dims <= CSREC_TILE_AXES && method->parts && method->parts(task);
}

csrec_status csrec_plan_make(const csrec_measurement *measurement,
                             const csrec_recover_options *options, bool parts, csrec_plan *plan,
                             csrec_error *error) {
    csrec_task task = csrec_task_of(measurement, options);
    *plan = (csrec_plan){.options = *options, .parts = parts && has_parts(&task)};
    plan->estimate.method = csrec_method_of(options)->name;
    uint64_t given = options->memory;
    plan_whole(&task, INFINITY, plan);
    plan->available = UINT64_MAX;
    plan->estimate.memory = given ? given : UINT64_MAX;
    if (!given && (double)plan->estimate.bytes <= SMALL) return CSREC_OK;
    plan->available = csrec_memory_available();
    plan->estimate.memory = given ? given : plan->available;
    double memory = (double)plan->estimate.memory, most = given ? memory : 0.75 * memory;
    csrec_status status = CSREC_OK;
    if (need_of(&task, 1).bytes <= most || !plan->parts)
        plan_whole(&task, most, plan);
    else
        status = plan_tiles(measurement, &task, given ? most : exp2(floor(log2(fmax(most, 1.0)))),
                            plan, error);
    if (plan->estimate.threads < task.threads) plan->options.threads = plan->estimate.threads;
    return status;
}

/* Fewer threads were tried before; tiles too, where the method has parts. */
static const char *remedy(const csrec_plan *plan) {
    bool more = plan->estimate.memory < plan->available;
    if (!plan->parts && plan->estimate.tile.dims <= CSREC_TILE_AXES)
        return more ? "give it more memory, or take a preset that works in tiles: fast, balanced, "
                      "best"
                    : "take a preset that works in tiles: fast, balanced, best";
    return more ? "give it more memory, take a cheaper preset, or recover parts of the signal"
                : "take a cheaper preset, or recover parts of the signal";
}

csrec_status csrec_plan_check(const csrec_plan *plan, csrec_error *error) {
    const csrec_estimate *e = &plan->estimate;
    uint64_t memory = e->memory < plan->available ? e->memory : plan->available;
    if (!e->method || e->bytes <= memory) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY,
                      "recovery needs %.1f MiB where %.1f MiB of memory may be used; %s",
                      (double)e->bytes / 1048576, (double)memory / 1048576, remedy(plan));
}

csrec_status csrec_recover_estimate(const csrec_measurement *measurement,
                                    const csrec_recover_options *options, csrec_estimate *estimate,
                                    csrec_error *error) {
    csrec_plan plan;
    csrec_status status = csrec_measurement_check(measurement, "measurement", error);
    if (!status) status = csrec_plan_make(measurement, options, true, &plan, error);
    if (!status && plan.estimate.memory == UINT64_MAX)
        plan.estimate.memory = csrec_memory_available();
    if (!status) *estimate = plan.estimate;
    return status;
}
