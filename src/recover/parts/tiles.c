/* tiles.c - the tiles of a recovery one by one, in any process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/measurement.h"
#include "csrec/tiles.h"
#include "method/model.h"
#include "method/normal.h"
#include "recover/plan.h"
#include "recover/parts/spread.h"
#include "recover/parts/survey.h"

struct csrec_tiles {
    csrec_measurement form; /* without positions and values; n: of the whole */
    csrec_recover_options given;
    csrec_layout layout;
    csrec_survey survey;
    csrec_gaussian_axes axes;
    csrec_whole whole;
    const double *mean;
    csrec_mosaic *mosaic; /* tells which tiles are near; nothing is blended in it */
};

static const csrec_wanted wanted = {.signal = true};

/* ------------------------------------------------------------------ plan ---------------------- */

static bool pays(csrec_device_kind kind, const void *job) {
    const csrec_tiles *t = job;
    (void)kind;
    return csrec_layout_pays(&t->form, &t->layout);
}

static csrec_status plan_on(const csrec_context *context, void *job, csrec_error *error) {
    csrec_tiles *t = job;
    csrec_status status = csrec_layout_make(&t->form, wanted, context, &t->layout, error);
    if (status) return status;
    if (!t->layout.parts)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "method %s needs the whole signal, not tiles; use a preset that works in "
                          "tiles: fast, balanced, best",
                          t->layout.method->shown.name);
    return csrec_layout_check(&t->layout, error);
}

/* With the positions, which decide how much memory a tile needs. */
static csrec_status plan(csrec_tiles *t, const csrec_measurement *m, csrec_error *error) {
    static const csrec_device_work work = {.pays = pays, .run = plan_on};
    csrec_status status = csrec_layout_resolve(m, &t->given, wanted, &t->layout, error);
    t->form.index = m->index;
    if (!status) status = csrec_device_run(t->given.backend, &work, t, NULL, error);
    t->form.index = NULL;
    return status;
}

/* From the plan and the survey. A single tile finds the principal colours by itself. */
static csrec_status finish(csrec_tiles *t, csrec_error *error) {
    int64_t entries = 0;
    csrec_tiling *tiling = &t->layout.tiling;
    csrec_shape_count(&t->form.shape, &entries);
    csrec_status status =
        csrec_survey_whole(&t->survey, entries, t->survey.unit, &t->axes, &t->whole, error);
    if (tiling->tiles == 1) t->whole.axes = NULL;
    return status ? status : csrec_mosaic_create(tiling, t->form.channels, NULL, &t->mosaic, error);
}

static csrec_status make(csrec_tiles *t, const csrec_measurement *m, csrec_error *error) {
    csrec_status status = plan(t, m, error);
    if (!status) status = csrec_survey_of(m, &t->survey, error);
    if (status) return status;
    if (t->layout.tiling.tiles == 1) {
        csrec_task task = csrec_task_of(m, &t->layout.plan.options);
        t->layout.tiling = csrec_tiling_whole(&task);
    }
    t->mean = csrec_survey_mean(&t->survey, t->survey.unit);
    return finish(t, error);
}

static csrec_status check_options(const csrec_recover_options *o, csrec_error *error) {
    if (!o->comm && !o->history) return CSREC_OK;
    return csrec_fail(error, CSREC_ARGUMENT,
                      "tiles one by one have no communicator and no history; leave them out");
}

csrec_status csrec_tiles_create(const csrec_measurement *m, const csrec_recover_options *options,
                                csrec_tiles **tiles, csrec_error *error) {
    csrec_status status = csrec_measurement_check_points(m, "measurement", error);
    if (!status) status = check_options(options, error);
    if (status) return status;
    csrec_tiles *t = calloc(1, sizeof *t);
    if (!t) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    t->form = *m;
    t->form.index = NULL;
    t->form.y = NULL;
    t->given = *options;
    status = make(t, m, error);
    if (status)
        csrec_tiles_destroy(t);
    else
        *tiles = t;
    return status;
}

void csrec_tiles_destroy(csrec_tiles *t) {
    if (!t) return;
    csrec_mosaic_destroy(t->mosaic);
    csrec_whole_clear(&t->whole);
    csrec_survey_clear(&t->survey);
    free(t);
}

/* ------------------------------------------------------------------ to other processes -------- */

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
        csrec_survey_pack(&t->survey, (char *)bytes + sizeof head);
    }
    return sizeof head + csrec_survey_packed(t->form.channels);
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
    if (head->form.channels < 1 || size != sizeof *head + csrec_survey_packed(head->form.channels))
        return csrec_fail(error, CSREC_DATA, "the bytes of csrec_tiles_pack are cut off");
    return CSREC_OK;
}

static csrec_status read_rest(csrec_tiles *t, const char *survey, csrec_error *error) {
    csrec_tiling tiling = t->layout.tiling;
    csrec_status status = csrec_layout_resolve(&t->form, &t->given, wanted, &t->layout, error);
    t->layout.tiling = tiling;
    if (!status) status = csrec_survey_create(t->form.channels, &t->survey, error);
    if (status) return status;
    csrec_survey_unpack(survey, &t->survey);
    t->mean = t->survey.sum; /* the mean has replaced the sums */
    return finish(t, error);
}

csrec_status csrec_tiles_unpack(const void *bytes, size_t size,
                                const csrec_recover_options *options, csrec_tiles **tiles,
                                csrec_error *error) {
    packed head;
    csrec_status status = read_head(bytes, size, &head, error);
    if (!status) status = check_options(options, error);
    if (status) return status;
    csrec_tiles *t = calloc(1, sizeof *t);
    if (!t) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    t->form = head.form;
    t->given = *options;
    t->layout.tiling = head.tiling;
    status = read_rest(t, (const char *)bytes + sizeof head, error);
    if (status)
        csrec_tiles_destroy(t);
    else
        *tiles = t;
    return status;
}

/* ------------------------------------------------------------------ places -------------------- */

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
        place->core[a] = slab_of(tile.core[empty + a]);
        place->box[a] = slab_of(tile.box[empty + a]);
    }
    return true;
}

int64_t csrec_tiles_near(const csrec_tiles *t, int64_t k, int64_t after) {
    csrec_box where;
    return k < 0 || k >= t->layout.tiling.tiles ? -1
                                                : csrec_mosaic_reaches(t->mosaic, k, after, &where);
}

static csrec_status check_number(const csrec_tiles *t, int64_t k, csrec_error *error) {
    long long tiles = (long long)t->layout.tiling.tiles;
    if (k >= 0 && k < tiles) return CSREC_OK;
    return csrec_fail(error, CSREC_ARGUMENT, "tile %lld; there are 0 to %lld", (long long)k,
                      tiles - 1);
}

/* ------------------------------------------------------------------ one tile ------------------ */

typedef struct run_job {
    const csrec_tiles *tiles;
    csrec_measurement part;
    csrec_tiling box; /* the tile as a signal of its own */
    double *values;
    csrec_recover_report report;
} run_job;

static csrec_tiling tiling_of_box(const csrec_tiling *whole, int64_t k) {
    csrec_tile tile = csrec_tiling_tile(whole, k);
    csrec_tiling box = {.shape = whole->shape, .pad = whole->pad, .tiles = 1};
    for (int a = 0; a < CSREC_TILE_AXES; a++) {
        int axis = a - (CSREC_TILE_AXES - whole->shape.dims);
        box.extent[a] = box.stride[a] = tile.box[a][1] - tile.box[a][0];
        box.count[a] = 1;
        if (axis >= 0) box.shape.dim[axis] = box.extent[a];
    }
    return box;
}

static csrec_status run_normal(const csrec_normal *normal, const csrec_context *context, run_job *j,
                               csrec_error *error) {
    const csrec_tiles *t = j->tiles;
    csrec_spread spread = {.tiling = &j->box, .channels = t->form.channels, .end = 1};
    csrec_tiler tiler = {
        .method = t->layout.method, .tiling = &j->box, .mean = t->mean, .spread = &spread};
    csrec_recovery recovery = {.measurement = &normal->m,
                               .whole = &t->whole,
                               .options = &normal->options,
                               .context = context,
                               .unit = normal->unit,
                               .report = &j->report};
    csrec_status status = CSREC_OK;
    if (normal->options.model && normal->m.n > 0)
        status = csrec_model_check_scales(&normal->m, normal->options.model, error);
    if (!status)
        status = csrec_mosaic_create(&j->box, t->form.channels, j->values, &spread.mosaic, error);
    if (!status) status = csrec_tiler_run(&tiler, &recovery, 1, error);
    csrec_mosaic_destroy(spread.mosaic);
    return status;
}

static csrec_status run_on(const csrec_context *context, void *job, csrec_error *error) {
    run_job *j = job;
    csrec_layout layout = j->tiles->layout; /* threads by this machine's memory */
    csrec_normal normal;
    j->report = (csrec_recover_report){0};
    csrec_status status = csrec_layout_make(&j->tiles->form, wanted, context, &layout, error);
    if (status) return status;
    status =
        csrec_normal_create(&j->part, &layout.plan.options, j->tiles->survey.unit, &normal, error);
    if (!status) status = run_normal(&normal, context, j, error);
    csrec_normal_clear(&normal);
    csrec_layout_report(&layout, &j->report);
    return status;
}

static bool run_pays(csrec_device_kind kind, const void *job) {
    return pays(kind, ((const run_job *)job)->tiles);
}

/* The samples in the box, with what is known of the whole. */
static csrec_status take_samples(run_job *j, const csrec_measurement *samples, csrec_error *error) {
    const csrec_measurement *form = &j->tiles->form;
    if (!csrec_shape_equal(&samples->shape, &j->box.shape) || samples->channels != form->channels)
        return csrec_fail(error, CSREC_DATA,
                          "the samples of a tile have the shape of its box and the channels of the "
                          "whole; these have another");
    j->part = *samples;
    j->part.sigma = form->sigma;
    memcpy(j->part.scale, form->scale, sizeof j->part.scale);
    j->part.pattern = CSREC_PATTERN_NONE;
    j->part.count = 0;
    return samples->n > 0 ? csrec_measurement_check(&j->part, "samples", error) : CSREC_OK;
}

csrec_status csrec_tiles_run(const csrec_tiles *t, int64_t k, const csrec_measurement *samples,
                             double *values, csrec_recover_report *report, csrec_error *error) {
    static const csrec_device_work work = {.pays = run_pays, .run = run_on};
    run_job j = {.tiles = t, .values = values};
    int64_t entries = 0;
    csrec_status status = check_number(t, k, error);
    if (status) return status;
    j.box = tiling_of_box(&t->layout.tiling, k);
    status = take_samples(&j, samples, error);
    if (!status) status = csrec_device_run(t->given.backend, &work, &j, NULL, error);
    if (status) return status;
    if (report) *report = j.report;
    csrec_shape_count(&j.box.shape, &entries);
    if (csrec_scale_back(entries * t->form.channels, t->survey.unit, values) < 0) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "a value of the recovery is beyond the range of a double; scale the samples "
                      "down");
}

/* ------------------------------------------------------------------ blending ------------------ */

static csrec_status blend_one(const csrec_tiles *t, csrec_mosaic *mosaic, int64_t tile, int64_t k,
                              double *values, csrec_error *error) {
    csrec_tile place = csrec_tiling_tile(&t->layout.tiling, tile);
    csrec_part part = {.values = values};
    csrec_box where;
    memcpy(part.box.at, place.box, sizeof part.box.at);
    csrec_mosaic_reaches(mosaic, tile, k - 1, &where); /* k, which it is near */
    return csrec_mosaic_add(mosaic, tile, k, &where, &part, error);
}

csrec_status csrec_tiles_blend(const csrec_tiles *t, int64_t k, const double *const *values,
                               double *core, csrec_error *error) {
    csrec_mosaic *mosaic = NULL;
    csrec_status status = check_number(t, k, error);
    if (!status)
        status = csrec_mosaic_create(&t->layout.tiling, t->form.channels, NULL, &mosaic, error);
    if (status) return status;
    for (int64_t tile = -1; !status && (tile = csrec_tiles_near(t, k, tile)) >= 0; values++)
        status = blend_one(t, mosaic, tile, k, (double *)(uintptr_t)*values, error);
    if (!status) {
        const csrec_part *cell = csrec_mosaic_cell(mosaic, k);
        csrec_part_copy(cell, t->form.channels, &cell->box, core);
    }
    csrec_mosaic_destroy(mosaic);
    return status;
}
