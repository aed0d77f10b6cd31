/* SPDX-License-Identifier: BSD-3-Clause */
/* mosaic.c - values of boxes, and the cells that tiles are blended into. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "recover/parts/parts.h"

enum { LARGE = 1 << 22 }; /* bytes */

int64_t csrec_box_entries(const csrec_box *box) {
    int64_t n = 1;
    for (int a = 0; a < CSREC_TILE_AXES; a++) n *= box->at[a][1] - box->at[a][0];
    return n;
}

bool csrec_box_common(const csrec_box *a, const csrec_box *b, csrec_box *both) {
    bool some = true;
    for (int i = 0; i < CSREC_TILE_AXES; i++) {
        both->at[i][0] = a->at[i][0] > b->at[i][0] ? a->at[i][0] : b->at[i][0];
        both->at[i][1] = a->at[i][1] < b->at[i][1] ? a->at[i][1] : b->at[i][1];
        some = some && both->at[i][0] < both->at[i][1];
    }
    return some;
}

double *csrec_boxed_at(const csrec_boxed *p, int64_t channels, const int64_t at[CSREC_TILE_AXES]) {
    int64_t i = 0;
    for (int a = 0; a < CSREC_TILE_AXES; a++)
        i = i * (p->box.at[a][1] - p->box.at[a][0]) + at[a] - p->box.at[a][0];
    return p->values + i * channels;
}

/* Several for a large box, as the first touch of fresh memory takes longest. */
static int threads_for(int64_t channels, const csrec_box *box) {
    return (size_t)(csrec_box_entries(box) * channels) * sizeof(double) > LARGE ? csrec_threads(0)
                                                                                : 1;
}

/* Lines of a box along the last axis, and where one begins. */
static int64_t lines_of(const csrec_box *box) {
    return (box->at[0][1] - box->at[0][0]) * (box->at[1][1] - box->at[1][0]);
}

static void begin_line(const csrec_box *box, int64_t line, int64_t at[CSREC_TILE_AXES]) {
    const int64_t across = box->at[1][1] - box->at[1][0];
    at[0] = box->at[0][0] + line / across;
    at[1] = box->at[1][0] + line % across;
    at[2] = box->at[2][0];
}

void csrec_boxed_copy(const csrec_boxed *from, int64_t channels, const csrec_box *box,
                      const csrec_boxed *to) {
    const int64_t lines = lines_of(box);
    const size_t line = (size_t)((box->at[2][1] - box->at[2][0]) * channels) * sizeof(double);
#pragma omp parallel for schedule(static) num_threads(threads_for(channels, box))
    for (int64_t k = 0; k < lines; k++) {
        int64_t at[CSREC_TILE_AXES];
        begin_line(box, k, at);
        memcpy(csrec_boxed_at(to, channels, at), csrec_boxed_at(from, channels, at), line);
    }
}

static double clamp(double v) {
    return fmax(0.0, fmin(1.0, v));
}

/* Along an axis: the tile's share of entry x, and that of the tile before it. */
static void ramp(const csrec_tiling *t, const csrec_box *core, int axis, int64_t entry,
                 double *share, double *before) {
    double half = (double)t->pad / 2.0, whole = (double)t->pad, x = (double)entry + 0.5;
    double up = 1.0, down = 1.0;
    if (core->at[axis][0] > 0) up = clamp((x - (double)core->at[axis][0] + half) / whole);
    if (core->at[axis][1] < t->extent[axis])
        down = 1.0 - clamp((x - (double)core->at[axis][1] + half) / whole);
    *before = 1.0 - up;
    *share = up * down;
}

/* A line from entry `at` to `end`. rest, share: of the axes before: what earlier tiles have, and
 * what this one shares with those of its line. */
static void blend_line(const csrec_tiling *t, const csrec_box *core, int64_t channels,
                       const int64_t at[], int64_t end, const double *from, double *to) {
    double share0, before0, share1, before1;
    ramp(t, core, 0, at[0], &share0, &before0);
    ramp(t, core, 1, at[1], &share1, &before1);
    const double rest = before0 + share0 * before1, share = share0 * share1;
    for (int64_t x = at[2]; x < end; x++, from += channels, to += channels) {
        double own, before;
        ramp(t, core, 2, x, &own, &before);
        double earlier = rest + share * before;
        own *= share;
        if (own <= 0.0) continue;
        double part = own / (own + earlier);
        for (int64_t c = 0; c < channels; c++)
            to[c] = earlier > 0.0 ? to[c] + part * (from[c] - to[c]) : from[c];
    }
}

/* Lines do not meet, so threads may blend them. */
void csrec_boxed_blend(const csrec_tiling *t, int64_t number, int64_t channels,
                       const csrec_box *box, const csrec_boxed *from, const csrec_boxed *to) {
    const csrec_tile tile = csrec_tiling_tile(t, number);
    const int64_t lines = lines_of(box);
#pragma omp parallel for schedule(static) num_threads(threads_for(channels, box))
    for (int64_t k = 0; k < lines; k++) {
        int64_t at[CSREC_TILE_AXES];
        begin_line(box, k, at);
        blend_line(t, &tile.core, channels, at, box->at[2][1], csrec_boxed_at(from, channels, at),
                   csrec_boxed_at(to, channels, at));
    }
}

/* What a tile has of a cell, and waits for the tiles before it. */
typedef struct waiting {
    struct waiting *next;
    int64_t tile;
    csrec_boxed values;
} waiting;

typedef struct slot {
    csrec_boxed cell;
    int64_t next; /* the tile whose turn it is; -1: all are blended */
    waiting *waiting;
} slot;

struct csrec_mosaic {
    const csrec_tiling *tiling;
    int64_t channels;
    double *signal;
    slot cells[]; /* [tiles] */
};

static csrec_status allocate(const csrec_mosaic *m, const csrec_box *box, csrec_boxed *boxed,
                             csrec_error *error) {
    size_t bytes = (size_t)(csrec_box_entries(box) * m->channels) * sizeof *boxed->values;
    *boxed = (csrec_boxed){*box, malloc(bytes)};
    return boxed->values ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory for tiles");
}

static csrec_status begin(csrec_mosaic *m, int64_t number, slot *c, csrec_error *error) {
    if (c->cell.values) return CSREC_OK;
    if (!m->signal) {
        const csrec_tile tile = csrec_tiling_tile(m->tiling, number);
        return allocate(m, &tile.core, &c->cell, error);
    }
    const csrec_slab all = {0, m->tiling->shape.dim[0]};
    c->cell = (csrec_boxed){csrec_tiling_slab(m->tiling, all), m->signal};
    return CSREC_OK;
}

static csrec_status keep(const csrec_mosaic *m, slot *c, int64_t tile, const csrec_box *where,
                         const csrec_boxed *values, csrec_error *error) {
    waiting *w = malloc(sizeof *w);
    csrec_status status = w ? allocate(m, where, &w->values, error)
                            : csrec_fail(error, CSREC_MEMORY, "out of memory for tiles");
    if (status) {
        free(w);
        return status;
    }
    csrec_boxed_copy(values, m->channels, where, &w->values);
    w->tile = tile;
    w->next = c->waiting;
    c->waiting = w;
    return CSREC_OK;
}

static void drop(waiting **w) {
    waiting *now = *w;
    *w = now->next;
    free(now->values.values);
    free(now);
}

static void take_turn(const csrec_mosaic *m, int64_t number, slot *c, const csrec_box *where,
                      const csrec_boxed *values) {
    csrec_box unused;
    csrec_boxed_blend(m->tiling, c->next, m->channels, where, values, &c->cell);
    c->next = csrec_tiling_near(m->tiling, number, c->next, &unused);
}

csrec_status csrec_mosaic_add(csrec_mosaic *m, int64_t tile, int64_t number, const csrec_box *where,
                              const csrec_boxed *values, csrec_error *error) {
    slot *c = &m->cells[number];
    CSREC_TRY(begin(m, number, c, error));
    if (tile != c->next) return keep(m, c, tile, where, values, error);
    take_turn(m, number, c, where, values);
    for (waiting **w = &c->waiting; *w;) {
        if ((*w)->tile != c->next) {
            w = &(*w)->next;
            continue;
        }
        take_turn(m, number, c, &(*w)->values.box, &(*w)->values);
        drop(w);
        w = &c->waiting;
    }
    return CSREC_OK;
}

csrec_status csrec_mosaic_set(csrec_mosaic *m, int64_t number, const csrec_boxed *values,
                              csrec_error *error) {
    slot *c = &m->cells[number];
    CSREC_TRY(begin(m, number, c, error));
    csrec_boxed_copy(values, m->channels, &values->box, &c->cell);
    c->next = -1;
    return CSREC_OK;
}

const csrec_boxed *csrec_mosaic_cell(const csrec_mosaic *m, int64_t cell) {
    return m->cells[cell].next < 0 ? &m->cells[cell].cell : NULL;
}

void csrec_mosaic_drop(csrec_mosaic *m, int64_t number) {
    slot *c = &m->cells[number];
    if (!m->signal) free(c->cell.values);
    c->cell.values = NULL;
    while (c->waiting) drop(&c->waiting);
}

csrec_status csrec_mosaic_create(const csrec_tiling *tiling, int64_t channels, double *signal,
                                 csrec_mosaic **mosaic, csrec_error *error) {
    csrec_box unused;
    csrec_mosaic *m = calloc(1, sizeof *m + (size_t)tiling->tiles * sizeof *m->cells);
    if (!m) return csrec_fail(error, CSREC_MEMORY, "out of memory for tiles");
    m->tiling = tiling;
    m->channels = channels;
    m->signal = signal;
    for (int64_t k = 0; k < tiling->tiles; k++)
        m->cells[k].next = csrec_tiling_near(tiling, k, -1, &unused);
    *mosaic = m;
    return CSREC_OK;
}

void csrec_mosaic_destroy(csrec_mosaic *m) {
    if (!m) return;
    for (int64_t k = 0; k < m->tiling->tiles; k++) csrec_mosaic_drop(m, k);
    free(m);
}
