/* SPDX-License-Identifier: BSD-3-Clause */
/* slabs.c - recovery of signals larger than memory: tiles are recovered line by line along the
 * first axis, from rows that are read for each line, and cells are in memory until they are handed
 * over. */
#include <stdlib.h>
#include <string.h>

#include "csrec/slabs.h"
#include "base/clock.h"
#include "base/memory.h"
#include "recover/recover.h"

struct csrec_slabs {
    csrec_measurement form; /* without positions and values; n: of the whole */
    bool pays;              /* csrec_slabs_pay */
    csrec_slab_samples_fn read;
    void *context;
    csrec_recover_options given;
    csrec_layout layout;
    csrec_survey *survey;
    csrec_cut cut;
    double unit;
    int64_t row;         /* values of an entry of the first axis */
    int64_t next;        /* entry of the first axis to take */
    csrec_runner runner; /* cells are in `unit` */
    csrec_recover_report report;
};

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
    CSREC_TRY(s->read(s->context, slab, part, error));
    csrec_status status = check_part(s, slab, part, error);
    if (status) csrec_measurement_clear(part);
    return status;
}

/* A csrec_survey_fn. */
static csrec_status add_rows(void *context, csrec_slab rows, csrec_survey *band,
                             csrec_error *error) {
    const csrec_slabs *s = context;
    const csrec_solve_options *o = &s->given.solve;
    const csrec_progress now = {"reading", rows.first, s->form.shape.dim[0], -1.0};
    csrec_measurement part;
    if (o->progress && o->progress(&now, o->context)) return csrec_runner_stopped(error);
    CSREC_TRY(read_part(s, rows, &part, error));
    csrec_survey_add(band, part.n, part.y);
    csrec_measurement_clear(&part);
    return CSREC_OK;
}

static csrec_status survey(csrec_slabs *s, csrec_error *error) {
    CSREC_TRY(csrec_survey_make(&s->form.shape, s->form.channels, s->given.comm, 1, add_rows, s,
                                &s->survey, error));
    s->form.n = s->survey->n;
    s->unit = s->survey->unit;
    if (s->form.n == 0)
        return csrec_fail(error, CSREC_DATA,
                          "no entry is known (all transparent, masked out, NaN or of the value for "
                          "unknown); one must be");
    csrec_survey_end(s->survey, &s->form.shape, s->unit);
    return CSREC_OK;
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

/* A curve, and samples that no range may change, need the whole. CSREC_UNSUPPORTED: it may fit. */
static csrec_status check_values(csrec_slabs *s, csrec_error *error) {
    const csrec_span span = csrec_span_surveyed(s->survey, s->unit);
    csrec_recover_options o = s->layout.resolved.options;
    double ends[2] = {span.least, span.most};
    s->cut = csrec_survey_cut(s->survey, &s->form);
    o.curve = s->given.curve;
    const bool may = csrec_curve_possible(&s->form, &o, span, false) != CSREC_CURVE_NONE;
    s->report.curve = CSREC_CURVE_NONE;
    if (may) s->report.curve_choice = "no curve: values span decades, but slabs have none";
    if (o.curve == CSREC_CURVE_LOG || (may && !s->pays))
        return csrec_fail(error, CSREC_UNSUPPORTED, "curve: slabs have none; give more memory");
    double *range = s->layout.resolved.options.range;
    csrec_range_resolve(&s->form, span, false, s->given.range, &s->layout.resolved.options);
    if (csrec_range_clamp(range, 2, ends) == 0) return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "range: samples are outside of it, which slabs cannot keep; widen it, or "
                      "mark them as unknown");
}

/* Processes that share what one of them could recover at once have the tiles of that. */
static csrec_status plan(csrec_slabs *s, csrec_error *error) {
    csrec_comm *comm = s->given.comm;
    const bool several = csrec_comm_size(comm) > 1;
    const csrec_wanted wanted = {.signal = true, .slabs = !several || s->pays};
    csrec_tiling *tiling = &s->layout.tiling;
    CSREC_TRY(csrec_layout_plan(&s->form, &s->given, wanted,
                                several ? " in one process" : " in memory", &s->layout, error));
    CSREC_TRY(check_values(s, error));
    CSREC_TRY(csrec_ranks_tell(comm, CSREC_TAG_TILING, tiling, sizeof *tiling, error));
    if (tiling->tiles == 1 && several)
        return csrec_fail(error, CSREC_UNSUPPORTED, "a single tile is recovered as a whole");
    s->runner = (csrec_runner){.method = s->layout.method,
                               .tiling = tiling,
                               .survey = s->survey,
                               .given = &s->given,
                               .strict = true};
    return csrec_runner_open(&s->runner, s->form.channels, s->unit, NULL, error);
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
    if (!s) return csrec_memory_fail(error, NULL);
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
    csrec_status status = survey(s, error);
    if (!status) status = plan(s, error);
    return CSREC_SETTLE(status, csrec_slabs_destroy(s), *slabs = s);
}

void csrec_slabs_destroy(csrec_slabs *s) {
    if (!s) return;
    free(s->survey);
    csrec_runner_close(&s->runner);
    free(s);
}

const csrec_plan *csrec_slabs_plan(const csrec_slabs *s) {
    return &s->layout.resolved;
}

int64_t csrec_slabs_samples(const csrec_slabs *s) {
    return s->form.n;
}

void csrec_slabs_range(const csrec_slabs *s, int64_t channel, double *least, double *most) {
    *least = s->survey->value[channel];
    *most = s->survey->value[s->form.channels + channel];
}

void csrec_slabs_report(const csrec_slabs *s, csrec_recover_report *report) {
    *report = s->report;
    csrec_layout_report(&s->layout, report);
}

typedef struct line_job {
    csrec_layout_job of;
    csrec_slabs *s;
    csrec_measurement rows; /* positions of the whole */
    int64_t end;            /* of this process's tiles in the line */
} line_job;

/* Tiles that a device has recovered before it failed stay. */
static csrec_status run_line(const csrec_context *context, void *job, csrec_error *error) {
    line_job *j = job;
    csrec_slabs *s = j->s;
    const csrec_recovery recovery = {.measurement = &j->rows,
                                     .options = &s->layout.resolved.options,
                                     .context = context,
                                     .unit = s->unit,
                                     .report = &s->report};
    return csrec_runner_run_in_unit(&s->runner, &recovery, j->end, error);
}

/* Recovers the next line. CSREC_STOPPED: the progress asked for it. */
static csrec_status next_line(csrec_slabs *s, csrec_error *error) {
    static const csrec_device_work work = {.device_faster = csrec_layout_faster, .run = run_line};
    const csrec_runner *r = &s->runner;
    const int64_t n = csrec_tiling_line(r->tiling), line = r->done / n;
    const csrec_slab rows = csrec_tiling_rows(r->tiling, line);
    line_job j = {.of = {&s->form, &s->layout},
                  .s = s,
                  .end = (line + 1) * n < r->end ? (line + 1) * n : r->end};
    double start = csrec_seconds();
    CSREC_TRY(read_part(s, rows, &j.rows, error));
    j.rows.shape = s->form.shape;
    j.rows.sigma = s->form.sigma;
    memcpy(j.rows.scale, s->form.scale, sizeof j.rows.scale);
    for (int64_t k = 0; k < j.rows.n; k++)
        j.rows.index[k] += rows.first * (s->row / s->form.channels);
    csrec_status status = csrec_device_run(s->given.backend, &work, &j, NULL, error);
    csrec_measurement_clear(&j.rows);
    s->report.seconds_total += csrec_seconds() - start;
    return status || !r->stopped ? status : csrec_runner_stopped(error);
}

static csrec_status deliver(csrec_slabs *s, int64_t n, double *values, csrec_error *error) {
    CSREC_TRY(csrec_survey_deliver(s->survey, s->unit, n / s->form.channels, values, error));
    csrec_cut_back(&s->cut, n, values, NULL);
    s->report.clamped += csrec_range_clamp(s->layout.resolved.options.range, n, values);
    return CSREC_OK;
}

/* Recovers, or waits for, the cells of a line. */
static csrec_status complete_line(csrec_slabs *s, int64_t line, csrec_error *error) {
    csrec_runner *r = &s->runner;
    const int64_t n = csrec_tiling_line(r->tiling);
    csrec_status status = CSREC_OK;
    for (int64_t cell = line * n; cell < (line + 1) * n; cell++)
        while (!status && !csrec_mosaic_cell(r->mosaic, cell))
            status = r->done < r->end ? next_line(s, error) : csrec_runner_fetch(r, cell, error);
    return status;
}

/* Takes rows of one line, at most `most`; its cells are dropped after the last. */
static csrec_status take_rows(csrec_slabs *s, int64_t most, int64_t *count, double *values,
                              csrec_error *error) {
    const csrec_runner *r = &s->runner;
    const csrec_tiling *t = r->tiling;
    const int axis = CSREC_TILE_AXES - t->shape.dims;
    const int64_t line = s->next / t->stride[axis], n = csrec_tiling_line(t);
    const int64_t left = csrec_tiling_tile(t, line * n).core.at[axis][1] - s->next;
    const csrec_slab rows = {s->next, left < most ? left : most};
    const csrec_boxed to = {csrec_tiling_slab(t, rows), values};
    CSREC_TRY(complete_line(s, line, error));
    for (int64_t k = line * n; k < (line + 1) * n; k++) {
        const csrec_boxed *cell = csrec_mosaic_cell(r->mosaic, k);
        csrec_box both;
        if (csrec_box_common(&cell->box, &to.box, &both))
            csrec_boxed_copy(cell, r->channels, &both, &to);
        if (rows.count == left) csrec_mosaic_drop(r->mosaic, k);
    }
    *count = rows.count;
    s->next += rows.count;
    return deliver(s, rows.count * s->row, values, error);
}

csrec_status csrec_slabs_take(csrec_slabs *s, csrec_slab slab, double *values, csrec_error *error) {
    if (slab.first != s->next || slab.count < 0 || slab.count > s->form.shape.dim[0] - slab.first)
        return csrec_fail(error, CSREC_ARGUMENT, "slabs are taken in their order, from entry %lld",
                          (long long)s->next);
    csrec_status status = CSREC_OK;
    for (int64_t count = 0; slab.count > 0 && !status; slab.count -= count) {
        status = take_rows(s, slab.count, &count, values, error);
        values += count * s->row;
    }
    if (status || !s->given.comm || s->next < s->form.shape.dim[0]) return status;
    status = csrec_runner_release(&s->runner, error);
    return status ? status : csrec_runner_report(&s->runner, &s->report, error);
}

csrec_status csrec_slabs_serve(csrec_slabs *s, csrec_error *error) {
    csrec_status status = CSREC_OK;
    while (s->runner.done < s->runner.end && !status) status = next_line(s, error);
    if (!status) status = csrec_runner_serve(&s->runner, error);
    return status ? status : csrec_runner_report(&s->runner, &s->report, error);
}

/* Hands over a cell and drops it: rows of the last axis, or several if the cell has all of it. */
static csrec_status put_cell(csrec_slabs *s, int64_t number, csrec_slab_put_fn put, void *context,
                             csrec_error *error) {
    const csrec_boxed *cell = csrec_mosaic_cell(s->runner.mosaic, number);
    const csrec_box *box = &cell->box;
    const int64_t *extent = s->layout.tiling.extent;
    int64_t C = s->form.channels, at[CSREC_TILE_AXES] = {0, 0, box->at[2][0]};
    int64_t wide = box->at[2][1] - box->at[2][0];
    int64_t rows = wide == extent[2] ? box->at[1][1] - box->at[1][0] : 1;
    csrec_status status = deliver(s, csrec_box_entries(box) * C, cell->values, error);
    for (at[0] = box->at[0][0]; at[0] < box->at[0][1] && !status; at[0]++)
        for (at[1] = box->at[1][0]; at[1] < box->at[1][1] && !status; at[1] += rows)
            status = put(context, ((at[0] * extent[1] + at[1]) * extent[2] + at[2]) * C,
                         rows * wide * C, csrec_boxed_at(cell, C, at), error);
    csrec_mosaic_drop(s->runner.mosaic, number);
    return status;
}

/* All own cells that are whole; with `wait` all. */
static csrec_status put_cells(csrec_slabs *s, bool wait, csrec_slab_put_fn put, void *context,
                              csrec_error *error) {
    csrec_runner *r = &s->runner;
    csrec_status status = CSREC_OK;
    for (int64_t k = r->first; k < r->end && !status; k++) {
        if (wait) status = csrec_runner_fetch(r, k, error);
        const csrec_boxed *cell = csrec_mosaic_cell(r->mosaic, k);
        if (cell && cell->values && !status) status = put_cell(s, k, put, context, error);
    }
    return status;
}

csrec_status csrec_slabs_put(csrec_slabs *s, csrec_slab_put_fn put, void *context,
                             csrec_error *error) {
    csrec_status status = CSREC_OK;
    while (s->runner.done < s->runner.end && !status) {
        status = next_line(s, error);
        if (!status) status = put_cells(s, false, put, context, error);
    }
    if (!status) status = put_cells(s, true, put, context, error);
    return status ? status : csrec_runner_report(&s->runner, &s->report, error);
}
