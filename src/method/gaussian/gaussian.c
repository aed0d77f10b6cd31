/* SPDX-License-Identifier: BSD-3-Clause */
/* gaussian.c - recovery of pictures and volumes by Gaussian groups: start, rounds, result. */
#include "method/gaussian/gaussian.h"

#include <math.h>

#include "base/clock.h"
#include "base/threads.h"
#include "method/history.h"

/* Constants were measured: docs/gaussian.md. */
#define ROUND(p, s, k, r, e, a)                                                                    \
    {                                                                                              \
        .patch = p, .step = s, .group = k, .radius = r, .diagonal = 2, .trust = 0.5f, .noise = 1,  \
        .em = e, .em_diagonal = 0.2f, .evenness = 5, .every = 3, .again = a, .deep_radius = 4,     \
        .floor = 10                                                                                \
    }
/* The first two, QUICK, are all that quick ones have. */
static const csrec_gaussian_round best_rounds[] = {
    ROUND(8, 6, 40, 24, 1, false), ROUND(8, 6, 40, 24, 1, true),   ROUND(8, 4, 48, 48, 2, false),
    ROUND(8, 4, 48, 48, 2, true),  ROUND(10, 5, 64, 48, 1, false), ROUND(10, 5, 64, 48, 1, true)};

static const csrec_gaussian_round quick_cubes[] = {ROUND(4, 2, 48, 4, 1, false)};
static const csrec_gaussian_round best_cubes[] = {
    ROUND(4, 2, 80, 8, 1, false), ROUND(4, 2, 80, 8, 1, true), ROUND(5, 3, 96, 8, 1, false)};

/* For pictures with pooled channels, which give the same amount of data from fewer patches. */
static const csrec_gaussian_round best_pooled[] = {
    ROUND(8, 6, 24, 24, 1, false), ROUND(8, 6, 24, 24, 1, true),   ROUND(8, 4, 24, 48, 2, false),
    ROUND(8, 4, 24, 48, 2, true),  ROUND(10, 5, 32, 48, 1, false), ROUND(10, 5, 32, 48, 1, true)};

static const csrec_param params[] = {
    {"effort", 1, 0, 1,
     "0: fast; 1: more rounds, for pictures with patches of 8 and 10 pixels: the best result"},
    {0}};

static const csrec_setting small_blocks[] = {{"block", 8}};

enum {
    QUICK = 2,
    BEST = sizeof best_rounds / sizeof *best_rounds,
    QUICK_CUBES = sizeof quick_cubes / sizeof *quick_cubes,
    BEST_CUBES = sizeof best_cubes / sizeof *best_cubes,
    THREADS_MOST = 256,
    MARGIN = 3,
    MARGIN_3D = 2
};

/* Below this share of samples, patches are matched with a margin: fewer false matches, but also
 * fewer true ones that end inside the margin. */
static const double SPARSE = 0.17;

typedef struct job {
    const csrec_recovery *r;
    const csrec_measurement *m;
    csrec_shape shape; /* of two axes: a picture, or three */
    const csrec_gaussian_round *rounds;
    int count, round, threads;
    int64_t entries;
    double *middle, unit; /* value = middle[c] + unit * scaled value */
    float *values;        /* [channels][3][entries] samples, estimate, variance */
    unsigned char *mask;
    csrec_gaussian_picture picture;
    csrec_gaussian_axes axes; /* axes of y and u */
    const csrec_gaussian_engine *engine;
    void *state; /* the engine's, or NULL */
    bool stopped;
    csrec_pool pool; /* of all arrays */
    csrec_call call;
} job;

static bool suits(const csrec_measurement *measurement) {
    const int64_t most = INT64_C(1) << 30;
    int64_t entries;
    int dims = measurement->shape.dims;
    return (dims == 2 || dims == 3) && !csrec_shape_count(&measurement->shape, &entries) &&
           entries <= most && measurement->channels <= (most << 8) / entries;
}

/* A volume with an axis of length 1 is a picture. */
static csrec_shape shape_of(const csrec_measurement *m) {
    csrec_shape shape = m->shape;
    for (int a = 0; a < shape.dims && shape.dims > 2;) {
        if (shape.dim[a] > 1) {
            a++;
            continue;
        }
        shape.dims--;
        for (int b = a; b < shape.dims; b++) shape.dim[b] = shape.dim[b + 1];
    }
    return shape;
}

static bool is_volume(const job *j) {
    return j->shape.dims > 2;
}

const csrec_gaussian_round *csrec_gaussian_rounds(bool volume, bool pooled, bool quick, bool given,
                                                  int *count) {
    const int skipped = given && !volume && !quick ? QUICK : 0; /* for a better start */
    *count = volume ? quick ? QUICK_CUBES : BEST_CUBES : quick ? QUICK : BEST - skipped;
    return skipped + (volume   ? quick ? quick_cubes : best_cubes
                      : pooled ? best_pooled
                               : best_rounds);
}

int csrec_gaussian_margin(double n, double entries, bool volume) {
    return n < SPARSE * entries ? volume ? MARGIN_3D : MARGIN : 0;
}

static csrec_status allocate(job *j) {
    size_t entries = (size_t)j->entries, channels = (size_t)j->m->channels;
    float **rows = CSREC_TAKE(&j->pool, j->picture.y, 3 * channels);
    CSREC_TAKE(&j->pool, j->middle, channels);
    CSREC_ZEROS(&j->pool, j->values, 3 * entries * channels);
    CSREC_ZEROS(&j->pool, j->mask, entries);
    if (j->pool.lacks) return CSREC_MEMORY;
    for (size_t i = 0; i < 3 * channels; i++) rows[i] = j->values + i * entries;
    j->picture.u = rows + channels;
    j->picture.variance = rows + 2 * channels;
    return CSREC_OK;
}

static float value_of(const job *j, int64_t channel, double y) {
    return (float)((y - j->middle[channel]) / j->unit);
}

static csrec_status set_up(job *j) {
    const csrec_measurement *m = j->m;
    CSREC_TRY(allocate(j));
    j->unit = csrec_tones_unit(m, j->r->whole, j->middle);
    for (int64_t i = 0; i < m->n; i++) {
        j->mask[m->index[i]] = 1;
        for (int64_t c = 0; c < m->channels; c++)
            j->picture.y[c][m->index[i]] = value_of(j, c, m->y[i * m->channels + c]);
    }
    j->picture.depth = j->shape.dims > 2 ? (int)j->shape.dim[0] : 1;
    j->picture.height = (int)j->shape.dim[j->shape.dims - 2];
    j->picture.width = (int)j->shape.dim[j->shape.dims - 1];
    j->picture.channels = (int)m->channels;
    j->picture.mask = j->mask;
    j->picture.sigma = csrec_tones_sigma(m, j->unit);
    return CSREC_OK;
}

static double tones_of(const void *context, int64_t channel, double y) {
    return (double)value_of(context, channel, y);
}

/* The estimate from a whole signal in units of `unit` from `middle`; samples without noise stay. */
static void take_start(job *j, double unit, const double *middle) {
    const int64_t channels = j->m->channels;
    const double *signal = j->r->signal;
    for (int64_t i = 0; i < j->entries; i++)
        for (int64_t c = 0; c < channels; c++) {
            double value = (signal[i * channels + c] - (middle ? middle[c] : 0.0)) / unit;
            j->picture.u[c][i] =
                j->mask[i] && !(j->picture.sigma > 0.0f) ? j->picture.y[c][i] : (float)value;
        }
}

/* Thresholded blocks, on scaled samples: squares are finite. */
static csrec_status start(job *j, csrec_error *error) {
    csrec_measurement shaped = *j->m;
    csrec_recover_options options = csrec_options_within(j->r->options, &j->call);
    options.method = csrec_method_frames.info.name;
    if (is_volume(j)) { /* larger blocks are worse: docs/gaussian.md */
        options.solve.settings = small_blocks;
        options.solve.n_settings = 1;
    }
    shaped.shape = j->shape;
    const csrec_recovery own = {.measurement = &shaped,
                                .whole = j->r->whole,
                                .context = j->r->context,
                                .signal = j->r->signal,
                                .report = j->r->report};
    CSREC_TRY(csrec_recover_in_tones(&own, &options, j->m->sigma / j->unit, tones_of, j, error));
    j->stopped = csrec_call_stopped(&j->call);
    take_start(j, 1.0, NULL);
    return CSREC_OK;
}

static void deliver(const job *j) {
    const csrec_measurement *m = j->m;
    double *signal = j->r->signal;
    for (int64_t i = 0; i < j->entries; i++)
        for (int64_t c = 0; c < m->channels; c++)
            signal[i * m->channels + c] =
                j->middle[c] + j->unit * csrec_gaussian_axes_back(&j->axes, j->picture.u, c, i);
    csrec_samples_restore(m, signal);
}

/* Those of the last round, with its weights. */
static void deliver_variance(const job *j, double *variance) {
    int64_t channels = j->m->channels;
    for (int64_t i = 0; i < j->entries; i++)
        for (int64_t c = 0; c < channels; c++)
            variance[i * channels + c] =
                j->unit * j->unit *
                csrec_gaussian_axes_variance(&j->axes, j->picture.variance, c, i);
}

/* Three channels are colours. Without noise they share one covariance; with noise, which affects
 * weak channels most, each principal colour has its own. */
static void choose_colours(job *j) {
    enum { COLOURS = 3 };
    if (j->m->channels != COLOURS || is_volume(j)) return;
    j->picture.guides = COLOURS;
    j->picture.pooled = !(j->m->sigma > 0.0);
}

static void turn_colours(job *j) {
    if (j->picture.guides == 0 || j->picture.pooled) return;
    if (j->r->whole->axes)
        j->axes = *j->r->whole->axes;
    else
        csrec_gaussian_axes_find(&j->picture, &j->axes);
    csrec_gaussian_axes_turn(&j->axes, &j->picture);
}

/* The start counts as a round of the history. */
static csrec_status run(job *j, csrec_error *error) {
    const csrec_gaussian_plan plan = {j->rounds, j->count, j->r->options->seed, j->threads,
                                      &j->call};
    csrec_status status = CSREC_OK;
    if (!j->stopped)
        status = j->engine->create(j->r->context, &j->picture, &plan, &j->state, error);
    csrec_record *record = csrec_history_record(j->r->options->history, 0,
                                                "rounds of groups, after the start", "round", -1);
    csrec_record_signal(record, 1, j->r->signal);
    for (j->round = 0; j->round < j->count && !j->stopped && !status; j->round++) {
        csrec_gaussian_round round = j->rounds[j->round];
        round.margin = csrec_gaussian_margin((double)j->r->whole->n, (double)j->r->whole->entries,
                                             is_volume(j));
        status = j->engine->run(j->state, &round, j->round, error);
        j->stopped = csrec_call_stopped(&j->call);
        if (!status && record) status = j->engine->get(j->state, &j->picture, error);
        if (status || !record) continue;
        deliver(j);
        csrec_record_signal(record, j->round + 2, j->r->signal);
    }
    return status || !j->state ? status : j->engine->get(j->state, &j->picture, error);
}

static const csrec_gaussian_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(&csrec_gaussian_cpu, &csrec_gaussian_cuda);

static csrec_status recover_from(const csrec_recovery *r, bool given, csrec_error *error) {
    const csrec_measurement *measurement = r->measurement;
    const csrec_recover_options *options = r->options;
    csrec_recover_report *report = r->report;
    double began = csrec_seconds();
    double effort =
        csrec_setting_value(&options->solve, CSREC_OF_METHOD, params->name, params->value);
    job j = {.r = r,
             .m = measurement,
             .shape = shape_of(measurement),
             .engine = engines[r->context->kind],
             .threads = csrec_threads(options->threads)};
    if (j.threads > THREADS_MOST) j.threads = THREADS_MOST;
    csrec_shape_count(&measurement->shape, &j.entries);
    choose_colours(&j);
    j.rounds =
        csrec_gaussian_rounds(is_volume(&j), j.picture.pooled, effort < 1.0, given, &j.count);
    csrec_call_begin(&j.call, options->solve.progress, options->solve.context,
                     (csrec_progress){CSREC_STAGE_GROUPS, 0, j.count, -1.0});
    csrec_status status = set_up(&j);
    if (status) csrec_fail(error, status, "out of memory");
    if (!status && given)
        take_start(&j, j.unit, j.middle);
    else if (!status)
        status = start(&j, error);
    if (!status) {
        deliver(&j);
        turn_colours(&j);
        status = run(&j, error);
    }
    if (!status) deliver(&j);
    if (!status && r->variance && !j.stopped) deliver_variance(&j, r->variance);
    report->outcome = j.stopped ? CSREC_INTERRUPTED : CSREC_DONE;
    report->seconds_pursuit = csrec_seconds() - began;
    csrec_call_end(&j.call);
    j.engine->destroy(j.state);
    csrec_pool_clear(&j.pool);
    return status;
}

static csrec_status recover(const csrec_recovery *r, csrec_error *error) {
    return recover_from(r, false, error);
}

csrec_status csrec_gaussian_refine(const csrec_recovery *recovery, csrec_error *error) {
    return recover_from(recovery, true, error);
}

/* The rounds, by the estimate of the CPU's time (need.c), against a device's first use. Pictures
 * start on the device as well, volumes do not. Milliseconds on 16 threads and on an H200
 * (bench/cuda.py), one channel:
 *
 *                      256 x 256   512 x 512
 *     effort 0           103, 5     396, 22
 *     effort 1          668, 22    2745, 76
 *
 * One thread takes 4.5 times as long as 16. Colours and volumes: as the operations counted there.
 */
static bool device_faster(const csrec_task *task) {
    enum { THREADS = 4 };
    const double first_use = 0.2;
    csrec_task few = *task;
    few.threads = csrec_threads_wanted(task->options->threads);
    if (few.threads > THREADS) few.threads = THREADS;
    return csrec_gaussian_refine_need(&few).seconds > first_use;
}

const csrec_method_type csrec_method_gaussian = {
    .info = {.name = "gaussian",
             .topic = "pictures",
             .brief = "a Gaussian for each group of similar patches, fitted to the samples",
             .source = "Yu, Sapiro and Mallat 2012, section III; docs/gaussian.md",
             .solver = "gaussian",
             .device = "start and rounds"},
    .params = params,
    .suits = suits,
    .wants = "a picture or a volume, two or three axes and at most 2^30 entries",
    .need = csrec_gaussian_need,
    .parts = csrec_task_always,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = recover};
