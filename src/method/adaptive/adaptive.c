/* adaptive.c - recovery of pictures over grids that follow the picture: the recipe.
 *
 * First grids of position alone, in classes of direction and elongation: the classes are weighed at
 * each pixel by their errors at the samples around it. Then grids of position and of features of
 * the recovery so far. Every pass also corrects the previous one: it fits y - alpha u. A fit at a
 * sample is the one without that sample, so errors and residuals there are like those elsewhere.
 *
 * Fits are summed as integers, classes are combined in their order: the result does not depend on
 * the number of threads. docs/pictures.md tells what else was tried.
 */
#include <float.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "method/adaptive/device.h"
#include "method/adaptive/recipe.h"
#include "method/history.h"
#include "method/method.h"
#include "method/tones.h"
#include "operator/operator.h"

enum { MOST_THREADS = 31 /* classes; each thread has its own sums */ };

/* ------------------------------------------------------------------ one grid */

/* z is below 4 times the largest sample; sums of CSREC_FEATURE_GRIDS values stay below 2^31. */
static float units_of(const csrec_picture *p) {
    float largest = 0.0f, units = 0x1p24f;
    int64_t values = (int64_t)p->samples * p->channels;
    for (int64_t k = 0; k < values; k++) {
        float v = p->y[k] < 0.0f ? -p->y[k] : p->y[k];
        largest = v > largest ? v : largest;
    }
    for (; largest > 1.0f && units > FLT_MIN; largest *= 0.5f) units *= 0.5f;
    return units;
}

static void add_grid(const csrec_picture *p, csrec_adaptive_thread *t, float units) {
    csrec_axes_rows(t->axes, &p->base, 0, p->samples, t->fit.row[0]);
    csrec_fit_build(&t->fit, t->axes->bits, p->z, p->threshold, units);
    csrec_fit_add_samples(&t->fit, p->z, units, t->sum);
    for (int64_t site = p->samples; site < p->sites; site += CSREC_FIT_BLOCK) {
        uint64_t rows[CSREC_FIT_BLOCK];
        int64_t left = p->sites - site;
        int count = left < CSREC_FIT_BLOCK ? (int)left : CSREC_FIT_BLOCK;
        csrec_axes_rows(t->axes, &p->base, site, count, rows);
        csrec_fit_add_rows(&t->fit, count, rows, t->sum + site * p->channels);
    }
    t->leaves += t->fit.leaves;
    t->grids++;
}

/* After each grid. */
static void count_grid(csrec_picture *p, const char *stage) {
    int64_t done;
#pragma omp atomic capture
    done = ++p->grids_done;
    csrec_progress progress = {.stage = stage, .done = done, .total = p->grids, .residual = -1.0};
    csrec_team_report(&p->team, &progress);
}

/* ------------------------------------------------------------------ class passes */

/* Mean of squared errors over channels; in doubles, where equal channels leave the bits of one. */
static void square_errors(const csrec_picture *p, csrec_adaptive_thread *t, float scale) {
    for (int64_t i = 0; i < p->samples; i++) {
        double sum = 0.0;
        for (int64_t k = i * p->channels; k < (i + 1) * p->channels; k++) {
            double e = (double)(p->z[k] - scale * (float)t->sum[k]);
            sum += e * e;
        }
        t->square[i] = (float)(sum / p->channels);
    }
}

static void run_class(csrec_picture *p, csrec_adaptive_thread *t, const csrec_grid_class *class,
                      int pass, float units) {
    memset(t->sum, 0, (size_t)p->sites * (size_t)p->channels * sizeof *t->sum);
    for (int g = 0; g < class->grids && !csrec_team_stopped(&p->team); g++) {
        csrec_recipe_class(class, pass, g, p->options->seed, t->axes);
        csrec_axes_complete(t->axes, &p->base, p->samples);
        add_grid(p, t, units);
        if (pass == 0 && class->first + g == 0) p->levels = t->axes->bits;
        count_grid(p, "class grids");
    }
    square_errors(p, t, 1.0f / ((float)class->grids * units));
    csrec_error_map_smooth(&p->map, p->samples, p->pixel, t->square,
                           t->cells + (int64_t)p->map.h * p->map.w, t->cells);
}

/* Cells of errors E become (E + 4)^-6 relative to the pass's first class, whose E is kept: the
 * ratio, held within 10^+-4, keeps the sixth power within the range of a float. */
static void weigh_cells(const csrec_picture *p, float *cells, bool first) {
    const float little = 4.0f;
    int64_t count = (int64_t)p->map.h * p->map.w;
    for (int64_t k = 0; k < count; k++) {
        float e = cells[k] + little;
        if (first) p->reference[k] = e;
        float ratio = p->reference[k] / e;
        ratio = ratio < 1e4f ? ratio : 1e4f;
        ratio = ratio > 1e-4f ? ratio : 1e-4f;
        cells[k] = ratio * ratio * ratio * ratio * ratio * ratio;
    }
}

static void combine_line(const csrec_picture *p, const csrec_adaptive_thread *from, int64_t y,
                         float scale, float *line) {
    float *weight = line + p->width;
    csrec_error_map_line(&p->map, from->cells, (int32_t)y, line, weight);
    const int32_t *site = p->site + y * p->width;
    for (int32_t x = 0; x < p->width; x++) {
        int64_t k = site[x];
        p->weights[k] += weight[x];
        for (int64_t c = k * p->channels; c < (k + 1) * p->channels; c++)
            p->weighted[c] += weight[x] * (scale * (float)from->sum[c]);
    }
}

/* Classes of a batch, one a thread, are added in their order. */
static void combine(csrec_picture *p, const csrec_grid_class *class, int count, bool first,
                    float units) {
    for (int k = 0; k < count; k++) weigh_cells(p, p->thread[k].cells, first && k == 0);
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t y = 0; y < p->height; y++)
        for (int k = 0; k < count; k++) {
            float scale = 1.0f / ((float)class[k].grids * units);
            combine_line(p, &p->thread[k], y, scale, p->thread[omp_get_thread_num()].line);
        }
}

static void add_to_recovery(csrec_picture *p, float alpha) {
    for (int64_t k = 0; k < p->sites; k++) {
        float scale = 1.0f / p->weights[k];
        for (int64_t c = k * p->channels; c < (k + 1) * p->channels; c++)
            p->u[c] = alpha * p->u[c] + p->weighted[c] * scale;
    }
}

/* Stopped in the first pass, what there is counts; later, the pass does not. */
static void class_pass(csrec_picture *p, int pass, const csrec_grid_class *list, float units) {
    float alpha = csrec_class_alpha[pass];
    int done = 0;
    csrec_picture_residual(p, alpha);
    memset(p->weighted, 0, (size_t)p->sites * (size_t)p->channels * sizeof *p->weighted);
    memset(p->weights, 0, (size_t)p->sites * sizeof *p->weights);
    while (done < CSREC_CLASSES && !csrec_team_stopped(&p->team)) {
        int left = CSREC_CLASSES - done, batch = left < p->threads ? left : p->threads;
#pragma omp parallel num_threads(p->threads)
        {
#pragma omp for schedule(static, 1) nowait
            for (int k = 0; k < batch; k++)
                run_class(p, &p->thread[k], &list[done + k], pass, units);
            csrec_team_gather(&p->team);
        }
        if (csrec_team_stopped(&p->team)) break;
        combine(p, list + done, batch, done == 0, units);
        done += batch;
    }
    if (done == CSREC_CLASSES || (pass == 0 && done > 0)) add_to_recovery(p, alpha);
}

static csrec_status class_stage(csrec_picture *p, float units) {
    csrec_grid_class list[CSREC_CLASSES];
    csrec_classes_list(list);
    p->grids_done = 0;
    p->grids = CSREC_CLASS_GRIDS * CSREC_CLASS_PASSES;
    csrec_status status = CSREC_OK;
    for (int pass = 0; pass < CSREC_CLASS_PASSES && !csrec_team_stopped(&p->team) && !status;
         pass++) {
        class_pass(p, pass, list, units);
        status = csrec_picture_take_down(p);
    }
    return status;
}

/* ------------------------------------------------------------------ feature passes */

static void feature_grids(csrec_picture *p, int pass, float units) {
    size_t bytes = (size_t)p->sites * (size_t)p->channels * sizeof(int32_t);
    for (int t = 0; t < p->threads; t++) memset(p->thread[t].sum, 0, bytes);
#pragma omp parallel num_threads(p->threads)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int g = 0; g < CSREC_FEATURE_GRIDS; g++) {
            csrec_adaptive_thread *t = &p->thread[omp_get_thread_num()];
            if (csrec_team_stopped(&p->team)) continue;
            csrec_recipe_feature(pass, g, p->options->seed, t->axes);
            csrec_axes_complete(t->axes, &p->base, p->samples);
            add_grid(p, t, units);
            count_grid(p, "feature grids");
        }
        csrec_team_gather(&p->team);
    }
}

static void add_mean_of_grids(csrec_picture *p, float alpha, float units) {
    float scale = 1.0f / ((float)CSREC_FEATURE_GRIDS * units);
    int64_t values = (int64_t)p->sites * p->channels;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t k = 0; k < values; k++) {
        int32_t sum = 0;
        for (int t = 0; t < p->threads; t++) sum += p->thread[t].sum[k];
        p->u[k] = alpha * p->u[k] + scale * (float)sum;
    }
}

/* p->weighted takes the recovery before the last pass. */
static csrec_status feature_stage(csrec_picture *p, float units, int *passes) {
    int64_t values = (int64_t)p->sites * p->channels;
    csrec_status status = CSREC_OK;
    int pass = 0;
    p->grids_done = 0;
    p->grids = CSREC_FEATURE_GRIDS * CSREC_FEATURE_PASSES;
    for (; pass < CSREC_FEATURE_PASSES && !csrec_team_stopped(&p->team) && !status; pass++) {
        const csrec_feature_pass *with = &csrec_feature_passes[pass];
        csrec_picture_features(p, with->radius, with->width);
        csrec_picture_residual(p, with->alpha);
        feature_grids(p, pass, units);
        if (csrec_team_stopped(&p->team)) break;
        memcpy(p->weighted, p->u, (size_t)values * sizeof *p->u);
        add_mean_of_grids(p, with->alpha, units);
        status = csrec_picture_take_down(p);
    }
    *passes = pass;
    return status;
}

static csrec_status run_here(csrec_picture *p, float units, int *passes, csrec_error *error) {
    csrec_status status = class_stage(p, units);
    if (!status) status = feature_stage(p, units, passes);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

static csrec_status run(csrec_picture *p, const csrec_adaptive_device *device, csrec_error *error) {
    float units = units_of(p);
    int passes = 0;
    csrec_status status = device ? csrec_adaptive_run(device, p, units, &passes, error)
                                 : run_here(p, units, &passes, error);
    if (status) return status;
    int64_t values = (int64_t)p->sites * p->channels;
    for (int64_t k = 0; passes >= CSREC_PASSES_AVERAGED && k < values; k++)
        p->u[k] = 0.5f * (p->u[k] + p->weighted[k]);
    return CSREC_OK;
}

static void fill_report(csrec_picture *p, double seconds, csrec_recover_report *report) {
    bool stopped = csrec_team_stopped(&p->team);
    *report = (csrec_recover_report){.outcome = stopped ? CSREC_INTERRUPTED : CSREC_DONE,
                                     .levels = p->levels,
                                     .seconds_pursuit = seconds,
                                     .pursuits = p->grids_fitted * p->channels,
                                     .iterations = p->leaves * p->channels};
    for (int t = 0; t < p->threads; t++) {
        report->pursuits += p->thread[t].grids * p->channels;
        report->iterations += p->thread[t].leaves * p->channels;
    }
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
    const csrec_adaptive_device *device = r->backend->adaptive;
    csrec_picture picture;
    int threads = device ? 0 : threads_of(options);
    csrec_status status =
        csrec_picture_create(measurement, r->whole, options, threads, &picture, error);
    if (status) return status;
    double start = csrec_seconds();
    csrec_team_begin(&picture.team, options->solve.progress, options->solve.context,
                     (csrec_progress){"class grids", 0, 0, -1.0});
    picture.measurement = measurement;
    picture.record =
        csrec_history_record(options->history, 0, "passes over adaptive grids", "pass", -1);
    status = run(&picture, device, error);
    if (!status) {
        csrec_picture_deliver(&picture, measurement, picture.u, r->signal);
        fill_report(&picture, csrec_seconds() - start, r->report);
        r->report->backend = r->backend->name;
    }
    csrec_team_end(&picture.team);
    csrec_picture_clear(&picture);
    return status;
}

/* Every grid sorts the samples and looks up all sites. */
static csrec_need need_of(const csrec_task *task) {
    static const double per_site = 1.38e-8, per_sample = 4.9e-8; /* seconds a grid */
    double sites = (double)task->entries, n = (double)task->n, channels = (double)task->channels;
    const int grids =
        CSREC_CLASS_PASSES * CSREC_CLASS_GRIDS + CSREC_FEATURE_PASSES * CSREC_FEATURE_GRIDS;
    int threads = task->threads < MOST_THREADS ? task->threads : MOST_THREADS;
    double work = grids * (per_site * sites + per_sample * n) * (0.75 + 0.25 * channels);
    return (csrec_need){csrec_picture_bytes(sites, n, channels, task->noisy, threads) +
                            csrec_signal_bytes(task),
                        csrec_task_share(task, work, CSREC_CLASSES)};
}

/* Milliseconds of 16 threads and of the device, H200 (bench/cuda_gaussian.c), whose first use takes
 * 200: 96 and 6 of 256 x 256 pixels, 437 and 18 of 512 x 512. One thread takes 4.5 times as long as
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

/* The basis that it is in. */
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
              .takes = CSREC_TAKES(BASIS)},
    .chosen = is_chosen,
    .works_with = works_with,
    .suits = suits,
    .wants = "a picture, two axes and at most 2^30 pixels",
    .complete = complete,
    .need = need_of,
    .parts = csrec_task_always,
    .on_device = csrec_task_always,
    .pays = pays,
    .run = recover};
