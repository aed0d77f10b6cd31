/* tiles.c - recovery tile by tile. */
#include "recover/tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/model.h"
#include "operator/mask.h"
#include "recover/journal.h"
#include "recover/select.h"
#include "recover/spread.h"
#include "recover/survey.h"
#include "solver/mp.h"
#include "solver/threshold.h"

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

static csrec_status guess(const csrec_measurement *part, int64_t entries, double *out,
                          csrec_error *error) {
    csrec_operator_spec spec = {.shape = &part->shape, .m = part->n, .index = part->index};
    csrec_mask mask;
    csrec_status status = csrec_mask_create(&spec, "mask", &mask, error);
    if (status) return status;
    double *y = malloc((size_t)(part->n + entries) * sizeof *y);
    status = y ? CSREC_OK : CSREC_MEMORY;
    for (int64_t c = 0; c < part->channels && !status; c++)
        status = guess_channel(part, &mask, c, y, y + part->n, out);
    free(y);
    csrec_mask_clear(&mask);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

/* ------------------------------------------------------------------ all of them */

/* Progress counts this process's tiles; the method's own reports only check for a stop. */
static bool pass_progress(const csrec_progress *progress, void *context) {
    csrec_tiler *j = context;
    int64_t first = j->spread ? j->spread->first : 0;
    csrec_progress seen = {"tiles", j->done - first, j->tiling->tiles, progress->residual};
    if (j->given->solve.progress && !j->stopped)
        j->stopped = j->given->solve.progress(&seen, j->given->solve.context);
    return j->stopped;
}

void csrec_report_add(const csrec_recover_report *one, csrec_recover_report *all) {
    all->pursuits += one->pursuits;
    all->iterations += one->iterations;
    all->residual = fmax(all->residual, one->residual);
    all->unexplained = fmax(all->unexplained, one->unexplained);
    all->tiles_resumed += one->tiles_resumed;
    if (one->outcome > all->outcome) all->outcome = one->outcome;
    all->levels = one->levels > all->levels ? one->levels : all->levels;
    if (one->backend) all->backend = one->backend; /* a guess has none */
    all->seconds_tree += one->seconds_tree;
    all->seconds_pursuit += one->seconds_pursuit;
    all->seconds_synthesis += one->seconds_synthesis;
    csrec_exchanges_add(&one->exchanges, &all->exchanges);
}

/* Into `values`; one->outcome tells whether it is whole. */
static csrec_status recover_tile(csrec_tiler *j, const csrec_measurement *part, int64_t entries,
                                 double *values, csrec_recover_report *one, csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (part->n == 0) {
        fill(j, entries, values);
        return CSREC_OK;
    }
    if (j->stopped) {
        status = guess(part, entries, values, error);
    } else {
        j->tile.measurement = part;
        j->tile.signal = values;
        j->tile.report = one;
        status = csrec_method_run(j->method, &j->tile, error);
    }
    if (!status) one->residual = csrec_samples_residual(part, values);
    if (!status && j->stopped) one->outcome = CSREC_INTERRUPTED;
    return status;
}

/* Selects the samples of a tile and recovers it, and keeps it if it is whole. */
static csrec_status make_tile(csrec_tiler *j, int64_t number, const csrec_tile *tile,
                              csrec_part *whole, csrec_recover_report *one, csrec_error *error) {
    csrec_measurement part;
    int64_t entries = csrec_box_entries(&whole->box);
    csrec_status status =
        csrec_samples_select(j->m, j->tiling, tile, j->ascend, j->given->threads, &part);
    if (status)
        csrec_fail(error, status, "out of memory for a tile");
    else
        status = recover_tile(j, &part, entries, whole->values, one, error);
    if (!status && one->outcome != CSREC_INTERRUPTED)
        csrec_journal_keep(j->journal, number, whole, one);
    free(part.index);
    free(part.y);
    return status;
}

static csrec_status run_tile(csrec_tiler *j, int64_t number, csrec_recover_report *report,
                             csrec_error *error) {
    csrec_tile tile = csrec_tiling_tile(j->tiling, number);
    csrec_recover_report one = {0};
    csrec_part whole;
    memcpy(whole.box.at, tile.box, sizeof whole.box.at);
    size_t bytes = (size_t)(csrec_box_entries(&whole.box) * j->m->channels) * sizeof(double);
    whole.values = malloc(bytes);
    if (!whole.values) return csrec_fail(error, CSREC_MEMORY, "out of memory for a tile");
    csrec_status status = CSREC_OK;
    if (!csrec_journal_take(j->journal, number, &whole, &one)) {
        memcpy(whole.box.at, tile.box, sizeof whole.box.at);
        status = make_tile(j, number, &tile, &whole, &one, error);
    }
    if (!status) status = csrec_spread_add(j->spread, number, &whole, error);
    if (!status) csrec_report_add(&one, report);
    free(whole.values);
    return status;
}

csrec_status csrec_tiler_run(csrec_tiler *j, const csrec_recovery *recovery, int64_t count,
                             csrec_error *error) {
    j->m = recovery->measurement;
    j->tile = *recovery;
    j->given = recovery->options;
    j->ascend = csrec_samples_ascend(j->m, j->given->threads);
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

/* After a stop the others guess their tiles, too, so that waiting ends soon. */
static bool tiler_stops(void *tiler) {
    static const csrec_progress waiting = {.stage = "tiles", .residual = -1.0};
    const csrec_tiler *j = tiler;
    pass_progress(&waiting, tiler);
    return csrec_comm_failed(j->spread->comm, NULL) != CSREC_OK;
}

/* This process's tiles, and with them the whole on the first process. */
static csrec_status run_share(csrec_tiler *j, const csrec_recovery *recovery, csrec_error *error) {
    csrec_comm *comm = recovery->options->comm;
    const csrec_tiling *tiling = j->tiling;
    const int rank = csrec_comm_rank(comm);
    csrec_spread spread = {.comm = comm,
                           .tiling = tiling,
                           .first = csrec_spread_first(comm, tiling->tiles, rank),
                           .end = csrec_spread_first(comm, tiling->tiles, rank + 1),
                           .channels = recovery->measurement->channels,
                           .common = recovery->common != NULL,
                           .stops = tiler_stops,
                           .context = j};
    csrec_status status =
        csrec_mosaic_create(tiling, spread.channels,
                            rank == 0 ? recovery->signal : recovery->common, &spread.mosaic, error);
    j->spread = &spread;
    j->done = spread.first;
    if (!status)
        status =
            csrec_journal_open(recovery->options->journal, recovery->options->journal_key, tiling,
                               spread.channels, recovery->unit, comm, &j->journal, error);
    if (!status) status = csrec_tiler_run(j, recovery, spread.end - spread.first, error);
    if (!status && comm) status = csrec_spread_collect(&spread, error);
    if (!status && comm) status = csrec_spread_report(&spread, recovery->report, error);
    csrec_journal_close(j->journal);
    csrec_mosaic_destroy(spread.mosaic);
    return status;
}

csrec_status csrec_recover_tiles(const csrec_method_type *method, const csrec_recovery *recovery,
                                 const csrec_tiling *tiling, csrec_error *error) {
    const csrec_measurement *m = recovery->measurement;
    csrec_gaussian_axes axes;
    csrec_survey survey;
    csrec_whole whole = {.n = 0};
    csrec_recovery own = *recovery;
    csrec_tiler tiler = {.method = method, .tiling = tiling};
    csrec_status status = csrec_survey_of(m, &survey, error);
    if (!status)
        status = csrec_survey_whole(&survey, recovery->whole->entries, 1.0, &axes, &whole, error);
    own.whole = &whole;
    if (!status) tiler.mean = csrec_survey_mean(&survey, 1.0);
    if (!status) status = run_share(&tiler, &own, error);
    csrec_whole_clear(&whole);
    csrec_survey_clear(&survey);
    return status;
}
