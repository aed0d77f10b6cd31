/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - rounds of a mixture on the CPU, the reference for every device. Patches are sorted
 * by their components and processed in batches of a fixed size, whose sums are added in order. The
 * picture is updated in place. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "learn/whiten.h"
#include "method/mixture/engine.h"
#include "method/mixture/patch.h"

enum { BATCH = CSREC_PATCH_BATCH, ROWS = CSREC_WHITEN_ROWS };

typedef struct engine {
    csrec_fit_picture *p;
    csrec_fit_plan plan;
    const csrec_patch_simd *simd;
    int K, d, stride;
    int64_t count, batches; /* patches; batches of this round */
    int64_t *first, *order; /* [K + 1] of a component in order; [count] patches */
    int *choice, *begin;    /* [count]; [batches] component of a batch, and where */
    int64_t *from;          /* [batches + 1] */
    float *x, *variance;    /* [count][d] in the order of `order` */
    float *C, *mean;        /* [K][d][stride], [K][stride] */
    float *G;               /* [batches][stride][stride] */
    double *work;           /* [threads] */
    float *room;            /* [threads][room_size] */
    size_t work_size, room_size;
    double energy;
    int round;
    csrec_pool pool; /* of all arrays */
} engine;

static void destroy(void *state) {
    engine *f = state;
    if (!f) return;
    csrec_pool_clear(&f->pool);
    free(f);
}

static bool allocate(engine *f) {
    size_t K = (size_t)f->K, d = (size_t)f->d, stride = (size_t)f->stride;
    size_t count = (size_t)f->count, batches = (size_t)f->batches, threads = (size_t)f->p->threads;
    const csrec_mixture size = {.K = f->K, .d = f->d};
    csrec_pool *pool = &f->pool;
    f->work_size = csrec_mixture_work(&size) + ROWS * K;
    f->room_size = (d + CSREC_PATCH_ROWS + 3) * stride + 2 * d + ROWS * d;
    CSREC_TAKE(pool, f->first, K + 1);
    CSREC_TAKE(pool, f->order, count);
    CSREC_TAKE(pool, f->choice, count);
    CSREC_TAKE(pool, f->begin, batches);
    CSREC_TAKE(pool, f->from, batches + 1);
    CSREC_TAKE(pool, f->x, count * d);
    CSREC_TAKE(pool, f->variance, count * d);
    CSREC_ZEROS(pool, f->C, K * d * stride);
    CSREC_ZEROS(pool, f->mean, K * stride);
    CSREC_TAKE(pool, f->G, batches * stride * stride);
    CSREC_TAKE(pool, f->work, threads * f->work_size);
    CSREC_TAKE(pool, f->room, threads * f->room_size);
    return !pool->lacks;
}

/* The sizes of allocate(), and of `place` in average(). */
double csrec_fit_run_bytes(double count, double K, double d, int threads) {
    double stride = ceil(d / CSREC_PATCH_LANES) * CSREC_PATCH_LANES;
    double patch = 2 * sizeof(int64_t) + sizeof(int) + 2 * d * sizeof(float);
    double batches = count / BATCH + K;
    double thread = ((d + CSREC_PATCH_ROWS + 3) * stride + 2 * d + ROWS * d) * sizeof(float) +
                    ROWS * K * sizeof(double);
    return count * patch + batches * stride * stride * sizeof(float) +
           K * d * (stride * sizeof(float) + 3 * d * sizeof(double)) + threads * thread;
}

static csrec_status create(const csrec_context *context, csrec_fit_picture *p, int K,
                           const csrec_fit_plan *plan, void **state, csrec_error *error) {
    (void)context;
    engine *f = calloc(1, sizeof *f);
    if (!f) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    f->p = p;
    f->plan = *plan;
    f->simd = CSREC_CPU_CHOOSE(csrec_patch);
    f->K = K;
    f->d = csrec_patches_size(&p->patches);
    f->stride = csrec_patch_stride(f->d);
    f->count = csrec_patches_count(&p->patches);
    f->batches = f->count / BATCH + K;
    *state = f;
    if (allocate(f)) return CSREC_OK;
    destroy(f);
    *state = NULL;
    return csrec_fail(error, CSREC_MEMORY, "out of memory");
}

/* Of patches first .. first + ROWS - 1. */
static void choose_rows(engine *f, const csrec_mixture *wide, int64_t first) {
    int rows = (int)(f->count - first < ROWS ? f->count - first : ROWS);
    double *work = f->work + (size_t)omp_get_thread_num() * f->work_size;
    float *X = f->room + (size_t)omp_get_thread_num() * f->room_size;
    for (int i = 0; i < rows; i++) csrec_fit_cut(f->p, first + i, X + i * f->d);
    csrec_mixture_choose(wide, rows, X, work, f->choice + first);
}

static void choose(engine *f, const csrec_mixture *wide) {
#pragma omp parallel num_threads(f->p->threads)
    {
#pragma omp for schedule(static) nowait
        for (int64_t first = 0; first < f->count; first += ROWS)
            if (!csrec_call_poll(f->p->call)) choose_rows(f, wide, first);
        csrec_call_gather(f->p->call);
    }
}

/* Sorts patches by component, into batches of one component each. */
static void sort(engine *f) {
    int K = f->K;
    memset(f->first, 0, (size_t)(K + 1) * sizeof *f->first);
    for (int64_t i = 0; i < f->count; i++) f->first[f->choice[i] + 1]++;
    for (int k = 0; k < K; k++) f->first[k + 1] += f->first[k];
    for (int64_t i = 0; i < f->count; i++) f->order[f->first[f->choice[i]]++] = i;
    for (int k = K; k > 0; k--) f->first[k] = f->first[k - 1];
    f->first[0] = 0;
    f->batches = 0;
    for (int k = 0; k < K; k++)
        for (int64_t at = f->first[k]; at < f->first[k + 1]; at += BATCH) {
            f->begin[f->batches] = k;
            f->from[f->batches++] = at;
        }
    f->from[f->batches] = f->count;
}

static int find_samples(const engine *f, int64_t i, int *at, float *y) {
    const csrec_fit_picture *p = f->p;
    int channel, n = 0;
    int64_t corner = csrec_patches_corner(&p->patches, i, &channel);
    for (int e = 0; e < f->d; e += p->patches.joint) {
        int64_t pixel = csrec_patches_pixel(&p->patches, corner, e);
        for (int c = 0; c < p->patches.joint && p->mask[pixel]; c++) {
            at[n] = e + c;
            y[n++] = p->y[pixel * p->patches.channels + channel + c];
        }
    }
    return n;
}

static void run_batch(engine *f, int64_t b) {
    float *room = f->room + (size_t)omp_get_thread_num() * f->room_size;
    int64_t squares = (int64_t)f->stride * f->stride;
    int k = f->begin[b], held = 0, d = f->d;
    csrec_patch p = {.d = d, .stride = f->stride, .noise = f->p->noise};
    p.C = f->C + (int64_t)k * d * f->stride;
    p.mean = f->mean + (int64_t)k * f->stride;
    p.x = room;
    p.variance = room + f->stride;
    p.rest = room + 2 * f->stride;
    float *V = room + 3 * f->stride, *y = V + (d + CSREC_PATCH_ROWS) * f->stride;
    int at[CSREC_MIXTURE_MOST];
    p.at = at;
    p.y = y;
    memset(f->G + b * squares, 0, (size_t)squares * sizeof *f->G);
    for (int64_t i = f->from[b]; i < f->from[b + 1]; i++) {
        p.n = find_samples(f, f->order[i], at, y);
        p.V = V + held * f->stride;
        f->simd->condition(&p);
        memcpy(f->x + i * d, p.x, (size_t)d * sizeof *p.x);
        memcpy(f->variance + i * d, p.variance, (size_t)d * sizeof *p.x);
        held += p.n;
        if (held < CSREC_PATCH_ROWS && i + 1 < f->from[b + 1]) continue;
        if (f->plan.adapt) f->simd->gram(held, f->stride, V, f->G + b * squares);
        held = 0;
    }
}

static bool is_stopped(const engine *f, int64_t batch) {
    csrec_progress progress = {"mixture", f->round * f->batches + batch,
                               f->plan.rounds * f->batches, -1.0};
    return csrec_call_report(f->p->call, &progress);
}

static void condition(engine *f, const csrec_mixture *mixture) {
    csrec_fit_floats(mixture, f->p->tone, f->stride, f->C, f->mean);
#pragma omp parallel num_threads(f->p->threads)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t b = 0; b < f->batches; b++)
            if (!is_stopped(f, b)) run_batch(f, b);
        csrec_call_gather(f->p->call);
    }
}

/* Adds the patch rows that cover row y of the picture: `place` is the inverse of `order`. variance:
 * NULL, or sums of w v. */
static void add_row(const engine *f, const int64_t *place, int y, int plane, float *weight,
                    float *value, float *variance) {
    const csrec_patches *p = &f->p->patches;
    int joint = p->joint, line = p->patch_width * joint, planes = csrec_patches_planes(p);
    int down = csrec_patches_down(p), across = csrec_patches_across(p);
    float even = CSREC_FIT_EVENNESS * f->p->tone * f->p->tone;
    for (int r = csrec_patches_first(p->patch_height, p->step, y); r < down; r++) {
        int top = csrec_patches_begin(p->height, p->patch_height, p->step, r);
        if (top > y) break;
        for (int c = 0; c < across; c++) {
            int64_t i = place[((int64_t)r * across + c) * planes + plane];
            int left = csrec_patches_begin(p->width, p->patch_width, p->step, c);
            const float *x = f->x + i * f->d + (y - top) * line;
            const float *v = f->variance + i * f->d + (y - top) * line;
            for (int j = 0; j < line; j++) {
                float w = csrec_patches_weight(v[j], even);
                weight[left * joint + j] += w;
                value[left * joint + j] += w * x[j];
                if (variance) variance[left * joint + j] += w * v[j];
            }
        }
    }
}

/* Squared distance of the means to the row's samples. */
static double average_row(engine *f, const int64_t *place, int y, float *sums) {
    csrec_fit_picture *p = f->p;
    const csrec_patches *g = &p->patches;
    int joint = g->joint, line = g->width * joint;
    double energy = 0.0;
    for (int plane = 0; plane < csrec_patches_planes(g); plane++) {
        memset(sums, 0, 3 * (size_t)line * sizeof *sums);
        add_row(f, place, y, plane, sums, sums + line, p->variance ? sums + 2 * line : NULL);
        for (int j = 0; j < line; j++) {
            int64_t pixel = (int64_t)y * g->width + j / joint;
            int64_t at = pixel * g->channels + plane * joint + j % joint;
            float mean = sums[line + j] / sums[j];
            double off = p->mask[pixel] ? (double)mean - (double)p->y[at] : 0.0;
            energy += off * off;
            bool kept = p->keep && p->mask[pixel];
            p->u[at] = kept ? p->y[at] : mean;
            if (p->variance) p->variance[at] = kept ? 0.0f : sums[2 * line + j] / sums[j];
        }
    }
    return energy;
}

static csrec_status average(engine *f, csrec_error *error) {
    csrec_fit_picture *p = f->p;
    int height = p->patches.height;
    size_t line = 3 * (size_t)p->patches.width * (size_t)p->patches.joint;
    csrec_pool pool = {0};
    int64_t *place = CSREC_TAKE(&pool, place, f->count);
    float *sums = CSREC_TAKE(&pool, sums, (size_t)p->threads * line);
    double *rows = CSREC_TAKE(&pool, rows, height);
    const bool room = !pool.lacks;
    for (int64_t i = 0; room && i < f->count; i++) place[f->order[i]] = i;
    if (room) {
#pragma omp parallel for schedule(static) num_threads(p->threads)
        for (int y = 0; y < height; y++)
            rows[y] = average_row(f, place, y, sums + (size_t)omp_get_thread_num() * line);
    }
    f->energy = 0.0;
    for (int y = 0; room && y < height; y++) f->energy += rows[y];
    csrec_pool_clear(&pool);
    return room ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
}

static csrec_status run(void *state, const csrec_mixture *mixture, const csrec_mixture *wide,
                        int number, csrec_error *error) {
    engine *f = state;
    f->round = number;
    choose(f, wide);
    if (csrec_call_stopped(f->p->call)) return CSREC_OK;
    sort(f);
    condition(f, mixture);
    return csrec_call_stopped(f->p->call) ? CSREC_OK : average(f, error);
}

static int64_t count(const void *state, int k) {
    const engine *f = state;
    return f->first[k + 1] - f->first[k];
}

static csrec_status moments(void *state, int k, double *mean, double *S, double *G,
                            csrec_error *error) {
    const engine *f = state;
    int64_t n = count(f, k), d = f->d, squares = (int64_t)f->stride * f->stride;
    const float *X = f->x + f->first[k] * d;
    csrec_status status = csrec_mean(n, d, X, NULL, 1, mean, error);
    if (!status) status = csrec_covariance(n, d, X, NULL, mean, 1, S, error);
    memset(G, 0, (size_t)(d * d) * sizeof *G);
    for (int64_t b = 0; b < f->batches; b++)
        for (int64_t i = 0; i < d && f->begin[b] == k; i++)
            for (int64_t j = i; j < d; j++)
                G[i * d + j] += (double)f->G[b * squares + i * f->stride + j];
    return status;
}

static csrec_status get(void *state, double *energy, csrec_error *error) {
    (void)error;
    if (energy) *energy = ((const engine *)state)->energy;
    return CSREC_OK;
}

const csrec_fit_engine csrec_fit_cpu = {create, destroy, run, count, moments, get};
