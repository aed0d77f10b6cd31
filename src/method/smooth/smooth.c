/* SPDX-License-Identifier: BSD-3-Clause */
/* smooth.c - the method smooth: a signal of one axis by interpolation, or by a vote of ways;
 * of more axes the membrane or thin plate through the samples (docs/smooth.md). */
#include <math.h>
#include <string.h>

#include "method/method.h"
#include "method/smooth/plate.h"
#include "method/smooth/series.h"
#include "operator/mask.h"

enum { AUTO, FIRST, SECOND, THIRD, TABLE };

static const csrec_param params[] = {
    {"kind", AUTO, AUTO, TABLE,
     "of one axis 1: linear, 2: monotone cubic, 3: autoregressive, 0: a vote; of more 1: membrane, "
     "2: biharmonic, 3: thin plate, 0: 2 of pictures and four axes, 3 of volumes; of two 4: a "
     "table"},
    {"ways", CSREC_SERIES_WAYS, 1, CSREC_SERIES_WAYS,
     "of one axis: how many vote, of linear, cubic, Gaussian process, autoregressive, sinusoids, "
     "spline"},
    {"digits", 5, 1, 12, "plates end when their error is below 10^-digits of the start's"},
    {0}};

enum { KIND, WAYS, DIGITS }; /* their places */
enum { ITERATIONS = 1000, ORDER = 16, FITS = 8 };

typedef struct job {
    csrec_pool pool;
    const csrec_recovery *r;
    const csrec_measurement *m;
    csrec_call call;
    int64_t entries, extent[3];
    int kind;
    double sigma, tolerance;
    uint8_t *known; /* [entries] */
    double *u, *y;  /* [entries]: one channel */
    int64_t iterations;
} job;

static int setting(const job *j, const csrec_param *param) {
    return (int)csrec_setting_value(&j->r->options->solve, CSREC_OF_METHOD, param->name,
                                    param->value);
}

static csrec_status fill_series(job *j) {
    csrec_series s = {.n = j->entries, .t = j->r->options->times, .call = &j->call};
    int64_t *at;
    double *v;
    CSREC_TAKE(&j->pool, at, j->m->n);
    CSREC_TAKE(&j->pool, v, j->m->n);
    csrec_status status = csrec_pool_status(&j->pool);
    for (int64_t i = 0; i < j->entries && !status; i++)
        if (j->known[i]) {
            at[s.m] = i;
            v[s.m++] = j->y[i];
        }
    s.at = at;
    s.v = v;
    if (!status && j->kind == AUTO)
        status = csrec_series_vote(&s, setting(j, &params[WAYS]), j->r->options->seed, j->u, NULL);
    else if (!status && j->kind == FIRST)
        csrec_series_linear(&s, j->u);
    else if (!status && j->kind == SECOND)
        csrec_series_cubic(&s, j->u);
    else if (!status) {
        const csrec_series_process p = csrec_series_process_fit(&s);
        const double noise = j->sigma > 0.0 ? j->sigma * j->sigma : p.s * p.noise;
        status = csrec_series_autoregressive(&s, ORDER, noise, j->u);
    }
    return status;
}

/* Sinusoids take too long for many series, and for long ones. */
static csrec_status fill_table(job *j) {
    const int axis = csrec_table_axis(j->m) == 1;
    const int64_t n = j->m->shape.dim[axis], series = j->m->shape.dim[1 - axis];
    const int64_t width = j->m->shape.dim[1];
    int ways = setting(j, &params[WAYS]);
    if (j->entries > CSREC_SERIES_LONG && ways > 4) ways = 4;
    uint8_t *known;
    double *y, *x;
    CSREC_TAKE(&j->pool, known, j->entries);
    CSREC_TAKE(&j->pool, y, j->entries);
    CSREC_TAKE(&j->pool, x, j->entries);
    CSREC_TRY(csrec_pool_status(&j->pool));
    for (int64_t i = 0; i < j->entries; i++) {
        const int64_t to = axis ? i : i % width * n + i / width;
        known[to] = j->known[i];
        y[to] = j->y[i];
        x[to] = j->u[i];
    }
    CSREC_TRY(csrec_table_fill(n, series, known, y, ways, j->r->options->seed, x));
    for (int64_t i = 0; i < j->entries; i++) j->u[i] = x[axis ? i : i % width * n + i / width];
    return CSREC_OK;
}

static csrec_plate_kind kind_of(const job *j) {
    if (j->kind == AUTO) return j->m->shape.dims == 2 ? CSREC_PLATE_BIHARMONIC : CSREC_PLATE_THIN;
    return (csrec_plate_kind)j->kind;
}

/* out = L^T L u, L u_i the sum of u_i - u_j over the neighbours j of entry i on all axes. */
static void square(const job *j, const double *u, double *work, double *out) {
    const csrec_shape *shape = &j->m->shape;
    for (int pass = 0; pass < 2; pass++) {
        const double *from = pass ? work : u;
        double *to = pass ? out : work;
        memset(to, 0, (size_t)j->entries * sizeof *to);
        for (int64_t a = shape->dims - 1, step = 1; a >= 0; step *= shape->dim[a--])
            for (int64_t first = 0; first < j->entries; first += step * shape->dim[a])
                for (int64_t i = first; i < first + step * (shape->dim[a] - 1); i++) {
                    const double d = from[i] - from[i + step];
                    to[i] += d;
                    to[i + step] -= d;
                }
    }
}

/* The biharmonic plate of any axes by conjugate gradients; weight: as of csrec_plate_create. */
static csrec_status solve_axes(job *j, const double *weight) {
    csrec_pool pool = {0};
    double *r, *p, *q, *work, rest = 0.0, first = 0.0;
    CSREC_TAKE(&pool, r, j->entries);
    CSREC_ZEROS(&pool, p, j->entries);
    CSREC_TAKE(&pool, q, j->entries);
    CSREC_TAKE(&pool, work, j->entries);
    csrec_status status = csrec_pool_status(&pool);
    if (!status) square(j, j->u, work, r);
    for (int64_t i = 0; i < j->entries && !status; i++)
        r[i] = weight ? weight[i] * (j->y[i] - j->u[i]) - r[i] : j->known[i] ? 0.0 : -r[i];
    for (int k = 0; k < ITERATIONS && !status && !csrec_call_poll(&j->call); k++) {
        const double before = k ? rest : INFINITY;
        rest = csrec_dot(j->entries, r, r);
        if (k == 0) first = rest;
        if (!(rest > j->tolerance * j->tolerance * first)) break;
        for (int64_t i = 0; i < j->entries; i++) p[i] = r[i] + rest / before * p[i];
        square(j, p, work, q);
        for (int64_t i = 0; i < j->entries; i++)
            q[i] = weight ? q[i] + weight[i] * p[i] : j->known[i] ? 0.0 : q[i];
        const double along = rest / csrec_dot(j->entries, p, q);
        for (int64_t i = 0; i < j->entries; i++) {
            j->u[i] += along * p[i];
            r[i] -= along * q[i];
        }
        j->iterations++;
    }
    csrec_pool_clear(&pool);
    return status;
}

static csrec_status solve_noisy(job *j, const double *weight) {
    if (j->m->shape.dims > 3) return solve_axes(j, weight);
    csrec_plate *plate = NULL;
    csrec_status status =
        csrec_plate_create(j->extent, kind_of(j), NULL, weight, j->r->options->threads, &plate);
    if (!status)
        j->iterations += csrec_plate_solve(plate, j->y, j->tolerance, ITERATIONS, &j->call, j->u);
    csrec_plate_destroy(plate);
    return status;
}

static double misfit(const job *j) {
    double sum = 0.0;
    for (int64_t i = 0; i < j->entries; i++)
        if (j->known[i]) sum += (j->u[i] - j->y[i]) * (j->u[i] - j->y[i]);
    return sqrt(sum / (double)j->m->n);
}

/* Noisy samples weigh so much that the plate misses them by sigma (Morozov's discrepancy): the
 * logarithm of the misfit falls with that of the weight, by a slope that is found (secants within
 * the bracket). */
static csrec_status smooth_noise(job *j) {
    double *weight;
    CSREC_TAKE(&j->pool, weight, j->entries);
    double low = -12.0, high = 12.0, at = -1.0, slope = -0.5; /* of log10 w, in units of energy */
    double before = at, missed = 0.0;
    csrec_status status = csrec_pool_status(&j->pool);
    for (int k = 0; k < FITS && !status && !csrec_call_stopped(&j->call); k++) {
        for (int64_t i = 0; i < j->entries; i++) weight[i] = j->known[i] ? pow(10.0, at) : 0.0;
        status = solve_noisy(j, weight);
        const double off = log10(fmax(misfit(j) / j->sigma, 1e-3));
        if (fabs(off) < 0.008) break;
        *(off > 0.0 ? &low : &high) = at;
        if (k > 0) slope = fmin((off - missed) / (at - before), -0.02);
        before = at;
        missed = off;
        const double next = at - off / slope;
        at = next > low && next < high ? next : 0.5 * (low + high);
    }
    return status;
}

/* Within the samples' range: a plate overshoots in holes and beyond the outermost samples. */
static void clip(job *j) {
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < j->entries; i++)
        if (j->known[i]) {
            least = fmin(least, j->y[i]);
            most = fmax(most, j->y[i]);
        }
    for (int64_t i = 0; i < j->entries; i++) j->u[i] = fmax(least, fmin(j->u[i], most));
}

static csrec_status fill_plate(job *j) {
    if (j->sigma > 0.0) return smooth_noise(j);
    if (j->m->shape.dims > 3) return solve_axes(j, NULL);
    const csrec_plate_fill fill = {.extent = {j->extent[0], j->extent[1], j->extent[2]},
                                   .known = j->known,
                                   .kind = kind_of(j),
                                   .threads = j->r->options->threads,
                                   .tolerance = j->tolerance,
                                   .iterations = ITERATIONS};
    int64_t done;
    csrec_status status = csrec_plate_holes(&fill, &j->call, j->u, &done);
    j->iterations += done;
    return status;
}

static csrec_status fill_channel(job *j, int64_t channel) {
    const csrec_measurement *m = j->m;
    double mean = 0.0;
    for (int64_t k = 0; k < m->n; k++) mean += m->y[k * m->channels + channel] / (double)m->n;
    for (int64_t i = 0; i < j->entries; i++) j->u[i] = mean;
    for (int64_t k = 0; k < m->n; k++)
        j->y[m->index[k]] = j->u[m->index[k]] = m->y[k * m->channels + channel];
    const bool line = m->shape.dims == 1, table = j->kind == TABLE;
    csrec_status status = line ? fill_series(j) : table ? fill_table(j) : fill_plate(j);
    if (!status && !line && !table) clip(j);
    for (int64_t i = 0; i < j->entries && !status; i++) {
        const bool kept = j->known[i] && j->sigma == 0.0;
        j->r->signal[i * m->channels + channel] = kept ? j->y[i] : j->u[i];
    }
    return status;
}

static csrec_status recover(job *j, csrec_error *error) {
    const csrec_measurement *m = j->m;
    CSREC_ZEROS(&j->pool, j->known, j->entries);
    CSREC_TAKE(&j->pool, j->u, j->entries);
    CSREC_ZEROS(&j->pool, j->y, j->entries);
    if (j->pool.lacks) return csrec_fail(error, CSREC_MEMORY, "method smooth: out of memory");
    if (j->kind == TABLE && m->shape.dims != 2)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "method smooth: kind = 4 is for two axes; use another kind");
    if (j->kind != AUTO && j->kind != SECOND && m->shape.dims > 3)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "method smooth: kind = %d is for up to three axes; use 0 or 2", j->kind);
    for (int64_t k = 0; k < m->n; k++) j->known[m->index[k]] = 1;
    csrec_status status = CSREC_OK;
    for (int64_t c = 0; c < m->channels && !status; c++) status = fill_channel(j, c);
    return status ? csrec_fail(error, status, "method smooth: %s", csrec_status_text(status))
                  : CSREC_OK;
}

static csrec_status check_times(const job *j, csrec_error *error) {
    const double *t = j->r->options->times;
    if (t && j->m->shape.dims != 1)
        return csrec_fail(error, CSREC_ARGUMENT, "times are of signals of one axis; omit them");
    if (t && j->kind > SECOND)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "times: kind = 3 takes entries at equal distances; use 0, 1 or 2");
    for (int64_t i = 0; t && i < j->entries; i++)
        if (!isfinite(t[i]) || (i > 0 && !(t[i] > t[i - 1])))
            return csrec_fail(error, CSREC_ARGUMENT,
                              "times: that of entry %lld is not finite, or not after the one "
                              "before it; sort the entries, and join those of one time",
                              (long long)i);
    return CSREC_OK;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const double sigma = r->options->solve.stop.sigma;
    job j = {.r = r, .m = m, .sigma = sigma > 0.0 ? sigma : m->sigma};
    csrec_shape_count(&m->shape, &j.entries);
    if (m->shape.dims <= 3) csrec_mask_extents(&m->shape, j.extent);
    j.kind = setting(&j, &params[KIND]);
    j.tolerance = pow(10.0, -setting(&j, &params[DIGITS]));
    csrec_call_begin(&j.call, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"smoothing", 0, 0, -1.0});
    csrec_status status = check_times(&j, error);
    if (!status) status = recover(&j, error);
    r->report->pursuits = 1;
    r->report->iterations = j.iterations;
    r->report->outcome = csrec_call_stopped(&j.call) ? CSREC_INTERRUPTED : CSREC_DONE;
    csrec_call_end(&j.call);
    csrec_pool_clear(&j.pool);
    return status;
}

/* Plates need the whole; times are its entries'. */
static bool has_parts(const csrec_task *task) {
    return task->shape.dims == 1 && !task->options->times;
}

/* Seconds of one thread for an entry, measured: of the first three ways of the vote and all but
 * sinusoids and of these, of the other ways of one axis, and of an iteration of a plate. */
static const double PER_QUICK = 2e-6, PER_VOTE = 2e-5, PER_SINUSOIDS = 6e-4, PER_FIT = 4e-6,
                    PER_STEP = 8e-8;

static double line_seconds(const csrec_task *task) {
    const int ways = (int)csrec_task_param(task, &params[WAYS]);
    const double kind = csrec_task_param(task, &params[KIND]);
    const bool swings = ways > 4 && task->entries <= CSREC_SERIES_LONG;
    double entry = ways > 3 ? PER_VOTE : PER_QUICK;
    if (kind != AUTO && kind != TABLE)
        entry = PER_FIT;
    else if (swings)
        entry += PER_SINUSOIDS;
    return entry * (double)task->entries;
}

static csrec_need need_of(const csrec_task *task) {
    const double entries = (double)task->entries, channels = (double)task->channels;
    const bool line = task->shape.dims == 1;
    const bool table = csrec_task_param(task, &params[KIND]) == TABLE;
    const int64_t *n = task->shape.dim;
    const double line_bytes = 16.0 + 8.0 * 24.0;
    double bytes = line ? line_bytes : 17.0 + csrec_plate_bytes(task->noisy);
    if (table) bytes = 51.0 + line_bytes * fmax((double)n[0], (double)n[1]) / entries;
    const double steps = 30.0 * (task->noisy ? FITS : 1.0);
    const double step = csrec_task_share(task, steps * PER_STEP * entries, task->entries);
    return (csrec_need){
        .bytes = csrec_signal_bytes(task) + bytes * entries,
        .seconds = channels * (line || table ? (table ? 2.0 : 1.0) * line_seconds(task) : step)};
}

const csrec_method_type csrec_method_smooth = {
    .info = {.name = "smooth",
             .topic = "series and fields",
             .brief = "the smoothest signal through the samples: interpolation, thin plates",
             .source = "Duchon 1977; Fritsch and Butland 1984; Janssen et al. 1986; docs/smooth.md",
             .accepts = CSREC_ACCEPTS(SIGMA) | CSREC_ACCEPTS(TIMES)},
    .params = params,
    .by_channels = true,
    .bounds = true,
    .need = need_of,
    .parts = has_parts,
    .run = run};
