/* SPDX-License-Identifier: BSD-3-Clause */
/* plate_fill.c - holes that do not touch are filled apart: a box is cut where samples fill a band,
 * so wide that no difference reaches across it, until no such band is left (Nagy and Seth 1984). */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "method/smooth/plate.h"

typedef struct box {
    int64_t low[3], high[3]; /* from low to below high */
} box;

/* How far differences reach. */
static int reach_of(const csrec_plate_fill *f) {
    return f->kind == CSREC_PLATE_MEMBRANE ? 1 : 2;
}

typedef struct filler {
    const csrec_plate_fill *f;
    csrec_call *call;
    double *u;
    int64_t iterations;
} filler;

static int64_t place(const filler *c, int64_t z, int64_t y, int64_t x) {
    return (z * c->f->extent[1] + y) * c->f->extent[2] + x;
}

/* open[a][k] of the box: whether plane low[a] + k along axis a has an entry to fill. */
static void find_open(const filler *c, const box *b, uint8_t *open[3]) {
    for (int a = 0; a < 3; a++) memset(open[a], 0, (size_t)(b->high[a] - b->low[a]));
    for (int64_t z = b->low[0]; z < b->high[0]; z++)
        for (int64_t y = b->low[1]; y < b->high[1]; y++)
            for (int64_t x = b->low[2]; x < b->high[2]; x++)
                if (!c->f->known[place(c, z, y, x)])
                    open[0][z - b->low[0]] = open[1][y - b->low[1]] = open[2][x - b->low[2]] = 1;
}

/* The box of all that is open; false: nothing is. */
static bool shrink(box *b, uint8_t *open[3]) {
    for (int a = 0; a < 3; a++) {
        int64_t first = 0, last = b->high[a] - b->low[a];
        while (first < last && !open[a][first]) first++;
        while (last > first && !open[a][last - 1]) last--;
        if (first == last) return false;
        open[a] += first;
        b->high[a] = b->low[a] + last;
        b->low[a] += first;
    }
    return true;
}

/* The band of at least `width` closed planes whose middle is nearest to that of its axis: *at is
 * its first plane from low on. */
static bool find_band(const box *b, uint8_t *const open[3], int width, int *axis, int64_t *at) {
    int64_t least = INT64_MAX;
    for (int a = 0; a < 3; a++) {
        const int64_t n = b->high[a] - b->low[a];
        for (int64_t k = 0, run = 0; k < n; k++) {
            run = open[a][k] ? 0 : run + 1;
            const int64_t off = llabs(2 * k - run - n);
            if (run < width || off >= least) continue;
            least = off;
            *axis = a;
            *at = k - run + 1;
        }
    }
    return least < INT64_MAX;
}

/* With as many entries around it as differences reach. */
static csrec_status fill_box(filler *c, box b) {
    const int reach = reach_of(c->f);
    int64_t n[3], count = 1;
    csrec_pool pool = {0};
    csrec_plate *plate = NULL;
    uint8_t *known;
    double *u;
    for (int a = 0; a < 3; a++) {
        b.low[a] = b.low[a] > reach ? b.low[a] - reach : 0;
        b.high[a] += reach;
        if (b.high[a] > c->f->extent[a]) b.high[a] = c->f->extent[a];
        count *= n[a] = b.high[a] - b.low[a];
    }
    CSREC_TAKE(&pool, known, count);
    CSREC_TAKE(&pool, u, count);
    csrec_status status = csrec_pool_status(&pool);
    for (int64_t i = 0; i < n[0] * n[1] && !status; i++) {
        const int64_t from = place(c, b.low[0] + i / n[1], b.low[1] + i % n[1], b.low[2]);
        memcpy(known + i * n[2], c->f->known + from, (size_t)n[2]);
        memcpy(u + i * n[2], c->u + from, (size_t)n[2] * sizeof *u);
    }
    if (!status) status = csrec_plate_create(n, c->f->kind, known, NULL, c->f->threads, &plate);
    if (!status)
        c->iterations +=
            csrec_plate_solve(plate, NULL, c->f->tolerance, c->f->iterations, c->call, u);
    for (int64_t i = 0; i < n[0] * n[1] && !status; i++) {
        const int64_t to = place(c, b.low[0] + i / n[1], b.low[1] + i % n[1], b.low[2]);
        memcpy(c->u + to, u + i * n[2], (size_t)n[2] * sizeof *u);
    }
    csrec_plate_destroy(plate);
    csrec_pool_clear(&pool);
    return status;
}

static csrec_status fill(filler *c, box b) {
    uint8_t *memory =
        malloc((size_t)(b.high[0] - b.low[0] + b.high[1] - b.low[1] + b.high[2] - b.low[2]));
    if (!memory) return CSREC_MEMORY;
    uint8_t *open[3] = {memory, memory + b.high[0] - b.low[0], NULL};
    open[2] = open[1] + b.high[1] - b.low[1];
    find_open(c, &b, open);
    int axis = 0;
    int64_t at = 0;
    const bool any = shrink(&b, open);
    const bool cut = any && find_band(&b, open, reach_of(c->f), &axis, &at);
    free(memory);
    if (!any || csrec_call_stopped(c->call)) return CSREC_OK;
    if (!cut) return fill_box(c, b);
    box after = b;
    after.low[axis] = b.low[axis] + at;
    b.high[axis] = b.low[axis] + at;
    csrec_status status = fill(c, b);
    return status ? status : fill(c, after);
}

csrec_status csrec_plate_holes(const csrec_plate_fill *f, csrec_call *call, double *u,
                               int64_t *iterations) {
    filler c = {.f = f, .call = call, .u = u};
    const box all = {.high = {f->extent[0], f->extent[1], f->extent[2]}};
    csrec_status status = fill(&c, all);
    *iterations = c.iterations;
    return status;
}
