/* SPDX-License-Identifier: BSD-3-Clause */
/* trial.c - the method trial: a volume by the way that errs least on samples left out: block
 * cosines, the thin plate, or plane by plane (docs/smooth.md). */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "csrec/sampling.h"
#include "method/method.h"

enum { BLOCKS, PLATE, PLANES, WAYS };
static const char *const choices[WAYS] = {
    "block cosines (method frames): they err less than the smoothest volume, on samples left out",
    "the smoothest volume (method smooth): it errs less than block cosines, on samples left out",
    "plane by plane, as the gaps are those of all planes: it errs less, on samples left out"};

enum { FOLDS = 2, EDGE = 48, LEAST = 32 };

/* Of the samples of a fold, about. */
static const double LEFT_OUT = 0.3;

typedef struct job {
    csrec_pool pool;
    const csrec_recovery *r;
    csrec_call call;
    int64_t n[3]; /* extents of what is tried */
    uint8_t *known;
    bool planes; /* have the same gaps */
} job;

static int64_t entries_of(const csrec_shape *shape) {
    int64_t entries = 0;
    csrec_shape_count(shape, &entries);
    return entries;
}

static csrec_status run_as(job *j, const csrec_measurement *m, const csrec_method_type *method,
                           double *signal, csrec_error *error) {
    csrec_recover_options options = csrec_options_within(j->r->options, &j->call);
    csrec_whole whole;
    static const csrec_setting small[] = {
        {"block", 8}}; /* of planes: others take 50 times as long */
    csrec_recovery own = *j->r;
    csrec_recover_report report = {0};
    csrec_status status = csrec_whole_of(m, &whole, error);
    options.method = method->info.name;
    options.solve.settings = small;
    options.solve.n_settings = m->shape.dims == 2;
    own.measurement = m;
    own.whole = &whole;
    own.signal = signal;
    own.common = NULL;
    own.report = &report;
    if (!status) status = csrec_recover_start(&own, &options, error);
    if (!status) j->r->report->iterations += report.iterations;
    csrec_whole_clear(&whole);
    return status;
}

/* Samples are in the order of planes. By blocks, since volumes do without the learned prior. */
static csrec_status run_planes(job *j, const csrec_measurement *m, double *signal,
                               csrec_error *error) {
    csrec_measurement plane = *m;
    plane.shape = (csrec_shape){2, {m->shape.dim[1], m->shape.dim[2]}};
    plane.n = m->n / m->shape.dim[0];
    const int64_t values = entries_of(&plane.shape) * m->channels;
    for (int64_t z = 0; z < m->shape.dim[0]; z++) {
        plane.y = m->y + z * plane.n * m->channels;
        CSREC_TRY(run_as(j, &plane, &csrec_method_frames, signal + z * values, error));
    }
    return CSREC_OK;
}

static csrec_status run_way(job *j, int way, const csrec_measurement *m, double *signal,
                            csrec_error *error) {
    if (way == PLANES) return run_planes(j, m, signal, error);
    return run_as(j, m, way == PLATE ? &csrec_method_smooth : &csrec_method_frames, signal, error);
}

/* Samples in the order of entries, of the box of at most EDGE entries an axis around the middle;
 * all: of everything. */
static csrec_status take_box(job *j, bool all, csrec_measurement *box) {
    const csrec_measurement *m = j->r->measurement;
    int64_t from[3], *slot;
    for (int a = 0; a < 3; a++) {
        box->shape.dim[a] = m->shape.dim[a] > EDGE && !all ? EDGE : m->shape.dim[a];
        from[a] = (m->shape.dim[a] - box->shape.dim[a]) / 2;
        j->n[a] = box->shape.dim[a];
    }
    const int64_t entries = entries_of(&box->shape), C = m->channels;
    CSREC_ZEROS(&j->pool, slot, entries);
    CSREC_TAKE(&j->pool, box->index, entries);
    CSREC_TAKE(&j->pool, box->y, entries * C);
    CSREC_TAKE(&j->pool, j->known, entries);
    if (j->pool.lacks) return CSREC_MEMORY;
    for (int64_t k = 0; k < m->n; k++) {
        const int64_t area = m->shape.dim[1] * m->shape.dim[2], width = m->shape.dim[2];
        const int64_t z = m->index[k] / area - from[0], y = m->index[k] % area / width - from[1],
                      x = m->index[k] % width - from[2];
        if (z < 0 || y < 0 || x < 0 || z >= j->n[0] || y >= j->n[1] || x >= j->n[2]) continue;
        slot[(z * j->n[1] + y) * j->n[2] + x] = k + 1;
    }
    box->n = 0;
    for (int64_t i = 0; i < entries; i++) {
        j->known[i] = slot[i] > 0;
        if (!slot[i]) continue;
        memcpy(box->y + box->n * C, m->y + (slot[i] - 1) * C, (size_t)C * sizeof *m->y);
        box->index[box->n++] = i;
    }
    box->pattern = CSREC_PATTERN_NONE;
    const int64_t area = j->n[1] * j->n[2];
    j->planes = j->n[0] > 1;
    for (int64_t i = area; i < entries && j->planes; i++)
        j->planes = j->known[i] == j->known[i % area];
    return CSREC_OK;
}

/* Where entry c of an axis comes from in fold f: the holes are moved where they leave room at an
 * end, so that they touch no end which they do not touch now, and else turned round. */
static int64_t from_of(const job *j, int64_t room[3][2], int axis, int f, int64_t c) {
    const int64_t n = j->n[axis], low = room[axis][0], high = room[axis][1];
    if (axis == 0 && j->planes) return c;
    if (low < 2 && high < 2) return axis == 0 && f == 0 ? c : n - 1 - c;
    const bool down = f % 2 ? low <= high : low > high;
    const int64_t by = down ? (low > 1 ? low - 1 : 0) : (high > 1 ? 1 - high : 0);
    return c + by < 0 ? 0 : c + by >= n ? n - 1 : c + by;
}

/* room[a]: entries before the first plane with a missing one, and behind the last. */
static void find_room(const job *j, int64_t room[3][2]) {
    for (int a = 0; a < 3; a++) room[a][0] = room[a][1] = j->n[a];
    for (int64_t i = 0; i < j->n[0] * j->n[1] * j->n[2]; i++) {
        const int64_t at[3] = {i / (j->n[1] * j->n[2]), i / j->n[2] % j->n[1], i % j->n[2]};
        for (int a = 0; a < 3 && !j->known[i]; a++) {
            if (at[a] < room[a][0]) room[a][0] = at[a];
            if (j->n[a] - 1 - at[a] < room[a][1]) room[a][1] = j->n[a] - 1 - at[a];
        }
    }
}

/* kept of box without the samples in the holes of fold f; where most is missing, without those of
 * some cells of a few samples. In all planes the same where their gaps are. */
static void leave_out(const job *j, const csrec_measurement *box, int f, csrec_measurement *kept) {
    const int64_t C = box->channels, entries = j->n[0] * j->n[1] * j->n[2];
    const double missing = 1.0 - (double)box->n / (double)entries;
    const double share = LEFT_OUT / fmax(missing, LEFT_OUT);
    const int64_t cell = 1 + (int64_t)cbrt(2.0 * (double)entries / fmax(1.0, (double)box->n));
    int64_t room[3][2];
    find_room(j, room);
    kept->n = 0;
    for (int64_t k = 0; k < box->n; k++) {
        const int64_t i = box->index[k];
        const int64_t at[3] = {i / (j->n[1] * j->n[2]), i / j->n[2] % j->n[1], i % j->n[2]};
        int64_t from[3];
        for (int a = 0; a < 3; a++) from[a] = from_of(j, room, a, f, at[a]);
        const bool hole = !j->known[(from[0] * j->n[1] + from[1]) * j->n[2] + from[2]];
        const int64_t z = j->planes ? 0 : at[0] / cell;
        const int64_t count = (z << 40) + (at[1] / cell << 20) + at[2] / cell;
        const uint64_t word =
            csrec_random_u64(j->r->options->seed, CSREC_STREAM_NEXT, (uint64_t)(count * FOLDS + f));
        if (hole && (double)(word >> 11) * 0x1p-53 < share) continue;
        kept->index[kept->n] = i;
        memcpy(kept->y + kept->n++ * C, box->y + k * C, (size_t)C * sizeof *box->y);
    }
}

/* squares [WAYS]: of the errors at samples left out of a fold. */
static csrec_status try_fold(job *j, int f, const csrec_measurement *box, csrec_measurement *kept,
                             double *signal, double squares[WAYS], csrec_error *error) {
    leave_out(j, box, f, kept);
    if (box->n - kept->n < LEAST || kept->n < LEAST) return CSREC_OK;
    for (int way = 0; way < (j->planes ? WAYS : PLANES); way++) {
        CSREC_TRY(run_way(j, way, kept, signal, error));
        for (int64_t k = 0, at = 0; k < box->n; k++) {
            if (at < kept->n && kept->index[at] == box->index[k]) {
                at++;
                continue;
            }
            for (int64_t c = 0; c < box->channels; c++) {
                const int64_t v = box->index[k] * box->channels + c;
                const double off = signal[v] - box->y[k * box->channels + c];
                squares[way] += off * off;
            }
        }
    }
    return CSREC_OK;
}

static csrec_status choose(job *j, int *best, csrec_error *error) {
    csrec_measurement box = *j->r->measurement, kept = box;
    double squares[WAYS] = {0.0}, *signal;
    csrec_status status = take_box(j, false, &box);
    const int64_t entries = entries_of(&box.shape);
    CSREC_TAKE(&j->pool, kept.index, box.n);
    CSREC_TAKE(&j->pool, kept.y, box.n * box.channels);
    CSREC_TAKE(&j->pool, signal, entries * box.channels);
    kept.shape = box.shape;
    kept.pattern = CSREC_PATTERN_NONE;
    *best = BLOCKS;
    if (status || j->pool.lacks)
        return csrec_fail(error, CSREC_MEMORY, "method trial: out of memory");
    if (box.n == entries) return CSREC_OK;
    for (int f = 0; f < FOLDS && !status && !csrec_call_stopped(&j->call); f++)
        status = try_fold(j, f, &box, &kept, signal, squares, error);
    for (int way = PLATE; way < (j->planes ? WAYS : PLANES); way++)
        if (squares[way] < squares[*best]) *best = way;
    if (squares[BLOCKS] > 0.0) j->r->report->choice = choices[*best];
    return status;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    job j = {.r = r};
    int best;
    csrec_call_begin(&j.call, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"choosing", 0, 0, -1.0});
    csrec_status status = choose(&j, &best, error);
    csrec_measurement all = *r->measurement;
    if (!status && best == PLANES && take_box(&j, true, &all))
        status = csrec_fail(error, CSREC_MEMORY, "method trial: out of memory");
    if (!status)
        status = run_way(&j, best == PLANES && !j.planes ? BLOCKS : best, &all, r->signal, error);
    r->report->pursuits = 1;
    r->report->outcome = csrec_call_stopped(&j.call) ? CSREC_INTERRUPTED : CSREC_DONE;
    csrec_call_end(&j.call);
    csrec_pool_clear(&j.pool);
    return status;
}

static bool suits(const csrec_measurement *measurement) {
    return measurement->shape.dims == 3;
}

static csrec_task blocks_of(const csrec_task *task, csrec_recover_options *options) {
    *options = csrec_options_within(task->options, NULL);
    options->method = csrec_method_frames.info.name;
    csrec_method_frames.complete(NULL, false, options);
    return csrec_task_with(task, options);
}

static csrec_need need_of(const csrec_task *task) {
    csrec_recover_options own;
    const csrec_task blocks = blocks_of(task, &own);
    const csrec_need one = csrec_method_frames.need(&blocks),
                     other = csrec_method_smooth.need(task);
    const double tried = fmin(1.0, (double)EDGE * EDGE * EDGE / (double)task->entries);
    const double copies = 8.0 * (double)(task->channels + 2) * (double)task->entries;
    return (csrec_need){.bytes = fmax(one.bytes, other.bytes) + (1.0 + tried) * copies,
                        .seconds = fmax(one.seconds, other.seconds) +
                                   FOLDS * tried * (one.seconds + other.seconds)};
}

static bool device_faster(const csrec_task *task) {
    csrec_recover_options own;
    const csrec_task blocks = blocks_of(task, &own);
    return csrec_method_frames.device_faster(&blocks);
}

const csrec_method_type csrec_method_trial = {
    .info = {.name = "trial",
             .topic = "series and fields",
             .brief = "of volumes: block cosines, a thin plate or planes, by samples left out",
             .source = "docs/smooth.md",
             .accepts = 0,
             .device = "what frames computes there"},
    .suits = suits,
    .wants = "three axes",
    .need = need_of,
    .parts = csrec_task_always,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = run};
