/* SPDX-License-Identifier: BSD-3-Clause */
/* history.c - records of a recovery's steps, one for each channel, combined to tracks. */
#include "method/history.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Early steps change most, and plots have a logarithmic axis. */
enum { EVERY = 16, NAME = 40, TRACKS_RESULT = 1 << 20 };

typedef struct entry {
    int64_t iteration;
    double energy, whole, error;
} entry;

struct csrec_record {
    struct csrec_history *history;
    int track;
    int64_t channel;
    char name[NAME], unit[NAME];
    double scale; /* unit of its values, in the truth's */
    entry *entries;
    int64_t n, room;
    int64_t next; /* next iteration to record */
};

typedef struct track {
    const csrec_record *first;
    csrec_history_step *steps;
    int64_t n;
} track;

struct csrec_history {
    pthread_mutex_t lock; /* guards the list of records, which threads extend */
    const double *truth;
    double peak;
    const csrec_measurement *measurement; /* during the recovery */
    double unit, scale; /* of the measurement's values and of those recorded now, in the truth's */
    int64_t entries;
    csrec_record **records; /* by track, then channel, once the recovery has ended */
    int n_records;
    track *tracks;
    int n_tracks;
    int levels;
    int64_t level[64];
    bool short_of_memory;
};

csrec_status csrec_history_create(const double *truth, double peak, csrec_history **history) {
    csrec_history *h = calloc(1, sizeof *h);
    if (!h) return CSREC_MEMORY;
    pthread_mutex_init(&h->lock, NULL);
    h->truth = truth;
    h->peak = peak;
    *history = h;
    return CSREC_OK;
}

static void drop_tracks(csrec_history *h) {
    for (int i = 0; i < h->n_tracks; i++) free(h->tracks[i].steps);
    free(h->tracks);
    h->tracks = NULL;
    h->n_tracks = 0;
}

static void clear(csrec_history *h) {
    drop_tracks(h);
    for (int i = 0; i < h->n_records; i++) {
        free(h->records[i]->entries);
        free(h->records[i]);
    }
    free(h->records);
    h->measurement = NULL;
    h->entries = 0;
    h->records = NULL;
    h->n_records = 0;
    h->levels = 0;
    memset(h->level, 0, sizeof h->level);
    h->short_of_memory = false;
}

void csrec_history_destroy(csrec_history *h) {
    if (!h) return;
    clear(h);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

bool csrec_history_track(const csrec_history *h, int i, const char **name, const char **unit,
                         int64_t *n, const csrec_history_step **steps) {
    if (!h || i < 0 || i >= h->n_tracks) return false;
    *name = h->tracks[i].first->name;
    *unit = h->tracks[i].first->unit;
    *n = h->tracks[i].n;
    *steps = h->tracks[i].steps;
    return true;
}

int csrec_history_levels(const csrec_history *h, int64_t count[64]) {
    if (!h) return 0;
    memcpy(count, h->level, sizeof h->level);
    return h->levels;
}

void csrec_history_begin(csrec_history *h, const csrec_measurement *measurement, double unit) {
    if (!h) return;
    clear(h);
    h->measurement = measurement;
    h->unit = h->scale = unit;
    csrec_shape_count(&measurement->shape, &h->entries);
}

void csrec_history_unit(csrec_history *h, double unit) {
    if (h) h->scale = h->unit * unit;
}

static bool keep_record(csrec_history *h, csrec_record *record) {
    csrec_record **more = realloc(h->records, (size_t)(h->n_records + 1) * sizeof *more);
    if (!more) return false;
    h->records = more;
    h->records[h->n_records++] = record;
    return true;
}

csrec_record *csrec_history_record(csrec_history *h, int number, const char *name, const char *unit,
                                   int64_t channel) {
    if (!h) return NULL;
    csrec_record *record = calloc(1, sizeof *record);
    if (record) {
        record->history = h;
        record->track = number;
        record->channel = channel;
        record->scale = h->scale;
        snprintf(record->name, sizeof record->name, "%s", name);
        snprintf(record->unit, sizeof record->unit, "%s", unit);
    }
    pthread_mutex_lock(&h->lock);
    bool kept = record && keep_record(h, record);
    if (!kept) h->short_of_memory = true;
    pthread_mutex_unlock(&h->lock);
    if (kept) return record;
    free(record);
    return NULL;
}

bool csrec_record_wants(const csrec_record *record, int64_t iteration) {
    return record && iteration >= record->next;
}

/* After the first steps, four per doubling. */
static int64_t step_after(int64_t iteration) {
    int64_t step = 1;
    while (step * EVERY <= iteration) step *= 2;
    return iteration + (iteration < EVERY ? 1 : 2 * step);
}

void csrec_record_fail(const csrec_record *record) {
    pthread_mutex_lock(&record->history->lock);
    record->history->short_of_memory = true;
    pthread_mutex_unlock(&record->history->lock);
}

void csrec_record_add(csrec_record *record, int64_t iteration, double energy, double whole,
                      double error) {
    if (!record) return;
    if (record->n == record->room) {
        int64_t room = record->room ? 2 * record->room : 64;
        entry *more = realloc(record->entries, (size_t)room * sizeof *more);
        if (!more) {
            csrec_record_fail(record);
            return;
        }
        record->entries = more;
        record->room = room;
    }
    record->entries[record->n++] = (entry){iteration, energy, whole, error};
    record->next = step_after(iteration);
}

static double error_of(const csrec_record *record, const double *signal) {
    const csrec_history *h = record->history;
    double error = 0.0;
    if (!h->truth) return NAN;
    for (int64_t i = 0; i < h->entries * h->measurement->channels; i++) {
        double off = csrec_in_unit(h->truth[i], record->scale) - signal[i];
        error += off * off;
    }
    return error;
}

void csrec_record_signal(csrec_record *record, int64_t iteration, const double *signal) {
    if (!record) return;
    const csrec_measurement *m = record->history->measurement;
    double energy = 0.0, whole = 0.0;
    for (int64_t i = 0; i < m->n * m->channels; i++) {
        double y = m->y[i];
        if (isnan(y)) continue; /* not measured */
        double r = y - signal[m->index[i / m->channels] * m->channels + i % m->channels];
        energy += r * r;
        whole += y * y;
    }
    csrec_record_add(record, iteration, energy, whole, error_of(record, signal));
}

int64_t csrec_record_entries(const csrec_record *record) {
    return record->history->entries;
}

bool csrec_record_has_truth(const csrec_record *record) {
    return record && record->history->truth;
}

double csrec_record_truth(const csrec_record *record, int64_t place) {
    const csrec_history *h = record->history;
    int64_t at = place * h->measurement->channels + record->channel;
    return csrec_in_unit(h->truth[at], record->scale);
}

void csrec_history_atoms(csrec_history *h, int levels, const csrec_atoms *atoms) {
    if (!h || levels > 62) return;
    if (levels > h->levels) h->levels = levels;
    for (int64_t i = 0; i < atoms->n; i++) {
        int depth = 0;
        while (atoms->column[i] >> depth > 1) depth++;
        h->level[atoms->column[i] ? levels - depth : 0]++;
    }
}

static int by_place(const void *a, const void *b) {
    const csrec_record *x = *(csrec_record *const *)a, *y = *(csrec_record *const *)b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    return x->channel < y->channel ? -1 : x->channel > y->channel;
}

static int by_iteration(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The state of a channel at an iteration: its last entry up to it, else its first. */
static const entry *reached(const csrec_record *record, int64_t iteration, int64_t *at) {
    while (*at + 1 < record->n && record->entries[*at + 1].iteration <= iteration) ++*at;
    return &record->entries[*at];
}

static csrec_history_step sum_up(const csrec_history *h, csrec_record *const *records, int count,
                                 int64_t iteration, int64_t *at) {
    double energy = 0.0, whole = 0.0, error = 0.0;
    for (int i = 0; i < count; i++) {
        const entry *e = reached(records[i], iteration, &at[i]);
        energy += e->energy;
        whole += e->whole;
        error += e->error;
    }
    double values = (double)(h->entries * h->measurement->channels);
    double peak = csrec_in_unit(h->peak, records[0]->scale);
    /* Finite even if a model is so far off that the quotient of the squares overflows. */
    double square = whole > 0.0 ? energy / whole : 0.0;
    return (csrec_history_step){
        iteration, (square <= DBL_MAX ? sqrt(square) : fmin(sqrt(energy) / sqrt(whole), DBL_MAX)),
        10.0 * log10(peak * peak * values / error)};
}

/* Whether the state of the channel at that iteration is known: recorded, or ended before. */
static bool is_known(const csrec_record *record, int64_t iteration) {
    for (int64_t k = record->n - 1; k >= 0 && record->entries[k].iteration >= iteration; k--)
        if (record->entries[k].iteration == iteration) return true;
    return record->entries[record->n - 1].iteration < iteration;
}

/* Iterations above 0, distinct and ascending, that are known for all records: some channels end at
 * iterations that others do not record. */
static int64_t list_iterations(csrec_record *const *records, int count, int64_t *list) {
    int64_t n = 0, kept = 0;
    for (int i = 0; i < count; i++)
        for (int64_t k = 0; k < records[i]->n; k++) list[n++] = records[i]->entries[k].iteration;
    qsort(list, (size_t)n, sizeof *list, by_iteration);
    for (int64_t k = 0; k < n; k++) {
        bool keep = list[k] > 0 && (kept == 0 || list[kept - 1] != list[k]);
        for (int i = 0; i < count && keep; i++) keep = is_known(records[i], list[k]);
        if (keep) list[kept++] = list[k];
    }
    return kept;
}

static csrec_status make_track(csrec_history *h, csrec_record *const *records, int count) {
    int64_t most = 1;
    track *to = &h->tracks[h->n_tracks];
    for (int i = 0; i < count; i++) {
        if (records[i]->n == 0) return CSREC_OK; /* a channel that was not started */
        most += records[i]->n;
    }
    csrec_pool pool = {0};
    int64_t *list = CSREC_TAKE(&pool, list, most), *at = CSREC_ZEROS(&pool, at, count);
    csrec_history_step *steps = malloc((size_t)most * sizeof *steps);
    if (!pool.lacks && steps) {
        *to = (track){records[0], steps, list_iterations(records, count, list)};
        for (int64_t k = 0; k < to->n; k++) steps[k] = sum_up(h, records, count, list[k], at);
        h->n_tracks++;
        steps = NULL;
    }
    csrec_pool_clear(&pool);
    free(steps);
    return to->steps ? CSREC_OK : CSREC_MEMORY;
}

static csrec_status make_tracks(csrec_history *h) {
    qsort(h->records, (size_t)h->n_records, sizeof *h->records, by_place);
    h->tracks = calloc((size_t)h->n_records, sizeof *h->tracks);
    if (!h->tracks) return CSREC_MEMORY;
    for (int i = 0, next; i < h->n_records; i = next) {
        for (next = i + 1; next < h->n_records; next++)
            if (h->records[next]->track != h->records[i]->track) break;
        CSREC_TRY(make_track(h, h->records + i, next - i));
    }
    return CSREC_OK;
}

void csrec_history_end(csrec_history *h, const double *signal, const csrec_recover_report *report) {
    if (!h) return;
    csrec_record *last = csrec_history_record(h, TRACKS_RESULT, "result", "iteration", -1);
    int64_t iterations = report->iterations > 0 ? report->iterations : 1;
    csrec_record_add(last, iterations, report->residual * report->residual, 1.0,
                     signal && last ? error_of(last, signal) : NAN);
    if (h->short_of_memory || make_tracks(h)) drop_tracks(h);
    h->measurement = NULL;
}
