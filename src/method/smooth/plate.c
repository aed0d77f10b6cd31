/* SPDX-License-Identifier: BSD-3-Clause */
/* plate.c - the smoothest signal through samples: multigrid and conjugate gradients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/smooth/plate.h"

enum { LEVELS = 24, DEGREE = 3, LAST_DEGREE = 60 };

/* The part of the spectrum that smoothing leaves to coarser grids, and on the last grid none. */
static const double PART = 30.0, LAST_PART = 4e3;

struct csrec_plate {
    int levels;
    csrec_plate_level level[LEVELS];
    double *r, *z, *p, *q; /* of conjugate gradients, on the finest grid */
    double *rows;          /* scratch of products */
};

/* Axes of at least this extent are halved. */
enum { HALVED = 5 };

static bool is_halved(const csrec_plate_level *fine, int axis) {
    return fine->axis[axis].n >= HALVED;
}

/* A coarse point is fixed where any of its fine neighbours is; its weight is their sum, times how
 * much each sees of it. */
static void coarsen_point(const csrec_plate_level *f, const int64_t at[3], const int step[3],
                          uint8_t *fixed, double *weight) {
    int64_t low[3], high[3];
    double sum = 0.0;
    for (int a = 0; a < 3; a++) {
        low[a] = step[a] == 2 && at[a] > 0 ? 2 * at[a] - 1 : step[a] * at[a];
        high[a] = step[a] * at[a] + step[a] - 1;
        if (high[a] >= f->axis[a].n) high[a] = f->axis[a].n - 1;
    }
    for (int64_t z = low[0]; z <= high[0]; z++)
        for (int64_t y = low[1]; y <= high[1]; y++)
            for (int64_t x = low[2]; x <= high[2]; x++) {
                const int64_t i = (z * f->axis[1].n + y) * f->axis[2].n + x;
                if (f->fixed[i]) *fixed = 1;
                double part = 1.0;
                if (z != step[0] * at[0]) part *= 0.5;
                if (y != step[1] * at[1]) part *= 0.5;
                if (x != step[2] * at[2]) part *= 0.5;
                if (weight) sum += part * f->weight[i];
            }
    if (weight) *weight = sum;
}

static void coarsen(const csrec_plate_level *f, csrec_plate_level *c) {
    const int step[3] = {1 + is_halved(f, 0), 1 + is_halved(f, 1), 1 + is_halved(f, 2)};
    for (int64_t i = 0; i < c->count; i++) {
        const int64_t n = c->axis[2].n, at[3] = {i / n / c->axis[1].n, i / n % c->axis[1].n, i % n};
        coarsen_point(f, at, step, c->fixed + i, c->weight ? c->weight + i : NULL);
    }
    csrec_plate_level_scale(c);
}

/* False: no axis is long enough, or nothing is left to solve for. */
static bool next_extents(const csrec_plate_level *f, int64_t extent[3], double h[3]) {
    bool any = false;
    for (int a = 0; a < 3; a++) {
        const bool halved = is_halved(f, a);
        any = any || halved;
        extent[a] = halved ? (f->axis[a].n + 1) / 2 : f->axis[a].n;
        h[a] = halved ? 2.0 * f->axis[a].h : f->axis[a].h;
    }
    return any && memchr(f->fixed, 0, (size_t)f->count);
}

csrec_status csrec_plate_create(const int64_t extent[3], csrec_plate_kind kind,
                                const uint8_t *fixed, const double *weight, int threads,
                                csrec_plate **plate) {
    csrec_plate *p = calloc(1, sizeof *p);
    if (!p) return CSREC_MEMORY;
    int64_t n[3] = {extent[0], extent[1], extent[2]};
    double h[3] = {1.0, 1.0, 1.0};
    p->levels = 1;
    csrec_plate_level *finest = &p->level[0];
    csrec_status status = csrec_plate_level_create(n, h, kind, weight != NULL, threads, finest);
    double **all[] = {&p->r, &p->z, &p->p, &p->q};
    for (int i = 0; i < 4; i++) CSREC_TAKE(&finest->pool, *all[i], finest->count);
    CSREC_TAKE(&finest->pool, p->rows, finest->threads * 2 * n[2]);
    if (!status) status = csrec_pool_status(&finest->pool);
    if (!status) {
        if (fixed) memcpy(finest->fixed, fixed, (size_t)finest->count);
        if (weight) memcpy(finest->weight, weight, (size_t)finest->count * sizeof *weight);
        csrec_plate_level_scale(finest);
    }
    while (!status && p->levels < LEVELS && next_extents(&p->level[p->levels - 1], n, h)) {
        csrec_plate_level *c = &p->level[p->levels++];
        status = csrec_plate_level_create(n, h, kind, weight != NULL, threads, c);
        if (!status) coarsen(c - 1, c);
    }
    if (status) {
        csrec_plate_destroy(p);
        p = NULL;
    }
    *plate = p;
    return status;
}

void csrec_plate_destroy(csrec_plate *p) {
    if (!p) return;
    for (int k = 0; k < p->levels; k++) csrec_pool_clear(&p->level[k].pool);
    free(p);
}

/* Entries of the coarse axis, of n, that fine entry i sees, and how much: cubic (Lagrange's) in the
 * middle, linear at the ends, the nearest beyond. Returns how many. */
static int see(int64_t i, int64_t n, bool cubic, int64_t at[4], double part[4]) {
    static const double middle[4] = {-1.0 / 16.0, 9.0 / 16.0, 9.0 / 16.0, -1.0 / 16.0};
    const int64_t k = i / 2;
    if (i % 2 == 0 || k + 1 >= n) {
        at[0] = k;
        part[0] = 1.0;
        return 1;
    }
    const bool whole = cubic && k >= 1 && k + 2 < n;
    for (int j = 0; j < 4; j++) {
        at[j] = k - 1 + j;
        part[j] = middle[j];
    }
    if (whole) return 4;
    at[0] = k;
    at[1] = k + 1;
    part[0] = part[1] = 0.5;
    return 2;
}

/* Along one axis of [outer][n][inner]: fine = P coarse, or coarse = P^T fine if back. */
static void carry(int64_t outer, int64_t fine, int64_t coarse, int64_t inner, bool cubic, bool back,
                  const float *from, float *to) {
    memset(to, 0, (size_t)(outer * (back ? coarse : fine) * inner) * sizeof *to);
    for (int64_t i = 0; i < fine; i++) {
        int64_t at[4];
        double part[4];
        const int seen = see(i, coarse, cubic, at, part);
        for (int64_t o = 0; o < outer; o++)
            for (int j = 0; j < seen; j++) {
                const int64_t f = (o * fine + i) * inner, c = (o * coarse + at[j]) * inner;
                const float *restrict source = from + (back ? f : c);
                float *restrict target = to + (back ? c : f);
                const float weight = (float)part[j];
                for (int64_t k = 0; k < inner; k++) target[k] += weight * source[k];
            }
    }
}

/* The axes one after the other, between a and b, which have the fine grid's room; returns the one
 * that holds the result. */
static float *carry_all(const csrec_plate_level *f, const csrec_plate_level *c, bool back, float *a,
                        float *b) {
    int64_t n[3];
    for (int i = 0; i < 3; i++) n[i] = back ? f->axis[i].n : c->axis[i].n;
    for (int i = 0; i < 3; i++) {
        if (!is_halved(f, i)) continue;
        const int64_t outer = i == 0 ? 1 : i == 1 ? n[0] : n[0] * n[1];
        const int64_t inner = i == 2 ? 1 : i == 1 ? n[2] : n[1] * n[2];
        carry(outer, f->axis[i].n, c->axis[i].n, inner, f->crossed, back, a, b);
        n[i] = back ? c->axis[i].n : f->axis[i].n;
        float *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* x of level k = an approximation of A^-1 b, a symmetric positive one. */
static void cycle(csrec_plate *p, int k) {
    csrec_plate_level *f = &p->level[k];
    const bool last = k + 1 == p->levels;
    memset(f->x, 0, (size_t)f->count * sizeof *f->x);
    memcpy(f->r, f->b, (size_t)f->count * sizeof *f->r);
    csrec_plate_smooth(f, last ? LAST_DEGREE : DEGREE, last ? LAST_PART : PART);
    if (last) return;
    csrec_plate_level *c = f + 1;
    memcpy(f->d, f->r, (size_t)f->count * sizeof *f->d);
    const float *b = carry_all(f, c, true, f->d, f->t);
    for (int64_t i = 0; i < c->count; i++) c->b[i] = c->fixed[i] ? 0 : b[i];
    cycle(p, k + 1);
    memcpy(f->d, c->x, (size_t)c->count * sizeof *c->x);
    const float *e = carry_all(f, c, false, f->d, f->t);
    for (int64_t i = 0; i < f->count; i++)
        if (!f->fixed[i]) f->x[i] += e[i];
    csrec_plate_residual(f);
    csrec_plate_smooth(f, DEGREE, PART);
}

/* z = about A^-1 r, in floats of about 1. */
static void precondition(csrec_plate *p) {
    csrec_plate_level *f = &p->level[0];
    double most = 0.0;
    for (int64_t i = 0; i < f->count; i++) most = fmax(most, fabs(p->r[i]));
    for (int64_t i = 0; i < f->count; i++) f->b[i] = most > 0.0 ? (float)(p->r[i] / most) : 0.0f;
    cycle(p, 0);
    for (int64_t i = 0; i < f->count; i++) p->z[i] = most * (double)f->x[i];
}

int64_t csrec_plate_solve(csrec_plate *p, const double *y, double tolerance, int64_t most,
                          csrec_call *call, double *u) {
    csrec_plate_level *f = &p->level[0];
    double first = 0.0, before = 0.0;
    int64_t done = 0;
    /* r = W y - A u where not fixed. */
    csrec_plate_product(f, u, p->rows, p->r);
    for (int64_t i = 0; i < f->count; i++)
        p->r[i] = (f->weight && y && !f->fixed[i] ? f->weight[i] * y[i] : 0.0) - p->r[i];
    for (; done < most; done++) {
        precondition(p);
        const double now = csrec_plate_dot(f->count, p->r, p->z);
        if (done == 0) first = now;
        if (!(now > tolerance * tolerance * first)) break;
        const csrec_progress progress = {"smoothing", done, most, sqrt(now / first)};
        if (csrec_call_report(call, &progress)) break;
        const double beta = done == 0 ? 0.0 : now / before;
        for (int64_t i = 0; i < f->count; i++)
            p->p[i] = done == 0 ? p->z[i] : p->z[i] + beta * p->p[i];
        csrec_plate_product(f, p->p, p->rows, p->q);
        const double alpha = now / csrec_plate_dot(f->count, p->p, p->q);
        for (int64_t i = 0; i < f->count; i++) {
            u[i] += alpha * p->p[i];
            p->r[i] -= alpha * p->q[i];
        }
        before = now;
    }
    return done;
}

double csrec_plate_bytes(bool weighted) {
    const double each = 1.0 + 6.0 * 4.0 + (weighted ? 8.0 : 0.0);
    return 4.0 * 8.0 + each * 4.0 / 3.0;
}

/* ---- holes that do not touch are filled apart: a box is cut where samples fill a band,
 * so wide that no difference reaches across it, until no such band is left (Nagy and Seth 1984). */

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
    /* open[a][k] of the box: whether plane low[a] + k along axis a has an entry to fill. */
    for (int a = 0; a < 3; a++) memset(open[a], 0, (size_t)(b.high[a] - b.low[a]));
    for (int64_t z = b.low[0]; z < b.high[0]; z++)
        for (int64_t y = b.low[1]; y < b.high[1]; y++)
            for (int64_t x = b.low[2]; x < b.high[2]; x++)
                if (!c->f->known[place(c, z, y, x)])
                    open[0][z - b.low[0]] = open[1][y - b.low[1]] = open[2][x - b.low[2]] = 1;
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
