/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c - resolves options to a plan, with the largest tiles that fit into memory. */
#include "recover/recover.h"
#include "measurement/each.h"
#include "measurement/law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "measurement/through.h"
#include "solver/solver.h"

/* Tiles are the same for any number of threads: they leave memory for this many. */
enum { TILE_THREADS = 8 };

/* Below this the system's free memory is not checked. */
static const double SMALL = 16 * 1048576.0;

static csrec_need need_of(const csrec_task *task, int threads) {
    csrec_task own = *task;
    own.threads = threads;
    return csrec_method_need(csrec_method_of(task->options), &own);
}

/* A tile's signal and samples, beside those of the whole. */
static double tile_bytes(const csrec_task *tile, int threads) {
    return need_of(tile, threads).bytes + 8.0 * (double)(tile->n * (tile->channels + 1));
}

/* The largest number of threads whose memory fits beside `taken` bytes; at least one. */
static int threads_within(const csrec_task *task, double taken, double memory) {
    int threads = task->threads;
    while (threads > 1 && taken + need_of(task, threads).bytes > memory)
        threads -= (threads + 7) / 8;
    return threads;
}

static void set_estimate(csrec_layout *plan, double bytes, double seconds, int threads) {
    csrec_estimate *e = &plan->resolved.estimate;
    e->bytes = bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX;
    e->seconds = seconds;
    e->threads = threads;
    e->tiles = plan->tiling.tiles;
}

static void plan_whole(const csrec_task *task, double memory, csrec_layout *plan) {
    int threads = threads_within(task, 0.0, memory);
    csrec_need need = need_of(task, threads);
    plan->tiling = (csrec_tiling){.shape = task->shape, .tiles = 1};
    set_estimate(plan, need.bytes, need.seconds, threads);
    plan->resolved.estimate.n_stages = need.n_stages;
    memcpy(plan->resolved.estimate.stage, need.stage, sizeof need.stage);
    plan->resolved.estimate.tile = task->shape;
}

/* Of the signal that is in memory: all, or a line of tiles. These also with their samples, and as
 * they are read. */
static double held_bytes(const csrec_tiling *tiling, const csrec_task *task, bool slabs) {
    double whole = csrec_signal_bytes(task);
    if (!slabs) return whole;
    double rows = (double)csrec_tiling_largest(tiling).dim[0], all = (double)task->shape.dim[0];
    return whole * (rows / all) * (1.0 + task->rate * (2.0 + 1.0 / (double)task->channels) + 2.0);
}

/* Smaller tiles than the usual ones while these do not fit into memory. */
static csrec_status plan_tiles(const csrec_measurement *measurement, const csrec_task *task,
                               bool slabs, double memory, csrec_layout *plan, csrec_error *error) {
    csrec_task tile = *task;
    csrec_status status = CSREC_OK;
    bool split = true, fits = false;
    plan->tiling = csrec_tiling_usual(task);
    while (split && !fits && !status) {
        if (plan->tiling.tiles == 1) split = csrec_tiling_split(&plan->tiling);
        status = csrec_tiling_task(&plan->tiling, measurement, task, &tile);
        if (status) break;
        double held = held_bytes(&plan->tiling, task, slabs);
        fits = held + tile_bytes(&tile, TILE_THREADS) <= memory;
        split = fits || csrec_tiling_split(&plan->tiling);
    }
    if (status) return csrec_fail(error, status, "out of memory");
    if (plan->tiling.tiles == 1 && !slabs) return CSREC_OK;
    tile.threads = task->threads;
    double signal = held_bytes(&plan->tiling, task, slabs);
    double beside = signal + 8.0 * (double)(tile.n * (tile.channels + 1));
    int threads = threads_within(&tile, beside, memory);
    csrec_need need = need_of(&tile, threads);
    set_estimate(plan, beside + need.bytes, (double)plan->tiling.tiles * need.seconds, threads);
    plan->resolved.estimate.n_stages = 0; /* tiles count */
    plan->resolved.estimate.tile = csrec_tiling_largest(&plan->tiling);
    return CSREC_OK;
}

/* Whether the method can work on parts, and a smallest part is smaller than the whole. */
static bool has_parts(const csrec_task *task) {
    const csrec_method_type *method = csrec_method_of(task->options);
    return task->shape.dims <= CSREC_TILE_AXES && csrec_tiling_bears(&task->shape) &&
           method->parts && method->parts(task);
}

/* Chooses threads and tiles for the available memory. */
static csrec_status fit(const csrec_measurement *measurement, const csrec_task *task, bool slabs,
                        csrec_layout *plan, csrec_error *error) {
    csrec_estimate *e = &plan->resolved.estimate;
    uint64_t given = plan->resolved.options.memory;
    bool whole = !slabs && (!plan->parts || csrec_tiling_usual(task).tiles == 1);
    plan_whole(task, INFINITY, plan);
    plan->available = UINT64_MAX;
    e->memory = given ? given : UINT64_MAX;
    if (whole && !given && (double)e->bytes <= SMALL) return CSREC_OK;
    plan->available = csrec_memory_available();
    e->memory = given ? given : plan->available;
    double memory = (double)e->memory, most = given ? memory : 0.75 * memory;
    if ((whole && need_of(task, 1).bytes <= most) || !plan->parts) {
        plan_whole(task, most, plan);
        return CSREC_OK;
    }
    double room = given ? most : exp2(floor(log2(fmax(most, 1.0))));
    return plan_tiles(measurement, task, slabs, room, plan, error);
}

static csrec_status fit_cpu(const csrec_measurement *measurement, const csrec_task *task,
                            csrec_wanted wanted, csrec_layout *plan, csrec_error *error) {
    plan->parts = wanted.signal && !wanted.atoms && has_parts(task);
    csrec_status status = fit(measurement, task, wanted.slabs, plan, error);
    plan->resolved.estimate.method = plan->method->info.name;
    if (plan->resolved.estimate.threads < task->threads)
        plan->resolved.options.threads = plan->resolved.estimate.threads;
    return status;
}

/* Fewer threads have been tried, and tiles, if the method has parts. */
static const char *remedy(const csrec_layout *plan) {
    bool more = plan->resolved.estimate.memory < plan->available;
    if (plan->through)
        return more ? "give it more memory, or measure a smaller signal"
                    : "measure a smaller signal";
    if (!plan->parts && plan->resolved.estimate.tile.dims <= CSREC_TILE_AXES)
        return more ? "give it more memory, or use a preset that works in tiles: fast, balanced, "
                      "best"
                    : "use a preset that works in tiles: fast, balanced, best";
    return more ? "give it more memory, use a cheaper preset, or recover parts of the signal"
                : "use a cheaper preset, or recover parts of the signal";
}

csrec_status csrec_layout_check(const csrec_layout *plan, csrec_error *error) {
    const csrec_estimate *e = &plan->resolved.estimate;
    uint64_t memory = e->memory < plan->available ? e->memory : plan->available;
    if (!e->method || e->bytes <= memory) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY,
                      "recovery needs %.1f MiB but may use %.1f MiB of memory; %s",
                      (double)e->bytes / 1048576, (double)memory / 1048576, remedy(plan));
}

static csrec_status check(const csrec_recover_options *options, csrec_error *error) {
    if (options->shifts < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "shifts = %lld; must be at least 0",
                          (long long)options->shifts);
    if (!(options->seconds >= 0.0))
        return csrec_fail(error, CSREC_ARGUMENT, "seconds = %g; must be at least 0",
                          options->seconds);
    if (options->tile < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "tile = %lld; must be at least 0",
                          (long long)options->tile);
    if (csrec_device_check(options->backend, error)) return CSREC_ARGUMENT;
    if (options->solve.look)
        return csrec_fail(error, CSREC_ARGUMENT, "solve.look is for csrec_solve only");
    if (options->solve.history)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "solve.history is for csrec_solve only; use options.history");
    return CSREC_OK;
}

csrec_status csrec_recover_options_check(const csrec_recover_options *options, bool model,
                                         bool atoms, csrec_error *error) {
    const csrec_method_type *method;
    csrec_status status = check(options, error);
    return status ? status : csrec_method_resolve(NULL, options, model, atoms, &method, error);
}

/* Parameters of the method, its solver and its basis, with the values that count. */
static void list_parameters(const csrec_owner owner[3], csrec_plan *plan) {
    const csrec_solve_options *solve = &plan->options.solve;
    plan->n_parameters = 0;
    for (int i = 0; i < 3; i++)
        for (const csrec_param *p = owner[i].params;
             p && p->name && plan->n_parameters < CSREC_PARAMETERS_MOST; p++)
            plan->parameter[plan->n_parameters++] = (csrec_setting){
                p->name, csrec_setting_value(solve, owner[i].kind, p->name, p->value)};
}

static const csrec_solver_type *solver_of(const csrec_recover_options *options) {
    return options->solve.solver ? csrec_solver_find(options->solve.solver) : NULL;
}

/* What many right-hand sides share has no meaning here; a bound of x takes the place of the default
 * one of r. */
static csrec_status resolve_l1(csrec_recover_options *o, csrec_error *error) {
    if (csrec_setting_value(&o->solve, CSREC_OF_SOLVER, "joint", 0.0) != 0.0)
        return csrec_fail(
            error, CSREC_UNSUPPORTED,
            "joint: is for several right-hand sides at once; a recovery solves channels "
            "one by one");
    bool bounds_x = csrec_setting_value(&o->solve, CSREC_OF_SOLVER, "tau", 0.0) > 0.0;
    if (bounds_x && o->solve.stop.epsilon == CSREC_EPSILON_UNSET) o->solve.stop.epsilon = 0.0;
    return CSREC_OK;
}

csrec_status csrec_layout_resolve(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, csrec_wanted wanted,
                                  csrec_layout *plan, csrec_error *error) {
    *plan = (csrec_layout){.resolved.options = *options};
    csrec_recover_options *o = &plan->resolved.options;
    if (csrec_law_is_on(&o->law))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "noise of a law, poisson or light, is for recoveries as a whole; give "
                          "sigma");
    if (o->labels)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "labels: a label map is recovered whole, without expected errors; omit "
                          "labels");
    CSREC_TRY(check(o, error));
    CSREC_TRY(csrec_method_resolve(measurement, o, false, wanted.atoms, &plan->method, error));
    if (!plan->method) {
        plan->choice = csrec_preset_default(measurement, o);
        if (!o->method) o->method = csrec_method_grids.info.name;
        o->by_samples = !measurement->through;
        plan->method = csrec_method_of(o);
        /* Who named no method is not refused for one without an engine. */
        if (!plan->method->on_device) o->backend = csrec_device_name(CSREC_DEVICE_CPU);
    }
    o->method = plan->method->info.name;
    if (!(plan->method->info.accepts & CSREC_ACCEPTS(SOLVER))) o->solve.solver = NULL;
    plan->bounded = o->solve.stop.epsilon > 0.0 || o->solve.stop.sigma > 0.0 ||
                    csrec_measurement_is_noisy(measurement);
    CSREC_TRY(resolve_l1(o, error));
    if (plan->method->complete) plan->method->complete(measurement, wanted.atoms, o);
    const csrec_solver_type *solver = solver_of(o);
    plan->bounded = plan->bounded || (solver && solver->constrained);
    const csrec_span span = csrec_span_of(measurement);
    CSREC_TRY(csrec_curve_check(measurement, o, span, wanted.atoms, error));
    o->curve = csrec_curve_possible(measurement, o, span, wanted.atoms);
    csrec_range_resolve(measurement, span, wanted.atoms, options->range, o);
    if (!(o->interval >= 0.0 && o->interval < 100.0))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "interval is %g; give a percentage above 0 and below 100, or 0 for none",
                          o->interval);
    plan->resolved.method = plan->method->info;
    plan->resolved.by_channels = plan->method->by_channels;
    csrec_owner owner[3];
    csrec_method_owners(o, owner);
    list_parameters(owner, &plan->resolved);
    return csrec_settings_check(&o->solve, 3, owner, error);
}

void csrec_layout_report(const csrec_layout *layout, csrec_recover_report *report) {
    const csrec_solver_type *solver = solver_of(&layout->resolved.options);
    report->method = layout->method->info.name;
    report->estimate = layout->resolved.estimate;
    report->bounded = layout->bounded;
    if (layout->choice) report->choice = layout->choice;
    if (report->outcome == CSREC_UNMET && solver && !layout->bounded)
        report->outcome = solver->select ? CSREC_EXHAUSTED : CSREC_CONVERGED;
}

bool csrec_layout_faster(csrec_device_kind kind, const void *job) {
    const csrec_layout_job *j = job;
    const csrec_task task = csrec_task_of(j->measurement, &j->layout->resolved.options);
    const csrec_method_type *method = j->layout->method;
    (void)kind;
    return method->on_device && method->on_device(&task) && method->device_faster &&
           method->device_faster(&task);
}

csrec_status csrec_layout_make(const csrec_measurement *measurement, csrec_wanted wanted,
                               const csrec_context *context, csrec_layout *plan,
                               csrec_error *error) {
    csrec_task task = csrec_task_of(measurement, &plan->resolved.options);
    task.atoms_alone = wanted.atoms && !wanted.signal;
    const csrec_method_type *method = plan->method;
    char what[64], names[160];
    plan->through = task.through;
    plan->resolved.backend = csrec_device_name(context->kind);
    plan->resolved.estimate = (csrec_estimate){0};
    plan->tiling = (csrec_tiling){.tiles = 1};
    if (context->kind == CSREC_DEVICE_CPU) return fit_cpu(measurement, &task, wanted, plan, error);
    plan->parts = wanted.signal && !wanted.atoms && has_parts(&task);
    if (plan->parts) plan->tiling = csrec_tiling_usual(&task);
    plan->resolved.estimate.tiles = plan->tiling.tiles;
    if (method->on_device && method->on_device(&task)) return CSREC_OK;
    snprintf(what, sizeof what, "method %s%s", method->info.name,
             method->on_device ? " with these options" : "");
    /* Names of the methods that have an engine on a device. */
    *names = '\0';
    for (int i = 0, n = 0; (method = csrec_method_at(i)); i++)
        if (method->on_device)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", n++ ? ", " : "",
                     method->info.name);
    return csrec_device_lacks(context, what, names, error);
}

typedef struct plan_job {
    csrec_layout_job of;
    csrec_wanted wanted;
    const char *where;
    csrec_layout *layout; /* made */
} plan_job;

static csrec_status plan_on(const csrec_context *context, void *job, csrec_error *error) {
    const plan_job *j = job;
    csrec_status status =
        csrec_layout_make(j->of.measurement, j->wanted, context, j->layout, error);
    if (status || !j->where) return status;
    if (!j->layout->parts)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "method %s needs the whole signal%s; use a preset that works in tiles: "
                          "fast, balanced, best",
                          j->layout->method->info.name, j->where);
    return csrec_layout_check(j->layout, error);
}

csrec_status csrec_layout_plan(const csrec_measurement *measurement,
                               const csrec_recover_options *options, csrec_wanted wanted,
                               const char *where, csrec_layout *layout, csrec_error *error) {
    static const csrec_device_work work = {.device_faster = csrec_layout_faster, .run = plan_on};
    plan_job j = {{measurement, layout}, wanted, where, layout};
    csrec_status status = csrec_layout_resolve(measurement, options, wanted, layout, error);
    const char *backend = layout->resolved.options.backend;
    return status ? status : csrec_device_run(backend, &work, &j, NULL, error);
}

csrec_status csrec_recover_plan(const csrec_measurement *measurement,
                                const csrec_recover_options *options, csrec_results results,
                                csrec_plan *plan, csrec_error *error) {
    const csrec_measurement real = csrec_measurement_real(measurement);
    const csrec_wanted wanted = {.signal = results != CSREC_RESULT_ATOMS,
                                 .atoms = results != CSREC_RESULT_SIGNAL};
    csrec_layout layout;
    if (csrec_law_is_on(&options->law))
        return csrec_law_plan(measurement, options, results, plan, error);
    if (options->labels)
        return csrec_labels_recover(measurement, options, wanted, NULL, NULL, plan, error);
    CSREC_TRY(csrec_measurement_check(measurement, "measurement", error));
    CSREC_TRY(csrec_layout_plan(&real, options, wanted, NULL, &layout, error));
    *plan = layout.resolved;
    if (plan->estimate.memory == UINT64_MAX) plan->estimate.memory = csrec_memory_available();
    return CSREC_OK;
}
