/* adaptive.c - recovery of pictures over grids adapted to the picture: the method's table row.
 * passes.c schedules the passes; docs/pictures.md lists rejected alternatives. */
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "method/adaptive/engine.h"
#include "method/adaptive/recipe.h"
#include "method/history.h"
#include "method/method.h"
#include "method/tones.h"
#include "operator/operator.h"

enum { MOST_THREADS = 31 /* classes summed at a time; each thread has its own sums */ };

static void fill_report(csrec_picture *p, double seconds, csrec_recover_report *report) {
    bool stopped = csrec_team_stopped(&p->team);
    *report = (csrec_recover_report){.outcome = stopped ? CSREC_INTERRUPTED : CSREC_DONE,
                                     .levels = p->levels,
                                     .seconds_pursuit = seconds,
                                     .pursuits = p->grids_fitted * p->channels,
                                     .iterations = p->leaves * p->channels};
}

static bool suits(const csrec_measurement *measurement) {
    const int64_t most = INT64_C(1) << 30;
    int64_t entries;
    return measurement->shape.dims == 2 && !csrec_shape_count(&measurement->shape, &entries) &&
           entries <= most && measurement->channels <= (most << 8) / entries;
}

static int threads_of(const csrec_recover_options *options) {
    int threads = csrec_threads(options->threads);
    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

static csrec_status recover(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *measurement = r->measurement;
    const csrec_recover_options *options = r->options;
    csrec_picture picture;
    bool expects = r->variance && r->context->kind == CSREC_DEVICE_CPU;
    csrec_status status = csrec_picture_create(measurement, r->whole, options, threads_of(options),
                                               expects, &picture, error);
    if (status) return status;
    double start = csrec_seconds();
    csrec_team_begin(&picture.team, options->solve.progress, options->solve.context,
                     (csrec_progress){CSREC_STAGE_CLASSES, 0, 0, -1.0});
    picture.measurement = measurement;
    picture.record =
        csrec_history_record(options->history, 0, "passes over adaptive grids", "pass", -1);
    status = csrec_adaptive_passes(r->context, &picture, error);
    if (!status) {
        csrec_picture_deliver(&picture, measurement, picture.u, r->signal);
        if (expects && !csrec_team_stopped(&picture.team))
            csrec_picture_deliver_variance(&picture, r->variance);
        fill_report(&picture, csrec_seconds() - start, r->report);
        r->report->backend = csrec_device_name(r->context->kind);
    }
    csrec_team_end(&picture.team);
    csrec_picture_clear(&picture);
    return status;
}

/* Every grid sorts the samples and looks up all sites. */
static csrec_need need_of(const csrec_task *task) {
    static const double per_site = 1.38e-8, per_sample = 4.9e-8; /* seconds per grid */
    double sites = (double)task->entries, n = (double)task->n, channels = (double)task->channels;
    const int grids =
        CSREC_CLASS_PASSES * CSREC_CLASS_GRIDS + CSREC_FEATURE_PASSES * CSREC_FEATURE_GRIDS;
    int threads = task->threads < MOST_THREADS ? task->threads : MOST_THREADS;
    double work = grids * (per_site * sites + per_sample * n) * (0.75 + 0.25 * channels);
    return (csrec_need){csrec_picture_bytes(sites, n, channels, task->noisy, threads) +
                            csrec_signal_bytes(task),
                        csrec_task_share(task, work, CSREC_CLASSES)};
}

static void stages_of(const csrec_task *task, csrec_stages *stages) {
    const double classes = CSREC_CLASS_PASSES * CSREC_CLASS_GRIDS,
                 features = CSREC_FEATURE_PASSES * CSREC_FEATURE_GRIDS;
    double grid = need_of(task).seconds / (classes + features);
    csrec_stages_add(stages, CSREC_STAGE_CLASSES, classes * grid);
    csrec_stages_add(stages, CSREC_STAGE_FEATURES, features * grid);
}

/* Milliseconds on 16 threads and on an H200 (bench/cuda_gaussian.c), whose first use takes 200: 96
 * and 6 for 256 x 256 pixels, 437 and 18 for 512 x 512. One thread takes 4.5 times as long as
 * 16. */
static bool pays(const csrec_task *task) {
    enum { ENTRIES = 1 << 15, THREADS = 4 };
    int64_t threads = csrec_threads_wanted(task->options->threads);
    if (threads > THREADS) threads = THREADS;
    return task->channels * (task->entries / threads) >= ENTRIES;
}

static bool works_with(const char *solver, const char *basis) {
    (void)solver;
    return !basis || strcmp(basis, csrec_operator_haar.name) == 0;
}

/* The basis of the recovery. */
static bool is_chosen(const csrec_recover_options *options) {
    csrec_recover_options rest = *options;
    rest.basis = NULL;
    return options->basis && works_with(NULL, options->basis) && !csrec_method_grids.chosen(&rest);
}

static void complete(const csrec_measurement *measurement, bool atoms,
                     csrec_recover_options *options) {
    (void)measurement;
    (void)atoms;
    options->basis = csrec_operator_haar.name;
}

const csrec_method_type csrec_method_adaptive = {
    .shown = {.name = "adaptive",
              .brief = "the mean of closed-form pursuits on Haar grids that follow the picture",
              .source = "docs/pictures.md",
              .takes = CSREC_TAKES(BASIS),
              .device = "all"},
    .chosen = is_chosen,
    .works_with = works_with,
    .suits = suits,
    .wants = "a picture, two axes and at most 2^30 pixels",
    .complete = complete,
    .need = need_of,
    .stages = stages_of,
    .parts = csrec_task_always,
    .on_device = csrec_task_always,
    .pays = pays,
    .run = recover};
