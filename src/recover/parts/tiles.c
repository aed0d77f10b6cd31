/* SPDX-License-Identifier: BSD-3-Clause */
/* tiles.c - the tiles of a recovery one by one, in any process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/tiles.h"
#include "measurement/measurement.h"
#include "recover/recover.h"

struct csrec_tiles {
    csrec_measurement form; /* without positions and values; n: of the whole */
    csrec_recover_options given;
    csrec_layout layout;
    csrec_survey *survey;
};

static const csrec_wanted wanted = {.signal = true};

/* A single tile finds the principal colours by itself. */
static void finish(csrec_tiles *t) {
    csrec_survey_end(t->survey, &t->form.shape, t->survey->unit);
    const csrec_span span = csrec_span_surveyed(t->survey, t->survey->unit);
    csrec_range_resolve(&t->form, span, false, t->given.range, &t->layout.resolved.options);
    if (t->layout.tiling.tiles == 1) t->survey->whole.axes = NULL;
}

static csrec_status make(csrec_tiles *t, const csrec_measurement *m, csrec_error *error) {
    csrec_tiling *tiling = &t->layout.tiling;
    CSREC_TRY(csrec_layout_plan(m, &t->given, wanted, ", not tiles", &t->layout, error));
    const csrec_task task = csrec_task_of(m, &t->layout.resolved.options);
    if (tiling->tiles == 1) *tiling = csrec_tiling_whole(&task);
    csrec_status status = csrec_survey_of(m, tiling, &t->survey, error);
    if (!status) finish(t);
    return status;
}

static csrec_status check_options(const csrec_recover_options *o, csrec_error *error) {
    if (!o->comm && !o->history && o->curve != CSREC_CURVE_LOG) return CSREC_OK;
    return csrec_fail(error, CSREC_ARGUMENT,
                      "tiles one by one have no communicator, history or curve; leave them out");
}

static csrec_status check_noise(const csrec_measurement *m, csrec_error *error) {
    if (!m->rays && !m->deviation) return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "samples have rays or a sigma each, and tiles one by one know one sigma; "
                      "recover the whole");
}

csrec_status csrec_tiles_create(const csrec_measurement *m, const csrec_recover_options *options,
                                csrec_tiles **tiles, csrec_error *error) {
    CSREC_TRY(csrec_measurement_check_points(m, "measurement", error));
    CSREC_TRY(check_options(options, error));
    CSREC_TRY(check_noise(m, error));
    csrec_tiles *t = calloc(1, sizeof *t);
    if (!t) return csrec_memory_fail(error, NULL);
    t->form = *m;
    t->form.index = NULL;
    t->form.y = NULL;
    t->given = *options;
    csrec_status status = make(t, m, error);
    return CSREC_SETTLE(status, csrec_tiles_destroy(t), *tiles = t);
}

void csrec_tiles_destroy(csrec_tiles *t) {
    if (!t) return;
    free(t->survey);
    free(t);
}

/* What the bytes begin with; the survey follows. */
typedef struct packed {
    char what[32]; /* and the version */
    csrec_measurement form;
    csrec_tiling tiling;
} packed;

static void name_bytes(char what[32]) {
    snprintf(what, 32, "csrec_tiles %.18s", csrec_version());
}

size_t csrec_tiles_pack(const csrec_tiles *t, void *bytes) {
    packed head = {.form = t->form, .tiling = t->layout.tiling};
    if (bytes) {
        name_bytes(head.what);
        memcpy(bytes, &head, sizeof head);
        memcpy((char *)bytes + sizeof head, t->survey, csrec_survey_size(t->form.channels));
    }
    return sizeof head + csrec_survey_size(t->form.channels);
}

static csrec_status read_head(const void *bytes, size_t size, packed *head, csrec_error *error) {
    char mine[32] = "";
    name_bytes(mine);
    if (size < sizeof *head || memcmp(bytes, mine, 12) != 0)
        return csrec_fail(error, CSREC_DATA, "the bytes are not those of csrec_tiles_pack");
    memcpy(head, bytes, sizeof *head);
    if (strncmp(head->what, mine, sizeof mine) != 0)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "tiles of version %.18s, and this is version %s; install the same on all "
                          "machines",
                          head->what + 12, csrec_version());
    if (head->form.channels < 1 || size != sizeof *head + csrec_survey_size(head->form.channels))
        return csrec_fail(error, CSREC_DATA, "the bytes of csrec_tiles_pack are cut off");
    return CSREC_OK;
}

csrec_status csrec_tiles_unpack(const void *bytes, size_t size,
                                const csrec_recover_options *options, csrec_tiles **tiles,
                                csrec_error *error) {
    packed head;
    csrec_status status = read_head(bytes, size, &head, error);
    if (!status) status = check_options(options, error);
    if (status) return status;
    csrec_tiles *t = calloc(1, sizeof *t);
    if (!t) return csrec_memory_fail(error, NULL);
    t->form = head.form;
    t->given = *options;
    t->survey = malloc(size - sizeof head);
    status = t->survey ? csrec_layout_resolve(&t->form, &t->given, wanted, &t->layout, error)
                       : csrec_memory_fail(error, NULL);
    if (status) {
        csrec_tiles_destroy(t);
        return status;
    }
    t->layout.tiling = head.tiling;
    memcpy(t->survey, (const char *)bytes + sizeof head, size - sizeof head);
    t->survey->channels = t->form.channels;
    finish(t);
    *tiles = t;
    return CSREC_OK;
}

int64_t csrec_tiles_count(const csrec_tiles *t, int64_t count[CSREC_TILES_DIMS]) {
    const csrec_tiling *tiling = &t->layout.tiling;
    int empty = CSREC_TILE_AXES - tiling->shape.dims;
    for (int a = 0; a < tiling->shape.dims; a++) count[a] = tiling->count[empty + a];
    return tiling->tiles;
}

static csrec_slab slab_of(const int64_t ends[2]) {
    return (csrec_slab){ends[0], ends[1] - ends[0]};
}

bool csrec_tiles_place(const csrec_tiles *t, int64_t k, csrec_tile_place *place) {
    const csrec_tiling *tiling = &t->layout.tiling;
    int empty = CSREC_TILE_AXES - tiling->shape.dims;
    if (k < 0 || k >= tiling->tiles) return false;
    csrec_tile tile = csrec_tiling_tile(tiling, k);
    for (int a = 0; a < tiling->shape.dims; a++) {
        place->core[a] = slab_of(tile.core.at[empty + a]);
        place->box[a] = slab_of(tile.box.at[empty + a]);
    }
    return true;
}

int64_t csrec_tiles_near(const csrec_tiles *t, int64_t k, int64_t after) {
    csrec_box unused;
    return k < 0 || k >= t->layout.tiling.tiles
               ? -1
               : csrec_tiling_near(&t->layout.tiling, k, after, &unused);
}

static csrec_status check_number(const csrec_tiles *t, int64_t k, csrec_error *error) {
    long long tiles = (long long)t->layout.tiling.tiles;
    if (k >= 0 && k < tiles) return CSREC_OK;
    return csrec_fail(error, CSREC_ARGUMENT, "tile %lld; there are 0 to %lld", (long long)k,
                      tiles - 1);
}

typedef struct run_job {
    csrec_layout_job of;
    const csrec_tiles *tiles;
    csrec_measurement samples; /* in the box */
    double *values;
    csrec_recover_report report;
} run_job;

static csrec_status run_on(const csrec_context *context, void *job, csrec_error *error) {
    run_job *j = job;
    const csrec_tiles *t = j->tiles;
    const csrec_tiling one = {.tiles = 1};
    csrec_layout layout = t->layout; /* threads by this machine's memory */
    j->report = (csrec_recover_report){0};
    CSREC_TRY(csrec_layout_make(&t->form, wanted, context, &layout, error));
    const csrec_recovery recovery = {.measurement = &j->samples,
                                     .options = &layout.resolved.options,
                                     .context = context,
                                     .unit = t->survey->unit,
                                     .signal = j->values,
                                     .report = &j->report};
    csrec_runner runner = {
        .method = layout.method, .tiling = &one, .survey = t->survey, .given = &t->given};
    csrec_status status = csrec_runner_run_in_unit(&runner, &recovery, 1, error);
    csrec_layout_report(&layout, &j->report);
    return status;
}

/* The samples in the box, with what is known of the whole. */
static csrec_status take_samples(run_job *j, int64_t k, const csrec_measurement *samples,
                                 csrec_error *error) {
    const csrec_measurement *form = &j->tiles->form;
    csrec_shape shape = form->shape;
    csrec_tile_place place;
    csrec_tiles_place(j->tiles, k, &place);
    for (int a = 0; a < shape.dims; a++) shape.dim[a] = place.box[a].count;
    if (!csrec_shape_equal(&samples->shape, &shape) || samples->channels != form->channels)
        return csrec_fail(error, CSREC_DATA,
                          "the samples of a tile have the shape of its box and the channels of the "
                          "whole; these have another");
    j->samples = *samples;
    j->samples.sigma = form->sigma;
    memcpy(j->samples.scale, form->scale, sizeof j->samples.scale);
    j->samples.pattern = CSREC_PATTERN_NONE;
    j->samples.count = 0;
    return samples->n > 0 ? csrec_measurement_check(&j->samples, "samples", error) : CSREC_OK;
}

csrec_status csrec_tiles_run(const csrec_tiles *t, int64_t k, const csrec_measurement *samples,
                             double *values, csrec_recover_report *report, csrec_error *error) {
    static const csrec_device_work work = {.device_faster = csrec_layout_faster, .run = run_on};
    run_job j = {.of = {&t->form, &t->layout}, .tiles = t, .values = values};
    int64_t entries = 0;
    CSREC_TRY(check_number(t, k, error));
    CSREC_TRY(take_samples(&j, k, samples, error));
    CSREC_TRY(csrec_device_run(t->given.backend, &work, &j, NULL, error));
    if (report) *report = j.report;
    csrec_shape_count(&samples->shape, &entries);
    return csrec_survey_deliver(t->survey, t->survey->unit, entries, values, error);
}

csrec_status csrec_tiles_blend(const csrec_tiles *t, int64_t k, const double *const *values,
                               double *core, csrec_error *error) {
    const csrec_tiling *tiling = &t->layout.tiling;
    csrec_box where;
    CSREC_TRY(check_number(t, k, error));
    const csrec_boxed to = {csrec_tiling_tile(tiling, k).core, core};
    for (int64_t tile = -1; (tile = csrec_tiling_near(tiling, k, tile, &where)) >= 0; values++) {
        const csrec_tile place = csrec_tiling_tile(tiling, tile);
        const csrec_boxed from = {place.box, (double *)(uintptr_t)*values};
        csrec_box_common(&place.reach, &to.box, &where);
        csrec_boxed_blend(tiling, tile, t->form.channels, &where, &from, &to);
    }
    const csrec_cut cut = csrec_survey_cut(t->survey, &t->form);
    const int64_t n = csrec_box_entries(&to.box) * t->form.channels;
    csrec_cut_back(&cut, n, core, NULL);
    csrec_range_clamp(t->layout.resolved.options.range, n, core);
    return CSREC_OK;
}
