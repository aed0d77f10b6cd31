/* SPDX-License-Identifier: BSD-3-Clause */
/* round.c - one round over all groups: tiles of reference patches, their matches, and the
 * sums of the estimates. Each tile has its own sums, which are added in order: the result does not
 * depend on the number of threads. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "csrec/sampling.h"
#include "base/inline.h"
#include "base/cpu.h"
#include "method/gaussian/gaussian.h"

enum {
    TILE = CSREC_GROUP_TILE,
    CUBE = 16, /* the same of a volume */
    WAVE = 64  /* tiles whose sums are held at a time */
};

typedef struct line { /* reference positions along one axis */
    const int *at;
    int count, per_tile, tiles;
} line;

typedef struct round_state {
    csrec_gaussian_picture *p;
    const csrec_gaussian_round *round;
    const csrec_group_simd *simd;
    int patch[3], group, deep, radius, threads; /* deep, radius: of the search window */
    line slices, rows, columns;
    csrec_group_work *work;     /* [threads] */
    csrec_group_finder *finder; /* [threads] */
    csrec_gaussian_matches *matches;
    float *framed;                    /* the guides with `margin` pixels around them */
    csrec_group_sums *sums;           /* [WAVE][channels] */
    float *weight, *value, *variance; /* [channels][depth * height * width] */
    csrec_pool pool;                  /* of all arrays, those of the threads, too */
    csrec_call *call;
    int number, count; /* of the round within all rounds */
    int64_t done, total;
} round_state;

static int lay_line(int size, int patch, int step, uint64_t random, int *at) {
    int shift = (int)(random % (uint64_t)step), last = size - patch, count = 0;
    if (shift > 0 && last > 0) at[count++] = 0;
    for (int x = shift; x < last; x += step) at[count++] = x;
    at[count++] = last;
    return count;
}

/* Numbers are drawn for rows, columns, slices. */
csrec_gaussian_lines csrec_gaussian_lay(const int extent[3], const csrec_gaussian_round *round,
                                        uint64_t seed, int *at) {
    const int deep_radius = round->deep_radius ? round->deep_radius : round->radius;
    csrec_gaussian_lines l = {.deep = csrec_smaller_int(deep_radius, extent[0] - 1)};
    for (int a = 0; a < 3; at += extent[a++]) {
        l.patch[a] =
            csrec_smaller_int(a == 0 && round->deep ? round->deep : round->patch, extent[a]);
        l.step[a] = a == 0 && round->deep_step ? round->deep_step : round->step;
        l.at[a] = at;
        l.count[a] = lay_line(extent[a], l.patch[a], l.step[a],
                              csrec_random_u64(seed, 0, (uint64_t)(a + 2) % 3), at);
    }
    return l;
}

static int edge_of(const csrec_gaussian_picture *p) {
    return p->depth > 1 ? CUBE : TILE;
}

static int guides_of(const csrec_gaussian_picture *p) {
    return p->guides > 0 ? p->guides : 1;
}

static int64_t tiles_of(const round_state *s) {
    return (int64_t)s->slices.tiles * s->rows.tiles * s->columns.tiles;
}

/* The extent of a tile's groups along an axis. */
static size_t reach(const round_state *s, int size, int patch, int radius) {
    return (size_t)csrec_smaller_int(size, edge_of(s->p) + patch + 2 * radius);
}

static csrec_status create_sums(round_state *s) {
    const csrec_gaussian_picture *p = s->p;
    size_t sums = reach(s, p->depth, s->patch[0], s->deep) *
                  reach(s, p->height, s->patch[1], s->radius) *
                  reach(s, p->width, s->patch[2], s->radius);
    int64_t values = csrec_gaussian_entries(p) * p->channels;
    CSREC_ZEROS(&s->pool, s->weight, 3 * values);
    CSREC_ZEROS(&s->pool, s->sums, WAVE * s->p->channels);
    if (s->pool.lacks) return CSREC_MEMORY;
    s->value = s->weight + values;
    s->variance = s->value + values;
    int tiles = tiles_of(s) < WAVE ? (int)tiles_of(s) : WAVE;
    for (int i = 0; i < tiles * p->channels; i++) CSREC_TAKE(&s->pool, s->sums[i].weight, 3 * sums);
    return s->pool.lacks ? CSREC_MEMORY : CSREC_OK;
}

/* Bytes touched by csrec_gaussian_run and its matches. */
double csrec_gaussian_round_bytes(const csrec_gaussian_picture *p,
                                  const csrec_gaussian_round *round, int threads) {
    double entries = (double)csrec_gaussian_entries(p), references = 1.0, shifts = 1.0, box = 1.0;
    int steps[3] = {round->deep_step ? round->deep_step : round->step, round->step, round->step};
    const int extents[3] = {p->depth, p->height, p->width};
    int deep = round->deep_radius ? round->deep_radius : round->radius;
    int edge = edge_of(p), inner = 1;
    for (int a = 0; a < 3; a++) {
        int radius = a == 0 ? deep : round->radius, most = edge + round->patch + 2 * radius;
        if (extents[a] == 1) continue;
        references *= (double)extents[a] / steps[a] + 1.0;
        shifts *= 2.0 * radius + 1.0;
        box *= extents[a] < most ? extents[a] : most;
        inner *= edge / steps[a] > 0 ? edge / steps[a] : 1;
    }
    double kept = references * (CSREC_GAUSSIAN_KEPT * sizeof(uint16_t) + sizeof(int));
    double framed = sizeof(float) * entries * guides_of(p);
    double sums = 3.0 * sizeof(float) * p->channels * (entries + WAVE * box);
    return kept + framed + sums + threads * shifts * (double)inner * sizeof(float);
}

static int margin_of_slices(const round_state *s) {
    return s->p->depth > 1 ? s->round->margin : 0;
}

/* Outside the picture the nearest pixels are repeated. */
static void frame_one(const csrec_gaussian_picture *p, const float *guide, int front, int m,
                      float *to) {
    for (int z = 0; z < p->depth + 2 * front; z++)
        for (int y = 0; y < p->height + 2 * m; y++) {
            int64_t slice = z < front ? 0 : csrec_smaller_int(z - front, p->depth - 1);
            int64_t row = slice * p->height + (y < m ? 0 : csrec_smaller_int(y - m, p->height - 1));
            for (int x = 0; x < p->width + 2 * m; x++)
                *to++ =
                    guide[row * p->width + (x < m ? 0 : csrec_smaller_int(x - m, p->width - 1))];
        }
}

static csrec_status frame_guides(round_state *s) {
    const csrec_gaussian_picture *p = s->p;
    int m = s->round->margin, front = margin_of_slices(s), guides = guides_of(p);
    size_t width = (size_t)(p->width + 2 * m), height = (size_t)(p->height + 2 * m);
    size_t entries = (size_t)(p->depth + 2 * front) * height * width;
    const size_t beyond = (size_t)s->radius + CSREC_GROUP_LANES; /* that a search reads */
    if (!CSREC_ZEROS(&s->pool, s->framed, (size_t)guides * entries + 2 * beyond))
        return CSREC_MEMORY;
    s->framed += beyond;
    for (int g = 0; g < guides; g++)
        frame_one(p, p->guide + g * csrec_gaussian_entries(p), front, m,
                  s->framed + (size_t)g * entries);
    return CSREC_OK;
}

static csrec_status create_lines(round_state *s, uint64_t seed) {
    const int extent[] = {s->p->depth, s->p->height, s->p->width}, tile = edge_of(s->p);
    line *const lines[] = {&s->slices, &s->rows, &s->columns};
    int *at = CSREC_TAKE(&s->pool, at, extent[0] + extent[1] + extent[2]);
    if (!at) return CSREC_MEMORY;
    const csrec_gaussian_lines l = csrec_gaussian_lay(extent, s->round, seed, at);
    memcpy(s->patch, l.patch, sizeof s->patch);
    s->deep = l.deep;
    s->radius = s->round->radius;
    s->group = csrec_smaller_int(s->round->group, CSREC_GROUP_MOST);
    for (int a = 0; a < 3; a++) {
        const int each = tile / l.step[a] > 0 ? tile / l.step[a] : 1;
        *lines[a] = (line){l.at[a], l.count[a], each, (l.count[a] + each - 1) / each};
    }
    return CSREC_OK;
}

static csrec_status create_threads(round_state *s) {
    int side = 2 * s->radius + 1, shifts = (2 * s->deep + 1) * side * side;
    int references = s->slices.per_tile * s->rows.per_tile * s->columns.per_tile;
    int across = edge_of(s->p) + s->patch[2] + 2 * s->round->margin;
    int column = (2 * s->rows.per_tile + 1) * across * CSREC_GROUP_LANES;
    CSREC_TAKE(&s->pool, s->work, s->threads);
    CSREC_TAKE(&s->pool, s->finder, s->threads);
    for (int t = 0; t < s->threads && !s->pool.lacks; t++) {
        s->work[t] = csrec_group_work_of(s->p, s->patch, &s->pool);
        s->finder[t] =
            csrec_group_finder_of(s->round->again ? 0 : references, shifts, column, &s->pool);
    }
    return s->pool.lacks ? CSREC_MEMORY : CSREC_OK;
}

static csrec_status create(round_state *s, uint64_t seed) {
    CSREC_TRY(create_lines(s, seed));
    CSREC_TRY(create_threads(s));
    CSREC_TRY(create_sums(s));
    CSREC_TRY(frame_guides(s));
    return csrec_group_matches_prepare(s->matches, s->slices.count * s->rows.count,
                                       s->columns.count, s->radius, s->round->again);
}

/* From the first reference to the end of the last, extended by the reach of matches. */
static void place_axis(const int *at, int count, int patch, int radius, int size, int *first,
                       int *extent) {
    *first = at[0] > radius ? at[0] - radius : 0;
    *extent = csrec_smaller_int(at[count - 1] + patch + radius, size) - *first;
}

static void place_sums(const round_state *s, const csrec_group_search *search,
                       csrec_group_sums *sums) {
    const csrec_gaussian_picture *p = s->p;
    place_axis(search->z, search->slices, s->patch[0], s->deep, p->depth, &sums->front,
               &sums->depth);
    place_axis(search->y, search->rows, s->patch[1], s->radius, p->height, &sums->top,
               &sums->height);
    place_axis(search->x, search->columns, s->patch[2], s->radius, p->width, &sums->left,
               &sums->width);
    size_t count = (size_t)sums->depth * (size_t)sums->height * (size_t)sums->width;
    memset(sums->weight, 0, 3 * count * sizeof(float));
    sums->value = sums->weight + count;
    sums->variance = sums->value + count;
}

/* The part of a line that lies in a tile. */
static const int *part_of(const line *l, int64_t tile, int *first, int *count) {
    *first = (int)tile * l->per_tile;
    *count = csrec_smaller_int(l->count - *first, l->per_tile);
    return l->at + *first;
}

/* first: numbers of the tile's first slice, row and column of references. Positions are
 * those of patches with their margin. */
static csrec_group_search search_of(const round_state *s, int64_t tile, int thread, int first[3]) {
    const csrec_gaussian_picture *p = s->p;
    int frame = 2 * s->round->margin, front = 2 * margin_of_slices(s);
    csrec_group_search search = {.guide = s->framed,
                                 .guides = guides_of(p),
                                 .depth = p->depth + front,
                                 .height = p->height + frame,
                                 .width = p->width + frame,
                                 .patch_depth = s->patch[0] + front,
                                 .patch_height = s->patch[1] + frame,
                                 .patch_width = s->patch[2] + frame,
                                 .deep = s->deep,
                                 .radius = s->radius,
                                 .distance = s->finder[thread].distance,
                                 .column = s->finder[thread].column};
    int64_t row = tile / s->columns.tiles;
    search.z = part_of(&s->slices, row / s->rows.tiles, &first[0], &search.slices);
    search.y = part_of(&s->rows, row % s->rows.tiles, &first[1], &search.rows);
    search.x = part_of(&s->columns, tile % s->columns.tiles, &first[2], &search.columns);
    return search;
}

static void run_tile(round_state *s, int64_t tile, int thread, csrec_group_sums *sums) {
    int first[3];
    csrec_group_work *w = &s->work[thread];
    csrec_group_search search = search_of(s, tile, thread, first);
    int64_t shifts = csrec_group_shifts(&search);
    if (!s->round->again) s->simd->search(&search);
    for (int c = 0; c < s->p->channels; c++) place_sums(s, &search, &sums[c]);
    for (int i = 0; i < search.slices * search.rows * search.columns; i++) {
        int c = i % search.columns, r = i / search.columns % search.rows;
        int z = i / search.columns / search.rows;
        int64_t row = (int64_t)(first[0] + z) * s->rows.count + first[1] + r;
        const int at[3] = {search.z[z], search.y[r], search.x[c]};
        csrec_group_choose(s->simd, &search, at, row * s->columns.count + first[2] + c,
                           s->round->again ? NULL : search.distance + i * shifts, s->group,
                           s->matches, &s->finder[thread], w);
        for (int channel = 0; channel < s->p->channels; channel += w->channels)
            s->simd->estimate(s->p, channel, s->round, w, &sums[channel]);
    }
}

static bool is_stopped(round_state *s) {
    int64_t done;
#pragma omp atomic capture
    done = s->done++;
    csrec_progress progress = {CSREC_STAGE_GROUPS, s->number * s->total + done, s->count * s->total,
                               -1.0};
    return csrec_call_report(s->call, &progress);
}

/* Adds the sums of the wave's tiles in one row of the picture. */
static void add_row(round_state *s, int64_t row, int tiles) {
    int64_t entries = csrec_gaussian_entries(s->p), z = row / s->p->height, y = row % s->p->height;
    for (int i = 0; i < tiles * s->p->channels; i++) {
        const csrec_group_sums *sums = &s->sums[i];
        if (z < sums->front || z >= sums->front + sums->depth) continue;
        if (y < sums->top || y >= sums->top + sums->height) continue;
        int64_t from = ((z - sums->front) * sums->height + y - sums->top) * sums->width;
        int64_t to = (i % s->p->channels) * entries + row * s->p->width + sums->left;
        for (int x = 0; x < sums->width; x++) {
            s->weight[to + x] += sums->weight[from + x];
            s->value[to + x] += sums->value[from + x];
            s->variance[to + x] += sums->variance[from + x];
        }
    }
}

static void run_wave(round_state *s, int64_t first, int tiles) {
#pragma omp parallel num_threads(s->threads)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int i = 0; i < tiles; i++)
            if (!is_stopped(s))
                run_tile(s, first + i, omp_get_thread_num(), &s->sums[i * s->p->channels]);
        csrec_call_gather(s->call);
    }
    if (csrec_call_stopped(s->call)) return;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t row = 0; row < (int64_t)s->p->depth * s->p->height; row++) add_row(s, row, tiles);
}

/* Samples without noise are put back. */
static void finish(round_state *s) {
    int64_t entries = csrec_gaussian_entries(s->p);
    for (int c = 0; c < s->p->channels; c++)
        for (int64_t i = 0; i < entries; i++) {
            float scale = 1.0f / s->weight[c * entries + i];
            bool known = s->p->mask[i] && !(s->p->sigma > 0.0f);
            s->p->u[c][i] = known ? s->p->y[c][i] : s->value[c * entries + i] * scale;
            s->p->variance[c][i] = known ? 0.0f : s->variance[c * entries + i] * scale;
        }
}

csrec_status csrec_gaussian_run(csrec_gaussian_picture *picture, const csrec_gaussian_round *round,
                                uint64_t seed, int threads, csrec_gaussian_matches *matches,
                                csrec_call *call, int number, int count) {
    round_state s = {.p = picture,
                     .round = round,
                     .simd = CSREC_CPU_CHOOSE(csrec_group),
                     .threads = threads,
                     .matches = matches,
                     .call = call,
                     .number = number,
                     .count = count};
    csrec_status status = create(&s, seed);
    s.total = tiles_of(&s);
    for (int64_t first = 0; !status && first < s.total && !csrec_call_stopped(call);
         first += WAVE) {
        int64_t left = s.total - first;
        run_wave(&s, first, (int)(left < WAVE ? left : WAVE));
    }
    if (!status && !csrec_call_stopped(call)) finish(&s);
    csrec_pool_clear(&s.pool);
    return status;
}
