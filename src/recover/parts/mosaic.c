/* mosaic.c - the cells of a signal, and the tiles that reach them. */
#include "recover/parts/mosaic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"

enum { LARGE = 1 << 22 }; /* bytes */

/* A part of a tile that waits for those before it. */
typedef struct waiting {
    struct waiting *next;
    int64_t tile;
    csrec_part part;
} waiting;

typedef struct slot {
    csrec_part part;
    int64_t next; /* the tile whose turn it is; -1: all are blended */
    waiting *waiting;
} slot;

struct csrec_mosaic {
    const csrec_tiling *tiling;
    int64_t channels;
    double *signal;
    slot *cells; /* [tiles] */
};

static csrec_status no_memory(csrec_error *error) {
    return csrec_fail(error, CSREC_MEMORY, "out of memory for tiles");
}

/* ------------------------------------------------------------------ boxes --------------------- */

int64_t csrec_box_entries(const csrec_box *box) {
    int64_t n = 1;
    for (int a = 0; a < CSREC_TILE_AXES; a++) n *= box->at[a][1] - box->at[a][0];
    return n;
}

double *csrec_part_at(const csrec_part *p, int64_t channels, const int64_t at[CSREC_TILE_AXES]) {
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

/* Values of a box that both have. */
static void copy_box(const csrec_part *from, int64_t channels, const csrec_box *box,
                     const csrec_part *to) {
    const int64_t first = box->at[0][0], across = box->at[1][1] - box->at[1][0];
    const int64_t lines = (box->at[0][1] - first) * across;
    const size_t line = (size_t)((box->at[2][1] - box->at[2][0]) * channels) * sizeof(double);
#pragma omp parallel for schedule(static) num_threads(threads_for(channels, box))
    for (int64_t k = 0; k < lines; k++) {
        int64_t at[CSREC_TILE_AXES] = {first + k / across, box->at[1][0] + k % across,
                                       box->at[2][0]};
        memcpy(csrec_part_at(to, channels, at), csrec_part_at(from, channels, at), line);
    }
}

void csrec_part_copy(const csrec_part *p, int64_t channels, const csrec_box *box, double *to) {
    copy_box(p, channels, box, &(csrec_part){*box, to});
}

static csrec_box core_of(const csrec_tiling *t, int64_t number) {
    csrec_tile tile = csrec_tiling_tile(t, number);
    csrec_box box;
    memcpy(box.at, tile.core, sizeof box.at);
    return box;
}

static csrec_box whole_of(const csrec_tiling *t) {
    csrec_box box = {{{0}}};
    for (int a = 0; a < CSREC_TILE_AXES; a++) box.at[a][1] = t->extent[a];
    return box;
}

/* Where tile `number` has a share in a cell: half of what is around it is blended. */
static bool overlap(const csrec_tiling *t, int64_t number, int64_t cell, csrec_box *where) {
    csrec_box own = core_of(t, number), of = core_of(t, cell);
    bool some = true;
    for (int a = 0; a < CSREC_TILE_AXES; a++) {
        int64_t first = own.at[a][0] - t->pad / 2, end = own.at[a][1] + t->pad / 2;
        where->at[a][0] = first > of.at[a][0] ? first : of.at[a][0];
        where->at[a][1] = end < of.at[a][1] ? end : of.at[a][1];
        some = some && where->at[a][0] < where->at[a][1];
    }
    return some;
}

/* Coordinates of a tile among the tiles. */
static void coordinates(const csrec_tiling *t, int64_t number, int64_t at[CSREC_TILE_AXES]) {
    for (int a = CSREC_TILE_AXES - 1; a >= 0; number /= t->count[a], a--)
        at[a] = number % t->count[a];
}

/* The next tile after `last` beside tile `number` or the same; -1: none. Reach is mutual: tiles are
 * at least four times as long as what is around them, so only neighbours meet. */
static int64_t next_beside(const csrec_tiling *t, int64_t number, int64_t last) {
    int64_t at[CSREC_TILE_AXES], best = -1;
    coordinates(t, number, at);
    for (int k = 0; k < 27; k++) {
        int64_t other = 0;
        bool inside = true;
        for (int a = 0, rest = k; a < CSREC_TILE_AXES; a++, rest /= 3) {
            int64_t x = at[a] + rest % 3 - 1;
            inside = inside && x >= 0 && x < t->count[a];
            other = other * t->count[a] + x;
        }
        if (inside && other > last && (best < 0 || other < best)) best = other;
    }
    return best;
}

int64_t csrec_mosaic_reaches(const csrec_mosaic *m, int64_t tile, int64_t cell, csrec_box *where) {
    do cell = next_beside(m->tiling, tile, cell);
    while (cell >= 0 && !overlap(m->tiling, tile, cell, where));
    return cell;
}

/* ------------------------------------------------------------------ blending ------------------ */

static double clamp(double v) {
    return fmax(0.0, fmin(1.0, v));
}

/* Along an axis: the tile's share of entry x, and that of the tile before it. */
static void ramp(const csrec_tiling *t, const csrec_tile *tile, int axis, int64_t entry,
                 double *share, double *before) {
    double half = (double)t->pad / 2.0, whole = (double)t->pad, x = (double)entry + 0.5;
    double up = 1.0, down = 1.0;
    if (tile->core[axis][0] > 0) up = clamp((x - (double)tile->core[axis][0] + half) / whole);
    if (tile->core[axis][1] < t->extent[axis])
        down = 1.0 - clamp((x - (double)tile->core[axis][1] + half) / whole);
    *before = 1.0 - up;
    *share = up * down;
}

/* A run along the last axis, from entry `at`. rest, share: of the axes before: what earlier tiles
 * have, and what this one shares with those of its line. */
static void blend_run(const csrec_mosaic *m, const csrec_tile *tile, const int64_t at[],
                      int64_t end, double rest, double share, const double *from, double *to) {
    for (int64_t x = at[2]; x < end; x++, from += m->channels, to += m->channels) {
        double own, before;
        ramp(m->tiling, tile, 2, x, &own, &before);
        double earlier = rest + share * before;
        own *= share;
        if (own <= 0.0) continue;
        double part = own / (own + earlier);
        for (int64_t c = 0; c < m->channels; c++)
            to[c] = earlier > 0.0 ? to[c] + part * (from[c] - to[c]) : from[c];
    }
}

/* Line k of a box; lines do not meet, so threads may blend them. */
static void blend_line(const csrec_mosaic *m, const csrec_tile *tile, const csrec_box *where,
                       int64_t k, const csrec_part *from, const csrec_part *to) {
    const int64_t across = where->at[1][1] - where->at[1][0];
    int64_t at[CSREC_TILE_AXES] = {where->at[0][0] + k / across, where->at[1][0] + k % across,
                                   where->at[2][0]};
    double share0, before0, share1, before1;
    ramp(m->tiling, tile, 0, at[0], &share0, &before0);
    ramp(m->tiling, tile, 1, at[1], &share1, &before1);
    blend_run(m, tile, at, where->at[2][1], before0 + share0 * before1, share0 * share1,
              csrec_part_at(from, m->channels, at), csrec_part_at(to, m->channels, at));
}

static void blend(const csrec_mosaic *m, int64_t number, const csrec_box *where,
                  const csrec_part *from, const csrec_part *to) {
    const csrec_tile tile = csrec_tiling_tile(m->tiling, number);
    const int64_t lines = (where->at[0][1] - where->at[0][0]) * (where->at[1][1] - where->at[1][0]);
#pragma omp parallel for schedule(static) num_threads(threads_for(m->channels, where))
    for (int64_t k = 0; k < lines; k++) blend_line(m, &tile, where, k, from, to);
}

/* ------------------------------------------------------------------ turns --------------------- */

static csrec_status keep(const csrec_mosaic *m, slot *c, int64_t tile, const csrec_box *where,
                         const csrec_part *values, csrec_error *error) {
    size_t bytes = (size_t)(csrec_box_entries(where) * m->channels) * sizeof(double);
    waiting *w = malloc(sizeof *w);
    double *copy = w ? malloc(bytes) : NULL;
    if (!copy) {
        free(w);
        return no_memory(error);
    }
    *w = (waiting){.next = c->waiting, .tile = tile, .part = {*where, copy}};
    csrec_part_copy(values, m->channels, where, copy);
    c->waiting = w;
    return CSREC_OK;
}

/* The tile that comes after `tile` in a cell's order; -1: none. */
static int64_t turn_after(const csrec_mosaic *m, int64_t number, int64_t tile) {
    csrec_box where;
    return csrec_mosaic_reaches(m, number, tile, &where);
}

static csrec_status begin(csrec_mosaic *m, int64_t number, slot *c, csrec_error *error) {
    if (c->part.values) return CSREC_OK;
    if (m->signal) {
        c->part = (csrec_part){whole_of(m->tiling), m->signal};
        return CSREC_OK;
    }
    c->part.box = core_of(m->tiling, number);
    c->part.values =
        malloc((size_t)(csrec_box_entries(&c->part.box) * m->channels) * sizeof *c->part.values);
    return c->part.values ? CSREC_OK : no_memory(error);
}

/* Blends what has waited, as far as it is its turn. */
static void follow(csrec_mosaic *m, int64_t number, slot *c) {
    for (waiting **w = &c->waiting; *w;) {
        waiting *now = *w;
        if (now->tile != c->next) {
            w = &now->next;
            continue;
        }
        blend(m, now->tile, &now->part.box, &now->part, &c->part);
        c->next = turn_after(m, number, now->tile);
        *w = now->next;
        free(now->part.values);
        free(now);
        w = &c->waiting;
    }
}

csrec_status csrec_mosaic_add(csrec_mosaic *m, int64_t tile, int64_t number, const csrec_box *where,
                              const csrec_part *values, csrec_error *error) {
    slot *c = &m->cells[number];
    csrec_status status = begin(m, number, c, error);
    if (status) return status;
    if (tile != c->next) return keep(m, c, tile, where, values, error);
    blend(m, tile, where, values, &c->part);
    c->next = turn_after(m, number, tile);
    follow(m, number, c);
    return CSREC_OK;
}

csrec_status csrec_mosaic_set(csrec_mosaic *m, int64_t number, const csrec_part *values,
                              csrec_error *error) {
    slot *c = &m->cells[number];
    csrec_status status = begin(m, number, c, error);
    if (status) return status;
    copy_box(values, m->channels, &values->box, &c->part);
    c->next = -1;
    return CSREC_OK;
}

const csrec_part *csrec_mosaic_cell(const csrec_mosaic *m, int64_t cell) {
    return m->cells[cell].next < 0 ? &m->cells[cell].part : NULL;
}

void csrec_mosaic_drop(csrec_mosaic *m, int64_t number) {
    slot *c = &m->cells[number];
    if (!m->signal) free(c->part.values);
    c->part.values = NULL;
    while (c->waiting) {
        waiting *w = c->waiting;
        c->waiting = w->next;
        free(w->part.values);
        free(w);
    }
}

csrec_status csrec_mosaic_create(const csrec_tiling *tiling, int64_t channels, double *signal,
                                 csrec_mosaic **mosaic, csrec_error *error) {
    csrec_mosaic *m = malloc(sizeof *m);
    slot *cells = calloc((size_t)tiling->tiles, sizeof *cells);
    if (!m || !cells) {
        free(m);
        free(cells);
        return no_memory(error);
    }
    *m = (csrec_mosaic){.tiling = tiling, .channels = channels, .signal = signal, .cells = cells};
    for (int64_t k = 0; k < tiling->tiles; k++) cells[k].next = turn_after(m, k, -1);
    *mosaic = m;
    return CSREC_OK;
}

void csrec_mosaic_destroy(csrec_mosaic *m) {
    if (!m) return;
    for (int64_t k = 0; k < m->tiling->tiles; k++) csrec_mosaic_drop(m, k);
    free(m->cells);
    free(m);
}
