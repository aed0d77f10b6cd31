/* SPDX-License-Identifier: BSD-3-Clause */
/* tv.c - the method of total variation: primal-dual steps, parameters, row. */
#include "method/tv/tv.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "method/inverse.h"
#include "operator/mask.h"

/* Over-relaxation, below 2. */
static const double RELAX = 1.9;

/* Length of the data's dual step in that of the differences'. */
static const double DATA = 2.0;

typedef struct state {
    csrec_pool pool; /* of all arrays but x */
    const csrec_tv_problem *t;
    csrec_tv_grid grid;
    double tau, sigma; /* steps */
    double beta;       /* A / norm times this is what the dual variable sees */
    double *x, *ahead; /* [entries * width]; the step's result */
    double *moved;     /* [rows] what p moved in each, squared */
    double *p;         /* [3][entries * width] dual of the differences */
    double *q, *r;     /* [values of y] dual of the data, NULL if projected; A x - y */
    double *back;      /* [entries * width] A^T of something */
} state;

/* v <- the nearest signal with ||A v - y|| <= eps, as A A^T = norm^2 I, or has an inverse. */
static csrec_status project(state *s, double *v) {
    const csrec_measured *d = s->t->data;
    csrec_status status = csrec_measured_residual(d, v, s->r);
    double length = sqrt(csrec_squares(d->y_values, s->r));
    if (status || length <= d->eps) return status;
    if (d->inverse) status = csrec_inverse_meet(d, s->r);
    if (!status) status = csrec_measured_adjoint(d, s->r, s->back);
    double share = d->inverse ? 1.0 : (1.0 - d->eps / length) / (d->norm * d->norm);
    for (int64_t i = 0; i < s->grid.values; i++) v[i] -= share * s->back[i];
    return status;
}

/* Place of an entry along the axes. */
typedef struct place {
    int64_t at[3];
} place;

static place place_of(const state *s, int64_t row) {
    return (place){{row / s->grid.extent[1], row % s->grid.extent[1], 0}};
}

static int64_t rows(const state *s) {
    return s->grid.extent[0] * s->grid.extent[1];
}

/* Whether there is a next entry along axis a, and it counts. */
static bool has_next(const state *s, const place *at, int a) {
    return s->t->weight[a] > 0.0 && at->at[a] + 1 < s->grid.extent[a];
}

/* D^T p of the values of an entry, from value i on. */
static double divergence(const state *s, const place *at, int64_t i) {
    const int64_t size = s->grid.values;
    double sum = 0.0;
    for (int a = 0; a < 3; a++) {
        const double *p = s->p + a * size;
        if (s->t->weight[a] == 0.0) continue;
        if (at->at[a] > 0) sum += s->t->weight[a] * p[i - s->grid.stride[a]];
        if (has_next(s, at, a)) sum -= s->t->weight[a] * p[i];
    }
    return sum;
}

/* ahead = x - tau (D^T p + back) */
static void step_primal(state *s, bool data) {
    const int64_t line = s->grid.extent[2], width = s->grid.width, n = rows(s);
#pragma omp parallel for num_threads(s->t->threads) schedule(static)
    for (int64_t row = 0; row < n; row++) {
        place at = place_of(s, row);
        int64_t i = row * line * width;
        for (at.at[2] = 0; at.at[2] < line; at.at[2]++)
            for (int64_t k = 0; k < width; k++, i++) {
                double slope = divergence(s, &at, i);
                if (data) slope += s->back[i];
                s->ahead[i] = s->x[i] - s->tau * slope;
            }
    }
}

/* p + sigma w D(2 ahead - x) along axis a at value i, before it is projected. */
static double lifted(const state *s, int a, int64_t i) {
    const int64_t next = i + s->grid.stride[a];
    double slope = 2.0 * (s->ahead[next] - s->ahead[i]) - (s->x[next] - s->x[i]);
    return s->p[a * s->grid.values + i] + s->sigma * s->t->weight[a] * slope;
}

/* p moves over-relaxed to the projection of its lifted values on vectors of length 1; returns how
 * far the projection was, squared. */
static double step_group(state *s, const place *at, int64_t first, int64_t count) {
    double square = 0.0, moved = 0.0;
    for (int a = 0; a < 3; a++)
        for (int64_t i = first; i < first + count && has_next(s, at, a); i++) {
            double v = lifted(s, a, i);
            square += v * v;
        }
    const double scale = square > 1.0 ? 1.0 / sqrt(square) : 1.0;
    for (int a = 0; a < 3; a++) {
        double *p = s->p + a * s->grid.values;
        for (int64_t i = first; i < first + count && has_next(s, at, a); i++) {
            double d = scale * lifted(s, a, i) - p[i];
            moved += d * d;
            p[i] += RELAX * d;
        }
    }
    return moved;
}

/* Returns the root of the mean, over the entries, of the squares that p moves. */
static double step_dual(state *s) {
    const int64_t line = s->grid.extent[2], width = s->grid.width, n = rows(s),
                  group = s->grid.group;
#pragma omp parallel for num_threads(s->t->threads) schedule(static)
    for (int64_t row = 0; row < n; row++) {
        place at = place_of(s, row);
        int64_t i = row * line * width;
        double sum = 0.0;
        for (at.at[2] = 0; at.at[2] < line; at.at[2]++)
            for (int64_t k = 0; k < width; k += group, i += group)
                sum += step_group(s, &at, i, group);
        s->moved[row] = sum;
    }
    double moved = 0.0;
    for (int64_t row = 0; row < n; row++) moved += s->moved[row];
    return sqrt(moved / (double)s->grid.entries);
}

csrec_tv_grid csrec_tv_grid_of(const csrec_tv_problem *t) {
    const csrec_measured *d = t->data;
    csrec_tv_grid g = {.entries = d->entries, .width = d->values / d->entries, .values = d->values};
    g.group = t->together ? g.width : d->wide;
    csrec_mask_extents(&d->m->shape, g.extent);
    for (int a = 2; a >= 0; a--) g.stride[a] = a == 2 ? g.width : g.stride[a + 1] * g.extent[a + 1];
    return g;
}

/* q moves over-relaxed to the prox of the ball's support function at q + sigma (A(2 ahead - x) -
 * y). */
static csrec_status step_data(state *s, double *spare) {
    const csrec_measured *d = s->t->data;
    const int64_t values = d->y_values, size = s->grid.values;
    const double gain = s->sigma * s->beta / d->norm;
    for (int64_t i = 0; i < size; i++) spare[i] = 2.0 * s->ahead[i] - s->x[i];
    csrec_status status = csrec_measured_residual(d, spare, s->r);
    for (int64_t i = 0; i < values; i++) s->r[i] = s->q[i] + gain * s->r[i];
    double length = sqrt(csrec_squares(values, s->r)), radius = gain * d->eps;
    double share = length > radius ? 1.0 - radius / length : 0.0;
    for (int64_t i = 0; i < values; i++) s->q[i] += RELAX * (share * s->r[i] - s->q[i]);
    return status;
}

/* x moves over-relaxed to ahead; the share of its length that ahead is away. */
static double advance(state *s) {
    double moved = 0.0, length = 0.0;
    for (int64_t i = 0; i < s->grid.values; i++) {
        double d = s->ahead[i] - s->x[i];
        moved += d * d;
        length += s->ahead[i] * s->ahead[i];
        s->x[i] += RELAX * d;
    }
    return length > 0.0 ? sqrt(moved / length) : 0.0;
}

static csrec_status iterate(state *s, double *moved) {
    csrec_status status = CSREC_OK;
    if (s->q) {
        status = csrec_measured_adjoint(s->t->data, s->q, s->back);
        const double gain = s->beta / s->t->data->norm;
        for (int64_t i = 0; i < s->grid.values; i++) s->back[i] *= gain;
    }
    if (!status) step_primal(s, s->q != NULL);
    if (!status && !s->q) status = project(s, s->ahead);
    if (status) return status;
    double dual = step_dual(s);
    if (s->q) status = step_data(s, s->back);
    *moved = fmax(advance(s), dual);
    return status;
}

/* Steps with tau sigma ||K||^2 = 1, K of the differences and, beside them, of A. Their ratio is the
 * square of a typical difference of neighbours in x, as dual values are of order 1. */
static void choose_steps(state *s) {
    const csrec_tv_problem *t = s->t;
    double square = 0.0, length = sqrt(csrec_squares(s->grid.values, s->x));
    for (int a = 0; a < 3; a++)
        square += s->grid.extent[a] > 1 ? 4.0 * t->weight[a] * t->weight[a] : 0.0;
    s->beta = s->q ? DATA : 0.0;
    double K = sqrt(square + s->beta * s->beta);
    double typical = 0.05 * length / sqrt((double)(s->grid.values));
    if (!(typical > 0.0)) typical = 1.0;
    s->tau = K > 0.0 ? typical / K : typical;
    s->sigma = K > 0.0 ? 1.0 / (typical * K) : 1.0 / typical;
}

static csrec_status allocate(state *s) {
    const int64_t size = s->grid.values, values = s->t->data->y_values;
    CSREC_TAKE(&s->pool, s->ahead, size);
    CSREC_ZEROS(&s->pool, s->p, 3 * size);
    if (!s->t->data->tight && !s->t->data->inverse) CSREC_ZEROS(&s->pool, s->q, values);
    CSREC_TAKE(&s->pool, s->r, values);
    CSREC_TAKE(&s->pool, s->back, size);
    CSREC_TAKE(&s->pool, s->moved, rows(s));
    return s->pool.lacks ? CSREC_MEMORY : CSREC_OK;
}

static csrec_status solve_by_slopes(const csrec_tv_problem *t, csrec_call *call, double *x,
                                    int64_t *done) {
    state s = {.t = t, .grid = csrec_tv_grid_of(t), .x = x};
    double moved = INFINITY;
    csrec_status status = allocate(&s);
    if (!status) choose_steps(&s);
    for (*done = 0; !status && *done < t->iterations && moved > t->tolerance; ++*done) {
        csrec_progress now = {"total variation", *done, t->iterations, -1.0};
        if (csrec_call_report(call, &now)) break;
        status = iterate(&s, &moved);
    }
    if (!status && *done > 0) memcpy(x, s.ahead, (size_t)(s.grid.values) * sizeof *x);
    csrec_pool_clear(&s.pool);
    return status;
}

csrec_status csrec_tv_solve(const csrec_tv_problem *t, csrec_call *call, double *x, int64_t *done) {
    bool fits;
    csrec_status status = csrec_tv_fourier(t, call, x, done, &fits);
    if (status || fits) return status;
    status = csrec_measured_start(t->data, x);
    return status ? status : solve_by_slopes(t, call, x, done);
}

static const csrec_param params[] = {
    {"iterations", 500, 1, 1000000, "steps at most"},
    {"digits", 3, 1, 14, "ends when a step changes the signal in no more than these digits"},
    {"together", 1, 0, 1, "1: edges of colours are in the same places; 0: each colour by itself"},
    {"planes", 100, 0, 10000,
     "percent that differences between planes of a volume count, of those within them"},
    {0}};

static double setting(const csrec_recovery *r, int k) {
    return csrec_setting_value(&r->options->solve, CSREC_OF_METHOD, params[k].name,
                               params[k].value);
}

/* Below so many values a thread its start takes longer than its work. */
enum { SMALL = 1 << 13 };

csrec_tv_problem csrec_tv_defaults(const csrec_measured *data, int threads) {
    return (csrec_tv_problem){.data = data,
                              .weight = {1.0, 1.0, 1.0},
                              .together = true,
                              .threads = data->values < SMALL ? 1 : csrec_threads(threads),
                              .iterations = params[0].value,
                              .tolerance = pow(10.0, -params[1].value)};
}

static csrec_tv_problem problem_of(const csrec_recovery *r, const csrec_measured *data) {
    csrec_tv_problem t = csrec_tv_defaults(data, r->options->threads);
    t.iterations = (int64_t)setting(r, 0);
    t.tolerance = pow(10.0, -setting(r, 1));
    t.together = setting(r, 2) != 0.0;
    if (data->m->shape.dims == 3) t.weight[0] = setting(r, 3) / 100.0;
    return t;
}

static csrec_status solve(const csrec_recovery *r, const csrec_measured *data, csrec_error *error) {
    const csrec_tv_problem t = problem_of(r, data);
    csrec_call call;
    int64_t done = 0;
    csrec_call_begin(&call, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"total variation", 0, t.iterations, -1.0});
    csrec_status status = csrec_tv_solve(&t, &call, r->signal, &done);
    if (!status) status = csrec_products_report(r, data, done, csrec_call_stopped(&call));
    csrec_call_end(&call);
    return status ? csrec_fail(error, status, "total variation: %s", csrec_status_text(status))
                  : CSREC_OK;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    csrec_measured data;
    csrec_status status = csrec_products_create(r, &data, error);
    if (!status) status = solve(r, &data, error);
    csrec_products_clear(&data);
    return status;
}

/* Seconds of a step, for each value; two products beside. */
static const double PER_VALUE = 1.5e-8, NEAR_STEPS = 42.0;

static csrec_need need_of(const csrec_task *task) {
    csrec_need product = csrec_products_need(task);
    double values = (double)task->entries * (double)task->channels;
    double steps = csrec_task_param(task, &params[0]);
    double own = csrec_task_share(task, PER_VALUE * values, task->entries);
    if (task->any) { /* of tv_fourier.c */
        steps = fmin(steps, NEAR_STEPS) * 2.0;
        own += 5.0 * product.seconds / task->coils;
    }
    /* of tv_fourier.c: 11 arrays of a signal and 2 of its entries */
    const double arrays = task->through ? 13.0 : 6.0;
    return (csrec_need){.bytes = csrec_signal_bytes(task) * arrays + product.bytes,
                        .seconds = steps * (own + 2.0 * (double)task->channels * product.seconds)};
}

const csrec_method_type csrec_method_tv = {
    .info = {.name = "tv",
             .topic = "measurements through operators",
             .brief = "the least total variation among all signals that fit the measurements",
             .source = "Rudin, Osher and Fatemi 1992; Chambolle and Pock 2011, algorithm 1; "
                       "Goldstein and Osher 2009",
             .accepts = CSREC_ACCEPTS(EPSILON) | CSREC_ACCEPTS(SIGMA),
             .iterates = true,
             .device = "products with the operator"},
    .params = params,
    .suits = csrec_products_suits,
    .wants = "one to three axes",
    .through = true,
    .bounds = true,
    .complete = csrec_products_complete,
    .need = need_of,
    .on_device = csrec_task_always,
    .run = run};
