/* slabs.c - recovery of signals larger than memory: tiles are recovered line by line along the
 * first axis, and the cells of a line are in memory until they are taken (slabs_take.c). */
#include "recover/parts/slabs.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "method/model.h"
#include "method/normal.h"
#include "recover/parts/journal.h"
#include "recover/recover.h"

/* ------------------------------------------------------------------ samples ------------------- */

static csrec_status check_part(const csrec_slabs *s, csrec_slab slab, const csrec_measurement *part,
                               csrec_error *error) {
    csrec_shape shape = s->form.shape;
    shape.dim[0] = slab.count;
    if (!csrec_shape_equal(&part->shape, &shape) || part->channels != s->form.channels)
        return csrec_fail(error, CSREC_DATA,
                          "a slab has another shape than the whole; the file changed");
    return part->n > 0 ? csrec_measurement_check(part, "measurement", error) : CSREC_OK;
}

static csrec_status read_part(const csrec_slabs *s, csrec_slab slab, csrec_measurement *part,
                              csrec_error *error) {
    *part = (csrec_measurement){.n = 0};
    csrec_status status = s->read(s->context, slab, part, error);
    if (status) return status;
    status = check_part(s, slab, part, error);
    if (status) csrec_measurement_clear(part);
    return status;
}

static bool stops(const csrec_slabs *s, int64_t done) {
    const csrec_solve_options *o = &s->given.solve;
    csrec_progress now = {"reading", done, s->form.shape.dim[0], -1.0};
    return o->progress && o->progress(&now, o->context);
}

static bool waits_no_more(void *slabs) {
    const csrec_slabs *s = slabs;
    const csrec_solve_options *o = &s->given.solve;
    csrec_progress now = {"tiles", s->spread.end, s->layout.tiling.tiles, -1.0};
    return o->progress && o->progress(&now, o->context);
}

static csrec_status stopped(csrec_error *error) {
    return csrec_fail(error, CSREC_STOPPED, "stopped before the whole was recovered");
}

/* Surveys a band into `packed`. */
static csrec_status survey_band(csrec_slabs *s, csrec_slab rows, csrec_survey *band, char *packed,
                                csrec_error *error) {
    csrec_measurement part;
    csrec_status status = stops(s, rows.first) ? stopped(error) : read_part(s, rows, &part, error);
    if (status) return status;
    csrec_survey_add(band, part.n, part.y);
    csrec_measurement_clear(&part);
    csrec_survey_pack(band, packed);
    csrec_survey_empty(band);
    return CSREC_OK;
}

/* Each process surveys its share of the bands. */
static csrec_status survey_bands(csrec_slabs *s, csrec_survey *band, csrec_error *error) {
    csrec_comm *comm = s->given.comm;
    int64_t all = s->form.shape.dim[0], step = csrec_survey_band(&s->form.shape, s->form.channels);
    int64_t n = (all + step - 1) / step,
            end = csrec_spread_first(comm, n, csrec_comm_rank(comm) + 1);
    size_t size = csrec_survey_packed(s->form.channels);
    char *packed = malloc((size_t)n * size);
    csrec_status status = packed ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t b = csrec_spread_first(comm, n, csrec_comm_rank(comm)); b < end && !status; b++) {
        csrec_slab rows = {b * step, all - b * step < step ? all - b * step : step};
        status = survey_band(s, rows, band, packed + (size_t)b * size, error);
    }
    if (!status && comm) status = csrec_spread_exchange(comm, n, size, packed, error);
    for (int64_t b = 0; b < n && !status; b++) {
        csrec_survey_unpack(packed + (size_t)b * size, band);
        csrec_survey_join(&s->survey, band);
    }
    free(packed);
    return status;
}

static csrec_status survey_all(csrec_slabs *s, csrec_error *error) {
    csrec_survey band = {.channels = 0};
    int64_t entries = 0;
    csrec_status status = csrec_survey_create(s->form.channels, &s->survey, error);
    if (!status) status = csrec_survey_create(s->form.channels, &band, error);
    if (!status) status = survey_bands(s, &band, error);
    csrec_survey_clear(&band);
    if (status) return status;
    s->form.n = s->survey.n;
    csrec_shape_count(&s->form.shape, &entries);
    if (s->form.n == 0)
        return csrec_fail(error, CSREC_DATA,
                          "no entry is known (all transparent, masked out, NaN or of the value for "
                          "unknown); one must be");
    s->unit = s->survey.unit;
    return csrec_survey_whole(&s->survey, entries, s->unit, &s->axes, &s->whole, error);
}

/* ------------------------------------------------------------------ plan ---------------------- */

static bool pays(csrec_device_kind kind, const void *job) {
    const csrec_slabs *s = job;
    (void)kind;
    return csrec_layout_pays(&s->form, &s->layout);
}

/* Processes that share what one of them could recover at once have the tiles of that. */
static csrec_wanted wanted_of(const csrec_slabs *s) {
    return (csrec_wanted){.signal = true, .slabs = csrec_comm_size(s->given.comm) == 1 || s->pays};
}

static csrec_status plan_on(const csrec_context *context, void *job, csrec_error *error) {
    csrec_slabs *s = job;
    csrec_status status = csrec_layout_make(&s->form, wanted_of(s), context, &s->layout, error);
    if (status) return status;
    if (!s->layout.parts)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "method %s needs the whole signal in %s; use a preset that works in "
                          "tiles: fast, balanced, best",
                          s->layout.method->shown.name,
                          csrec_comm_size(s->given.comm) > 1 ? "one process" : "memory");
    return csrec_layout_check(&s->layout, error);
}

static csrec_status plan(csrec_slabs *s, csrec_error *error) {
    static const csrec_device_work work = {.pays = pays, .run = plan_on};
    csrec_status status =
        csrec_layout_resolve(&s->form, &s->given, wanted_of(s), &s->layout, error);
    if (!status) status = csrec_device_run(s->given.backend, &work, s, NULL, error);
    if (status) return status;
    s->tiler = (csrec_tiler){.method = s->layout.method,
                             .tiling = &s->layout.tiling,
                             .mean = csrec_survey_mean(&s->survey, s->unit),
                             .spread = &s->spread};
    s->spread = (csrec_spread){.comm = s->given.comm,
                               .tiling = &s->layout.tiling,
                               .channels = s->form.channels,
                               .stops = waits_no_more,
                               .context = s};
    status = csrec_spread_agree(s->given.comm, &s->layout.tiling, error);
    if (status) return status;
    const int64_t tiles = s->layout.tiling.tiles;
    const int rank = csrec_comm_rank(s->given.comm);
    if (tiles == 1 && csrec_comm_size(s->given.comm) > 1)
        return csrec_fail(error, CSREC_UNSUPPORTED, "a single tile is recovered as a whole");
    s->spread.first = csrec_spread_first(s->given.comm, tiles, rank);
    s->spread.end = csrec_spread_first(s->given.comm, tiles, rank + 1);
    s->tiler.done = s->spread.first;
    s->line = s->spread.first / csrec_tiling_line(&s->layout.tiling);
    status = csrec_journal_open(s->given.journal, s->given.journal_key, &s->layout.tiling,
                                s->form.channels, s->unit, s->given.comm, &s->tiler.journal, error);
    if (status) return status;
    return csrec_mosaic_create(&s->layout.tiling, s->form.channels, NULL, &s->spread.mosaic, error);
}

bool csrec_slabs_pay(const csrec_measurement *form, const csrec_recover_options *options) {
    int64_t entries = 0;
    csrec_shape_count(&form->shape, &entries);
    const double each = 8.0 * (double)form->channels, n = (double)form->n, all = (double)entries;
    double file = all * (double)form->channels * (double)csrec_dtype_size(form->dtype);
    double bytes = all * each + (form->n > 0 ? n * (each + 8.0) : all * (each + 8.0) + file);
    double most =
        options->memory ? (double)options->memory : 0.75 * (double)csrec_memory_available();
    return bytes > most;
}

csrec_status csrec_slabs_create(const csrec_measurement *form, csrec_slab_samples_fn read,
                                void *context, const csrec_recover_options *options,
                                csrec_slabs **slabs, csrec_error *error) {
    int64_t entries = 0;
    if (options->history)
        return csrec_fail(error, CSREC_ARGUMENT, "history needs the whole signal in memory");
    if (form->channels < 1 || form->shape.dims < 1 || csrec_shape_count(&form->shape, &entries))
        return csrec_fail(error, CSREC_ARGUMENT, "the signal has no valid shape");
    if (!csrec_tiling_bears(&form->shape))
        return csrec_fail(error, CSREC_UNSUPPORTED, "no disk holds a signal of %lld entries",
                          (long long)entries);
    csrec_slabs *s = calloc(1, sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    s->form = *form;
    s->pays = csrec_slabs_pay(form, options);
    s->form.index = NULL;
    s->form.y = NULL;
    s->form.pattern = CSREC_PATTERN_NONE;
    s->form.count = 0;
    s->read = read;
    s->context = context;
    s->given = *options;
    s->row = entries / form->shape.dim[0] * form->channels;
    csrec_status status = survey_all(s, error);
    if (!status) status = plan(s, error);
    if (status)
        csrec_slabs_destroy(s);
    else
        *slabs = s;
    return status;
}

void csrec_slabs_destroy(csrec_slabs *s) {
    if (!s) return;
    csrec_whole_clear(&s->whole);
    csrec_survey_clear(&s->survey);
    csrec_journal_close(s->tiler.journal);
    csrec_mosaic_destroy(s->spread.mosaic);
    free(s);
}

/* ------------------------------------------------------------------ a line of tiles ----------- */

typedef struct line_job {
    csrec_slabs *s;
    csrec_measurement part; /* positions of the whole */
} line_job;

/* The end of this process's tiles in the line. Those that a device has recovered before it failed
 * stay. */
static int64_t line_end(const csrec_slabs *s) {
    int64_t end = (s->line + 1) * csrec_tiling_line(&s->layout.tiling);
    return end < s->spread.end ? end : s->spread.end;
}

static csrec_status run_normal(const csrec_normal *normal, const csrec_context *context,
                               csrec_slabs *s, csrec_error *error) {
    csrec_recovery recovery = {.measurement = &normal->m,
                               .whole = &s->whole,
                               .options = &normal->options,
                               .context = context,
                               .unit = normal->unit,
                               .report = &s->report};
    csrec_status status = CSREC_OK;
    if (normal->options.model && normal->m.n > 0)
        status = csrec_model_check_scales(&normal->m, normal->options.model, error);
    return status ? status
                  : csrec_tiler_run(&s->tiler, &recovery, line_end(s) - s->tiler.done, error);
}

static csrec_status run_line(const csrec_context *context, void *job, csrec_error *error) {
    line_job *j = job;
    csrec_slabs *s = j->s;
    csrec_normal normal;
    csrec_status status =
        csrec_normal_create(&j->part, &s->layout.plan.options, s->unit, &normal, error);
    if (!status) status = run_normal(&normal, context, s, error);
    csrec_normal_clear(&normal);
    return status;
}

static bool line_pays(csrec_device_kind kind, const void *job) {
    return pays(kind, ((const line_job *)job)->s);
}

csrec_status csrec_slabs_next_line(csrec_slabs *s, csrec_error *error) {
    static const csrec_device_work work = {.pays = line_pays, .run = run_line};
    csrec_slab rows = csrec_tiling_rows(&s->layout.tiling, s->line);
    line_job j = {.s = s};
    double start = csrec_seconds();
    csrec_status status = read_part(s, rows, &j.part, error);
    if (status) return status;
    j.part.shape = s->form.shape;
    j.part.sigma = s->form.sigma;
    memcpy(j.part.scale, s->form.scale, sizeof j.part.scale);
    for (int64_t k = 0; k < j.part.n; k++)
        j.part.index[k] += rows.first * (s->row / s->form.channels);
    status = csrec_device_run(s->given.backend, &work, &j, NULL, error);
    csrec_measurement_clear(&j.part);
    s->line++;
    s->report.seconds_total += csrec_seconds() - start;
    return status || !s->tiler.stopped ? status : stopped(error);
}

const csrec_plan *csrec_slabs_plan(const csrec_slabs *s) {
    return &s->layout.plan;
}

int64_t csrec_slabs_samples(const csrec_slabs *s) {
    return s->form.n;
}

void csrec_slabs_range(const csrec_slabs *s, int64_t channel, double *least, double *most) {
    *least = s->survey.least[channel];
    *most = s->survey.most[channel];
}

void csrec_slabs_report(const csrec_slabs *s, csrec_recover_report *report) {
    *report = s->report;
    csrec_layout_report(&s->layout, report);
}
