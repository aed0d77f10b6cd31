/* engine_cpu.c - passes over adaptive grids on the CPU, the reference for every device.
 *
 * Fits are summed as integers, classes are combined in their order: the result does not depend on
 * the number of threads. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "method/adaptive/engine.h"
#include "method/adaptive/fit.h"

/* Work arrays of one thread. */
typedef struct worker {
    csrec_fit fit;
    int32_t *sum; /* [sites * channels] sums of values in units */
    int32_t *one; /* as sum: of one grid; and sums of their squares; both NULL without variances */
    uint64_t *squares;
    float *cells;   /* [3 cells]: smoothed errors, and scratch for them */
    float *square;  /* [samples] */
    float *line;    /* [3 width] */
    int64_t leaves; /* over all grids */
} worker;

typedef struct engine {
    csrec_picture *p; /* u and weighted are updated in place */
    float units;
    float *z;     /* [samples * channels] values that a pass fits */
    float *bases; /* [CSREC_BASES * sites] */
    csrec_bases base;
    float *padded;    /* the picture with a border */
    float *weights;   /* class pass: [sites] sums of w; weighted has the sums of w f */
    float *reference; /* class pass: [cells] errors of the pass's first class */
    int threads;
    worker *worker;
} engine;

/* ------------------------------------------------------------------ memory */

static void destroy(void *state) {
    engine *e = state;
    if (!e) return;
    for (int t = 0; e->worker && t < e->threads; t++) {
        worker *w = &e->worker[t];
        csrec_fit_clear(&w->fit);
        free(w->sum);
        free(w->one);
        free(w->squares);
        free(w->cells);
        free(w->square);
        free(w->line);
    }
    free(e->worker);
    free(e->z);
    free(e->bases);
    free(e->padded);
    free(e->weights);
    free(e->reference);
    free(e);
}

static csrec_status create_worker(const csrec_picture *p, worker *w) {
    size_t cells = (size_t)p->map.h * (size_t)p->map.w;
    w->sum = malloc((size_t)p->sites * (size_t)p->channels * sizeof *w->sum);
    w->cells = malloc(3 * cells * sizeof *w->cells);
    w->square = malloc((size_t)p->samples * sizeof *w->square);
    w->line = malloc(3 * (size_t)p->width * sizeof *w->line);
    if (!w->sum || !w->cells || !w->square || !w->line) return CSREC_MEMORY;
    if (p->variance) {
        w->one = malloc((size_t)p->sites * (size_t)p->channels * sizeof *w->one);
        w->squares = malloc((size_t)p->sites * (size_t)p->channels * sizeof *w->squares);
        if (!w->one || !w->squares) return CSREC_MEMORY;
    }
    return csrec_fit_create(p->samples, p->channels, p->threshold > 0.0f, &w->fit);
}

static csrec_status allocate(engine *e) {
    const csrec_picture *p = e->p;
    size_t sites = (size_t)p->sites, border = 2 * CSREC_PATCH_RADIUS_MAX;
    e->z = malloc((size_t)p->samples * (size_t)p->channels * sizeof *e->z);
    e->bases = malloc(CSREC_BASES * sites * sizeof *e->bases);
    e->padded =
        malloc(((size_t)p->height + border) * ((size_t)p->width + border) * sizeof *e->padded);
    e->weights = malloc(sites * sizeof *e->weights);
    e->reference = malloc((size_t)p->map.h * (size_t)p->map.w * sizeof *e->reference);
    e->worker = calloc((size_t)e->threads, sizeof *e->worker);
    csrec_status status = e->z && e->bases && e->padded && e->weights && e->reference && e->worker
                              ? CSREC_OK
                              : CSREC_MEMORY;
    for (int t = 0; t < e->threads && !status; t++) status = create_worker(p, &e->worker[t]);
    return status;
}

static void set_positions(engine *e) {
    const csrec_picture *p = e->p;
    for (int64_t site = 0; site < p->sites; site++) {
        e->bases[site] = (float)(p->pixel[site] % p->width);
        e->bases[p->sites + site] = (float)(p->pixel[site] / p->width);
    }
    for (int b = 0; b < CSREC_BASES; b++) e->base.at[b] = e->bases + (int64_t)b * p->sites;
}

static csrec_status create(const csrec_context *context, csrec_picture *p, float units, int *sums,
                           void **state, csrec_error *error) {
    engine *e = calloc(1, sizeof *e);
    (void)context;
    csrec_status status = e ? CSREC_OK : CSREC_MEMORY;
    if (e) {
        *e = (engine){.p = p, .units = units, .threads = p->threads};
        status = allocate(e);
    }
    if (status) {
        destroy(e);
        return csrec_picture_no_memory(p, error);
    }
    set_positions(e);
    if (*sums > e->threads) *sums = e->threads;
    *state = e;
    return CSREC_OK;
}

double csrec_picture_bytes(double sites, double n, double channels, bool threshold, int threads) {
    double site = 2 * sizeof(int32_t)                 /* pixel, site */
                  + (CSREC_BASES + 2) * sizeof(float) /* bases, padded, weights */
                  + 2 * channels * sizeof(float);     /* u, weighted */
    double cells = n < sites ? n : sites;             /* the error map: csrec_error_map */
    double thread = sites * channels * sizeof(int32_t) + (3 * cells + n) * sizeof(float) +
                    csrec_fit_bytes(n, channels, threshold);
    return sites * site + 2 * n * channels * sizeof(float) + 2 * cells * sizeof(float) +
           threads * thread;
}

/* ------------------------------------------------------------------ fitted values and axes */

static csrec_status residual(void *state, float alpha, csrec_error *error) {
    engine *e = state;
    const csrec_picture *p = e->p;
    int64_t values = (int64_t)p->samples * p->channels;
    (void)error;
    for (int64_t k = 0; k < values; k++) e->z[k] = p->y[k] - alpha * p->u[k];
    return CSREC_OK;
}

/* Mean of the channels; noisy samples are no more accurate than the recovery. */
static float pixel_value(const csrec_picture *p, int64_t pixel) {
    int64_t site = p->site[pixel];
    const float *from = site < p->samples && p->sigma == 0.0f ? p->y : p->u;
    double sum = 0.0;
    for (int32_t c = 0; c < p->channels; c++) sum += from[site * p->channels + c];
    return (float)(sum / p->channels);
}

static csrec_status features(void *state, int radius, double width, csrec_error *error) {
    engine *e = state;
    const csrec_picture *p = e->p;
    csrec_filters filters;
    csrec_filters_create(radius, width, &filters);
    int64_t stride = (int64_t)p->width + 2 * radius;
    float *feature[CSREC_FEATURES];
    (void)error;
    for (int f = 0; f < CSREC_FEATURES; f++) feature[f] = e->bases + (int64_t)(2 + f) * p->sites;
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (int64_t y = 0; y < p->height + 2 * radius; y++) {
        int64_t line = csrec_reflect(y - radius, p->height) * p->width;
        for (int64_t x = 0; x < stride; x++)
            e->padded[y * stride + x] = pixel_value(p, line + csrec_reflect(x - radius, p->width));
    }
#pragma omp parallel num_threads(e->threads)
    {
        float *line = e->worker[omp_get_thread_num()].line;
#pragma omp for schedule(static)
        for (int64_t y = 0; y < p->height; y++)
            csrec_filters_line(&filters, e->padded + y * stride, stride, p->width,
                               p->site + y * p->width, line, feature);
    }
    return CSREC_OK;
}

/* ------------------------------------------------------------------ grids */

/* Adds the grid's values at the sites to the sum. */
static void add_grid(engine *e, worker *w, csrec_axes *axes, int32_t *sum) {
    csrec_picture *p = e->p;
    csrec_axes_complete(axes, &e->base, p->samples);
    csrec_axes_rows(axes, &e->base, 0, p->samples, w->fit.row[0]);
    csrec_fit_build(&w->fit, axes->bits, e->z, p->threshold, e->units);
    csrec_fit_add_samples(&w->fit, e->z, e->units, sum);
    for (int64_t site = p->samples; site < p->sites; site += CSREC_FIT_BLOCK) {
        uint64_t rows[CSREC_FIT_BLOCK];
        int64_t left = p->sites - site;
        int count = left < CSREC_FIT_BLOCK ? (int)left : CSREC_FIT_BLOCK;
        csrec_axes_rows(axes, &e->base, site, count, rows);
        csrec_fit_add_rows(&w->fit, count, rows, sum + site * p->channels);
    }
    w->leaves += w->fit.leaves;
    csrec_picture_count(p, 1);
}

/* Also sums the squares. */
static void add_squared(engine *e, worker *w, csrec_axes *axes) {
    int64_t values = (int64_t)e->p->sites * e->p->channels;
    memset(w->one, 0, (size_t)values * sizeof *w->one);
    add_grid(e, w, axes, w->one);
    for (int64_t k = 0; k < values; k++) {
        w->sum[k] += w->one[k];
        w->squares[k] += (uint64_t)((int64_t)w->one[k] * w->one[k]);
    }
}

/* One sum per thread. */
static void add_beside(engine *e, csrec_axes *axes, const int *to, int grids, int sums) {
    size_t bytes = (size_t)e->p->sites * (size_t)e->p->channels * sizeof(int32_t);
#pragma omp parallel num_threads(e->threads)
    {
#pragma omp for schedule(static, 1) nowait
        for (int k = 0; k < sums; k++) {
            worker *w = &e->worker[k];
            memset(w->sum, 0, bytes);
            for (int g = 0; g < grids && !csrec_team_stopped(&e->p->team); g++)
                if (to[g] == k) add_grid(e, w, &axes[g], w->sum);
        }
        csrec_team_gather(&e->p->team);
    }
}

/* Adds up the threads' parts of one sum. */
static void gather_sums(engine *e) {
    int64_t values = (int64_t)e->p->sites * e->p->channels;
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (int64_t k = 0; k < values; k++)
        for (int t = 1; t < e->threads; t++) {
            e->worker[0].sum[k] += e->worker[t].sum[k];
            if (e->p->variance) e->worker[0].squares[k] += e->worker[t].squares[k];
        }
}

static void add_to_one(engine *e, csrec_axes *axes, int grids) {
    size_t bytes = (size_t)e->p->sites * (size_t)e->p->channels * sizeof(int32_t);
    for (int t = 0; t < e->threads; t++) {
        memset(e->worker[t].sum, 0, bytes);
        if (e->p->variance) memset(e->worker[t].squares, 0, 2 * bytes);
    }
#pragma omp parallel num_threads(e->threads)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int g = 0; g < grids; g++) {
            worker *w = &e->worker[omp_get_thread_num()];
            if (csrec_team_stopped(&e->p->team)) continue;
            if (e->p->variance)
                add_squared(e, w, &axes[g]);
            else
                add_grid(e, w, &axes[g], w->sum);
        }
        csrec_team_gather(&e->p->team);
    }
    if (e->threads > 1) gather_sums(e);
}

static csrec_status add(void *state, csrec_axes *axes, const int *to, int grids, int sums,
                        csrec_error *error) {
    (void)error;
    if (sums == 1)
        add_to_one(state, axes, grids);
    else
        add_beside(state, axes, to, grids, sums);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ classes */

/* Mean of squared errors over channels; in doubles, so equal channels give the bits of one. */
static void square_errors(const engine *e, worker *w, float scale) {
    const csrec_picture *p = e->p;
    for (int64_t i = 0; i < p->samples; i++) {
        double sum = 0.0;
        for (int64_t k = i * p->channels; k < (i + 1) * p->channels; k++) {
            double off = (double)(e->z[k] - scale * (float)w->sum[k]);
            sum += off * off;
        }
        w->square[i] = (float)(sum / p->channels);
    }
}

/* Cells of errors E become (E + 4)^-6 relative to the pass's first class, whose E is kept: the
 * ratio, clamped to 10^+-4, keeps the sixth power within the range of a float. */
static void weigh_cells(const engine *e, float *cells, bool first) {
    const float little = 4.0f;
    int64_t count = (int64_t)e->p->map.h * e->p->map.w;
    for (int64_t k = 0; k < count; k++) {
        float error = cells[k] + little;
        if (first) e->reference[k] = error;
        float ratio = e->reference[k] / error;
        ratio = ratio < 1e4f ? ratio : 1e4f;
        ratio = ratio > 1e-4f ? ratio : 1e-4f;
        cells[k] = ratio * ratio * ratio * ratio * ratio * ratio;
    }
}

static void combine_line(const engine *e, const worker *from, int64_t y, float scale, float *line) {
    const csrec_picture *p = e->p;
    float *weight = line + p->width;
    csrec_error_map_line(&p->map, from->cells, (int32_t)y, line, weight);
    const int32_t *site = p->site + y * p->width;
    for (int32_t x = 0; x < p->width; x++) {
        int64_t k = site[x];
        e->weights[k] += weight[x];
        for (int64_t c = k * p->channels; c < (k + 1) * p->channels; c++)
            p->weighted[c] += weight[x] * (scale * (float)from->sum[c]);
    }
}

static void begin_weighted(const engine *e) {
    const csrec_picture *p = e->p;
    memset(p->weighted, 0, (size_t)p->sites * (size_t)p->channels * sizeof *p->weighted);
    memset(e->weights, 0, (size_t)p->sites * sizeof *e->weights);
}

/* Classes are added in their order. */
static csrec_status combine(void *state, const int *grids, int count, bool first,
                            csrec_error *error) {
    engine *e = state;
    const csrec_picture *p = e->p;
    (void)error;
    if (first) begin_weighted(e);
#pragma omp parallel for schedule(static, 1) num_threads(e->threads)
    for (int k = 0; k < count; k++) {
        worker *w = &e->worker[k];
        square_errors(e, w, 1.0f / ((float)grids[k] * e->units));
        csrec_error_map_smooth(&p->map, p->samples, p->pixel, w->square,
                               w->cells + (int64_t)p->map.h * p->map.w, w->cells);
    }
    for (int k = 0; k < count; k++) weigh_cells(e, e->worker[k].cells, first && k == 0);
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (int64_t y = 0; y < p->height; y++)
        for (int k = 0; k < count; k++) {
            float scale = 1.0f / ((float)grids[k] * e->units);
            combine_line(e, &e->worker[k], y, scale, e->worker[omp_get_thread_num()].line);
        }
    return CSREC_OK;
}

/* ------------------------------------------------------------------ the recovery */

static csrec_status weighted(void *state, float alpha, csrec_error *error) {
    engine *e = state;
    const csrec_picture *p = e->p;
    (void)error;
    for (int64_t k = 0; k < p->sites; k++) {
        float scale = 1.0f / e->weights[k];
        for (int64_t c = k * p->channels; c < (k + 1) * p->channels; c++)
            p->u[c] = alpha * p->u[c] + p->weighted[c] * scale;
    }
    return CSREC_OK;
}

/* Of independent grids. Values are below 2^26, so for at most 31 grids all is exact. */
static void set_variance(const engine *e, int grids) {
    const csrec_picture *p = e->p;
    double scale = (double)grids * grids * fmax(grids - 1, 1) * e->units * e->units;
    for (int64_t k = 0; k < (int64_t)p->sites * p->channels; k++) {
        int64_t sum = e->worker[0].sum[k], squares = (int64_t)e->worker[0].squares[k];
        p->variance[k] = (float)((double)(grids * squares - sum * sum) / scale);
    }
}

static csrec_status mean(void *state, float alpha, int grids, csrec_error *error) {
    engine *e = state;
    const csrec_picture *p = e->p;
    float scale = 1.0f / ((float)grids * e->units);
    int64_t values = (int64_t)p->sites * p->channels;
    (void)error;
    memcpy(p->weighted, p->u, (size_t)values * sizeof *p->u);
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (int64_t k = 0; k < values; k++)
        p->u[k] = alpha * p->u[k] + scale * (float)e->worker[0].sum[k];
    if (p->variance) set_variance(e, grids);
    return CSREC_OK;
}

static csrec_status get(void *state, bool last, csrec_error *error) {
    engine *e = state;
    (void)error;
    for (int t = 0; last && t < e->threads; t++) e->p->leaves += e->worker[t].leaves;
    return CSREC_OK;
}

const csrec_adaptive_engine csrec_adaptive_cpu = {create,  destroy,  residual, features, add,
                                                  combine, weighted, mean,     get};
