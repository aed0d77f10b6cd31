/* SPDX-License-Identifier: BSD-3-Clause */
/* holes.c - large holes of a picture, which methods that learn from what is near fill badly: by the
 * membrane, or by the smoothest surface where samples left out in such holes say so. */
#include "method/smooth/holes.h"

#include <math.h>
#include <string.h>

#include "method/smooth/plate.h"
#include "sampling/sampling.h"

enum { FOLDS = 2, WINDOW = 512, STEPS = 8, SPARSE = 3, ITERATIONS = 500, LEAST = 64 };
/* Farther from all samples than this, and than SPARSE times their mean distance, is a hole. */
static const double RADIUS = 8.0, TOLERANCE = 1e-4, ROUGHLY = 1e-3;
/* What the smoothest surface may have of the squared errors of the membrane, and of the method. */
static const double OF_MEMBRANE = 0.6, OF_METHOD = 0.85;

typedef struct job {
    csrec_pool pool;
    const csrec_method_type *method;
    const csrec_recovery *r;
    csrec_call *call;
    int64_t H, W, C;      /* of the picture or of the window: */
    double *signal;       /* [H][W][C] */
    uint8_t *known;       /* [H][W] */
    uint8_t *zone;        /* all of a disc of radius `reach` without a sample */
    uint8_t *out, *fixed; /* what is left out, what plates keep */
    uint32_t *squared;
    double *u, reach;
} job;

static csrec_status take(job *j, int64_t H, int64_t W) {
    j->H = H;
    j->W = W;
    j->C = j->r->measurement->channels;
    CSREC_ZEROS(&j->pool, j->known, H * W);
    CSREC_ZEROS(&j->pool, j->zone, H * W);
    CSREC_ZEROS(&j->pool, j->out, H * W);
    CSREC_TAKE(&j->pool, j->fixed, H * W);
    CSREC_TAKE(&j->pool, j->squared, H * W);
    CSREC_TAKE(&j->pool, j->u, H * W);
    return csrec_pool_status(&j->pool);
}

/* Marks the zone; *deepest: an entry that is farthest from samples, or -1: there is no hole. */
static csrec_status find_zone(job *j, int64_t *deepest) {
    const int64_t extent[3] = {1, j->H, j->W}, entries = j->H * j->W;
    const double most = j->reach * j->reach;
    uint32_t farthest = (uint32_t)most;
    *deepest = -1;
    for (int64_t i = 0; i < entries; i++) j->squared[i] = j->known[i] ? 0 : CSREC_FAR;
    csrec_status status = csrec_distance_squared(extent, j->r->options->threads, j->squared);
    for (int64_t i = 0; i < entries && !status; i++) {
        if (j->squared[i] > farthest) {
            farthest = j->squared[i];
            *deepest = i;
        }
        j->squared[i] = j->squared[i] > most ? 0 : CSREC_FAR;
    }
    if (status || *deepest < 0) return status;
    status = csrec_distance_squared(extent, j->r->options->threads, j->squared);
    for (int64_t i = 0; i < entries; i++) j->zone[i] = !j->known[i] && j->squared[i] <= most;
    return status;
}

/* The zone by a plate of the kind through all else and, if not NULL, without what is left out. */
static csrec_status fill(job *j, csrec_plate_kind kind, int64_t channel, const uint8_t *out) {
    const int64_t entries = j->H * j->W;
    const double *x = j->signal + channel;
    double mean = 0.0;
    int64_t n = 0, done;
    for (int64_t i = 0; i < entries; i++) {
        j->fixed[i] = !(j->zone[i] || (out && out[i]));
        if (j->fixed[i]) mean += x[i * j->C];
        n += j->fixed[i];
    }
    for (int64_t i = 0; i < entries; i++) j->u[i] = j->fixed[i] ? x[i * j->C] : mean / (double)n;
    const csrec_plate_fill plate = {.extent = {1, j->H, j->W},
                                    .known = j->fixed,
                                    .kind = kind,
                                    .threads = j->r->options->threads,
                                    .tolerance = out ? ROUGHLY : TOLERANCE,
                                    .iterations = ITERATIONS};
    csrec_status status = csrec_plate_holes(&plate, j->call, j->u, &done);
    j->r->report->iterations += done;
    return status;
}

/* Samples under the zone moved by (dy, dx), less half of what lies in the zone again. Marks them if
 * mark. */
static double move(job *j, int64_t dy, int64_t dx, bool mark) {
    double score = 0.0;
    if (mark) memset(j->out, 0, (size_t)(j->H * j->W));
    for (int64_t y = dy > 0 ? dy : 0; y < j->H + (dy < 0 ? dy : 0); y++)
        for (int64_t x = dx > 0 ? dx : 0; x < j->W + (dx < 0 ? dx : 0); x++) {
            const int64_t to = y * j->W + x;
            if (!j->zone[(y - dy) * j->W + x - dx]) continue;
            score += j->known[to] ? 1.0 : -0.5 * j->zone[to];
            if (mark) j->out[to] = j->known[to];
        }
    return score;
}

/* The best places for the holes, in steps of 1/8 of the extents; their scores. */
static void find_moves(job *j, int64_t at[FOLDS][2], double score[FOLDS]) {
    const int64_t step[2] = {j->H / STEPS, j->W / STEPS};
    for (int f = 0; f < FOLDS; f++) score[f] = 0.0;
    for (int64_t k = 0; k < (2 * STEPS - 1) * (2 * STEPS - 1); k++) {
        const int64_t dy = (k / (2 * STEPS - 1) - STEPS + 1) * step[0];
        const int64_t dx = (k % (2 * STEPS - 1) - STEPS + 1) * step[1];
        const double s = dy || dx ? move(j, dy, dx, false) : 0.0;
        for (int f = 0; f < FOLDS; f++) {
            if (s <= score[f]) continue;
            for (int g = FOLDS - 1; g > f; g--) {
                score[g] = score[g - 1];
                memcpy(at[g], at[g - 1], sizeof *at);
            }
            score[f] = s;
            at[f][0] = dy;
            at[f][1] = dx;
            break;
        }
    }
}

/* Squares of what u misses at samples left out. */
static double missed(const job *j, int64_t channel, const double *u, int64_t stride) {
    double sum = 0.0;
    for (int64_t i = 0; i < j->H * j->W; i++) {
        const double off = u[i * stride] - j->signal[i * j->C + channel];
        if (j->out[i]) sum += off * off;
    }
    return sum;
}

/* The method itself on the samples of the window that are kept. */
static csrec_status try_method(job *j, double *squares, csrec_error *error) {
    const int64_t C = j->C, entries = j->H * j->W;
    csrec_measurement kept = {.shape = {2, {j->H, j->W}}, .channels = C};
    csrec_recover_options options = *j->r->options;
    csrec_recover_report report = {0};
    csrec_recovery own = *j->r;
    csrec_whole whole;
    double *signal;
    CSREC_TAKE(&j->pool, kept.index, entries);
    CSREC_TAKE(&j->pool, kept.y, entries * C);
    CSREC_TAKE(&j->pool, signal, entries * C);
    if (j->pool.lacks) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < entries; i++) {
        if (!j->known[i] || j->out[i]) continue;
        memcpy(kept.y + kept.n * C, j->signal + i * C, (size_t)C * sizeof *kept.y);
        kept.index[kept.n++] = i;
    }
    memcpy(kept.scale, j->r->measurement->scale, sizeof kept.scale);
    options.history = NULL;
    options.comm = NULL;
    own.measurement = &kept;
    own.options = &options;
    own.whole = &whole;
    own.signal = signal;
    own.variance = own.common = NULL;
    own.report = &report;
    csrec_status status = csrec_whole_of(&kept, &whole, error);
    if (!status) status = csrec_method_run(j->method, &own, error);
    for (int64_t c = 0; c < C && !status; c++) *squares += missed(j, c, signal + c, C);
    csrec_whole_clear(&whole);
    return status;
}

/* squares: of the membrane, the smoothest surface, the method if it is needed. */
static csrec_status try_all(job *j, double squares[3], csrec_error *error) {
    int64_t at[FOLDS][2];
    double score[FOLDS];
    const bool frames = j->method == &csrec_method_frames;
    csrec_status status = CSREC_OK;
    find_moves(j, at, score);
    for (int pass = 0; pass < 2 && !status; pass++) {
        if (pass && (frames || squares[1] >= OF_MEMBRANE * squares[0])) break;
        for (int f = 0; f < FOLDS && !status; f++) {
            if (score[f] < LEAST) continue;
            move(j, at[f][0], at[f][1], true);
            if (pass) status = try_method(j, &squares[2], error);
            for (int64_t c = 0; c < j->C && !pass && !status; c++)
                for (int k = 0; k < 2 && !status; k++) {
                    status = fill(j, k ? CSREC_PLATE_BIHARMONIC : CSREC_PLATE_MEMBRANE, c, j->out);
                    squares[k] += missed(j, c, j->u, 1);
                }
        }
    }
    return status;
}

static void choose(const job *j, const double squares[3], int *kind) {
    const bool frames = j->method == &csrec_method_frames;
    *kind = frames ? CSREC_PLATE_MEMBRANE : 0;
    j->r->report->choice =
        frames ? "large holes by the membrane through what is around them" : NULL;
    if (squares[0] == 0.0 || squares[1] >= OF_MEMBRANE * squares[0]) return;
    if (!frames && squares[1] >= OF_METHOD * squares[2]) return;
    *kind = CSREC_PLATE_BIHARMONIC;
    j->r->report->choice = "large holes by the smoothest surface through what is around them: it "
                           "errs less, on samples left out";
}

/* The window of the picture around an entry, of at most WINDOW each way. */
static csrec_status open_window(const job *all, int64_t centre, job *w) {
    const int64_t side[2] = {all->H < WINDOW ? all->H : WINDOW, all->W < WINDOW ? all->W : WINDOW};
    int64_t from[2] = {centre / all->W - side[0] / 2, centre % all->W - side[1] / 2};
    from[0] = from[0] < 0 ? 0 : from[0] > all->H - side[0] ? all->H - side[0] : from[0];
    from[1] = from[1] < 0 ? 0 : from[1] > all->W - side[1] ? all->W - side[1] : from[1];
    *w = (job){.method = all->method, .r = all->r, .call = all->call, .reach = all->reach};
    csrec_status status = take(w, side[0], side[1]);
    CSREC_TAKE(&w->pool, w->signal, side[0] * side[1] * all->C);
    if (!status) status = csrec_pool_status(&w->pool);
    for (int64_t y = 0; y < side[0] && !status; y++) {
        const int64_t row = (from[0] + y) * all->W + from[1];
        memcpy(w->known + y * side[1], all->known + row, (size_t)side[1]);
        memcpy(w->zone + y * side[1], all->zone + row, (size_t)side[1]);
        memcpy(w->signal + y * side[1] * all->C, all->signal + row * all->C,
               (size_t)(side[1] * all->C) * sizeof *w->signal);
    }
    return status;
}

/* Nothing beyond the samples. */
static csrec_status put(job *j, csrec_plate_kind kind) {
    csrec_status status = CSREC_OK;
    for (int64_t c = 0; c < j->C && !status; c++) {
        const double least = j->r->whole->least[c], most = j->r->whole->most[c];
        status = fill(j, kind, c, NULL);
        for (int64_t i = 0; i < j->H * j->W && !status; i++)
            if (j->zone[i]) j->signal[i * j->C + c] = fmin(fmax(j->u[i], least), most);
    }
    return status;
}

static csrec_status run(job *j, int *kind, csrec_error *error) {
    const csrec_measurement *m = j->r->measurement;
    int64_t deepest;
    double squares[3] = {0.0};
    job window = {.r = NULL};
    csrec_status status = take(j, m->shape.dim[0], m->shape.dim[1]);
    for (int64_t k = 0; k < m->n && !status; k++) j->known[m->index[k]] = 1;
    if (!status) status = find_zone(j, &deepest);
    if (status || deepest < 0) return status;
    if (*kind < 0) {
        status = open_window(j, deepest, &window);
        if (!status) status = try_all(&window, squares, error);
        csrec_pool_clear(&window.pool);
        if (!status) choose(j, squares, kind);
    }
    return status || !*kind ? status : put(j, (csrec_plate_kind)*kind);
}

csrec_status csrec_holes_fill(const csrec_method_type *method, const csrec_recovery *recovery,
                              int *kind, csrec_error *error) {
    const csrec_measurement *m = recovery->measurement;
    const bool noisy = m->sigma > 0.0 || recovery->options->solve.stop.sigma > 0.0;
    if (!recovery->options->by_samples || !recovery->signal || m->shape.dims != 2 || m->through ||
        noisy || method == &csrec_method_smooth || method->film ||
        recovery->report->outcome == CSREC_INTERRUPTED)
        return CSREC_OK;
    const double entries = (double)m->shape.dim[0] * (double)m->shape.dim[1];
    csrec_call call;
    job j = {.method = method, .r = recovery, .signal = recovery->signal, .call = &call};
    j.reach = fmax(RADIUS, SPARSE * sqrt(entries / (double)m->n));
    csrec_call_begin(&call, recovery->options->solve.progress, recovery->options->solve.context,
                     (csrec_progress){"holes", 0, 0, -1.0});
    csrec_status status = run(&j, kind, error);
    if (csrec_call_stopped(&call)) recovery->report->outcome = CSREC_INTERRUPTED;
    csrec_call_end(&call);
    csrec_pool_clear(&j.pool);
    return status && !(error && error->text[0])
               ? csrec_fail(error, status, "large holes: %s", csrec_status_text(status))
               : status;
}
