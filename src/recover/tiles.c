/* tiles.c - recovery tile by tile. Every entry is the weighted mean of the tiles that cover it,
 * with weights that are linear along the axes and sum to 1. Each tile is blended with the mean of
 * those before, so no sum of weights is stored, and equal values keep their bits. */
#include "recover/tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operator/mask.h"
#include "recover/survey.h"
#include "solver/threshold.h"

/* ------------------------------------------------------------------ one tile */

static int64_t extent_of(const csrec_tile *tile, int axis) {
    return tile->box[axis][1] - tile->box[axis][0];
}

/* Index of entry `at` of the signal in the tile's box; -1: outside. */
static int64_t place(const csrec_tiling *t, const csrec_tile *tile, int64_t at) {
    int64_t to = 0, scale = 1;
    for (int a = CSREC_TILE_AXES - 1; a >= 0; at /= t->extent[a], a--) {
        int64_t x = at % t->extent[a];
        if (x < tile->box[a][0] || x >= tile->box[a][1]) return -1;
        to += (x - tile->box[a][0]) * scale;
        scale *= extent_of(tile, a);
    }
    return to;
}

/* The samples in the box, in their order. part->index and part->y are to be freed. */
static csrec_status cut(const csrec_tiler *j, const csrec_tile *tile, csrec_measurement *part) {
    const csrec_measurement *m = j->m;
    *part = *m;
    part->pattern = CSREC_PATTERN_NONE;
    part->count = part->n = 0;
    for (int a = 0; a < m->shape.dims; a++)
        part->shape.dim[a] = extent_of(tile, CSREC_TILE_AXES - m->shape.dims + a);
    for (int64_t k = 0; k < m->n; k++) part->n += place(j->tiling, tile, m->index[k]) >= 0;
    part->index = malloc((size_t)(part->n + 1) * sizeof *part->index);
    part->y = malloc((size_t)(part->n * m->channels + 1) * sizeof *part->y);
    if (!part->index || !part->y) return CSREC_MEMORY;
    int64_t n = 0;
    for (int64_t k = 0; k < m->n; k++) {
        int64_t at = place(j->tiling, tile, m->index[k]);
        if (at < 0) continue;
        part->index[n] = at;
        memcpy(part->y + n * m->channels, m->y + k * m->channels,
               (size_t)m->channels * sizeof *m->y);
        n++;
    }
    return CSREC_OK;
}

/* ------------------------------------------------------------------ tiles that are not recovered
 */

static void fill(const csrec_tiler *j, int64_t entries, double *out) {
    for (int64_t i = 0; i < entries * j->m->channels; i++) out[i] = j->mean[i % j->m->channels];
}

static csrec_status guess_channel(const csrec_measurement *part, const csrec_mask *mask,
                                  int64_t channel, double *y, double *guess, double *out) {
    for (int64_t k = 0; k < part->n; k++) y[k] = part->y[k * part->channels + channel];
    csrec_status status = csrec_threshold_start(mask, y, guess);
    for (int64_t i = 0; i < mask->entries && !status; i++)
        out[i * part->channels + channel] = guess[i];
    return status;
}

static csrec_status guess(const csrec_measurement *part, int64_t entries, double *out) {
    csrec_operator_spec spec = {.shape = &part->shape, .m = part->n, .index = part->index};
    csrec_mask mask;
    csrec_status status = csrec_mask_create(&spec, "mask", &mask, NULL);
    if (status) return status;
    double *y = malloc((size_t)(part->n + entries) * sizeof *y);
    status = y ? CSREC_OK : CSREC_MEMORY;
    for (int64_t c = 0; c < part->channels && !status; c++)
        status = guess_channel(part, &mask, c, y, y + part->n, out);
    free(y);
    csrec_mask_clear(&mask);
    return status;
}

/* ------------------------------------------------------------------ blending */

/* Along an axis: the tile's share of entry x of its box, and that of the tile before it. */
typedef struct ramp {
    double *share, *before;
} ramp;

static double clamp(double v) {
    return fmax(0.0, fmin(1.0, v));
}

static csrec_status make_ramp(const csrec_tiling *t, const csrec_tile *tile, int axis, ramp *r) {
    int64_t n = extent_of(tile, axis), first = tile->box[axis][0];
    double half = (double)t->pad / 2.0, whole = (double)t->pad;
    r->share = malloc(2 * (size_t)n * sizeof *r->share);
    if (!r->share) return CSREC_MEMORY;
    r->before = r->share + n;
    for (int64_t i = 0; i < n; i++) {
        double x = (double)(first + i) + 0.5, up = 1.0, down = 1.0;
        if (tile->core[axis][0] > 0) up = clamp((x - (double)tile->core[axis][0] + half) / whole);
        if (tile->core[axis][1] < t->extent[axis])
            down = 1.0 - clamp((x - (double)tile->core[axis][1] + half) / whole);
        r->before[i] = 1.0 - up;
        r->share[i] = up * down;
    }
    return CSREC_OK;
}

/* A run along the last axis, from `from` to `to`. rest, share: of the axes before: what earlier
 * tiles have, and what this one shares with those of its line. */
static void blend_run(const ramp *r, int64_t n, int64_t channels, double rest, double share,
                      const double *from, double *to) {
    for (int64_t x = 0; x < n; x++, from += channels, to += channels) {
        double own = share * r->share[x], earlier = rest + share * r->before[x];
        if (own <= 0.0) continue;
        double part = own / (own + earlier);
        for (int64_t c = 0; c < channels; c++)
            to[c] = earlier > 0.0 ? to[c] + part * (from[c] - to[c]) : from[c];
    }
}

static void blend(const csrec_tiler *j, const csrec_tile *tile, const ramp r[CSREC_TILE_AXES],
                  const double *from) {
    const csrec_tiling *t = j->tiling;
    int64_t channels = j->m->channels, n[CSREC_TILE_AXES];
    for (int a = 0; a < CSREC_TILE_AXES; a++) n[a] = extent_of(tile, a);
    for (int64_t z = 0; z < n[0]; z++)
        for (int64_t y = 0; y < n[1]; y++) {
            int64_t line = (tile->box[0][0] + z) * t->extent[1] + tile->box[1][0] + y;
            double rest = r[0].before[z] + r[0].share[z] * r[1].before[y];
            blend_run(&r[2], n[2], channels, rest, r[0].share[z] * r[1].share[y],
                      from + (z * n[1] + y) * n[2] * channels,
                      j->signal + (line * t->extent[2] + tile->box[2][0] - j->first) * channels);
        }
}

static csrec_status lay(const csrec_tiler *j, const csrec_tile *tile, const double *from) {
    ramp r[CSREC_TILE_AXES] = {{NULL, NULL}};
    csrec_status status = CSREC_OK;
    for (int a = 0; a < CSREC_TILE_AXES && !status; a++)
        status = make_ramp(j->tiling, tile, a, &r[a]);
    if (!status) blend(j, tile, r, from);
    for (int a = 0; a < CSREC_TILE_AXES; a++) free(r[a].share);
    return status;
}

/* ------------------------------------------------------------------ all of them */

/* Progress counts tiles; the method's own reports only check for a stop. */
static bool pass_progress(const csrec_progress *progress, void *context) {
    csrec_tiler *j = context;
    csrec_progress seen = {"tiles", j->done, j->tiling->tiles, progress->residual};
    if (j->given->solve.progress && !j->stopped)
        j->stopped = j->given->solve.progress(&seen, j->given->solve.context);
    return j->stopped;
}

static void add_report(const csrec_recover_report *one, csrec_recover_report *all) {
    all->pursuits += one->pursuits;
    all->iterations += one->iterations;
    all->residual = fmax(all->residual, one->residual);
    if (one->outcome > all->outcome) all->outcome = one->outcome;
    all->levels = one->levels > all->levels ? one->levels : all->levels;
    if (one->backend) all->backend = one->backend; /* a guess has none */
    all->seconds_tree += one->seconds_tree;
    all->seconds_pursuit += one->seconds_pursuit;
    all->seconds_synthesis += one->seconds_synthesis;
}

static csrec_status run_tile(csrec_tiler *j, int64_t number, csrec_recover_report *report,
                             csrec_error *error) {
    csrec_tile tile = csrec_tiling_tile(j->tiling, number);
    csrec_measurement part;
    csrec_recover_report one = {0};
    int64_t entries;
    csrec_status status = cut(j, &tile, &part);
    csrec_shape_count(&part.shape, &entries);
    double *values = status ? NULL : malloc((size_t)(entries * part.channels) * sizeof *values);
    if (!values)
        status = csrec_fail(error, CSREC_MEMORY, "out of memory for a tile");
    else if (part.n == 0)
        fill(j, entries, values);
    else if (j->stopped)
        status = guess(&part, entries, values);
    else {
        j->tile.measurement = &part;
        j->tile.signal = values;
        j->tile.report = &one;
        status = j->method->run(&j->tile, error);
    }
    if (!status && part.n > 0 && !one.backend) one.outcome = CSREC_INTERRUPTED;
    if (!status) status = lay(j, &tile, values);
    if (!status) add_report(&one, report);
    free(values);
    free(part.index);
    free(part.y);
    return status;
}

csrec_status csrec_tiler_run(csrec_tiler *j, const csrec_recovery *recovery, int64_t count,
                             csrec_error *error) {
    j->m = recovery->measurement;
    j->tile = *recovery;
    j->given = recovery->options;
    j->options = *recovery->options;
    j->options.history = NULL; /* which has the whole signal alone */
    j->options.solve.progress = pass_progress;
    j->options.solve.context = j;
    j->tile.variance = NULL; /* of a tile, which has other indices */
    j->tile.options = &j->options;
    recovery->report->backend = csrec_device_name(recovery->context->kind);
    csrec_status status = CSREC_OK;
    for (; count > 0 && !status; count--, j->done++)
        status = run_tile(j, j->done, recovery->report, error);
    if (j->stopped) recovery->report->outcome = CSREC_INTERRUPTED;
    return status;
}

csrec_status csrec_recover_tiles(const csrec_method_type *method, const csrec_recovery *recovery,
                                 const csrec_tiling *tiling, csrec_error *error) {
    const csrec_measurement *m = recovery->measurement;
    csrec_gaussian_axes axes;
    csrec_survey survey;
    csrec_whole whole = {.n = 0};
    csrec_recovery own = *recovery;
    csrec_tiler tiler = {.method = method, .tiling = tiling, .signal = recovery->signal};
    csrec_status status = csrec_survey_create(m->channels, &survey, error);
    if (!status) csrec_survey_add(&survey, m->n, m->y);
    if (!status)
        status = csrec_survey_whole(&survey, recovery->whole->entries, 1.0, &axes, &whole, error);
    own.whole = &whole;
    if (!status) tiler.mean = csrec_survey_mean(&survey, 1.0);
    if (!status) status = csrec_tiler_run(&tiler, &own, tiling->tiles, error);
    csrec_whole_clear(&whole);
    csrec_survey_clear(&survey);
    return status;
}
